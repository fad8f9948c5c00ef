//! A bench for testing plugins: the feature `testing`.
//!
//! A plugin's tests link it as a library and ask it through the very entries that the host
//! would call, without a host, a built `cdylib` or unsafe code:
//!
//! ```
//! use lockgate_plugin_api::testing::{Bench, Fault, call};
//! use lockgate_plugin_api::{
//!     Create, Plugin, PluginError, PreTool, PreToolDecision, ToolCall, export_plugin,
//! };
//!
//! struct NoRm;
//! impl Plugin for NoRm {
//!     fn create(_: &Create) -> Result<Self, PluginError> {
//!         Ok(Self)
//!     }
//! }
//! impl NoRm {
//!     fn gate(&self, call: &ToolCall) -> Option<PreToolDecision> {
//!         (call.name() == "rm").then(|| PreToolDecision::deny("agents do not delete files"))
//!     }
//! }
//! export_plugin!(NoRm { pre_execute: gate });
//!
//! # fn main() -> Result<(), Fault> {
//! // In the plugin's tests:
//! let bench = Bench::<NoRm>::new(serde_json::json!({}))?;
//! let denied = bench.pre_execute(&call("rm"))?.expect("`rm` is decided");
//! assert_eq!(denied.verdict().unwrap(), PreTool::Deny { reason: "agents do not delete files" });
//! assert!(bench.pre_execute(&call("ls"))?.is_none());
//! # Ok(())
//! # }
//! ```
//!
//! The plugin's `Cargo.toml` asks for it where it is wanted, and only there:
//!
//! ```toml
//! [lib]
//! crate-type = ["cdylib", "rlib"]     # `rlib` for tests under `tests/`
//!
//! [dev-dependencies]
//! lockgate-plugin-api = { path = "…", features = ["testing"] }
//! ```
//!
//! # What the bench is
//!
//! - **A seam** is asked with all the listeners that the plugin exports there, by priority, as a
//!   chain: what `next.run()` answers is what the listeners further in say, then the seam's
//!   default or what the test puts there. `Ok(None)` is *no opinion*.
//! - **A failure** (an error, a panic, an answer that no host takes) is a [`Fault`], never a panic
//!   of the test. A panic of the test's own code, in a body it plays, stays one.
//! - **Time** is the bench's own, and takes none: when everybody waits, it jumps to the next
//!   timer or deadline, a hundred thousand times for one answer. It does not see threads that a
//!   plugin starts, which it waits for only where no timer is left, and then for ten seconds.
//! - **Processes** are never run: [`Bench::answer_processes`] says how each of them ended.
//! - **Calls** that a tool's body makes reach no other tool: [`Bench::answer_calls`] says what each
//!   came to.
//! - **Spawned futures** go on while the bench waits for an answer, and while
//!   [`Bench::pass`] lets time pass. A closure for a thread that may block is called at once.
//! - **Messages** to the bench's agent, and to no other, are kept: [`Bench::sent`].
//! - **The log** is kept, `tracing` events and panics included: [`Bench::lines`].
//!
//! [`Bench::check_config_schema`] compares the manifest's `config_schema` with what `create`
//! accepts.
//!
//! It answers at once what the host would do concurrently: a body runs to its end within one poll
//! of `next.run()`, so a listener cannot race it against something else.

pub(crate) mod agent;
mod ask;
mod body;
mod call;
mod fault;
mod process;
mod schema;
mod seams;
pub(crate) mod spawned;
pub(crate) mod stage;
mod tool;
pub(crate) mod wait;

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::abi::handle::Inbox;
use crate::abi::root::Purpose;
use crate::abi::testing::instance::Instance;
use crate::abi::testing::tool::Entry;
use crate::export::linked::Linked;
use crate::manifest::Manifest;
use crate::message::Message;
use crate::outcome::ToolOutcome;
use crate::plugin::{Plugin, State};
use stage::Stage;

pub use agent::Cancel;
pub use body::Body;
pub use call::{Call, call};
pub use fault::Fault;
pub use process::{Ended, Process};
pub use schema::SchemaMismatch;
pub use tool::OfferedTool;

/// The number of the agent that a bench has.
pub(crate) const AGENT: u64 = 1;

/// A message that a plugin sent to the bench's agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    /// Where it waits for the agent.
    pub target: Target,
    /// Whether it wakes the agent.
    pub wakes: bool,
    /// The message.
    pub message: Message,
}

/// Where a message waits for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// For the next step: injected, or where it wakes the agent, steering.
    NextStep,
    /// For a turn of its own: a follow-up.
    NextTurn,
}

/// What a tool's body said of how far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Progress {
    /// How much is done, in the body's own unit.
    pub done: u64,
    /// Of how much; 0 where that cannot be counted.
    pub total: u64,
    /// A line for a person.
    pub text: String,
}

/// A line that a plugin wrote to the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// 1 for errors to 5 for traces.
    pub level: u32,
    /// Where it comes from: a module, or `panic`.
    pub target: String,
    /// The message with its fields.
    pub message: String,
}

/// A plugin in a test: one live instance, and the host it knows. Dropping it ends the instance as
/// the host would. Several may live at once.
#[derive(Debug)]
pub struct Bench<P> {
    // Before the instance: tools are released first.
    tools: Vec<Entry>,
    instance: Instance,
    has_ended: bool,
    _plugin: PhantomData<P>,
}

impl<P: Plugin + Linked> Bench<P> {
    /// Creates an instance with this configuration, starts it and takes its tools.
    ///
    /// # Errors
    /// What `create`, `start` or `tools` says.
    pub fn new(config: Value) -> Result<Self, Fault> {
        Self::live(&config, None)
    }

