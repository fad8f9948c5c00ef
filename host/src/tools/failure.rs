//! The failures that the pipeline itself makes, with their texts and codes.

use lockgate_plugin_api::{Extras, ToolOutcome};

use crate::library::body::BoundTool;
use crate::seam::ListenerFailure;
use crate::session::ApprovalOutcome;
use crate::watchdog::{Watched, Wedge};

/// The arguments are not one JSON text.
pub(super) fn arguments() -> ToolOutcome {
    ToolOutcome::failure("tool execution arguments must be losslessly JSON-serializable")
}

/// What was to be shown is no list of blocks.
pub(super) fn lossy_result() -> ToolOutcome {
    ToolOutcome::failure("tool result must be losslessly JSON-serializable")
}

/// The caller gave up, before or after the body began.
pub(super) fn aborted(has_run: bool) -> ToolOutcome {
    if has_run {
        ToolOutcome::coded_failure("tool call aborted", "AbortError", "ABORTED")
    } else {
        let message = "tool call aborted before dispatch";
        ToolOutcome::coded_failure(message, "AbortError", "ABORTED_BEFORE_DISPATCH")
    }
}

/// Nobody offers the tool.
pub(super) fn unknown_tool(name: &str) -> ToolOutcome {
    let message = format!("unknown tool \"{name}\"");
    ToolOutcome::coded_failure(message, "ToolNotFoundError", "UNKNOWN_TOOL")
}

/// The arguments are not what the tool takes.
pub(super) fn invalid_arguments(why: &str) -> ToolOutcome {
    let message = format!("invalid arguments: {why}");
    ToolOutcome::coded_failure(message, "ToolArgsError", "INVALID_ARGS")
}

/// The tool's value is not what it has to be.
pub(super) fn invalid_output(name: &str, why: &str) -> ToolOutcome {
    let message = format!("tool \"{name}\" returned invalid output: {why}");
    ToolOutcome::coded_failure(message, "ToolOutputError", "INVALID_TOOL_OUTPUT")
}

/// A function of the tool broke the rules of the boundary, so that nobody knows what it meant.
pub(super) fn protocol(tool: &BoundTool, function: &str, why: &str) -> ToolOutcome {
    let (name, plugin) = (&tool.name, tool.plugin());
    let message = format!(
        "the `{function}` of the tool `{name}` of the plugin `{plugin}` broke the protocol: {why}"
    );
    denied(&message, "LISTENER_PROTOCOL")
}

/// A policy said no. Its code is the host's own: it is no part of what a session records as the
/// error.
pub(super) fn denied(reason: &str, code: &str) -> ToolOutcome {
    let extras = Extras { code: Some(code.to_owned()), ..Extras::default() };
    ToolOutcome::failure(reason).with_extras(&extras)
}

/// A policy wants a person to be asked, and there is no way to.
pub(super) fn unasked(name: &str, reason: Option<&str>) -> ToolOutcome {
    let general = format!("tool \"{name}\" requires approval (not yet supported)");
    denied(reason.unwrap_or(&general), "APPROVAL_UNAVAILABLE")
}

/// A person should be asked, and there is no agent whose person that would be.
pub(super) fn nobody_to_ask_for(name: &str) -> ToolOutcome {
    let message =
        format!("tool \"{name}\" requires approval, but the call has no agent to route it through");
    denied(&message, "APPROVAL_UNAVAILABLE")
}

/// Somebody should have said yes, and did not.
pub(super) fn unapproved(name: &str, outcome: ApprovalOutcome) -> ToolOutcome {
    match outcome {
        ApprovalOutcome::Rejected => {
            denied(&format!("the user rejected tool \"{name}\""), "APPROVAL_REJECTED")
        }
        ApprovalOutcome::Cancelled => {
            denied(&format!("approval for tool \"{name}\" was cancelled"), "APPROVAL_CANCELLED")
        }
        ApprovalOutcome::Unavailable | ApprovalOutcome::AllowedOnce => {
            let message =
                format!("tool \"{name}\" requires approval, but no approval channel is available");
            denied(&message, "APPROVAL_UNAVAILABLE")
        }
    }
}

/// A listener that had to answer did not: the policy never ran, which is not a no.
pub(super) fn listener(failure: &ListenerFailure) -> ToolOutcome {
    denied(&failure.to_string(), failure.code())
}

/// A thread stayed inside a plugin: its listener took too long, or its tool's body did.
pub(super) fn wedged(wedge: &Wedge) -> ToolOutcome {
    let Watched { plugin, listener, seam, deadline, .. } = &wedge.place;
    let limit = deadline.unwrap_or_default().as_millis();
    if *seam == "body" {
        let message = format!("tool call timed out after {limit}ms");
        return ToolOutcome::coded_failure(message, "ToolTimeoutError", "TOOL_TIMEOUT");
    }
    let message = format!(
        "the {seam} listener `{listener}` of the plugin `{plugin}` took more than {limit} ms"
    );
    denied(&message, "LISTENER_TIMEOUT")
}
