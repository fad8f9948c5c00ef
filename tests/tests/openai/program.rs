//! The program with a model that is asked over HTTP.

use lockgate_tests::provider::{Act, Provider, answer, refusal};
use lockgate_tests::stage::{DONE, FAILED, Stage, USAGE};
use serde_json::{Value, json};

use super::{delta, finish};

/// An answer that is one text.
fn says(text: &str) -> Vec<Act> {
    answer(&[delta(json!({ "content": text })), finish("stop")])
}

/// An answer that calls `bash`.
fn calls_bash(command: &str) -> Vec<Act> {
    let arguments = json!({ "command": command }).to_string();
    let (first, second) = arguments.split_at(5);
    let function = json!({ "name": "bash", "arguments": first });
    let call = json!({ "index": 0, "id": "c1", "type": "function", "function": function });
    let rest = json!({ "index": 0, "function": { "arguments": second } });
    answer(&[
        delta(json!({ "role": "assistant", "content": "Let me see." })),
        delta(json!({ "tool_calls": [call] })),
        delta(json!({ "tool_calls": [rest] })),
        finish("tool_calls"),
    ])
}

#[test]
fn a_session_runs_the_tools_that_an_endpoint_asks_for() {
    let command = "echo from the tool; exit 3";
    let provider = Provider::start(vec![calls_bash(command), says("Done.\n")]);
    let stage = Stage::new(&["tool-shell"]);
    let url = provider.base_url();
    let ran =
        stage.run(&["run", "Go.", "--plugins", "p", "--model", "openai:m", "--base-url", &url]);
    assert_eq!((&*ran.out, ran.code), ("Let me see.\nDone.\n", Some(DONE)), "{}", ran.err);

    let first = provider.request().body;
    let tools = first["tools"].clone();
    let names = |it: &Value| it["function"]["name"].clone();
    assert_eq!(tools.as_array().unwrap().iter().map(names).collect::<Vec<_>>(), ["bash"]);
    let asked = |messages: Value| {
        json!({
            "model": "m",
            "messages": messages,
            "tools": tools,
            "stream": true,
            "stream_options": { "include_usage": true },
        })
    };
    let go = json!({ "role": "user", "content": "Go." });
    assert_eq!(first, asked(json!([go])));
    let arguments = json!({ "command": command }).to_string();
    let function = json!({ "name": "bash", "arguments": arguments });
    let call = json!({ "id": "c1", "type": "function", "function": function });
    let second = provider.request().body;
    let result = second["messages"][2]["content"].clone();
    assert_eq!(
        second,
        asked(json!([
            go,
            { "role": "assistant", "content": "Let me see.", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "c1", "content": result },
        ]))
    );
    let result = result.as_str().unwrap();
    assert!(result.starts_with("from the tool\n") && result.contains('3'), "{result}");
}

#[test]
fn a_file_says_where_a_model_is_asked_and_a_flag_has_the_last_word() {
    let provider = Provider::start(vec![says("From the file."), says("From the flag.")]);
    let stage = Stage::new(&[]);
    let check = |file_url: &str, flag: &[&str], said: &str| {
        let config = format!(
            "model = \"deepseek:m\"\nbase_url = \"{file_url}\"\napi_key_env = \"MY_KEY\"\n"
        );
        stage.write("lockgate.toml", config);
        let args = ["run", "Go.", "--plugins", "p"];
        let mut program = stage.program(&[&args, flag].concat());
        let ran = program.env("MY_KEY", "the-key").output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert_eq!(out, format!("{said}\n"), "{}", String::from_utf8(ran.stderr).unwrap());
        let head = provider.request().head;
        assert!(head.contains(&"authorization: Bearer the-key".to_owned()), "{head:?}");
    };
    let url = provider.base_url();
    check(&url, &[], "From the file.");
    check("http://models.test/v1", &["--base-url", &url], "From the flag.");
}

#[test]
fn a_provider_that_refuses_ends_the_turn_with_its_words() {
    let body = json!({ "error": { "message": "Who are you?" } }).to_string();
    let provider = Provider::start(vec![refusal("401 Unauthorized", "", &body)]);
    let stage = Stage::new(&[]);
    let url = provider.base_url();
    let ran =
        stage.run(&["run", "Go.", "--plugins", "p", "--model", "openai:m", "--base-url", &url]);
    assert_eq!((&*ran.out, ran.code), ("", Some(FAILED)));
    let told = "the turn failed: openai answered 401: Who are you? \
                (no key is in the environment variable OPENAI_API_KEY) (AUTH)\n";
    assert!(ran.err.contains(told), "{}", ran.err);
}

#[test]
fn a_model_that_cannot_be_asked_is_told_with_the_remedy() {
    let stage = Stage::new(&[]);
    stage.check(
        &["run", "Go.", "--plugins", "p", "--model", "deepseek:m"],
        FAILED,
        "",
        "error: there is no key for deepseek: set the environment variable DEEPSEEK_API_KEY, or \
         name another one with `api_key_env` in lockgate.toml\n",
    );
    let ran = stage.run(&["run", "Go.", "--model", "gpt:5"]);
    let told = "error: invalid value 'gpt:5' for '--model <SPEC>': `gpt:5` is not a model: \
                expected replay:FILE (a recorded session), script:FILE (answers written by hand), \
                openai:MODEL (any OpenAI-compatible endpoint) or deepseek:MODEL\n";
    assert_eq!((ran.code, &*ran.out), (Some(USAGE), ""));
    assert!(ran.err.starts_with(told), "{}", ran.err);
}
