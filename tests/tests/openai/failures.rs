//! How requests fail: with which code, and with what of the provider's own words.

use std::time::Duration;

use futures_util::StreamExt;
use lockgate::model::{Endpoint, OpenAi};
use lockgate_tests::provider::{Act, Provider, Seen, answer, chunk, end, event, head, refusal};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{LONG, NO_KEY, ask, block_on, check, check_with, delta, endpoint, finish, shown};

/// A failure alone.
fn failed(code: &str, message: &str) -> Value {
    json!([{ "failure": { "code": code, "message": message } }])
}

/// What an answer with this status comes to.
fn answered(code: &str, status: u16, message: &str) -> Value {
    let message = format!("openai answered {status}: {message}");
    json!([{ "failure": { "code": code, "message": message, "status": status } }])
}

#[test]
fn a_status_is_a_code() {
    let said = |it: &str| json!({ "error": { "message": it } }).to_string();
    let no_key = format!("No. (no key is in the environment variable {NO_KEY})");
    for (status, code, message) in [
        ("400 Bad Request", "BAD_REQUEST", "No."),
        ("401 Unauthorized", "AUTH", &no_key),
        ("402 Payment Required", "QUOTA", "No."),
        ("403 Forbidden", "AUTH", &no_key),
        ("404 Not Found", "NOT_FOUND", "No."),
        ("408 Request Timeout", "TIMEOUT", "No."),
        ("307 Temporary Redirect", "BAD_REQUEST", "No."),
        ("429 Too Many Requests", "RATE_LIMIT", "No."),
        ("500 Internal Server Error", "SERVER", "No."),
        ("529 Overloaded", "SERVER", "No."),
    ] {
        let number = status[..3].parse().unwrap();
        check(refusal(status, "", &said("No.")), answered(code, number, message));
    }
}

#[test]
fn what_a_provider_says_counts_more_than_its_status() {
    let check = |status: &str, body: Value, code: &str, message: &str| {
        let number = status[..3].parse().unwrap();
        check(refusal(status, "", &body.to_string()), answered(code, number, message));
    };
    let error = |code: &str| json!({ "error": { "message": "No.", "code": code, "type": "x" } });
    check("400 B", error("context_length_exceeded"), "CONTEXT_WINDOW_EXCEEDED", "No.");
    check("429 T", error("insufficient_quota"), "QUOTA", "No.");
    check(
        "500 I",
        json!({ "error": { "message": "No.", "type": "rate_limit_error" } }),
        "RATE_LIMIT",
        "No.",
    );
    let long = "This model's maximum context length is 8192 tokens.";
    check("400 B", json!({ "error": { "message": long } }), "CONTEXT_WINDOW_EXCEEDED", long);
    check("404 N", json!({ "error": "model not found" }), "NOT_FOUND", "model not found");
    check("422 U", json!({ "detail": "no" }), "BAD_REQUEST", "no");
}

#[test]
fn what_is_no_json_is_told_as_it_is_and_shortened() {
    check(refusal("502 Bad Gateway", "", "\n<html>\n"), answered("SERVER", 502, "<html>"));
    check(refusal("502 Bad Gateway", "", ""), answered("SERVER", 502, "nothing more was said"));
    let long = "ä".repeat(100_000);
    let shown = format!("{} …", "ä".repeat(500));
    check(refusal("502 Bad Gateway", "", &long), answered("SERVER", 502, &shown));
}

#[test]
fn how_long_a_provider_wants_to_be_left_alone_is_kept() {
    #[track_caller]
    fn check_after(headers: &str, expected: Option<u64>) {
        let mut failure = answered("RATE_LIMIT", 429, "nothing more was said");
        failure[0]["failure"]["requestId"] = json!("r-1");
        if let Some(expected) = expected {
            failure[0]["failure"]["providerRetryAfterMs"] = json!(expected);
        }
        let headers = format!("x-request-id: r-1\r\n{headers}");
        check(refusal("429 Too Many Requests", &headers, ""), failure);
    }
    check_after("", None);
    check_after("retry-after: 7\r\n", Some(7000));
    check_after("retry-after: 0.25\r\n", Some(250));
    check_after("retry-after: 7\r\nretry-after-ms: 30\r\n", Some(30));
    check_after("retry-after: -1\r\n", None);
    check_after("retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n", None);
}

/// What has come of an answer before it breaks.
fn begun() -> Vec<Value> {
    vec![
        json!({ "type": "block-start", "index": 0, "blockType": "text" }),
        json!({ "type": "text-delta", "index": 0, "text": "Hi" }),
    ]
}

