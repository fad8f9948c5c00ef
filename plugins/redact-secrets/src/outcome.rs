//! Outcomes, Decisions and messages in which every secret is replaced.

use lockgate_plugin_api::{
    Block, Extras, Message, PluginError, PostTool, PostToolDecision, Source, ToolOutcome,
};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::json;
use crate::secrets::Secrets;

/// What holds a secret cannot be rewritten, so it is kept back.
#[derive(Debug, thiserror::Error)]
#[error("{part} may hold a secret and cannot be searched, so the result is kept back")]
struct Unsearchable {
    part: &'static str,
    #[source]
    cause: serde_json::Error,
}

/// For a part that cannot be searched.
fn unsearchable(part: &'static str) -> impl FnOnce(serde_json::Error) -> PluginError {
    move |cause| Unsearchable { part, cause }.into()
}

/// `outcome` without secrets; `None` where it has none.
pub(crate) fn outcome(
    secrets: &Secrets,
    outcome: &ToolOutcome,
) -> Result<Option<ToolOutcome>, PluginError> {
    let extras = hidden_extras(secrets, outcome)?;
    if outcome.is_error() {
        let mut message = outcome.message().into_owned();
        let content = hidden_content(secrets, outcome)?;
        if !secrets.hide(&mut message) && content.is_none() && extras.is_none() {
            return Ok(None);
        }
        let content = content.map_or_else(|| all_content(outcome), Ok)?;
        let extras = extras.map_or_else(|| all_extras(outcome), Ok)?;
        return Ok(Some(ToolOutcome::failure(message).with_content(&content).with_extras(&extras)));
    }
    let value = hidden_json(secrets, &outcome.value_json())?;
    if value.is_none() && extras.is_none() {
        return Ok(None);
    }
    let new = match value {
        Some(value) => ToolOutcome::success(&value),
        None => ToolOutcome::success_json(outcome.value_json().into_owned()),
    };
    // The host makes the content and the meta anew from the value.
    let contexts = extras.map_or_else(|| all_extras(outcome), Ok)?.contexts;
    Ok(Some(new.with_extras(&Extras { contexts, ..Extras::default() })))
}

/// `decided`, without secrets, and so that none is left in the outcome it is about.
pub(crate) fn decision(
    secrets: &Secrets,
    outcome: &ToolOutcome,
    decided: PostToolDecision,
) -> Result<PostToolDecision, PluginError> {
    let own = match (decided.replaces_contexts(), hidden_extras(secrets, outcome)?) {
        // The outcome's own are gone already.
        (true, _) => Vec::new(),
        (false, Some(extras)) => extras.contexts,
        (false, None) => return hidden_decision(secrets, outcome, decided),
    };
    let decided = hidden_decision(secrets, outcome, decided)?;
    Ok(match decided.verdict()? {
        // It drops the outcome's own by itself.
        PostTool::Block { .. } => decided,
        PostTool::Accept { contexts }
        | PostTool::ReplaceContent { contexts, .. }
        | PostTool::ReplaceValue { contexts, .. } => {
            decided.replacing_contexts(own.into_iter().chain(contexts).collect())
        }
    })
}

/// `decided` without secrets; whether it replaces the contexts is lost where it has some.
fn hidden_decision(
    secrets: &Secrets,
    outcome: &ToolOutcome,
    decided: PostToolDecision,
) -> Result<PostToolDecision, PluginError> {
    match decided.verdict()? {
        PostTool::Accept { mut contexts } => {
            let found = hide_messages(secrets, &mut contexts);
            let content = hidden_content(secrets, outcome)?;
            if outcome.is_error() {
                if let Some(extras) = hidden_failure(secrets, outcome)? {
                    let content = content.map_or_else(|| all_content(outcome), Ok)?;
                    return Ok(blocked(content, extras.contexts, contexts));
                }
            } else if let Some(value) = hidden_json(secrets, &outcome.value_json())? {
                return Ok(with(PostToolDecision::replace_value(&value), contexts));
            }
            Ok(match content {
                Some(content) => with(PostToolDecision::replace_content(content), contexts),
                None if found => with(PostToolDecision::accept(), contexts),
                None => decided,
            })
        }
        PostTool::ReplaceContent { mut content, mut contexts } => {
            let found = hide_blocks(secrets, &mut content) | hide_messages(secrets, &mut contexts);
            if outcome.is_error()
                && let Some(extras) = hidden_failure(secrets, outcome)?
            {
                return Ok(blocked(content, extras.contexts, contexts));
            }
            Ok(match found {
                true => with(PostToolDecision::replace_content(content), contexts),
                false => decided,
            })
        }
        PostTool::ReplaceValue { value, mut contexts } => {
            let found = hide_messages(secrets, &mut contexts);
            Ok(match hidden_json(secrets, value.get())? {
                Some(value) => with(PostToolDecision::replace_value(&value), contexts),
                None if found => {
                    let value = parsed(value.get())?;
                    with(PostToolDecision::replace_value(&value), contexts)
                }
                None => decided,
            })
        }
        PostTool::Block { mut feedback, mut contexts } => {
            let found = hide_blocks(secrets, &mut feedback) | hide_messages(secrets, &mut contexts);
            Ok(if found { with(PostToolDecision::block(feedback), contexts) } else { decided })
        }
    }
}

