//! What the models made from files answer.

use std::error::Error;
use std::fs;
use std::path::Path;

use futures_util::{StreamExt, future};
use lockgate::model::{Model, ModelName, ModelSpec, OpenModelError, Request, open};
use lockgate::session::CallConfig;
use lockgate_plugin_api::Message;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio_util::sync::CancellationToken;

#[test]
fn a_replay_streams_what_was_streamed() {
    let rows = [
        chunk(json!({ "type": "block-start", "index": 0, "blockType": "text" })),
        json!({
            "type": "text-chunks",
            "data": { "turn": 1, "step": 1, "index": 0, "texts": ["H", "i."] },
        }),
        chunk(json!({ "type": "finish", "reason": { "kind": "max-tokens" } })),
        answer(&[json!({ "type": "text", "text": "Hi." })]),
        chunk(json!({ "type": "finish", "reason": { "kind": "stop" } })),
        answer(&[]),
        json!({ "type": "turn/end", "data": { "turn": 1, "reason": { "kind": "max-tokens" } } }),
    ];
    check(
        &recording(&rows),
        &[
            json!([
                { "type": "block-start", "index": 0, "blockType": "text" },
                { "type": "text-delta", "index": 0, "text": "H" },
                { "type": "text-delta", "index": 0, "text": "i." },
                { "type": "finish", "reason": { "kind": "max-tokens" } },
            ]),
            json!([{ "type": "finish", "reason": { "kind": "stop" } }]),
            json!([{ "fails": {
                "code": "REPLAY_EXHAUSTED",
                "message": "`FILE` holds 2 answers, and request 3 wants another",
            } }]),
        ],
    );
}

#[test]
fn a_request_that_failed_fails_again() {
    let failed = json!({
        "type": "finish",
        "reason": { "kind": "error", "failure": { "message": "busy", "code": "OVERLOADED" } },
    });
    let done = json!({ "type": "finish", "reason": { "kind": "stop" } });
    check(
        &recording(&[
            chunk(failed.clone()),
            chunk(done.clone()),
            answer(&[]),
            chunk(failed.clone()),
            json!({ "type": "step/end", "data": { "turn": 1, "step": 1 } }),
        ]),
        &[json!([failed]), json!([done]), json!([failed])],
    );
}

#[test]
fn a_cancelled_request_is_answered_with_what_was_kept_of_it() {
    let call = json!({ "type": "block-start", "index": 0, "blockType": "tool-call" });
    let done = json!({ "type": "finish", "reason": { "kind": "stop" } });
    let aborted = json!({
        "type": "finish",
        "reason": { "kind": "aborted", "failure": { "message": "gone", "code": "ABORTED" } },
    });
    let kept = json!({ "type": "text", "text": "Hi." });
    let mut interrupted = answer(std::slice::from_ref(&kept));
    interrupted["data"]["interrupted"] = json!(true);
    check(
        &recording(&[
            chunk(call.clone()),
            json!({ "type": "step/end", "data": { "turn": 1, "step": 1 } }),
            chunk(done.clone()),
            answer(&[]),
            chunk(call),
            chunk(aborted),
            interrupted,
        ]),
        &[
            json!([]),
            json!([done]),
            json!([
                { "type": "block-start", "index": 0, "blockType": "text" },
                { "type": "text-delta", "index": 0, "text": "Hi." },
                { "type": "block-end", "index": 0, "block": kept },
                done,
            ]),
        ],
    );
}

#[test]
fn an_answer_without_chunks_is_streamed_block_by_block() {
    let thought = json!({ "type": "reasoning", "text": "Hm." });
    let call = json!({ "type": "tool-call", "id": "c1", "name": "bash", "arguments": "{" });
    let usage = json!({ "inputTokens": 1, "outputTokens": 2 });
    let mut called = answer(&[thought.clone(), call.clone()]);
    called["data"]["usage"] = usage.clone();
    called["data"]["message"]["source"]["replayState"] = json!({ "a": 1 });
    let end = |reason: &str| json!({ "type": "turn/end", "data": { "turn": 1, "reason": { "kind": reason } } });
    check(
        &recording(&[called, answer(&[]), end("completed"), answer(&[]), end("max-tokens")]),
        &[
            json!([
                { "type": "block-start", "index": 0, "blockType": "reasoning" },
                { "type": "reasoning-delta", "index": 0, "text": "Hm." },
                { "type": "block-end", "index": 0, "block": thought },
                { "type": "block-start", "index": 1, "blockType": "tool-call" },
                {
                    "type": "tool-call-delta", "index": 1, "id": "c1", "name": "bash",
                    "argumentsDelta": "{",
                },
                { "type": "block-end", "index": 1, "block": call },
                { "type": "usage", "usage": usage },
                { "type": "finish", "reason": { "kind": "tool-calls" }, "replayState": { "a": 1 } },
            ]),
            json!([{ "type": "finish", "reason": { "kind": "stop" } }]),
            json!([{ "type": "finish", "reason": { "kind": "max-tokens" } }]),
        ],
    );
}

