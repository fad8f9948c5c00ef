//! What a log tells: the conversation it holds, and the prompts that drove it.

use lockgate_plugin_api::{Message, Source};

use super::{Event, Fact, InboxTarget, Recording, SurfaceChange, SurfaceOp};

/// The conversation as the model is shown it after `events`, the contract, section 4.6.
///
/// An answer without content takes its place but says nothing. A replacement whose bounds are not
/// in the conversation comes last instead: nothing said is lost.
pub fn messages(events: &[Event]) -> Vec<Message> {
    let mut shown: Vec<(u64, &Event, &Message)> = Vec::new();
    for (place, event) in (0u64..).zip(events) {
        let Some(message) = event.fact.surface() else { continue };
        let node = (event.seq.unwrap_or(place), event, message);
        match event.surface_op {
            Some(SurfaceOp::Change(SurfaceChange::Replace { start, end })) => {
                let find = |seq| shown.iter().position(|it| it.0 == seq);
                match find(start).zip(find(end)) {
                    Some((start, end)) if start <= end => {
                        shown.splice(start..=end, [node]);
                    }
                    Some(_) | None => shown.push(node),
                }
            }
            Some(SurfaceOp::Append) | None => shown.push(node),
        }
    }
    let silent = |event: &Event, message: &Message| {
        matches!(event.fact, Fact::AssistantMessage { .. }) && message.content.is_empty()
    };
    shown
        .into_iter()
        .filter(|(_, event, message)| !silent(event, message))
        .map(|(_, _, message)| message.clone())
        .collect()
}

/// What the person asked for, in order.
///
/// That is what was put into the inbox to open a turn, whether or not it came to one; in a
/// recording without an inbox, what entered the conversation.
pub fn prompts(recording: &Recording) -> Vec<Message> {
    let facts = || recording.events.iter().map(|it| &it.fact);
    let from_person = |it: &&Message| it.source == Source::User;
    if facts().any(|it| matches!(it, Fact::InboxSpliced { .. })) {
        let inserted = facts().filter_map(|it| {
            let Fact::InboxSpliced { target, inserted, .. } = it else { return None };
            (*target == InboxTarget::NextTurn).then_some(inserted)
        });
        return inserted.flatten().filter(from_person).cloned().collect();
    }
    facts()
        .filter_map(|it| if let Fact::UserMessage(message) = it { Some(message) } else { None })
        .filter(from_person)
        .cloned()
        .collect()
}