    /// As [`new`](Self::new), going on from what an earlier instance saved.
    ///
    /// # Errors
    /// What `create`, `start` or `tools` says.
    pub fn resume(config: Value, state: &State) -> Result<Self, Fault> {
        Self::live(&config, Some(state))
    }

    /// Only sees whether an instance can be created with this configuration; nothing is started.
    ///
    /// # Errors
    /// What `create` says.
    pub fn probe(config: Value) -> Result<(), Fault> {
        Self::create(&config, Purpose::Probe, None).map(drop)
    }

    fn live(config: &Value, state: Option<&State>) -> Result<Self, Fault> {
        let instance = Self::create(config, Purpose::Live, state)?;
        instance.start()?;
        let mut bench =
            Self { tools: Vec::new(), instance, has_ended: false, _plugin: PhantomData };
        bench.tools = bench.instance.tools()?;
        Ok(bench)
    }

    fn create(config: &Value, purpose: Purpose, state: Option<&State>) -> Result<Instance, Fault> {
        let manifest: Manifest =
            serde_json::from_slice(P::manifest()).expect("the macro writes a manifest");
        let stage = Stage::new(manifest.events);
        Instance::create(P::root(), &stage, &config.to_string(), purpose, state)
    }
}

impl<P> Bench<P> {
    /// The tool of this name.
    ///
    /// # Errors
    /// When the plugin does not offer it.
    pub fn tool(&self, name: &str) -> Result<OfferedTool<'_>, Fault> {
        self.tools().find(|it| it.spec().name == name).ok_or_else(|| Fault::NoTool {
            name: name.to_owned(),
            offered: self.tools().map(|it| it.spec().name).collect(),
        })
    }

    /// The tools that the plugin offers, in the order in which it lists them.
    pub fn tools(&self) -> impl Iterator<Item = OfferedTool<'_>> {
        self.tools.iter().map(|entry| OfferedTool { instance: &self.instance, entry })
    }

    /// From now on `run` says how the processes end that the plugin runs, each at once. Until
    /// then none can be started.
    pub fn answer_processes(&self, run: impl Fn(&Process) -> Ended + Send + Sync + 'static) {
        self.instance.stage().answer_processes(Arc::new(run));
    }

    /// From now on `answer` says what the calls come to that the plugin's tools make of other
    /// tools, by their names and arguments. Until then none can be made.
    pub fn answer_calls(
        &self,
        answer: impl Fn(&str, &Value) -> ToolOutcome + Send + Sync + 'static,
    ) {
        self.instance.stage().answer_calls(Arc::new(answer));
    }

    /// Lets `time` pass on the bench's clock, in which the futures go on that the plugin has
    /// spawned. No time at all is time for those that need not wait.
    ///
    /// # Errors
    /// When they never all wait.
    pub fn pass(&self, time: Duration) -> Result<(), Fault> {
        let stage = self.instance.stage();
        match stage.inside(|| wait::pass(stage, time)) {
            true => Ok(()),
            false => Err(Fault::Stuck { place: "a spawned future".into() }),
        }
    }

    /// The messages that the plugin has sent to the agent, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.instance.stage().agent().sent(0)
    }

    /// How the plugin cancelled the agent, in order. Nothing is told to end by that.
    pub fn cancels(&self) -> Vec<Cancel> {
        self.instance.stage().agent().cancels()
    }

    /// What waits for the agent: everything that was sent, less what a cancellation withdrew.
    pub fn inbox(&self) -> Inbox {
        self.instance.stage().agent().inbox()
    }

    /// Puts an event last in the agent's session, for the plugin to read.
    pub fn log_event(&self, kind: &str, data: Value) {
        let stage = self.instance.stage();
        stage.agent().log(stage.now(), kind, data);
    }

    /// The types and the data of the events that the plugin appended, in order. Types that its
    /// manifest does not declare are refused.
    pub fn appended(&self) -> Vec<(String, Value)> {
        self.instance.stage().agent().appended()
    }

    /// What the bodies of the plugin's tools said of how far they are, in order.
    pub fn progress(&self) -> Vec<Progress> {
        self.instance.stage().progress()
    }

    /// Takes the plugin's tools again if it has said that they changed, and says whether it has.
    ///
    /// # Errors
    /// What `tools` says.
    pub fn take_changed_tools(&mut self) -> Result<bool, Fault> {
        if !self.instance.stage().take_tools_changed() {
            return Ok(false);
        }
        self.tools = self.instance.tools()?;
        Ok(true)
    }

    /// The lines that the plugin has logged, in order.
    pub fn lines(&self) -> Vec<Line> {
        self.instance.stage().lines()
    }

    /// The time since the bench was made, on its own clock.
    pub fn time(&self) -> Duration {
        self.instance.stage().now()
    }

    /// What the instance leaves for the next one.
    ///
    /// # Errors
    /// When the plugin panics.
    pub fn save_state(&self) -> Result<Option<State>, Fault> {
        self.instance.save_state()
    }

    /// Ends the instance, as dropping it does, and says whether it ended well.
    ///
    /// # Errors
    /// When `quiesce` panics.
    pub fn end(mut self) -> Result<(), Fault> {
        self.quiesce()
    }

    fn quiesce(&mut self) -> Result<(), Fault> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        self.tools.clear();
        self.instance.quiesce()
    }
}

impl<P> Drop for Bench<P> {
    fn drop(&mut self) {
        // There is no one to tell; `end` does.
        let _ = self.quiesce();
    }
}