#[test]
fn an_answer_that_breaks_off_fails_after_what_came_of_it() {
    let hi = event(&delta(json!({ "content": "Hi" })));
    let check_scene = |scene: Vec<Act>, code: &str, message: &str| {
        let failure = failed(code, message)[0].clone();
        check(scene, begun().into_iter().chain([failure]).collect());
    };
    let check = |rest: Vec<Act>, code: &str, message: &str| {
        check_scene([vec![head(), chunk(&hi)], rest].concat(), code, message);
    };
    let closed = "the stream ended before the answer did";
    check(end().into(), "STREAM_CLOSED", closed);
    check(vec![chunk("data: {\"choi"), end()[0].clone(), Act::Finish], "STREAM_CLOSED", closed);
    let broke = "the connection broke within the answer: error reading a body from connection: \
                 unexpected EOF during chunk size line";
    check(vec![Act::Finish], "STREAM_CLOSED", broke);
    check(vec![Act::Break], "STREAM_CLOSED", broke);
    check(
        vec![chunk(b"data: \"\xff\"\n\n"), Act::Wait],
        "MALFORMED_RESPONSE",
        "a line of the stream is not UTF-8: invalid utf-8 sequence of 1 bytes from index 7",
    );
    check(
        vec![chunk("data: hello\n\n"), Act::Wait],
        "MALFORMED_RESPONSE",
        "a piece of the answer is not what it should be: expected value at line 1 column 1",
    );
    check(
        vec![chunk(event(&finish("tired"))), Act::Wait],
        "MALFORMED_RESPONSE",
        "the model stopped for a reason that is not known: `tired`",
    );
    let nameless = delta(json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": {} }] }));
    check(
        vec![chunk(event(&nameless)), Act::Wait],
        "MALFORMED_RESPONSE",
        "a tool call of the answer has no name",
    );
    check(
        vec![chunk(event(&finish("content_filter"))), Act::Wait],
        "CONTENT_FILTER",
        "the provider's content filter kept the answer back",
    );
    let error = |it: Value| vec![chunk(event(&json!({ "error": it }))), Act::Wait];
    check(error(json!({ "message": "Boom." })), "SERVER", "the provider broke off: Boom.");
    check(
        error(json!({ "message": "Slow.", "code": "rate_limit_exceeded" })),
        "RATE_LIMIT",
        "the provider broke off: Slow.",
    );
    // What came in the same piece came before.
    let at_once = chunk(hi.clone() + &event(&finish("content_filter")));
    check_scene(
        vec![head(), at_once, Act::Wait],
        "CONTENT_FILTER",
        "the provider's content filter kept the answer back",
    );
}

#[test]
fn an_error_within_a_stream_may_say_its_status() {
    let error = json!({ "error": { "message": "Boom.", "code": 429 } });
    check(
        vec![head(), chunk(event(&error)), Act::Wait],
        json!([{ "failure": {
            "code": "RATE_LIMIT", "message": "the provider broke off: Boom.", "status": 429,
        }}]),
    );
}

#[test]
fn an_answer_without_a_word_or_a_call_is_none() {
    let message = "the model said nothing and called no tool";
    check(answer(&[finish("stop")]), failed("EMPTY_RESPONSE", message));
    check(answer(&[]), failed("EMPTY_RESPONSE", message));
}

#[test]
fn an_answer_in_one_piece_is_no_stream() {
    let check = |body: &str, code: &str, message: &str| {
        let headers = "content-type: application/json\r\n";
        check(refusal("200 OK", headers, body), failed(code, message));
    };
    check("{\"choices\":[]}", "MALFORMED_RESPONSE", "the provider did not stream its answer");
    check("{\"error\":{\"message\":\"Boom.\"}}", "SERVER", "the provider broke off: Boom.");
}

#[test]
fn a_provider_that_is_silent_is_given_up() {
    let short = Duration::from_millis(100);
    let silent = "the provider sent nothing within 100 ms";
    check_with(
        short,
        vec![Act::Wait],
        failed("TIMEOUT", "the provider began no answer within 100 ms"),
    );
    check_with(short, vec![head(), Act::Wait], failed("TIMEOUT", silent));
    // What is known to be over is not waited for.
    let scene = vec![head(), chunk(event(&finish("length"))), Act::Wait];
    check_with(short, scene, json!([{ "type": "finish", "reason": { "kind": "max-tokens" } }]));
}

#[test]
fn a_provider_that_is_not_there_is_told() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let endpoint = Endpoint {
        base_url: format!("http://{address}/v1"),
        key_variable: NO_KEY.into(),
        ..Endpoint::openai("m")
    };
    let failure = block_on(ask(&endpoint, &CancellationToken::new()).next()).unwrap().unwrap_err();
    let message = format!("cannot reach {address}: Connection refused (os error 111)");
    assert_eq!((&*failure.code, failure.message), ("TRANSPORT", message));
}

