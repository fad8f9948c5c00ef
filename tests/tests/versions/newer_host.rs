//! A host of a newer API: prints what it refuses of a directory, or else what a call comes to.

use lockgate::{CallRequest, Host, HostOptions, PluginState, Signal};
use lockgate_plugin_api::Block;

fn main() {
    let dir = std::env::args_os().nth(1).expect("a directory is named");
    let options = HostOptions { plugin_dirs: vec![dir.into()], ..HostOptions::default() };
    let request = CallRequest {
        call_id: "c1".into(),
        name: "rm".into(),
        arguments: "{}".into(),
        agent: None,
        cwd: None,
        signal: Signal::new(),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let host = runtime.block_on(async { Host::start(&options).expect("a host starts") });
    for report in host.plugins() {
        if let PluginState::Refused(refusal) = &report.state {
            println!("{refusal}");
            return;
        }
    }
    let outcome = runtime.block_on(host.execute(request));
    for block in outcome.content().expect("an outcome has content") {
        match block {
            Block::Text { text } => println!("{text}"),
            other => println!("{other:?}"),
        }
    }
}
