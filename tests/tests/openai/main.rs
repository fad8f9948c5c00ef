//! Models behind an HTTP endpoint: what is sent, what an answer means, and how requests fail.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod answers;
mod failures;
mod program;
mod requests;

use std::time::Duration;

use futures_util::StreamExt;
use lockgate::model::{Chunks, Endpoint, Model, OpenAi, Request};
use lockgate::session::CallConfig;
use lockgate_plugin_api::Message;
use lockgate_tests::provider::{Act, Provider};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// How long the provider may be silent where that is not what a test is about.
const LONG: Duration = Duration::from_secs(600);

/// A variable that nobody sets.
const NO_KEY: &str = "LOCKGATE_TESTS_HAVE_NO_KEY";

fn endpoint(provider: &Provider) -> Endpoint {
    Endpoint {
        base_url: provider.base_url(),
        key_variable: NO_KEY.into(),
        idle_timeout: LONG,
        ..Endpoint::openai("m")
    }
}

fn request(signal: &CancellationToken) -> Request {
    Request {
        config: CallConfig {
            provider: "openai".into(),
            model: "m".into(),
            reasoning_effort: None,
            temperature: None,
            max_tokens: None,
            stop: None,
        },
        system: None,
        messages: vec![Message::from_user("Go.")],
        tools: Vec::new(),
        signal: signal.clone(),
    }
}

fn ask(endpoint: &Endpoint, signal: &CancellationToken) -> Chunks {
    OpenAi::open(endpoint).unwrap().request(request(signal))
}

/// Checks what a provider that plays `scene` comes to: the chunks, and a failure as the last
/// where there is one.
#[track_caller]
fn check(scene: Vec<Act>, expected: Value) {
    check_with(LONG, scene, expected);
}

/// As [`check`], with a provider that may be silent for so long.
#[track_caller]
fn check_with(idle_timeout: Duration, scene: Vec<Act>, expected: Value) {
    let provider = Provider::start(vec![scene]);
    let endpoint = Endpoint { idle_timeout, ..endpoint(&provider) };
    let all = block_on(async {
        let chunks = ask(&endpoint, &CancellationToken::new());
        chunks.map(|it| shown(it, &provider)).collect::<Vec<_>>().await
    });
    assert_eq!(Value::Array(all), expected);
}

fn shown(
    chunk: Result<lockgate::session::Chunk, lockgate::session::LlmFailure>,
    provider: &Provider,
) -> Value {
    match chunk {
        Ok(chunk) => json!(chunk),
        Err(mut failure) => {
            failure.message = failure.message.replace(&provider.address(), "HOST");
            json!({ "failure": failure })
        }
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(work)
}

/// A piece of an answer.
fn delta(delta: Value) -> Value {
    json!({ "choices": [{ "index": 0, "delta": delta, "finish_reason": null }] })
}

/// The piece that ends an answer.
fn finish(reason: &str) -> Value {
    json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": reason }] })
}