#[test]
fn a_provider_that_hangs_up_before_it_answers_is_told() {
    check(
        vec![Act::Break],
        failed(
            "TRANSPORT",
            "the connection to HOST broke before the answer began: \
             connection closed before message completed",
        ),
    );
}

#[test]
fn a_key_that_a_provider_tells_back_is_not_kept() {
    // Cargo sets this one.
    let key = std::env::var("CARGO_PKG_NAME").unwrap();
    let body = json!({ "error": { "message": format!("bad key {key}") } }).to_string();
    let provider = Provider::start(vec![refusal("401 Unauthorized", "", &body)]);
    let endpoint = Endpoint { key_variable: "CARGO_PKG_NAME".into(), ..endpoint(&provider) };
    let failure = block_on(ask(&endpoint, &CancellationToken::new()).next()).unwrap();
    let message = "openai answered 401: bad key (the key) \
                   (the key is from the environment variable CARGO_PKG_NAME)";
    let expected = json!({ "code": "AUTH", "message": message, "status": 401 });
    assert_eq!(shown(failure, &provider), json!({ "failure": expected }));
}

/// Checks that a request for which `give_up` is done, once it has begun to be answered, closes
/// its connection.
fn check_closed(give_up: impl FnOnce(lockgate::model::Chunks, CancellationToken)) {
    let scene = vec![head(), chunk(event(&delta(json!({ "content": "Hi" })))), Act::Wait];
    let provider = Provider::start(vec![scene]);
    block_on(async {
        let signal = CancellationToken::new();
        let mut chunks = ask(&endpoint(&provider), &signal);
        let first = shown(chunks.next().await.unwrap(), &provider);
        assert_eq!(first, begun()[0]);
        assert!(matches!(provider.seen(), Seen::Request(_)));
        tokio::task::block_in_place(|| give_up(chunks, signal));
        assert!(matches!(provider.seen(), Seen::Closed));
    });
}

#[test]
fn a_request_that_nobody_wants_any_more_closes_its_connection() {
    check_closed(|chunks, _| drop(chunks));
    check_closed(|mut chunks, signal| {
        signal.cancel();
        let handle = tokio::runtime::Handle::current();
        let rest: Vec<_> = handle.block_on(async {
            let mut rest = Vec::new();
            while let Some(chunk) = chunks.next().await {
                rest.push(chunk.map_err(|it| it.code));
            }
            rest
        });
        // What had been read before is still told.
        assert_eq!(rest.len(), 2);
        assert_eq!(rest[1], Err("ABORTED".to_owned()));
    });
}

#[test]
fn an_endpoint_that_cannot_be_asked_is_told_with_the_remedy() {
    #[track_caller]
    fn check(base_url: &str, key_variable: &str, expected: Result<(), &str>) {
        let endpoint = Endpoint {
            base_url: base_url.into(),
            key_variable: key_variable.into(),
            idle_timeout: LONG,
            ..Endpoint::openai("m")
        };
        let opened = OpenAi::open(&endpoint).map(|_| ());
        let told = opened.map_err(|it| lockgate_plugin_api::error_chain(&it));
        assert_eq!(told.as_ref().copied().map_err(|it| &**it), expected, "{base_url}");
    }
    for local in ["http://127.0.0.1:8080/v1/", "http://LOCALHOST", "http://[::1]:1/x"] {
        check(local, NO_KEY, Ok(()));
    }
    check("http://models.test:8080", "CARGO_PKG_NAME", Ok(()));
    let no_key = format!(
        "there is no key for openai: set the environment variable {NO_KEY}, or name another one \
         with `api_key_env` in lockgate.toml"
    );
    check("http://models.test:8080", NO_KEY, Err(&no_key));
    let form = "it is not of the form http://HOST/PATH or https://HOST/PATH";
    for wrong in ["models.test", "ftp://models.test", "http://a:b@models.test", "http://a/?b=c"] {
        let told = format!("`{wrong}` cannot be asked for answers: {form}");
        check(wrong, NO_KEY, Err(&told));
    }
    let told = "`http://a b` cannot be asked for answers: it is no URL: invalid uri character";
    check("http://a b", NO_KEY, Err(told));
}
