//! The envelope in which the log keeps a fact.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Fact;

/// One line of a log after the header.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "Row")]
pub struct Event {
    /// Its place in the log, from 0; a published recording may leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When it happened, in Unix milliseconds; a published recording may leave it out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<u64>,
    /// What happened.
    #[serde(flatten)]
    pub fact: Fact,
    /// What it does to the conversation; only with a fact that stands in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub surface_op: Option<SurfaceOp>,
    /// The earlier events it was made from; only with a fact that stands in the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_event_seqs: Option<Vec<u64>>,
    /// Whether a reader that does not know the type may pass over it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ignorable: bool,
}

/// What an event does to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SurfaceOp {
    /// Its message comes last.
    Append,
    /// Its message changes what is there.
    #[serde(untagged)]
    Change(SurfaceChange),
}

/// How an event changes the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
pub enum SurfaceChange {
    /// Its message takes the place of all from one message to another.
    Replace {
        /// The number of the event of the first message replaced.
        start: u64,
        /// The number of the event of the last.
        end: u64,
    },
}

impl Event {
    /// A fact alone, with nothing said about where it stands.
    pub(super) fn of(fact: Fact) -> Self {
        Self {
            seq: None,
            time: None,
            fact,
            surface_op: None,
            source_event_seqs: None,
            ignorable: false,
        }
    }
}

/// An event as it is read: flattening would let keys through that do not belong.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    seq: Option<u64>,
    time: Option<u64>,
    #[serde(rename = "type")]
    kind: String,
    data: Value,
    surface_op: Option<SurfaceOp>,
    source_event_seqs: Option<Vec<u64>>,
    #[serde(default)]
    ignorable: bool,
}

impl TryFrom<Row> for Event {
    type Error = serde_json::Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let Row { seq, time, kind, data, surface_op, source_event_seqs, ignorable } = row;
        let fact = serde_json::from_value(json!({ "type": kind, "data": data }))?;
        Ok(Self { seq, time, fact, surface_op, source_event_seqs, ignorable })
    }
}
