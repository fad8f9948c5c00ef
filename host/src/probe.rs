//! Loads a plugin in a child process first: what crashes or hangs there is refused, not an outage.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use lockgate_plugin_api::error_chain;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::process::{self, Ended, Spec};
use crate::refusal::{Code, Refusal};

/// How long a plugin may take to be loaded and created.
const DEADLINE: Duration = Duration::from_secs(5);

/// The words after which a program like `lockgate` probes: `COMMAND probe FILE CONFIG`.
pub(crate) const COMMAND: &str = "probe";

/// Whether plugins are probed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Probe {
    /// They are loaded right away.
    #[default]
    Off,
    /// By this program, which is called with `probe FILE CONFIG` and does as `lockgate` does.
    Command(PathBuf),
}

/// What the child says on its standard output, one line.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Verdict {
    /// The code of the refusal; none where the plugin can be made.
    pub(crate) code: Option<String>,
    /// Its message.
    pub(crate) message: Option<String>,
}

impl Verdict {
    /// The verdict on a plugin that was made, or was not.
    #[cfg(feature = "app")]
    pub(crate) fn of<T>(made: &Result<T, Refusal>) -> Self {
        let refusal = made.as_ref().err();
        Self {
            code: refusal.map(|it| it.code().as_str().to_owned()),
            message: refusal.map(|it| it.message().to_owned()),
        }
    }
}

/// Probes the plugin at `path`, which is to be given `config`. Blocks until the child has ended.
///
/// # Errors
/// The child's refusal, or `E-PROBE` where it gave none.
pub(crate) fn probe(probe: &Probe, path: &Path, config: &Value) -> Result<(), Refusal> {
    let Probe::Command(program) = probe else { return Ok(()) };
    let spec = Spec {
        program: program.to_string_lossy().into_owned(),
        arguments: vec![COMMAND.into(), path.to_string_lossy().into_owned(), config.to_string()],
        timeout: Some(DEADLINE),
        keep: Some(64 * 1024),
        ..Spec::default()
    };
    // On a thread and a runtime of its own: whoever starts a host may stand on any.
    let ended = thread::scope(|scope| {
        let run = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.map(|it| it.block_on(process::run(spec)))
        };
        scope.spawn(run).join()
    });
    let refuse = |why: String| Refusal::new(Code::Probe, why);
    let exit = match ended {
        Ok(Ok(Ok(exit))) => exit,
        Ok(Ok(Err(error))) => {
            return Err(refuse(format!("the child process did not run: {}", error_chain(&error))));
        }
        Ok(Err(error)) => return Err(refuse(format!("there is no runtime to run it on: {error}"))),
        Err(_) => return Err(refuse("what runs the child process panicked".into())),
    };
    if exit.timed_out {
        let seconds = DEADLINE.as_secs();
        return Err(refuse(format!("loading it took more than {seconds} s in a child process")));
    }
    // The last line: the plugin may have printed before.
    let said = String::from_utf8_lossy(&exit.stdout);
    let said = serde_json::from_str(said.lines().next_back().unwrap_or_default());
    match (exit.how, said) {
        (Ended::Exited(0), Ok(Verdict { code: None, .. })) => Ok(()),
        (Ended::Exited(0), Ok(Verdict { code: Some(code), message })) => {
            let message = message.unwrap_or_default();
            Err(match Code::from_name(&code) {
                Some(code) => Refusal::new(code, message),
                None => refuse(format!("{code}: {message}")),
            })
        }
        (Ended::Exited(0), Err(_)) => {
            Err(refuse("loading it in a child process ended without a word".into()))
        }
        (Ended::Exited(code), _) => {
            Err(refuse(format!("loading it ended a child process with the exit code {code}")))
        }
        (Ended::Signalled(signal), _) => {
            Err(refuse(format!("loading it ended a child process with the signal {signal}")))
        }
    }
}
