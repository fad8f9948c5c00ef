//! `lockgate run`: one agent session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;
use lockgate_plugin_api::Message;

use super::approve::{self, Approve};
use super::host_setup::Setup;
use super::session_file::{SessionArgs, SessionFile};
use super::typed::Typed;
use super::watch_plugins;
use super::watch_session::{self, Watched};
use super::{Ending, Failure, PluginArgs, screen};
use crate::agent::{Agent, AgentOptions, MAX_PARALLEL_TOOL_CALLS, SESSION_START_GRACE};
use crate::approval::Approvals;
use crate::config::Config;
use crate::host::Host;
use crate::model::{self, Endpoint, Model, ModelSpec};
use crate::session::{AbortCause, SessionLog, SyncPolicy, TurnEndReason};
use crate::trail::TrailSink;
use crate::watch::WatchOptions;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// What to ask. Without it: the recording's prompts, or one prompt a line from standard input.
    prompt: Option<String>,
    /// The model: openai:MODEL (any OpenAI-compatible endpoint), deepseek:MODEL, replay:FILE (a
    /// recorded session) or script:FILE (answers written by hand).
    #[arg(long, value_name = "SPEC", env = "LOCKGATE_MODEL", value_parser = super::model_spec)]
    model: Option<ModelSpec>,
    /// Where openai: and deepseek: models are asked, instead of at their provider: the URL up to
    /// and without /chat/completions.
    #[arg(long, value_name = "URL", env = "LOCKGATE_BASE_URL")]
    base_url: Option<String>,
    #[command(flatten)]
    session: SessionArgs,
    /// What becomes of tool calls that somebody should be asked about.
    #[arg(long, value_enum, env = "LOCKGATE_APPROVE")]
    approve: Option<Approve>,
    /// Loads plugins again when their files change, and takes over what the configuration then
    /// says of them.
    #[arg(long, env = "LOCKGATE_WATCH")]
    watch: bool,
    /// Prints the session's events as they come, one JSON object a line.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    plugins: PluginArgs,
}

pub(super) async fn run(args: RunArgs) -> Result<Ending, Failure> {
    let trail = (!args.json).then(|| TrailSink::new(|entry| screen::decision(&entry)));
    let typed = Arc::new(Typed::new());
    let cwd_is_said = args.plugins.cwd.is_some();
    let mut setup = args.plugins.setup(trail)?;
    setup.options.approver = Some(approve::person(Arc::clone(&typed)));
    let approvals = setup.approvals(args.approve);
    let watched = Arc::new(AtomicBool::new(false));
    if args.watch && !args.json {
        setup.options.journal = Some(watch_plugins::later(&watched, |it| screen::step(&it)));
    }
    let spec = spec(args.model, args.base_url, &setup.config)?;
    if let Some(cwd) = args.session.cwd()? {
        if cwd_is_said && cwd != setup.cwd {
            let (cwd, said) = (cwd.display(), setup.cwd.display());
            return Err(format!("the session works in `{cwd}`, and not in `{said}`").into());
        }
        setup.cwd = cwd;
    }
    let model: Arc<dyn Model> = model::open(&spec, &setup.cwd)?.into();
    // Before any plugin runs: a log that cannot be written must not cost a session.
    let file = args.session.open(&setup.cwd)?;
    if !args.json {
        file.introduce();
    }
    let SessionFile { path, log, .. } = file;
    let log = log.with_sync(setup.config.sync.unwrap_or_default());
    let session = Session::start(&setup, Arc::clone(&model), log, approvals, args.json)?;
    watched.store(true, Ordering::Relaxed);
    let _watching =
        args.watch.then(|| session.host().watch(WatchOptions::default())).transpose()?;
    let _config = match &setup.config.file {
        Some(file) if args.watch => Some(watch_plugins::watch_config(file, session.host())?),
        Some(_) | None => None,
    };
    let prompts = match args.prompt {
        Some(prompt) => vec![Message::from_user(prompt)],
        None => model.prompts().to_vec(),
    };
    let ending = if prompts.is_empty() {
        session.converse(&typed).await?
    } else {
        session.ask_all(prompts).await?
    };
    if !args.json {
        screen::aside(&format!("session log: {}", path.display()));
    }
    Ok(ending)
}

