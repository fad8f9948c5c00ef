//! What is set for plugins can change while the host runs.

use std::collections::BTreeMap;

use lockgate::{PluginSettings, PluginState};
use lockgate_plugin_api::SeamName;
use lockgate_tests::puppets::{Stage, request, seen, stage};
use serde_json::{Value, json};

/// What a call comes to.
async fn call(stage: &Stage) -> Value {
    seen(&*stage.host.execute(request("echo", &json!({"value": "hi"}))).await)
}

fn denied(why: &str) -> Value {
    json!({"isError": true, "text": format!("Error: {why}"), "code": "DENIED"})
}

/// Sets this for `puppet`, off the runtime.
async fn set(stage: &Stage, settings: PluginSettings) {
    let plugins: BTreeMap<_, _> = [("puppet".to_owned(), settings)].into();
    tokio::task::block_in_place(|| stage.host.reconfigure(plugins));
}

fn orders(stage: &Stage, mut orders: Value) -> PluginSettings {
    orders["files"] = stage.files().to_str().unwrap().into();
    PluginSettings { config: orders, ..PluginSettings::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_is_made_anew_with_what_is_set_for_it() {
    let stage = stage(&[("puppet", json!({"tools": true, "gate": "deny:one"}))]);
    assert_eq!(call(&stage).await, denied("one"));
    set(&stage, orders(&stage, json!({"tools": true, "gate": "deny:two"}))).await;
    assert_eq!(call(&stage).await, denied("two"));
    // What it refuses leaves what was there.
    set(&stage, orders(&stage, json!({"create": "fail:no licence"}))).await;
    assert_eq!(call(&stage).await, denied("two"));
    let PluginState::Kept { refusal, .. } = &stage.host.plugins()[0].state else {
        panic!("{:?}", stage.host.plugins());
    };
    assert_eq!(refusal.to_string(), "E-CREATE: its `create` failed: no licence");
    set(&stage, orders(&stage, json!({"tools": true}))).await;
    assert_eq!(call(&stage).await, json!({"isError": false, "text": "hi"}));
    assert!(matches!(stage.host.plugins()[0].state, PluginState::Live { generation: 1, .. }));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_can_be_turned_off_and_on() {
    let stage = stage(&[("puppet", json!({"tools": true, "gate": "deny:one"}))]);
    let on = orders(&stage, json!({"tools": true, "gate": "deny:one"}));
    set(&stage, PluginSettings { enabled: false, ..on.clone() }).await;
    assert_eq!(call(&stage).await["code"], "UNKNOWN_TOOL");
    set(&stage, on).await;
    assert_eq!(call(&stage).await, denied("one"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_order_of_listeners_is_what_is_set_now() {
    let order = |stage: &Stage| {
        let gates = stage.host.chains().into_iter().filter(|it| it.seam == SeamName::PreExecute);
        gates.map(|it| format!("{} {}", it.listener, it.priority)).collect::<Vec<_>>()
    };
    let stage = stage(&[("puppet", json!({"tools": true}))]);
    assert_eq!(order(&stage), ["gate 10", "late_gate 5"]);
    let priority = BTreeMap::from([(SeamName::PreExecute, 77)]);
    set(&stage, PluginSettings { priority, ..orders(&stage, json!({"tools": true})) }).await;
    assert_eq!(order(&stage), ["gate 77", "late_gate 77"]);
}
