//! A thread of a plugin's own that calls the host when its plugin is gone.

use std::fs;

use tokio::runtime::Runtime;

use crate::stage::{Stage, plugin};

#[test]
fn every_function_of_the_host_tells_a_thread_of_a_plugin_that_is_gone_so() {
    let Some(dir) = plugin() else { return };
    let path = dir.path().join("told");
    let told = Runtime::new().unwrap().block_on(async {
        drop(Stage::new(&dir, "retired", path.to_str().unwrap()));
        fs::write(dir.path().join("told.gone"), "").unwrap();
        loop {
            if let Ok(told) = fs::read_to_string(&path) {
                break told;
            }
            tokio::task::yield_now().await;
        }
    });
    let functions = [
        "fired",
        "sleep",
        "send",
        "spawn",
        "spawn_blocking",
        "process",
        "cancel",
        "inbox",
        "events",
        "append",
        "tools_changed",
    ];
    let mut expected: Vec<String> =
        functions.map(|it| format!("{it} 4 RETIRED: the plugin's instance has ended")).into();
    // What was to be spawned was taken over all the same; the closure was left to its owner.
    expected.push("1 dropped, 0 called".to_owned());
    assert_eq!(told.lines().collect::<Vec<_>>(), expected);
}
