//! What a streamed answer means, however it is cut into pieces.

use lockgate_tests::provider::{Act, answer, chunk, end, event, head};
use serde_json::{Value, json};

use super::{check, delta, finish};

/// The chunks of an answer that is one text.
fn said(deltas: &[&str]) -> Value {
    let start = json!({ "type": "block-start", "index": 0, "blockType": "text" });
    let deltas = deltas.iter().map(|it| json!({ "type": "text-delta", "index": 0, "text": it }));
    let block = json!({ "type": "text", "text": deltas_joined(deltas.clone()) });
    let rest = [
        json!({ "type": "block-end", "index": 0, "block": block }),
        json!({ "type": "finish", "reason": { "kind": "stop" } }),
    ];
    [start].into_iter().chain(deltas).chain(rest).collect()
}

fn deltas_joined(deltas: impl Iterator<Item = Value>) -> String {
    deltas.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn thoughts_texts_and_calls_are_blocks_of_their_own() {
    let call = |index: u32, id: Option<&str>, name: Option<&str>, arguments: &str| {
        let mut call = json!({ "index": index, "function": { "arguments": arguments } });
        if let Some(id) = id {
            call["id"] = json!(id);
            call["type"] = json!("function");
        }
        if let Some(name) = name {
            call["function"]["name"] = json!(name);
        }
        call
    };
    let pieces = [
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "reasoning_content": "H", "content": null })),
        delta(json!({ "reasoning": "m.", "reasoning_content": null })),
        delta(json!({ "content": "Let me" })),
        delta(json!({ "content": " see." })),
        delta(json!({ "tool_calls": [call(0, Some("c1"), Some("bash"), "")] })),
        delta(json!({ "tool_calls": [call(0, None, None, "{\"a\"")] })),
        delta(json!({ "tool_calls": [
            call(1, Some("c2"), Some("read"), "{"),
            call(0, Some(""), None, ":1}"),
        ]})),
        delta(json!({ "tool_calls": [call(1, None, None, "}")] })),
        finish("tool_calls"),
        json!({ "choices": [], "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "prompt_tokens_details": { "cached_tokens": 64 },
            "completion_tokens_details": { "reasoning_tokens": 7 },
        }}),
    ];
    let delta = |index: u32, id: &str, name: Option<&str>, arguments: &str| {
        let mut delta = json!({
            "type": "tool-call-delta", "index": index, "id": id, "argumentsDelta": arguments,
        });
        if let Some(name) = name {
            delta["name"] = json!(name);
        }
        delta
    };
    check(
        answer(&pieces),
        json!([
            { "type": "block-start", "index": 0, "blockType": "reasoning" },
            { "type": "reasoning-delta", "index": 0, "text": "H" },
            { "type": "reasoning-delta", "index": 0, "text": "m." },
            { "type": "block-end", "index": 0, "block": { "type": "reasoning", "text": "Hm." } },
            { "type": "block-start", "index": 1, "blockType": "text" },
            { "type": "text-delta", "index": 1, "text": "Let me" },
            { "type": "text-delta", "index": 1, "text": " see." },
            { "type": "block-end", "index": 1, "block": { "type": "text", "text": "Let me see." } },
            { "type": "block-start", "index": 2, "blockType": "tool-call" },
            delta(2, "c1", Some("bash"), ""),
            delta(2, "c1", None, "{\"a\""),
            { "type": "block-start", "index": 3, "blockType": "tool-call" },
            delta(3, "c2", Some("read"), "{"),
            delta(2, "c1", None, ":1}"),
            delta(3, "c2", None, "}"),
            { "type": "block-end", "index": 2, "block":
                { "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{\"a\":1}" } },
            { "type": "block-end", "index": 3, "block":
                { "type": "tool-call", "id": "c2", "name": "read", "arguments": "{}" } },
            { "type": "usage", "usage": {
                "inputTokens": 36, "outputTokens": 20, "cacheReadTokens": 64, "reasoningTokens": 7,
            }},
            { "type": "finish", "reason": { "kind": "tool-calls" } },
        ]),
    );
}

