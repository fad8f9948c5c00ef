//! How a request to a provider failed, in the codes that programs decide by.

use std::time::Duration;

use hyper::HeaderMap;
use hyper::StatusCode;
use hyper::header::RETRY_AFTER;
use serde_json::Value;

use crate::session::LlmFailure;

/// The most characters of a provider's own words that are kept.
const MOST_CHARACTERS: usize = 500;

/// The headers in which providers give a request an id.
const REQUEST_IDS: [&str; 3] = ["x-request-id", "request-id", "x-ds-trace-id"];

/// The key does not let us in.
pub(super) const AUTH: &str = "AUTH";
/// The conversation is longer than the model can read.
const CONTEXT: &str = "CONTEXT_WINDOW_EXCEEDED";
/// There is no money or quota left.
const QUOTA: &str = "QUOTA";
/// Too many requests.
const RATE_LIMIT: &str = "RATE_LIMIT";
/// The provider cannot answer at the moment.
const SERVER: &str = "SERVER";

/// What the provider answered instead of a stream; `body` is the beginning of it.
pub(super) fn answered(
    provider: &str,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> LlmFailure {
    let body = String::from_utf8_lossy(body);
    let error: Value = serde_json::from_str(&body).unwrap_or_default();
    let error = error.get("error").unwrap_or(&error);
    let message = match message(error) {
        Some(message) => message.to_owned(),
        None if body.trim().is_empty() => "nothing more was said".to_owned(),
        None => body.trim().to_owned(),
    };
    let code = by_word(error).unwrap_or_else(|| by_status(status, &message));
    let message = format!("{provider} answered {}: {}", status.as_u16(), shortened(&message));
    LlmFailure {
        status: Some(status.as_u16()),
        provider_retry_after_ms: retry_after(headers),
        request_id: request_id(headers),
        ..LlmFailure::new(code, message)
    }
}

/// What the provider said in the middle of a stream.
pub(super) fn streamed(error: &Value) -> LlmFailure {
    let message = message(error).unwrap_or("nothing more was said");
    let status = error.get("code").and_then(Value::as_u64);
    let status = status.and_then(|it| StatusCode::from_u16(u16::try_from(it).ok()?).ok());
    // It had taken the request, so that what went wrong since may go right another time.
    let code = by_word(error).or(status.map(|it| by_status(it, message))).unwrap_or(SERVER);
    let message = format!("the provider broke off: {}", shortened(message));
    LlmFailure { status: status.map(|it| it.as_u16()), ..LlmFailure::new(code, message) }
}

/// What the provider answered in one piece, and without a status that says that it failed.
pub(super) fn unstreamed(body: &[u8]) -> LlmFailure {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    match body.get("error") {
        Some(error) if !error.is_null() => streamed(error),
        Some(_) | None => malformed("the provider did not stream its answer"),
    }
}

/// What the provider sent is not what was agreed on.
pub(super) fn malformed(message: impl Into<String>) -> LlmFailure {
    LlmFailure::new("MALFORMED_RESPONSE", message)
}

/// The answer ended too early.
pub(super) fn cut_off(message: impl Into<String>) -> LlmFailure {
    LlmFailure::new("STREAM_CLOSED", message)
}

/// The provider cannot be reached.
pub(super) fn transport(message: impl Into<String>) -> LlmFailure {
    LlmFailure::new("TRANSPORT", message)
}

/// The provider is silent.
pub(super) fn timeout(what: &str, time: Duration) -> LlmFailure {
    LlmFailure::new("TIMEOUT", format!("{what} within {} ms", time.as_millis()))
}

/// The answer says nothing and calls no tool.
pub(super) fn empty() -> LlmFailure {
    LlmFailure::new("EMPTY_RESPONSE", "the model said nothing and called no tool")
}

/// The provider kept the answer back.
pub(super) fn filtered() -> LlmFailure {
    LlmFailure::new("CONTENT_FILTER", "the provider's content filter kept the answer back")
}

/// The provider gave up for want of machines.
pub(super) fn overloaded() -> LlmFailure {
    LlmFailure::new(SERVER, "the provider has no resources to answer with")
}

/// Nobody wants the answer any more.
pub(super) fn aborted() -> LlmFailure {
    LlmFailure::new("ABORTED", "the request was cancelled")
}

/// The code that the provider's own word for an error stands for.
fn by_word(error: &Value) -> Option<&'static str> {
    let word = |key| error.get(key).and_then(Value::as_str);
    [word("code"), word("type")].into_iter().flatten().find_map(|it| match it {
        "invalid_api_key" | "authentication_error" | "permission_error" => Some(AUTH),
        "context_length_exceeded" | "exceed_context_size_error" => Some(CONTEXT),
        "insufficient_quota" | "billing_hard_limit_reached" => Some(QUOTA),
        "rate_limit_exceeded" | "rate_limit_error" => Some(RATE_LIMIT),
        "server_error" | "overloaded_error" => Some(SERVER),
        _ => None,
    })
}

fn by_status(status: StatusCode, message: &str) -> &'static str {
    match status.as_u16() {
        401 | 403 => AUTH,
        402 => QUOTA,
        404 => "NOT_FOUND",
        408 => "TIMEOUT",
        429 => RATE_LIMIT,
        400 | 413 | 422 if speaks_of_length(message) => CONTEXT,
        500..=599 => SERVER,
        _ => "BAD_REQUEST",
    }
}

/// Whether a message is about a conversation that is too long: few providers have a word for it.
fn speaks_of_length(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["context length", "context window", "context size", "prompt is too long"]
        .iter()
        .any(|it| message.contains(it))
}

/// What a person is told, wherever the provider says it.
fn message(error: &Value) -> Option<&str> {
    let keys = ["message", "detail", "error"];
    keys.iter().find_map(|it| error.get(it)?.as_str()).or_else(|| error.as_str())
}

fn shortened(message: &str) -> String {
    match message.char_indices().nth(MOST_CHARACTERS) {
        Some((end, _)) => format!("{} …", &message[..end]),
        None => message.to_owned(),
    }
}

/// How long the provider wants to be left alone, in milliseconds. Only lengths of time count: a
/// date would be compared with a clock that may be wrong.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let milliseconds =
        number("retry-after-ms").or_else(|| Some(number(RETRY_AFTER.as_str())? * 1000.0))?;
    let time = Duration::try_from_secs_f64(milliseconds / 1000.0).ok()?;
    u64::try_from(time.as_millis()).ok()
}

fn request_id(headers: &HeaderMap) -> Option<String> {
    let ids = REQUEST_IDS.iter().find_map(|it| headers.get(*it));
    Some(ids?.to_str().ok()?.to_owned())
}
