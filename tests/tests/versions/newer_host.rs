//! A host of a newer API: prints what a call comes to with the plugins of a directory.

use lockgate::{CallRequest, Host, HostOptions, Signal};

fn main() {
    let dir = std::env::args_os().nth(1).expect("a directory is named");
    let options =
        HostOptions { plugin_dirs: vec![dir.into()], strict: true, ..HostOptions::default() };
    let request = CallRequest {
        call_id: "c1".into(),
        name: "rm".into(),
        arguments: "{}".into(),
        agent: None,
        cwd: None,
        signal: Signal::new(),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be made");
    let content = runtime.block_on(async {
        let host = Host::start(&options).expect("a host starts");
        host.execute(request).await.content().expect("an outcome has content")
    });
    for block in content {
        match block {
            lockgate_plugin_api::Block::Text { text } => println!("{text}"),
            other => println!("{other:?}"),
        }
    }
}