/// The extras of a failure without secrets, where its message or they have some: those are out
/// of reach of a Decision that lets the failure stand.
fn hidden_failure(secrets: &Secrets, outcome: &ToolOutcome) -> Result<Option<Extras>, PluginError> {
    let extras = hidden_extras(secrets, outcome)?;
    if extras.is_none() && !secrets.hide(&mut outcome.message().into_owned()) {
        return Ok(None);
    }
    extras.map_or_else(|| all_extras(outcome), Ok).map(Some)
}

fn blocked(content: Vec<Block>, own: Vec<Message>, added: Vec<Message>) -> PostToolDecision {
    with(PostToolDecision::block(content), own.into_iter().chain(added).collect())
}

/// `decision` with `contexts`, in their order.
fn with(decision: PostToolDecision, contexts: Vec<Message>) -> PostToolDecision {
    contexts.into_iter().rev().fold(decision, PostToolDecision::with_context)
}

/// The value without secrets; `None` where it has none.
fn hidden_json(secrets: &Secrets, value: &str) -> Result<Option<Value>, PluginError> {
    if !json::may_hold(secrets, value) {
        return Ok(None);
    }
    let mut value = parsed(value)?;
    Ok(json::hide(secrets, &mut value).then_some(value))
}

fn parsed(value: &str) -> Result<Value, PluginError> {
    serde_json::from_str(value).map_err(unsearchable("the value"))
}

/// The content without secrets; `None` where it has none.
fn hidden_content(
    secrets: &Secrets,
    outcome: &ToolOutcome,
) -> Result<Option<Vec<Block>>, PluginError> {
    if !json::may_hold(secrets, &outcome.content_json()) {
        return Ok(None);
    }
    let mut content = all_content(outcome)?;
    Ok(hide_blocks(secrets, &mut content).then_some(content))
}

fn all_content(outcome: &ToolOutcome) -> Result<Vec<Block>, PluginError> {
    outcome.content().map_err(unsearchable("the content"))
}

/// What rides along, without secrets; `None` where it has none.
fn hidden_extras(secrets: &Secrets, outcome: &ToolOutcome) -> Result<Option<Extras>, PluginError> {
    if outcome.is_plain() {
        return Ok(None);
    }
    let mut extras = all_extras(outcome)?;
    let mut found = hide_messages(secrets, &mut extras.contexts);
    if let Some(meta) = hidden_meta(secrets, extras.meta.as_deref())? {
        extras.meta = Some(meta);
        found = true;
    }
    Ok(found.then_some(extras))
}

fn all_extras(outcome: &ToolOutcome) -> Result<Extras, PluginError> {
    outcome.extras().map_err(unsearchable("what rides along"))
}

fn hidden_meta(
    secrets: &Secrets,
    meta: Option<&RawValue>,
) -> Result<Option<Box<RawValue>>, PluginError> {
    let Some(meta) = meta else { return Ok(None) };
    match hidden_json(secrets, meta.get())? {
        Some(hidden) => Ok(Some(serde_json::value::to_raw_value(&hidden)?)),
        None => Ok(None),
    }
}

fn hide_messages(secrets: &Secrets, messages: &mut [Message]) -> bool {
    messages.iter_mut().fold(false, |found, it| hide_message(secrets, it) | found)
}

fn hide_message(secrets: &Secrets, message: &mut Message) -> bool {
    let in_source = match &mut message.source {
        Source::Plugin { form: fields, .. } | Source::Other(fields) => {
            json::hide_fields(secrets, fields)
        }
        Source::User | Source::Model { .. } | Source::Tool { .. } => false,
    };
    hide_blocks(secrets, &mut message.content) | in_source
}

fn hide_blocks(secrets: &Secrets, blocks: &mut [Block]) -> bool {
    blocks.iter_mut().fold(false, |found, it| hide_block(secrets, it) | found)
}

fn hide_block(secrets: &Secrets, block: &mut Block) -> bool {
    match block {
        Block::Text { text } | Block::Reasoning { text } => secrets.hide(text),
        Block::Image { attachment } => json::hide(secrets, attachment),
        Block::ToolCall { arguments, .. } => secrets.hide(arguments),
        Block::ToolResult { content, .. } => hide_blocks(secrets, content),
    }
}
