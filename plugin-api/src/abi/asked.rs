//! A question that a plugin puts to the host, and the answer.

use std::{error, fmt};

use serde::de::DeserializeOwned;

use super::future::{Out, Reply, SeamFuture};
use super::json::Json;
use super::listener::Noted;
use super::value::{Buf, Status};

/// The host could not do what it was asked to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostError {
    message: String,
}

impl HostError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl error::Error for HostError {}

/// A question put to the host: its future, or the answer where it came at once.
pub(super) struct Asked<D: Out> {
    future: SeamFuture<D>,
    at_once: Option<Reply<D>>,
}

/// Whether the host did what it does on the spot.
pub(super) fn done(status: Status, fault: &Buf) -> Result<(), HostError> {
    match Reply::from_parts(status, Noted::DONE, fault) {
        Reply::Ready(_) => Ok(()),
        Reply::Next => Err(HostError::new("the host gave no answer")),
        Reply::Fault(message) | Reply::Protocol(message) => Err(HostError::new(message)),
    }
}

/// Asks, with empty places to write to.
pub(super) fn ask<D: Out>(call: impl FnOnce(*mut SeamFuture<D>, *mut Buf) -> Status) -> Asked<D> {
    let mut future = SeamFuture::EMPTY;
    let mut fault = Buf::EMPTY;
    let status = call(&raw mut future, &raw mut fault);
    let at_once = (status != Status::PENDING).then(|| Reply::from_parts(status, D::EMPTY, &fault));
    Asked { future, at_once }
}

impl<D: Out> Asked<D> {
    /// Waits for the answer.
    pub(super) async fn answer(self) -> Result<D, HostError> {
        let reply = match self.at_once {
            Some(reply) => reply,
            None => self.future.await,
        };
        match reply {
            Reply::Ready(answer) => Ok(answer),
            Reply::Next => Err(HostError::new("the host gave no answer")),
            Reply::Fault(message) | Reply::Protocol(message) => Err(HostError::new(message)),
        }
    }
}

impl Asked<Json> {
    /// Waits for the answer and reads it.
    pub(super) async fn read<T: DeserializeOwned>(self) -> Result<T, HostError> {
        let answer = self.answer().await?;
        serde_json::from_slice(answer.text.as_bytes())
            .map_err(|error| HostError::new(format!("the host's answer cannot be read: {error}")))
    }
}