#[test]
fn calls_that_are_all_numbered_alike_are_told_apart_by_their_ids() {
    let call = |id: &str| {
        let function = json!({ "name": "bash", "arguments": "{}" });
        delta(json!({ "tool_calls": [{ "index": 0, "id": id, "function": function }] }))
    };
    let mut expected = Vec::new();
    for (index, id) in [(0, "c1"), (1, "c2")] {
        expected.push(json!({ "type": "block-start", "index": index, "blockType": "tool-call" }));
        expected.push(json!({
            "type": "tool-call-delta", "index": index, "id": id, "name": "bash",
            "argumentsDelta": "{}",
        }));
    }
    for (index, id) in [(0, "c1"), (1, "c2")] {
        let block = json!({ "type": "tool-call", "id": id, "name": "bash", "arguments": "{}" });
        expected.push(json!({ "type": "block-end", "index": index, "block": block }));
    }
    expected.push(json!({ "type": "finish", "reason": { "kind": "tool-calls" } }));
    // The calls count, whatever the provider says it stopped for.
    check(answer(&[call("c1"), call("c2"), finish("stop")]), Value::Array(expected));
}

#[test]
fn an_answer_that_was_cut_at_its_limit_says_so() {
    check(
        answer(&[delta(json!({ "content": "Half a" })), finish("length")]),
        json!([
            { "type": "block-start", "index": 0, "blockType": "text" },
            { "type": "text-delta", "index": 0, "text": "Half a" },
            { "type": "block-end", "index": 0, "block": { "type": "text", "text": "Half a" } },
            { "type": "finish", "reason": { "kind": "max-tokens" } },
        ]),
    );
    check(
        answer(&[finish("length")]),
        json!([{ "type": "finish", "reason": { "kind": "max-tokens" } }]),
    );
}

#[test]
fn an_answer_may_be_cut_anywhere() {
    let stream = [
        ": a comment\r\n\r\nevent: x\r\n",
        &event(&delta(json!({ "content": "größer 😀" }))).replace('\n', "\r\n"),
        &event(&delta(json!({ "refusal": "" }))),
        &event(&delta(json!({ "refusal": "!" }))),
        &event(&finish("stop")),
        "data: [DONE]\r\r",
    ]
    .concat();
    let expected = || said(&["größer 😀", "!"]);
    let whole =
        |pieces: Vec<Act>| [head()].into_iter().chain(pieces).chain(end()).collect::<Vec<_>>();
    check(whole(vec![chunk(&stream)]), expected());
    check(whole(stream.as_bytes().chunks(1).map(chunk).collect()), expected());
    check(whole(stream.as_bytes().chunks(7).map(chunk).collect()), expected());
}

#[test]
fn an_answer_may_end_without_a_mark_if_it_says_why() {
    let pieces = || vec![head(), chunk(event(&delta(json!({ "content": "Hi." }))))];
    // A reason and no mark, a mark and no reason, and a mark that is the last thing on the line.
    for rest in [event(&finish("stop")), "data: [DONE]\n\n".into(), "data: [DONE]\n".into()] {
        check([pieces(), vec![chunk(rest)], end().into()].concat(), said(&["Hi."]));
    }
    // What breaks after the reason is known takes nothing away.
    check([pieces(), vec![chunk(event(&finish("stop"))), Act::Break]].concat(), said(&["Hi."]));
    // A body without a length ends with the connection.
    let bare = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";
    let bare = [bare, &event(&delta(json!({ "content": "Hi." }))), &event(&finish("stop"))];
    check(vec![Act::Send(bare.concat().into()), Act::Finish], said(&["Hi."]));
}

#[test]
fn nothing_is_read_after_the_mark() {
    let scene = [answer(&[delta(json!({ "content": "Hi." })), finish("stop")]), vec![Act::Break]];
    let mut scene = scene.concat();
    scene.insert(4, chunk("data: not JSON\n\n"));
    check(scene, said(&["Hi."]));
}
