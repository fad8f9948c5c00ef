//! The *post-execute* seam: what reviewers make of an outcome.

use lockgate_plugin_api::{Block, Extras, Message, PostTool, ToolOutcome};
use serde_json::value::RawValue;

use super::{Pipeline, body, contexts, failure, with_contexts};
use crate::seam;

/// The message of a block whose feedback says nothing.
const BLOCKED: &str = "tool result blocked by post-execute policy";

impl Pipeline<'_> {
    /// Asks the reviewers, and does what they decide. `has_run` says whether the body has.
    pub(super) async fn review(&self, outcome: ToolOutcome, has_run: bool) -> ToolOutcome {
        let decision = match seam::post_execute(self.asking, self.call, &outcome).await {
            Ok(decision) => decision,
            Err(failure) => return failure::listener(&failure),
        };
        let outcome = match decision.replaces_contexts() {
            true => with_contexts(outcome, Vec::new()),
            false => outcome,
        };
        let reviewed = match decision.verdict() {
            Ok(PostTool::Accept { contexts: added }) => joined(outcome, added),
            Ok(PostTool::ReplaceContent { content, contexts: added }) => {
                joined(outcome.with_content(&content), added)
            }
            Ok(PostTool::ReplaceValue { value, contexts: added }) => {
                self.replace_value(&outcome, &value, added)
            }
            Ok(PostTool::Block { feedback, contexts }) => blocked(&feedback, contexts),
            // What cannot be read has been refused on its way out; not a yes in any case.
            Err(error) => failure::denied(&error.to_string(), "LISTENER_PROTOCOL"),
        };
        self.unless_cancelled(reviewed, has_run)
    }

    fn replace_value(
        &self,
        old: &ToolOutcome,
        value: &RawValue,
        added: Vec<Message>,
    ) -> ToolOutcome {
        let made = match self.tool {
            _ if old.is_error() => ToolOutcome::failure(
                "tools/post-execute cannot replace the value of a failed result",
            ),
            Some(offer) => {
                let outcome = ToolOutcome::success_json(value.get().to_owned());
                body::canonical(offer, self.call, outcome, self.asking.watch)
            }
            None => failure::unknown_tool(&self.call.call().name),
        };
        let concludes = old.concludes_turn() && !made.is_error();
        let mut all = contexts(old);
        all.extend(added);
        with_contexts(made.concluding(concludes), all)
    }
}

/// The outcome with `added` after its own contexts.
fn joined(outcome: ToolOutcome, added: Vec<Message>) -> ToolOutcome {
    if added.is_empty() {
        return outcome;
    }
    let mut all = contexts(&outcome);
    all.extend(added);
    with_contexts(outcome, all)
}

/// The failure that shows `feedback` and carries only the block's own contexts.
fn blocked(feedback: &[Block], contexts: Vec<Message>) -> ToolOutcome {
    let message = feedback.iter().map(described).collect::<Vec<_>>().join("\n");
    let message = if message.is_empty() { BLOCKED.to_owned() } else { message };
    let extras = Extras { contexts, code: Some("BLOCKED".into()), ..Extras::default() };
    ToolOutcome::failure(message).with_content(feedback).with_extras(&extras)
}

/// A block in words.
fn described(block: &Block) -> String {
    match block {
        Block::Text { text } => text.clone(),
        Block::Reasoning { .. } => "[reasoning content]".into(),
        Block::Image { .. } => "[image content]".into(),
        Block::ToolCall { .. } => "[tool-call content]".into(),
        Block::ToolResult { .. } => "[tool-result content]".into(),
    }
}
