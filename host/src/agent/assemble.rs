//! Making one answer out of the pieces in which it was streamed.

use std::collections::BTreeMap;

use lockgate_plugin_api::Block;
use serde_json::Value;

use crate::session::{Chunk, FinishReason, Usage};

/// An answer, as far as it has arrived.
#[derive(Debug, Default)]
pub(super) struct Answer {
    blocks: BTreeMap<u32, Block>,
    pub(super) usage: Option<Usage>,
    pub(super) finish: Option<FinishReason>,
    pub(super) replay_state: Option<Value>,
}

impl Answer {
    /// Adds the next piece. One that does not fit the block it is for adds nothing.
    pub(super) fn add(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::BlockStart { .. } => {}
            Chunk::TextDelta { index, text } => {
                let block = self.blocks.entry(index).or_insert_with(|| Block::text(""));
                if let Block::Text { text: said } = block {
                    said.push_str(&text);
                }
            }
            Chunk::ReasoningDelta { index, text } => {
                let empty = || Block::Reasoning { text: String::new() };
                let block = self.blocks.entry(index).or_insert_with(empty);
                if let Block::Reasoning { text: thought } = block {
                    thought.push_str(&text);
                }
            }
            Chunk::ToolCallDelta { index, id, name, arguments_delta } => {
                let empty =
                    || Block::ToolCall { id, name: String::new(), arguments: String::new() };
                let block = self.blocks.entry(index).or_insert_with(empty);
                if let Block::ToolCall { name: called, arguments, .. } = block {
                    if let Some(name) = name {
                        *called = name;
                    }
                    arguments.push_str(&arguments_delta);
                }
            }
            Chunk::BlockEnd { index, block } => {
                self.blocks.insert(index, block);
            }
            Chunk::Usage { usage } => self.usage = Some(usage),
            Chunk::Finish { reason, replay_state } => {
                self.finish = Some(reason);
                self.replay_state = replay_state;
            }
        }
    }

    /// Its blocks, in order.
    pub(super) fn content(&self) -> Vec<Block> {
        self.blocks.values().cloned().collect()
    }

    /// Leaves the tool calls out, and what the provider wants back for each of them.
    pub(super) fn drop_calls(&mut self) {
        let kept: Vec<bool> = self.blocks.values().map(|it| !is_call(it)).collect();
        self.blocks.retain(|_, it| !is_call(it));
        let states = self.replay_state.as_mut().and_then(|it| it.get_mut("blocks"));
        if let Some(Value::Array(states)) = states
            && states.len() == kept.len()
        {
            let mut kept = kept.into_iter();
            states.retain(|_| kept.next().unwrap_or(true));
        }
    }

    /// Leaves only what can be read, of an answer that was cut off. Returns whether that is
    /// anything.
    pub(super) fn keep_readable(&mut self) -> bool {
        self.blocks.retain(|_, it| match it {
            Block::Text { text } | Block::Reasoning { text } => !text.trim().is_empty(),
            Block::Image { .. } | Block::ToolCall { .. } | Block::ToolResult { .. } => false,
        });
        self.replay_state = None;
        !self.blocks.is_empty()
    }
}

fn is_call(block: &Block) -> bool {
    matches!(block, Block::ToolCall { .. })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_its_blocks_in_order_however_they_were_streamed() {
        check(
            json!([
                { "type": "block-start", "index": 1, "blockType": "tool-call" },
                { "type": "tool-call-delta", "index": 1, "id": "c1", "name": "bash", "argumentsDelta": "{" },
                { "type": "reasoning-delta", "index": 0, "text": "H" },
                { "type": "tool-call-delta", "index": 1, "id": "c1", "argumentsDelta": "}" },
                { "type": "text-delta", "index": 2, "text": "Do" },
                { "type": "reasoning-delta", "index": 0, "text": "m." },
                { "type": "text-delta", "index": 0, "text": "astray" },
                { "type": "block-end", "index": 2, "block": { "type": "text", "text": "Done." } },
            ]),
            |it| it.content(),
            json!([
                { "type": "reasoning", "text": "Hm." },
                { "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{}" },
                { "type": "text", "text": "Done." },
            ]),
        );
    }

    #[test]
    fn an_answer_without_its_calls_has_no_replay_state_of_them() {
        check(
            json!([
                { "type": "tool-call-delta", "index": 0, "id": "c1", "argumentsDelta": "{" },
                { "type": "text-delta", "index": 1, "text": "Hi." },
                {
                    "type": "finish", "reason": { "kind": "max-tokens" },
                    "replayState": { "a": 1, "blocks": ["call", "text"] },
                },
            ]),
            |it| {
                it.drop_calls();
                (it.content(), it.replay_state.take())
            },
            json!([[{ "type": "text", "text": "Hi." }], { "a": 1, "blocks": ["text"] }]),
        );
    }

    #[test]
    fn an_answer_cut_off_is_what_can_be_read_of_it() {
        let chunks = |text: &str| {
            json!([
                { "type": "tool-call-delta", "index": 0, "id": "c1", "argumentsDelta": "{" },
                { "type": "reasoning-delta", "index": 1, "text": text },
                { "type": "text-delta", "index": 2, "text": "\n " },
            ])
        };
        let keep = |it: &mut Answer| (it.keep_readable(), it.content());
        check(chunks("Hm"), keep, json!([true, [{ "type": "reasoning", "text": "Hm" }]]));
        check(chunks(" "), keep, json!([false, []]));
    }

    #[track_caller]
    fn check<T: serde::Serialize>(
        chunks: Value,
        seen: impl FnOnce(&mut Answer) -> T,
        expected: Value,
    ) {
        let mut answer = Answer::default();
        for chunk in serde_json::from_value::<Vec<Chunk>>(chunks).unwrap() {
            answer.add(chunk);
        }
        assert_eq!(serde_json::to_value(seen(&mut answer)).unwrap(), expected);
    }
}
