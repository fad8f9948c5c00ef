//! Holds every tool to the time it gives itself.

use lockgate_plugin_api::{
    Create, Next, Plugin, PluginError, ToolCall, ToolOutcome, export_plugin,
};

/// The plugin: it has no state and no configuration.
#[derive(Debug)]
pub struct CallTimeout;

impl Plugin for CallTimeout {
    fn create(_: &Create) -> Result<Self, PluginError> {
        Ok(Self)
    }
}

impl CallTimeout {
    /// Sets the tool's own budget as a deadline and waits for the body, which the deadline tells
    /// to end. Only this deadline's passing is a timeout: a caller who gives up, or a shorter
    /// deadline set elsewhere, is not.
    async fn keep_budget(&self, call: &ToolCall, next: &mut Next) -> ToolOutcome {
        let Some(budget) = call.budget() else {
            return next.run().await;
        };
        let deadline = next.set_deadline(budget);
        let outcome = next.run().await;
        if !deadline.has_passed() {
            return outcome;
        }
        let message = format!("tool call timed out after {}ms", budget.as_millis());
        ToolOutcome::coded_failure(message, "ToolTimeoutError", "TOOL_TIMEOUT")
    }
}

export_plugin!(CallTimeout {
    description: "Holds every tool to the time it gives itself",
    execute: async keep_budget @ 100,
});
