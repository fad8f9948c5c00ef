//! Plugins of one agent and of its children, and tools that are kept from them.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeSet;
use std::fs;
use std::sync::{Arc, Mutex};

use lockgate::model::{self, Model, ModelSpec};
use lockgate::session::{Header, SessionLog};
use lockgate::{
    Agent, AgentOptions, CallRequest, Host, HostOptions, PluginScope, PluginSettings, ScopeError,
    ToolRestriction, TrailEntry, TrailSink,
};
use lockgate_plugin_api::SeamName;
use lockgate_tests::plugin_dir;
use lockgate_tests::puppets::{request, seen};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A host on which `puppet` is there for all and offers the tools, and `puppet-b` per agent.
struct Stage {
    host: Host,
    trail: Arc<Mutex<Vec<TrailEntry>>>,
    model: Arc<dyn Model>,
    dir: TempDir,
}

impl Stage {
    fn new(orders: Value) -> Self {
        Self::with(json!({"tools": true}), orders)
    }

    /// With other orders for what is there for all.
    fn with(everywhere: Value, mut orders: Value) -> Self {
        let dir = plugin_dir(&["puppet", "puppet-b"]);
        orders["files"] = dir.path().to_str().unwrap().into();
        let everywhere = PluginSettings { config: everywhere, ..PluginSettings::default() };
        let per_agent = PluginSettings {
            scope: PluginScope::Agent,
            priority: [(SeamName::PreExecute, 1000)].into(),
            config: orders,
            ..PluginSettings::default()
        };
        let trail: Arc<Mutex<Vec<TrailEntry>>> = Arc::default();
        let sink = Arc::clone(&trail);
        let host = Host::start(&HostOptions {
            plugin_dirs: vec![dir.path().to_owned()],
            plugins: [("puppet".into(), everywhere), ("puppet-b".into(), per_agent)].into(),
            trail: Some(TrailSink::new(move |it| sink.lock().unwrap().push(it))),
            ..HostOptions::default()
        });
        let script = dir.path().join("model.json");
        fs::write(&script, "[]").unwrap();
        let model = model::open(&ModelSpec::Script(script), dir.path()).unwrap().into();
        Self { host: host.unwrap(), trail, model, dir }
    }

    fn try_agent(&self, options: AgentOptions) -> Result<Agent, ScopeError> {
        let log = SessionLog::ephemeral(Header::new(None, 5), || 42);
        self.host.agent(Arc::clone(&self.model), log, options)
    }

    fn agent(&self, parent: Option<&Agent>, plugins: &[&str], tools: ToolRestriction) -> Agent {
        let plugins = plugins.iter().map(|it| (*it).to_owned()).collect();
        let options =
            AgentOptions { parent: parent.cloned(), plugins, tools, ..AgentOptions::default() };
        self.try_agent(options).unwrap()
    }

    /// What a call for this agent comes to.
    async fn call(&self, agent: Option<&Agent>, tool: &str) -> Value {
        let request =
            CallRequest { agent: agent.map(Agent::id), ..request(tool, &json!({"value": "hi"})) };
        seen(&*self.host.execute(request).await)
    }
}

fn all() -> ToolRestriction {
    ToolRestriction::default()
}

fn allow(tools: &[&str]) -> ToolRestriction {
    ToolRestriction { allow: Some(names(tools)), ..all() }
}

fn deny(tools: &[&str]) -> ToolRestriction {
    ToolRestriction { deny: names(tools), ..all() }
}

fn names(tools: &[&str]) -> BTreeSet<String> {
    tools.iter().map(|it| (*it).to_owned()).collect()
}

