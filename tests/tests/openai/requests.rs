//! What is sent for a request.

use futures_util::StreamExt;
use lockgate::model::Endpoint;
use lockgate_tests::provider::{Provider, answer};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{NO_KEY, ask, block_on, delta, endpoint, finish};

/// Checks the head of a request with the key from this variable.
#[track_caller]
fn check_head(key_variable: &str, authorization: &[&str]) {
    let hi = [delta(json!({ "content": "Hi." })), finish("stop")];
    let provider = Provider::start(vec![answer(&hi)]);
    let endpoint = Endpoint { key_variable: key_variable.into(), ..endpoint(&provider) };
    block_on(async {
        let chunks = ask(&endpoint, &CancellationToken::new()).collect::<Vec<_>>().await;
        assert_eq!(chunks.len(), 4);
    });
    let received = provider.request();
    let expected = json!({
        "model": "m",
        "messages": [{ "role": "user", "content": "Go." }],
        "stream": true,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(received.body, expected);
    let (host, length) = (provider.address(), length(&expected));
    let mut lines = vec![
        "POST /v1/chat/completions HTTP/1.1".to_owned(),
        "accept: text/event-stream".to_owned(),
        format!("content-length: {length}"),
        "content-type: application/json".to_owned(),
        format!("host: {host}"),
        format!("user-agent: lockgate/{}", env!("CARGO_PKG_VERSION")),
    ];
    lines.extend(authorization.iter().map(ToString::to_string));
    lines.sort();
    let mut head = received.head;
    head.sort();
    assert_eq!(head, lines);
}

fn length(body: &Value) -> usize {
    body.to_string().len()
}

#[test]
fn a_key_is_sent_where_there_is_one() {
    check_head(NO_KEY, &[]);
    check_head("CARGO_PKG_NAME", &["authorization: Bearer lockgate-tests"]);
}

#[test]
fn nothing_is_asked_before_the_answer_is_polled() {
    let hi = [delta(json!({ "content": "Hi." })), finish("stop")];
    let provider = Provider::start(vec![answer(&hi)]);
    block_on(async {
        let signal = CancellationToken::new();
        drop(ask(&endpoint(&provider), &signal));
        // The only scene is still there to be played.
        let chunks = ask(&endpoint(&provider), &signal).collect::<Vec<_>>().await;
        assert_eq!(chunks.len(), 4);
    });
}