#[test]
fn staged_answers_are_streamed_and_fail_as_staged() {
    let delta = json!({ "type": "text-delta", "index": 0, "text": "H" });
    check(
        &Written::Replay(
            json!([
                { "kind": "throw", "chunks": [delta], "message": "no key", "code": "AUTH" },
                { "kind": "chunks", "chunks": [delta] },
            ])
            .to_string(),
        ),
        &[
            json!([delta, { "fails": { "message": "no key", "code": "AUTH" } }]),
            json!([delta]),
            json!([{ "fails": {
                "code": "REPLAY_EXHAUSTED",
                "message": "`FILE` holds 2 answers, and request 3 wants another",
            } }]),
        ],
    );
}

#[tokio::test]
async fn a_hang_says_that_it_began_and_waits_for_the_cancellation() {
    let directory = TempDir::new().unwrap();
    let text = r#" [{"kind":"hang","readyFile":"ready"}]"#;
    let model = Written::Replay(text.to_owned()).open(&directory).unwrap();
    let request = request();
    let (signal, ready) = (request.signal.clone(), directory.path().join("ready"));
    let mut chunks = model.request(request);
    for expected in [
        json!({ "type": "block-start", "index": 0, "blockType": "text" }),
        json!({ "type": "text-delta", "index": 0, "text": "partial" }),
    ] {
        let chunk = chunks.next().await.unwrap().unwrap();
        assert_eq!(serde_json::to_value(chunk).unwrap(), expected);
    }
    assert!(!ready.exists(), "nobody has taken notice of the text yet");
    let cancel = async {
        assert!(ready.exists());
        signal.cancel();
    };
    let last = async { (chunks.next().await, signal.is_cancelled()) };
    let ((last, cancelled), ()) = future::join(last, cancel).await;
    assert_eq!((last.unwrap().unwrap_err().code.as_str(), cancelled), ("ABORTED", true));
}