fn ran() -> Value {
    json!({"isError": false, "text": "hi"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_of_one_agent_holds_for_it_and_its_children_and_nobody_else() {
    let stage = Stage::new(json!({"gate": "deny:not you"}));
    let denied = json!({"isError": true, "text": "Error: not you", "code": "DENIED"});
    let parent = stage.agent(None, &["puppet-b"], all());
    let child = stage.agent(Some(&parent), &[], all());
    let grandchild = stage.agent(Some(&child), &[], deny(&["relay"]));
    let other = stage.agent(None, &[], all());
    for agent in [&parent, &child, &grandchild] {
        assert_eq!(stage.call(Some(agent), "echo").await, denied);
    }
    assert_eq!(stage.call(Some(&other), "echo").await, ran());
    assert_eq!(stage.call(None, "echo").await, ran());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_there_for_all_stands_outermost_whatever_its_priority() {
    let stage = Stage::new(json!({}));
    let agent = stage.agent(None, &["puppet-b"], all());
    assert_eq!(stage.call(Some(&agent), "echo").await, ran());
    let trail = stage.trail.lock().unwrap();
    let gates = trail.iter().filter(|it| it.seam == "pre-execute");
    let gates: Vec<String> = gates.map(|it| format!("{} {}", it.plugin, it.listener)).collect();
    let expected = ["puppet gate", "puppet late_gate", "puppet-b gate", "puppet-b late_gate"];
    assert_eq!(gates, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_tool_stands_before_an_inherited_one_of_that_name() {
    let stage = Stage::new(json!({"tools": true}));
    let owner = stage.agent(None, &["puppet-b"], allow(&["relay"]));
    for (agent, expected) in [(Some(&owner), "puppet-b"), (None, "puppet")] {
        stage.trail.lock().unwrap().clear();
        assert_eq!(stage.call(agent, "echo").await, ran());
        let trail = stage.trail.lock().unwrap();
        assert_eq!(&*trail.iter().find(|it| it.seam == "body").unwrap().plugin, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_kept_from_an_agent_are_as_if_there_were_none() {
    let stage = Stage::new(json!({}));
    let unknown = |tool: &str| {
        let text = format!("Error: unknown tool \"{tool}\"");
        json!({"isError": true, "text": text, "code": "UNKNOWN_TOOL"})
    };
    let only = stage.agent(None, &[], allow(&["echo"]));
    let but = stage.agent(None, &[], deny(&["echo"]));
    let both = stage.agent(Some(&only), &[], deny(&["echo"]));
    assert_eq!(stage.call(Some(&only), "echo").await, ran());
    assert_eq!(stage.call(Some(&only), "stamp").await, unknown("stamp"));
    assert_eq!(stage.call(Some(&but), "echo").await, unknown("echo"));
    assert_eq!(stage.call(Some(&but), "stamp").await["isError"], false);
    assert_eq!(stage.call(Some(&both), "echo").await, unknown("echo"));
    assert_eq!(stage.call(None, "echo").await, ran());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_ask_for_what_there_is_not() {
    let stage = Stage::new(json!({}));
    let check = |options: AgentOptions, expected: &str| {
        assert_eq!(stage.try_agent(options).unwrap_err().to_string(), expected);
    };
    let plugins = |name: &str| AgentOptions { plugins: vec![name.into()], ..Default::default() };
    let asked = "is not one that an agent can ask for; those are `puppet-b`";
    check(plugins("puppet"), &format!("the plugin `puppet` {asked}"));
    check(plugins("pupet-b"), &format!("the plugin `pupet-b` {asked}"));
    check(
        AgentOptions { tools: deny(&["ehco"]), ..Default::default() },
        "there is nothing to restrict of the tool `ehco`; inherited are `echo`, `lane`, `relay`, \
         `stamp`, `wait`",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_that_cannot_be_made_keeps_its_place_for_whoever_asked_for_it() {
    let stage = Stage::new(json!({"create": "fail:no licence"}));
    let agent = stage.agent(None, &["puppet-b"], all());
    let outcome = stage.call(Some(&agent), "echo").await;
    assert_eq!(outcome["code"], "LISTENER_UNAVAILABLE", "{outcome}");
    assert_eq!(stage.call(None, "echo").await, ran());
    // Made to see whether it can be, and not started until an agent asks for it.
    let stage = Stage::new(json!({"start": "fail:no network"}));
    let agent = stage.agent(None, &["puppet-b"], all());
    let outcome = stage.call(Some(&agent), "echo").await;
    assert_eq!(outcome["code"], "LISTENER_UNAVAILABLE", "{outcome}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agents_own_instance_ends_with_it_and_its_children() {
    let stage = Stage::new(json!({"end_file": "ended"}));
    let ended = stage.dir.path().join("ended");
    let parent = stage.agent(None, &["puppet-b"], all());
    let child = stage.agent(Some(&parent), &[], all());
    drop(parent);
    assert_eq!(stage.call(Some(&child), "echo").await, ran());
    assert!(!ended.exists());
    drop(child);
    while !ended.exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_of_one_agent_is_unknown_to_others() {
    let typed = json!({"parameters": {}, "output": {}, "returns": "mine"});
    let stage = Stage::new(json!({"typed": typed}));
    let owner = stage.agent(None, &["puppet-b"], all());
    let mine = json!({"isError": false, "text": "mine"});
    assert_eq!(stage.call(Some(&owner), "typed").await, mine);
    assert_eq!(stage.call(Some(&owner), "echo").await, ran());
    assert_eq!(stage.call(None, "typed").await["code"], "UNKNOWN_TOOL");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_from_a_parent_is_kept_from_its_children() {
    let stage = Stage::new(json!({}));
    let parent = stage.agent(None, &[], deny(&["echo"]));
    let child = stage.agent(Some(&parent), &[], all());
    for agent in [&parent, &child] {
        assert_eq!(stage.call(Some(agent), "echo").await["code"], "UNKNOWN_TOOL");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_come_later_pass_a_deny_list_and_no_allow_list() {
    let stage = Stage::new(json!({}));
    let (but, only) =
        (stage.agent(None, &[], deny(&["relay"])), stage.agent(None, &[], allow(&["echo"])));
    let grow = request("echo", &json!({"grow": true}));
    stage.host.execute(grow).await;
    while stage.call(Some(&but), "grown").await["isError"] == true {
        tokio::task::yield_now().await;
    }
    assert_eq!(stage.call(None, "grown").await["isError"], false);
    assert_eq!(stage.call(Some(&only), "grown").await["code"], "UNKNOWN_TOOL");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guard_of_one_agent_is_not_overruled_by_an_allow_further_out() {
    let everywhere = json!({"tools": true, "gate": "allow"});
    let stage = Stage::with(everywhere, json!({"guard": "deny:terminal"}));
    let agent = stage.agent(None, &["puppet-b"], all());
    let denied = json!({"isError": true, "text": "Error: terminal", "code": "DENIED_BY_GUARD"});
    assert_eq!(stage.call(Some(&agent), "echo").await, denied);
    assert_eq!(stage.call(None, "echo").await, ran());
}
