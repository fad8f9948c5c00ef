//! Listeners of a turn's seams that fail in each way there is: how the turn ends.

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lockgate::model::{self, Model, ModelSpec};
use lockgate::session::{Event, Header, SessionLog};
use lockgate::{AgentOptions, Deadlines, Host, HostOptions, PluginSettings, Required};
use lockgate_plugin_api::{Message, SeamName};
use lockgate_tests::{lines, plugin_dir};
use serde_json::json;

use crate::stage::{COMPLETED, Stage, Terms};

/// The last line of a turn that a listener's failure ended.
fn ended(code: &str, message: &str) -> String {
    let error = format!(r#"{{"message":"{message}","code":"{code}"}}"#);
    format!(r#"turn/end 1 {{"kind":"error","error":{error}}}"#)
}

fn seam(listener: &str) -> String {
    listener.replace('_', "-")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_fails_ends_the_turn() {
    for listener in ["prompt_submit", "pre_step", "turn_stopping"] {
        let stage =
            Stage::with(json!(["Hi."]), json!({listener: ["fail:no disk"]}), Terms::default());
        stage.prompt("Go.");
        stage.until_idle().await;
        let why = format!(
            "the {} listener `{listener}` of the plugin `puppet` failed: no disk",
            seam(listener)
        );
        assert_eq!(stage.seen.lines().last(), Some(&ended("LISTENER_FAULT", &why)));
    }
}

#[test]
fn a_listener_that_hangs_ends_the_turn_and_one_that_is_only_told_does_not() {
    let deadline = Duration::from_millis(250);
    let terms =
        || Terms { deadlines: Deadlines { entry: deadline, answer: deadline }, ..Terms::default() };
    for listener in ["prompt_submit", "pre_step", "turn_stopping", "session_start"] {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let stage = runtime.block_on(async {
            let orders = json!({listener: ["hang:go"]});
            let stage = Stage::with(json!(["Hi."]), orders, terms());
            stage.prompt("Go.");
            stage.until_idle().await;
            stage
        });
        stage.hold.go();
        // Waits for the thread that hangs, while the file that it looks for is there.
        drop(runtime);
        let why = format!(
            "the {} listener `{listener}` of the plugin `puppet` took more than 250 ms",
            seam(listener)
        );
        let expected = match listener {
            "session_start" => COMPLETED.to_owned(),
            _ => ended("LISTENER_TIMEOUT", &why),
        };
        assert_eq!(stage.seen.lines().last(), Some(&expected));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_is_not_there_ends_the_turn_where_it_decides_and_else_is_left_out() {
    let lost = async |required: &[SeamName]| {
        let dir = plugin_dir(&["puppet"]);
        let script = dir.path().join("model.json");
        fs::write(&script, r#"["Hi."]"#).unwrap();
        let model: Arc<dyn Model> =
            model::open(&ModelSpec::Script(script), dir.path()).unwrap().into();
        let seams = SeamName::ALL.map(|it| (it, required.contains(&it)));
        let settings = PluginSettings {
            required: Required::At(seams.into()),
            config: json!({"create": "fail:no licence"}),
            ..PluginSettings::default()
        };
        let host = Host::start(&HostOptions {
            plugin_dirs: vec![dir.path().to_owned()],
            plugins: [("puppet".to_owned(), settings)].into(),
            ..HostOptions::default()
        });
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let seen = Arc::clone(&events);
        let mut log = SessionLog::ephemeral(Header::new(None, 5), || 42);
        log.observe(move |it| seen.lock().unwrap().push(it.clone()));
        let agent = host.unwrap().agent(model, log, AgentOptions::default()).unwrap();
        agent.follow_up(Message::from_user("Go.")).unwrap();
        agent.when_idle().await.unwrap();
        let events = events.lock().unwrap();
        lines(&events).pop().unwrap()
    };
    for (name, listener) in
        [(SeamName::PromptSubmit, "prompt_submit"), (SeamName::PreStep, "pre_step")]
    {
        let end = lost(&[name]).await;
        let start = format!(
            "the {} listener `{listener}` of the plugin `puppet` is not there",
            name.as_str()
        );
        assert!(end.contains(&start) && end.contains("LISTENER_UNAVAILABLE"), "{end}");
        assert!(end.contains("E-CREATE"), "{end}");
    }
    let told = [SeamName::SessionStart, SeamName::TurnStopping];
    assert_eq!(lost(&told).await, COMPLETED);
    assert_eq!(lost(&[]).await, COMPLETED);
}
