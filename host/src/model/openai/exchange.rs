//! One request and the answer to it, read as it comes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http_body_util::BodyExt;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use lockgate_plugin_api::error_chain;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Client;
use super::answer::{Answer, Next};
use super::connection::Connection;
use super::failure;
use super::sse::Events;
use crate::model::Chunks;
use crate::session::{Chunk, LlmFailure};

/// How long a connection may take to be there.
const CONNECT: Duration = Duration::from_secs(30);
/// The most bytes that are read of an answer that says what went wrong.
const MOST_OF_AN_ERROR: usize = 64 << 10;

/// Asks `client` with `body`, once the answer is polled.
pub(super) fn ask(client: Arc<Client>, body: Vec<u8>, signal: CancellationToken) -> Chunks {
    let exchange =
        Exchange { client, signal, stage: Stage::Ask(body.into()), ready: VecDeque::new() };
    Box::pin(stream::unfold(exchange, |mut exchange| async {
        let next = exchange.next().await?;
        Some((next, exchange))
    }))
}

struct Exchange {
    client: Arc<Client>,
    signal: CancellationToken,
    stage: Stage,
    /// What has been read and not been taken yet.
    ready: VecDeque<Result<Chunk, LlmFailure>>,
}

enum Stage {
    /// Nothing has been sent.
    Ask(Bytes),
    /// The answer comes.
    Read(Box<Reading>),
    /// There is no more.
    Over,
}

struct Reading {
    body: Incoming,
    events: Events,
    answer: Answer,
    /// Closed with the rest.
    _connection: Connection,
}

impl Exchange {
    async fn next(&mut self) -> Option<Result<Chunk, LlmFailure>> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Some(ready);
            }
            let stage = match std::mem::replace(&mut self.stage, Stage::Over) {
                Stage::Over => return None,
                stage @ (Stage::Ask(_) | Stage::Read(_)) => stage,
            };
            let mut chunks = Vec::new();
            // What is dropped here takes the connection along.
            let advanced = tokio::select! {
                biased;
                () = self.signal.cancelled() => Err(failure::aborted()),
                advanced = advance(&self.client, stage, &mut chunks) => advanced,
            };
            self.ready.extend(chunks.into_iter().map(Ok));
            match advanced {
                Ok(stage) => self.stage = stage,
                Err(failure) => self.ready.push_back(Err(failure)),
            }
        }
    }
}

/// Goes on from `stage`. Returns where that leads; what is read on the way goes into `chunks`.
async fn advance(
    client: &Client,
    stage: Stage,
    chunks: &mut Vec<Chunk>,
) -> Result<Stage, LlmFailure> {
    match stage {
        Stage::Ask(body) => Ok(Stage::Read(Box::new(begin(client, body).await?))),
        Stage::Read(reading) => read(client, reading, chunks).await,
        Stage::Over => Ok(Stage::Over),
    }
}

/// Sends the request and looks at the head of the answer.
async fn begin(client: &Client, body: Bytes) -> Result<Reading, LlmFailure> {
    let unreachable =
        |why: String| failure::transport(format!("cannot reach {}: {why}", client.route.authority));
    let mut connection = timeout(CONNECT, client.route.connect())
        .await
        .map_err(|_| failure::timeout("no connection was made", CONNECT))?
        .map_err(|error| unreachable(error_chain(&error)))?;
    let response = timeout(client.idle_timeout, connection.send(client.request(body)))
        .await
        .map_err(|_| failure::timeout("the provider began no answer", client.idle_timeout))?
        .map_err(|error| {
            failure::transport(format!(
                "the connection to {} broke before the answer began: {}",
                client.route.authority,
                error_chain(&error)
            ))
        })?;
    if !response.status().is_success() || is_json(&response) {
        return Err(refused(client, response).await);
    }
    let (events, answer) = (Events::default(), Answer::default());
    Ok(Reading { body: response.into_body(), events, answer, _connection: connection })
}

/// Reads the next piece of the answer.
async fn read(
    client: &Client,
    mut reading: Box<Reading>,
    chunks: &mut Vec<Chunk>,
) -> Result<Stage, LlmFailure> {
    let silent = client.idle_timeout;
    let piece = match timeout(silent, reading.body.frame()).await {
        Ok(Some(Ok(piece))) => piece.into_data().unwrap_or_default(),
        Ok(None) => {
            let last = reading.events.rest();
            let marked = match last {
                Some(data) => reading.answer.read(&data, chunks)? == Next::Nothing,
                None => false,
            };
            reading.answer.end(marked, chunks)?;
            return Ok(Stage::Over);
        }
        // What breaks after the model has said why it stopped takes nothing away.
        Ok(Some(Err(_))) | Err(_) if reading.answer.is_finished() => {
            reading.answer.end(false, chunks)?;
            return Ok(Stage::Over);
        }
        Ok(Some(Err(error))) => {
            let why = error_chain(&error);
            return Err(failure::cut_off(format!("the connection broke within the answer: {why}")));
        }
        Err(_) => return Err(failure::timeout("the provider sent nothing", silent)),
    };
    let events = reading.events.read(&piece).map_err(|it| failure::malformed(error_chain(&it)))?;
    for data in events {
        match reading.answer.read(&data, chunks)? {
            Next::Piece => {}
            Next::Nothing => {
                reading.answer.end(true, chunks)?;
                return Ok(Stage::Over);
            }
        }
    }
    Ok(Stage::Read(reading))
}

fn is_json(response: &Response<Incoming>) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    kind.is_some_and(|it| it.trim_start().starts_with("application/json"))
}

/// What an answer means that is no stream.
async fn refused(client: &Client, response: Response<Incoming>) -> LlmFailure {
    let (head, mut body) = response.into_parts();
    let mut said = Vec::new();
    // What does not come is not waited for: the status alone says something.
    while said.len() < MOST_OF_AN_ERROR
        && let Ok(Some(Ok(piece))) = timeout(client.idle_timeout, body.frame()).await
    {
        said.extend_from_slice(&piece.into_data().unwrap_or_default());
    }
    said.truncate(MOST_OF_AN_ERROR);
    let failure = match head.status.is_success() {
        true => failure::unstreamed(&said),
        false => failure::answered(&client.provider, head.status, &head.headers, &said),
    };
    client.told(failure)
}