/// The model that the flags name, else the file; where it is asked over HTTP, with what they say
/// of that.
fn spec(
    model: Option<ModelSpec>,
    base_url: Option<String>,
    config: &Config,
) -> Result<ModelSpec, Failure> {
    let spec = match (model, &config.model) {
        (Some(spec), _) => spec,
        (None, Some(spec)) => super::model_spec(spec)?,
        (None, None) => {
            return Err(
                "no model is set: use --model openai:MODEL, deepseek:MODEL, replay:FILE or \
                        script:FILE, or set `model` in lockgate.toml"
                    .into(),
            );
        }
    };
    match spec {
        ModelSpec::Replay(_) | ModelSpec::Script(_) => Ok(spec),
        ModelSpec::Endpoint(preset) => Ok(ModelSpec::Endpoint(Endpoint {
            base_url: base_url.or_else(|| config.base_url.clone()).unwrap_or(preset.base_url),
            key_variable: config.api_key_env.clone().unwrap_or(preset.key_variable),
            idle_timeout: config.request_idle_timeout.unwrap_or(preset.idle_timeout),
            ..preset
        })),
    }
}

/// An agent that the person watches.
pub(super) struct Session {
    agent: Agent,
    watched: Arc<Mutex<Watched>>,
    /// Whether what a prompt came to is on the disk before the next.
    syncs: bool,
    // Last: the plugins outlive the agent that calls them.
    host: Arc<Host>,
}

impl Session {
    /// Starts the host and an agent on it. Its events are printed as they come.
    pub(super) fn start(
        setup: &Setup,
        model: Arc<dyn Model>,
        mut log: SessionLog,
        approvals: Approvals,
        json: bool,
    ) -> Result<Self, Failure> {
        let host = Arc::new(setup.start()?);
        let watched = Arc::new(Mutex::new(Watched::default()));
        let seen = Arc::clone(&watched);
        log.observe(move |event| {
            let mut watched = seen.lock().unwrap_or_else(PoisonError::into_inner);
            watch_session::show(&mut watched, event, json);
        });
        let options = AgentOptions {
            cwd: Some(setup.cwd.clone()),
            system: setup.config.system.clone(),
            session_start_grace: setup.config.session_start_grace.unwrap_or(SESSION_START_GRACE),
            max_parallel_tool_calls: setup
                .config
                .max_parallel_tool_calls
                .unwrap_or(MAX_PARALLEL_TOOL_CALLS),
            approvals,
            plugins: host.plugins_per_agent(),
            ..AgentOptions::default()
        };
        let agent = host.agent(model, log, options)?;
        let syncs = setup.config.sync != Some(SyncPolicy::Never);
        Ok(Self { agent, watched, syncs, host })
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// Asks one prompt after the other, each in a turn of its own, until the person stops it.
    async fn ask_all(&self, prompts: Vec<Message>) -> Result<Ending, Failure> {
        let mut ending = Ending::Done;
        for prompt in prompts {
            let one = self.ask(prompt).await?;
            match one {
                Ending::Interrupted => return Ok(one),
                Ending::Done => {}
                Ending::Failed | Ending::Refused | Ending::Incompatible => ending = one,
            }
        }
        Ok(ending)
    }

    /// Asks what is typed, a line a prompt, until there is no more.
    async fn converse(&self, typed: &Typed) -> Result<Ending, Failure> {
        let mut ending = Ending::Done;
        while let Some(prompt) = next_line(typed).await? {
            if !prompt.trim().is_empty() {
                ending = self.ask(Message::from_user(prompt)).await?;
            }
        }
        Ok(ending)
    }

    /// Asks one prompt. Ctrl-C cancels its turn, and a second one leaves at once.
    pub(super) async fn ask(&self, prompt: Message) -> Result<Ending, Failure> {
        self.agent.follow_up(prompt)?;
        let mut idle = std::pin::pin!(self.agent.when_idle());
        let mut cancelled = false;
        loop {
            tokio::select! {
                ended = &mut idle => break ended?,
                _ = tokio::signal::ctrl_c() => {}
            }
            if cancelled {
                return Ok(Ending::Interrupted);
            }
            cancelled = true;
            screen::aside("stopping; Ctrl-C again to leave at once");
            self.agent.cancel(AbortCause::User)?;
        }
        // Whoever reads the answer may rely on it.
        if self.syncs {
            self.agent.flush().await?;
        }
        let reason = self.watched.lock().unwrap_or_else(PoisonError::into_inner).take_end();
        Ok(match reason {
            _ if cancelled => Ending::Interrupted,
            Some(TurnEndReason::Completed | TurnEndReason::MaxTokens) => Ending::Done,
            Some(TurnEndReason::Blocked) => Ending::Refused,
            Some(TurnEndReason::Aborted { .. }) => Ending::Interrupted,
            Some(TurnEndReason::Error { .. } | TurnEndReason::Interrupted) | None => Ending::Failed,
        })
    }
}

/// The next line of standard input; on a terminal it is asked for.
async fn next_line(typed: &Typed) -> Result<Option<String>, Failure> {
    if typed.is_terminal() {
        screen::prompt();
    }
    tokio::select! {
        line = typed.line() => Ok(line?),
        // Nothing runs that could be cancelled: leave.
        _ = tokio::signal::ctrl_c() => Ok(None),
    }
}
