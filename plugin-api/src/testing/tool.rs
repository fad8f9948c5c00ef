//! A plugin's tools, run as the host runs them.

use serde_json::Value;

use super::{Call, Fault, call};
use crate::abi::future::Reply;
use crate::abi::json::Json;
use crate::abi::testing::instance::Instance;
use crate::abi::testing::lend::LentCall;
use crate::abi::testing::tool::Entry;
use crate::message::Block;
use crate::outcome::ToolOutcome;
use crate::tool::ToolSpec;

/// A tool that the plugin offers.
#[derive(Debug, Clone, Copy)]
pub struct OfferedTool<'a> {
    pub(super) instance: &'a Instance,
    pub(super) entry: &'a Entry,
}

impl OfferedTool<'_> {
    /// What it is, as it was offered.
    pub fn spec(&self) -> ToolSpec {
        self.entry.spec()
    }

    /// Runs its body with these arguments and waits for it.
    ///
    /// # Errors
    /// When the body panics or never answers; that it fails is an outcome.
    pub fn run(&self, arguments: &Value) -> Result<ToolOutcome, Fault> {
        self.run_call(&call(self.spec().name).arguments(arguments))
    }

    /// Runs its body for this call, whatever name the call gives, and waits for it. What the body
    /// added to the call is in the outcome, as the host puts it there; the content is not: see
    /// [`render`](Self::render).
    ///
    /// # Errors
    /// When the body panics or never answers; that it fails is an outcome.
    pub fn run_call(&self, call: &Call) -> Result<ToolOutcome, Fault> {
        let stage = self.instance.stage();
        let reply = self.entry.run(stage, &LentCall::new(call, stage));
        let place = self.place("");
        match reply {
            Some(Reply::Ready(outcome)) => checked(&place, outcome),
            Some(Reply::Next) => {
                Err(Fault::Protocol { place, message: "a body has an outcome".into() })
            }
            Some(Reply::Fault(message)) => Err(Fault::Failed { place, message }),
            Some(Reply::Protocol(message)) => Err(Fault::Protocol { place, message }),
            None => Err(Fault::Stuck { place }),
        }
    }

    /// What the model is shown of `value`; `None` leaves it to the host.
    ///
    /// # Errors
    /// When it panics.
    pub fn render(&self, call: &Call, value: &Value) -> Result<Option<Vec<Block>>, Fault> {
        let stage = self.instance.stage();
        let reply = self.entry.render(stage, &LentCall::new(call, stage), &value.to_string());
        self.read("/render", reply)
    }

    /// What whoever presents the outcome gets of `value`; `None` is nothing.
    ///
    /// # Errors
    /// When it panics.
    pub fn present(&self, call: &Call, value: &Value) -> Result<Option<Value>, Fault> {
        let stage = self.instance.stage();
        let reply = self.entry.present(stage, &LentCall::new(call, stage), &value.to_string());
        self.read("/present", reply)
    }

    /// The last word on what the model is shown of `outcome`; `None` leaves it.
    ///
    /// # Errors
    /// When it panics.
    pub fn finalize_content(
        &self,
        call: &Call,
        outcome: &ToolOutcome,
    ) -> Result<Option<Vec<Block>>, Fault> {
        let stage = self.instance.stage();
        let reply = self.entry.finalize(stage, &LentCall::new(call, stage), outcome);
        self.read("/finalize", reply)
    }

    /// Whether a call with these arguments may run beside others of its step.
    pub fn is_parallel_safe(&self, arguments: &Value) -> bool {
        self.entry.is_parallel_safe(self.instance.stage(), &arguments.to_string())
    }

    fn read<T: serde::de::DeserializeOwned>(
        &self,
        part: &str,
        reply: Reply<Json>,
    ) -> Result<Option<T>, Fault> {
        let place = self.place(part);
        match reply {
            Reply::Next => Ok(None),
            Reply::Ready(json) => serde_json::from_slice(json.text.as_bytes())
                .map(Some)
                .map_err(|error| Fault::Protocol { place, message: error.to_string() }),
            Reply::Fault(message) => Err(Fault::Failed { place, message }),
            Reply::Protocol(message) => Err(Fault::Protocol { place, message }),
        }
    }

    fn place(&self, part: &str) -> String {
        format!("tool/{}{part}", self.spec().name)
    }
}

/// An outcome that the host could take.
pub(super) fn checked(place: &str, outcome: ToolOutcome) -> Result<ToolOutcome, Fault> {
    let wrong = |message: String| Fault::Protocol { place: place.into(), message };
    if !outcome.is_error() {
        let value: Result<serde::de::IgnoredAny, _> = outcome.value();
        value.map_err(|error| wrong(format!("the value is not JSON: {error}")))?;
    }
    Ok(outcome)
}
