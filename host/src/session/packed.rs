//! Rows that hold a whole run of stream chunks, as the reference stores them.

use serde::Deserialize;

use super::{Chunk, Event, Fact};

/// The types of the rows [`Packed`] reads.
pub(super) const TYPES: [&str; 3] = ["reasoning-chunks", "text-chunks", "tool-call-chunks"];

/// One packed row.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Packed {
    /// The number of the first event it stands for.
    seq0: Option<u64>,
    /// When that one happened, in Unix milliseconds.
    time0: Option<u64>,
    #[serde(flatten)]
    run: Run,
}

#[derive(Deserialize)]
#[serde(tag = "type", content = "data")]
enum Run {
    #[serde(rename = "reasoning-chunks")]
    Reasoning(Texts),
    #[serde(rename = "text-chunks")]
    Text(Texts),
    #[serde(rename = "tool-call-chunks")]
    ToolCall(Arguments),
}

#[derive(Deserialize)]
struct Texts {
    #[serde(flatten)]
    place: Place,
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Arguments {
    #[serde(flatten)]
    place: Place,
    id: String,
    name: Option<String>,
    args: Vec<String>,
}

#[derive(Deserialize)]
struct Place {
    turn: u32,
    step: u32,
    index: u32,
    /// Milliseconds from each chunk to the next.
    #[serde(default)]
    dt: Vec<i64>,
}

/// The events that a packed row stands for, in order.
///
/// They have numbers and times where the row has them.
pub(super) fn unpack(packed: Packed) -> Vec<Event> {
    let (place, chunks) = match packed.run {
        Run::Reasoning(Texts { place, texts }) => {
            let index = place.index;
            (place, each(texts, |text| Chunk::ReasoningDelta { index, text }))
        }
        Run::Text(Texts { place, texts }) => {
            let index = place.index;
            (place, each(texts, |text| Chunk::TextDelta { index, text }))
        }
        Run::ToolCall(Arguments { place, id, name, args }) => {
            let index = place.index;
            let delta = |arguments_delta| Chunk::ToolCallDelta {
                index,
                id: id.clone(),
                name: name.clone(),
                arguments_delta,
            };
            (place, each(args, delta))
        }
    };
    let Place { turn, step, index: _, dt } = place;
    let (mut seq, mut time) = (packed.seq0, packed.time0);
    let mut dt = dt.into_iter();
    let mut events = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        events.push(Event { seq, time, ..Event::of(Fact::AssistantChunk { turn, step, chunk }) });
        seq = seq.and_then(|it| it.checked_add(1));
        time = time.zip(dt.next()).and_then(|(time, later)| time.checked_add_signed(later));
    }
    events
}

fn each(texts: Vec<String>, chunk: impl Fn(String) -> Chunk) -> Vec<Chunk> {
    texts.into_iter().map(chunk).collect()
}
