//! The tool `bash`: runs shell commands in the directory of the session.

use std::time::Duration;

use lockgate_plugin_api::{
    Command, Create, Plugin, PluginError, ProcessOutput, Run, Tool, ToolError, ToolSpec, Tools,
    export_plugin,
};
use serde::Deserialize;
use serde_json::{Value, json};

/// The plugin.
#[derive(Debug)]
pub struct ToolShell {
    config: Config,
}

/// What may be set under `[plugins.tool-shell.config]`.
#[derive(Debug, Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// The shell; it is given `-c` and the command.
    shell: String,
    /// The time a command gets, in milliseconds, where the call does not say.
    timeout_ms: u64,
    /// The time any command gets at most, in milliseconds: the tool's budget.
    max_timeout_ms: u64,
    /// The bytes of output that are kept.
    max_output: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            shell: "bash".into(),
            timeout_ms: 120_000,
            max_timeout_ms: 600_000,
            max_output: 1 << 20,
        }
    }
}

impl Plugin for ToolShell {
    fn create(create: &Create) -> Result<Self, PluginError> {
        Ok(Self { config: create.config()? })
    }

    fn tools(&self, tools: &mut Tools) {
        tools.add(Bash { config: self.config.clone() });
    }
}

struct Bash {
    config: Config,
}

#[derive(Deserialize)]
struct Args {
    command: String,
    timeout_ms: Option<u64>,
}

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        ToolSpec::new("bash", "Runs a shell command and returns what it printed.")
            .parameters(json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command."},
                    "description": {"type": "string", "description": "What it does, in a few words."},
                    "timeout_ms": {"type": "integer", "description": "Ends it after this many milliseconds."},
                },
                "required": ["command"],
            }))
            .output(json!({"type": "string"}))
            .budget(Duration::from_millis(self.config.max_timeout_ms))
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let args: Args = run.call().args().map_err(|error| {
            ToolError::coded(format!("invalid arguments: {error}"), "ToolArgsError", "INVALID_ARGS")
        })?;
        let timeout = Duration::from_millis(args.timeout_ms.unwrap_or(self.config.timeout_ms));
        let command = Command::new(&self.config.shell)
            .arg("-c")
            .arg(args.command)
            .merge_stderr()
            .timeout(timeout)
            .keep_at_most(self.config.max_output);
        let command = match run.call().cwd() {
            Some(cwd) => command.current_dir(cwd),
            None => command,
        };
        let output = run.process(command).await?;
        if output.is_timed_out() {
            let message = format!(
                "tool call timed out after {}ms, having printed:\n{}",
                timeout.as_millis(),
                printed(&output)
            );
            return Err(ToolError::coded(message, "ToolTimeoutError", "TOOL_TIMEOUT"));
        }
        Ok(Value::String(told(&output)))
    }
}

/// What the command printed, and how it ended where that is not plain success.
fn told(output: &ProcessOutput) -> String {
    let ending = match (output.code(), output.signal()) {
        (Some(0), _) => return printed(output),
        (Some(code), _) => format!("(exit code {code})"),
        (None, Some(signal)) => format!("(killed by signal {signal})"),
        (None, None) => "(ended in a way the host does not know)".into(),
    };
    let mut text = printed(output);
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text + &ending
}

fn printed(output: &ProcessOutput) -> String {
    let mut text = String::from_utf8_lossy(output.stdout()).into_owned();
    if output.is_cut() {
        text.push_str("\n(more was printed and dropped)");
    }
    if text.is_empty() { "(no output)".into() } else { text }
}

export_plugin!(ToolShell {
    description: "The tool bash: runs shell commands in the directory of the session",
    config_schema: include_str!("config_schema.json"),
    tools,
});
