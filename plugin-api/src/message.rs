//! Messages as they stand in a session, the same for plugins, the host and the log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One message of a conversation.
///
/// Messages never change once made; a listener that rewrites one makes another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Unique in its session; random where the host makes it.
    pub id: String,
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub content: Vec<Block>,
    /// Where it came from.
    pub source: Source,
}

/// Who speaks. Tool results are spoken by the user's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person, a plugin, or a tool.
    User,
    /// The model.
    Assistant,
}

/// One block of a message's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Block {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// What the model thought before it answered.
    Reasoning {
        /// The text.
        text: String,
    },
    /// An image kept beside the session.
    Image {
        /// Its id, media type and size.
        attachment: Value,
    },
    /// A tool call the model asks for.
    ToolCall {
        /// The model's id for the call; not unique by right.
        id: String,
        /// The tool's name.
        name: String,
        /// The arguments exactly as the model wrote them, valid JSON or not.
        arguments: String,
    },
    /// What a tool call came to.
    ToolResult {
        /// The id of the call.
        tool_call_id: String,
        /// What the model is shown.
        content: Vec<Block>,
        /// Whether the call failed or was refused.
        is_error: bool,
    },
}

/// Where a message came from. The set of kinds is open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Source {
    /// The person at the keyboard.
    User,
    /// A plugin.
    Plugin {
        /// The plugin's name; empty is legal.
        plugin: String,
        /// The form and what belongs to it: `notice` with a `summary`, `snapshot` with `sections`, …
        #[serde(flatten)]
        form: Map<String, Value>,
    },
    /// The model.
    Model {
        /// Who serves it.
        provider: String,
        /// Which one.
        model: String,
        /// What the provider wants back in the next request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replay_state: Option<Value>,
    },
    /// A tool.
    Tool {
        /// The id of the call it answers.
        call_id: String,
    },
    /// Any other kind, kept as it was.
    #[serde(untagged)]
    Other(Map<String, Value>),
}

impl Message {
    /// A prompt from the person.
    ///
    /// The id is left empty: the host gives every message it takes in one of its own.
    pub fn from_user(text: impl Into<String>) -> Self {
        let (id, content) = (String::new(), vec![Block::text(text)]);
        Self { id, role: Role::User, content, source: Source::User }
    }

    /// A message from a plugin, as listeners attach to a result or inject into a session.
    ///
    /// The id is left empty: the host gives every message it takes in one of its own.
    pub fn from_plugin(plugin: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            role: Role::User,
            content: vec![Block::text(text)],
            source: Source::Plugin { plugin: plugin.into(), form: Map::new() },
        }
    }

    /// The texts of the content, joined by newlines; other blocks are left out.
    pub fn text(&self) -> String {
        let texts: Vec<&str> = self
            .content
            .iter()
            .filter_map(|it| if let Block::Text { text } = it { Some(text.as_str()) } else { None })
            .collect();
        texts.join("\n")
    }
}

impl Block {
    /// A text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}