#[test]
fn a_script_is_said_answer_by_answer() {
    let said = |index: u32, text: &str| {
        [
            json!({ "type": "block-start", "index": index, "blockType": "text" }),
            json!({ "type": "text-delta", "index": index, "text": text }),
            json!({ "type": "block-end", "index": index, "block": { "type": "text", "text": text } }),
        ]
    };
    let called = |index: u32, id: &str, name: &str, arguments: &str| {
        [
            json!({ "type": "block-start", "index": index, "blockType": "tool-call" }),
            json!({
                "type": "tool-call-delta", "index": index, "id": id, "name": name,
                "argumentsDelta": arguments,
            }),
            json!({ "type": "block-end", "index": index, "block": {
                "type": "tool-call", "id": id, "name": name, "arguments": arguments,
            } }),
        ]
    };
    let finish = |reason: &str| [json!({ "type": "finish", "reason": { "kind": reason } })];
    let answers = json!([
        { "text": "Look.", "calls": [
            { "name": "bash", "arguments": { "command": "ls" } },
            { "name": "bash" },
        ] },
        { "calls": [{ "name": "read", "arguments": { "file_path": "a" } }] },
        { "fail": { "message": "no key", "code": "AUTH" } },
        "Done.",
    ]);
    let expected = [
        json!(
            [
                &said(0, "Look.")[..],
                &called(1, "call_1", "bash", r#"{"command":"ls"}"#),
                &called(2, "call_2", "bash", "{}"),
                &finish("tool-calls"),
            ]
            .concat()
        ),
        json!(
            [&called(0, "call_3", "read", r#"{"file_path":"a"}"#)[..], &finish("tool-calls")]
                .concat()
        ),
        json!([{ "fails": { "message": "no key", "code": "AUTH" } }]),
        json!([&said(0, "Done.")[..], &finish("stop")].concat()),
    ];
    check(&Written::Script(answers.to_string()), &expected);
    let play = json!({ "prompts": ["Go."], "answers": answers });
    check(&Written::Script(play.to_string()), &expected);
}

#[test]
fn a_model_has_a_name_and_perhaps_prompts() {
    #[track_caller]
    fn check(file: Written, provider: &str, name: &str, prompts: &[&str]) {
        let model = file.open(&TempDir::new().unwrap()).unwrap();
        let texts: Vec<String> = model.prompts().iter().map(Message::text).collect();
        let expected = ModelName { provider: provider.to_owned(), model: name.to_owned() };
        assert_eq!(
            (model.name(), texts),
            (expected, prompts.iter().map(|it| (*it).to_owned()).collect())
        );
    }
    let prompt = json!({
        "id": "m1", "role": "user", "content": [{ "type": "text", "text": "Go." }],
        "source": { "kind": "user" },
    });
    let prompt = json!({ "type": "user/message", "data": prompt, "surfaceOp": "append" });
    let asked = json!({
        "type": "request/header",
        "data": { "reason": "initial", "header": { "config": { "provider": "p", "model": "m" } } },
    });
    check(recording(&[prompt, asked]), "replay", "m", &["Go."]);
    check(recording(&[]), "replay", "file", &[]);
    check(Written::Replay("[]".to_owned()), "replay", "file", &[]);
    check(Written::Script("[]".to_owned()), "script", "file", &[]);
    let play = r#"{"prompts":["Go.","On."],"answers":[]}"#;
    check(Written::Script(play.to_owned()), "script", "file", &["Go.", "On."]);
}

#[test]
fn a_file_that_does_not_fit_says_where_and_what_was_expected() {
    #[track_caller]
    fn check(file: Written, expected: &str) {
        let directory = TempDir::new().unwrap();
        let error = file.open(&directory).err().unwrap();
        let path = directory.path().join("file.json").display().to_string();
        assert_eq!(chain(&error).replace(&path, "FILE"), expected);
    }
    let neither = "of the script `FILE` is neither a text, nor \
                   {text, calls: [{name, arguments}]}, nor {fail: {message, code}}";
    check(
        Written::Script(r#"["Hi.", {"txt": "Ho."}]"#.to_owned()),
        &format!("answer 2 {neither}: unknown field `txt`, expected `text` or `calls`"),
    );
    check(
        Written::Script(r#"[{"fail": {"message": "no key"}}]"#.to_owned()),
        &format!("answer 1 {neither}: missing field `code`"),
    );
    check(
        Written::Script(r#"{"answer": []}"#.to_owned()),
        "the script `FILE` is neither an array of answers nor {prompts, answers}: \
         unknown field `answer`, expected `prompts` or `answers`",
    );
    check(
        Written::Script("Hi.".to_owned()),
        "the script `FILE` is not JSON: expected value at line 1 column 1",
    );
    check(
        Written::Replay(r#"[{"kind": "hang"}]"#.to_owned()),
        "entry 1 of the staged answers `FILE` is neither {kind: chunks, chunks}, \
         nor {kind: hang, readyFile}, nor {kind: throw, chunks, message, code}: \
         missing field `readyFile`",
    );
    check(
        Written::Replay(r#"{"type": "turn/start"}"#.to_owned()),
        "cannot read line 1 of the session log `FILE`: \
         the log has no header, a line of type `session`",
    );
}

enum Written {
    Replay(String),
    Script(String),
}

impl Written {
    fn open(&self, directory: &TempDir) -> Result<Box<dyn Model>, OpenModelError> {
        let path = directory.path().join("file.json");
        let (text, spec) = match self {
            Self::Replay(text) => (text, ModelSpec::Replay(path.clone())),
            Self::Script(text) => (text, ModelSpec::Script(path.clone())),
        };
        fs::write(&path, text).expect("the directory is ours");
        open(&spec, directory.path())
    }
}

#[track_caller]
fn check(file: &Written, expected: &[Value]) {
    let runtime = Builder::new_current_thread().build().expect("a runtime starts");
    let directory = TempDir::new().expect("there is room");
    let model = file.open(&directory).expect("the file is a model");
    let mut answers = Vec::new();
    for _ in expected {
        let answer = model.request(request()).map(|it| match it {
            Ok(chunk) => serde_json::to_value(chunk).expect("a chunk is JSON"),
            Err(failure) => json!({ "fails": failure }),
        });
        answers.push(Value::Array(runtime.block_on(answer.collect())));
    }
    assert_eq!(without(&directory.path().join("file.json"), &answers), expected);
}

fn without(path: &Path, answers: &[Value]) -> Vec<Value> {
    let text = json!(answers).to_string().replace(&path.display().to_string(), "FILE");
    serde_json::from_str(&text).expect("a path needs no escape")
}

fn request() -> Request {
    Request {
        config: CallConfig {
            provider: "p".to_owned(),
            model: "m".to_owned(),
            reasoning_effort: None,
            temperature: None,
            max_tokens: None,
            stop: None,
        },
        system: None,
        messages: Vec::new(),
        tools: Vec::new(),
        signal: CancellationToken::new(),
    }
}

fn recording(rows: &[Value]) -> Written {
    let header = json!({ "type": "session", "version": 0, "id": "s1", "createdAt": 5 });
    let rows = std::iter::once(&header).chain(rows);
    Written::Replay(rows.map(|it| format!("{it}\n")).collect())
}

fn chunk(chunk: Value) -> Value {
    json!({ "type": "assistant/chunk", "data": { "turn": 1, "step": 1, "chunk": chunk } })
}

fn answer(content: &[Value]) -> Value {
    let source = json!({ "kind": "model", "provider": "p", "model": "m" });
    let message = json!({ "id": "m", "role": "assistant", "content": content, "source": source });
    json!({
        "type": "assistant/message", "surfaceOp": "append",
        "data": { "turn": 1, "step": 1, "message": message },
    })
}

fn chain(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", chain(cause)),
        None => error.to_string(),
    }
}
