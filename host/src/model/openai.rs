//! Models behind an OpenAI-compatible endpoint, which are asked over HTTP and answer in a stream.

mod answer;
mod body;
mod connection;
mod exchange;
mod failure;
mod sse;

use std::env;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, InvalidHeaderValue, USER_AGENT,
};
use thiserror::Error;

use self::connection::Route;
use super::{Chunks, Model, ModelName, Request};
use crate::session::LlmFailure;

pub use self::connection::RouteError;

/// How long a provider may be silent, unless told otherwise: a large prompt takes a small machine
/// minutes.
pub const IDLE_TIMEOUT: Duration = Duration::from_secs(300);

/// What is sent as the client's name.
const CLIENT: &str = concat!("lockgate/", env!("CARGO_PKG_VERSION"));

/// A chat-completions endpoint, and which of its models is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// Who serves it, by the name that sessions give them.
    pub provider: String,
    /// The model that is asked, unless a request says otherwise.
    pub model: String,
    /// The URL up to and without `/chat/completions`.
    pub base_url: String,
    /// The environment variable that holds the key. An endpoint on this machine does without one.
    pub key_variable: String,
    /// How long it may be silent, before its answer and within.
    pub idle_timeout: Duration,
    /// Whether it wants back what the model thought before a tool call.
    pub wants_reasoning: bool,
}

impl Endpoint {
    /// `model` at OpenAI, and what every other endpoint is described from.
    pub fn openai(model: &str) -> Self {
        Self {
            provider: "openai".to_owned(),
            model: model.to_owned(),
            base_url: "https://api.openai.com/v1".to_owned(),
            key_variable: "OPENAI_API_KEY".to_owned(),
            idle_timeout: IDLE_TIMEOUT,
            wants_reasoning: false,
        }
    }

    /// `model` at DeepSeek.
    pub fn deepseek(model: &str) -> Self {
        Self {
            provider: "deepseek".to_owned(),
            base_url: "https://api.deepseek.com".to_owned(),
            key_variable: "DEEPSEEK_API_KEY".to_owned(),
            wants_reasoning: true,
            ..Self::openai(model)
        }
    }
}

/// An endpoint that cannot be asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenEndpointError {
    /// Its URL leads nowhere.
    #[error("`{base_url}` cannot be asked for answers")]
    Route {
        /// The URL.
        base_url: String,
        /// Why.
        #[source]
        cause: RouteError,
    },
    /// There is no key for it.
    #[error(
        "there is no key for {provider}: set the environment variable {variable}, or name another one with `api_key_env` in lockgate.toml"
    )]
    NoKey {
        /// Who serves it.
        provider: String,
        /// Where the key is looked for.
        variable: String,
    },
    /// The key cannot be sent.
    #[error("the key in the environment variable {variable} has characters that no key has")]
    Key {
        /// Where the key is from.
        variable: String,
        /// Why; it does not say what the key is.
        #[source]
        cause: InvalidHeaderValue,
    },
}

/// A model behind an endpoint.
///
/// Each request is a connection of its own, which is closed once its answer is over, its signal
/// fires or its stream is dropped.
#[derive(Debug, Clone)]
pub struct OpenAi {
    model: String,
    client: Arc<Client>,
}

/// What every request to an endpoint needs.
struct Client {
    provider: String,
    route: Route,
    key: Option<Key>,
    key_variable: String,
    idle_timeout: Duration,
    wants_reasoning: bool,
}

struct Key {
    text: String,
    /// The header that it is sent in.
    header: HeaderValue,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("provider", &self.provider).finish_non_exhaustive()
    }
}

impl OpenAi {
    /// The model at `endpoint`. Reads the key from the environment; nothing is asked yet.
    ///
    /// # Errors
    ///
    /// If the URL is none of a server, or there is no key and the server is another machine.
    pub fn open(endpoint: &Endpoint) -> Result<Self, OpenEndpointError> {
        let Endpoint { provider, model, base_url, key_variable, idle_timeout, wants_reasoning } =
            endpoint.clone();
        let route = Route::to(&base_url, "/chat/completions")
            .map_err(|cause| OpenEndpointError::Route { base_url, cause })?;
        let key = match key(&key_variable)? {
            None if !route.is_loopback() => {
                return Err(OpenEndpointError::NoKey { provider, variable: key_variable });
            }
            key => key,
        };
        let client = Client { provider, route, key, key_variable, idle_timeout, wants_reasoning };
        Ok(Self { model, client: Arc::new(client) })
    }
}

impl Model for OpenAi {
    /// The endpoint's provider and model.
    fn name(&self) -> ModelName {
        ModelName { provider: self.client.provider.clone(), model: self.model.clone() }
    }

    /// Asks for the model of `request.config`; the provider in it is not looked at.
    ///
    /// What goes wrong has one of the codes `AUTH`, `BAD_REQUEST`, `CONTENT_FILTER`,
    /// `CONTEXT_WINDOW_EXCEEDED`, `EMPTY_RESPONSE`, `MALFORMED_RESPONSE`, `NOT_FOUND`, `QUOTA`,
    /// `RATE_LIMIT`, `SERVER`, `STREAM_CLOSED`, `TIMEOUT` and `TRANSPORT`, and `ABORTED` once the
    /// signal has fired. Must be polled within a tokio runtime with its drivers enabled.
    fn request(&self, request: Request) -> Chunks {
        let provider = self.client.wants_reasoning.then_some(self.client.provider.as_str());
        let body = body::body(&request, provider).to_string();
        exchange::ask(Arc::clone(&self.client), body.into_bytes(), request.signal)
    }
}

impl Client {
    fn request(&self, body: Bytes) -> hyper::Request<Full<Bytes>> {
        let mut request = hyper::Request::new(Full::new(body));
        *request.method_mut() = hyper::Method::POST;
        *request.uri_mut() = self.route.path.clone().into();
        let headers = request.headers_mut();
        headers.insert(HOST, self.route.host.clone());
        headers.insert(USER_AGENT, HeaderValue::from_static(CLIENT));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.header.clone());
        }
        request
    }

    /// `failure` as it may be kept: with where the key is from if it was not taken, and without
    /// the key if the provider has told it back.
    fn told(&self, mut failure: LlmFailure) -> LlmFailure {
        if let Some(key) = &self.key {
            failure.message = failure.message.replace(&key.text, "(the key)");
        }
        if failure.code == failure::AUTH {
            let from = match &self.key {
                Some(_) => "the key is from",
                None => "no key is in",
            };
            failure.message += &format!(" ({from} the environment variable {})", self.key_variable);
        }
        failure
    }
}

/// The key in the environment variable `variable`, if there is one.
fn key(variable: &str) -> Result<Option<Key>, OpenEndpointError> {
    // One that is no text cannot be sent either; it is as good as none.
    let Ok(text) = env::var(variable) else { return Ok(None) };
    let text = text.trim().to_owned();
    if text.is_empty() {
        return Ok(None);
    }
    let mut header = HeaderValue::from_str(&format!("Bearer {text}"))
        .map_err(|cause| OpenEndpointError::Key { variable: variable.to_owned(), cause })?;
    header.set_sensitive(true);
    Ok(Some(Key { text, header }))
}
