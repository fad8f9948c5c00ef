//! The puppet's tool `lane` in the answers of a model, and what is told of its calls.

use std::time::Duration;

use lockgate::Deadlines;
use lockgate::session::Fact;
use lockgate_plugin_api::{Block, ErrorInfo, Message};
use serde_json::{Value, json};
use tokio::runtime::Builder;

use crate::stage::{Stage, Terms};

/// Long enough for a healthy entry on a busy machine, short enough to wait for.
const SHORT: Duration = Duration::from_millis(250);

/// A call of the puppet's `lane` that may run beside others and is called `name`.
pub(crate) fn lane(name: &str, more: Value) -> Value {
    let mut arguments = json!({"name": name, "beside": "yes"});
    for (key, value) in more.as_object().unwrap() {
        arguments[key] = value.clone();
    }
    json!({"name": "lane", "arguments": arguments})
}

/// One that waits for the file of its name.
pub(crate) fn held(name: &str) -> Value {
    lane(name, json!({"wait_for": name}))
}

/// An agent that has just been asked something, whose model makes these calls.
pub(crate) fn begin(calls: &[Value], orders: Value, terms: Terms) -> Stage {
    let mut all = json!({"tools": true});
    for (key, value) in orders.as_object().unwrap() {
        all[key] = value.clone();
    }
    let stage = Stage::with(json!([{"calls": calls}, "Done."]), all, terms);
    stage.prompt("Go.");
    stage
}

pub(crate) fn at_most(max_parallel: usize) -> Terms {
    Terms { max_parallel, ..Terms::default() }
}

pub(crate) fn hurried() -> Terms {
    let deadlines = Deadlines { entry: SHORT, answer: SHORT };
    Terms { deadlines, ..Terms::default() }
}

/// Does `work`, which leaves threads in a puppet, and then lets them out.
pub(crate) fn wedged(work: impl Future<Output = Stage>) -> Stage {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let stage = runtime.block_on(work);
    stage.hold.go();
    // Waits for the threads, which look for a file that goes with the stage.
    drop(runtime);
    stage
}

impl Stage {
    /// Waits until the body of this name is in.
    pub(crate) async fn until_in(&self, name: &str) {
        self.seen.until_said(&format!("in {name}")).await;
    }

    /// The calls, the results with their codes, and the notes, in the order of the log.
    pub(crate) fn told(&self) -> Vec<String> {
        let events = self.seen.events();
        let told = |fact: &Fact| match fact {
            Fact::ToolCall { call_id, .. } => Some(format!("call {}", short(call_id))),
            Fact::ToolResult { message, error, .. } => Some(result(message, error.as_ref())),
            Fact::InboxSpliced { inserted, .. } => {
                inserted.first().map(Message::text).filter(|it| it.starts_with("note"))
            }
            _ => None,
        };
        events.iter().filter_map(|it| told(&it.fact)).collect()
    }

    /// What bodies said of being in and out, in order.
    pub(crate) fn inside(&self) -> Vec<String> {
        let events = self.seen.events();
        let said = events.iter().filter_map(|it| match &it.fact {
            Fact::InboxSpliced { inserted, .. } => Some(inserted.first()?.text()),
            _ => None,
        });
        said.filter(|it| it.starts_with("in ") || it.starts_with("out ")).collect()
    }

    /// How many bodies were in at once, at most.
    pub(crate) fn most_inside(&self) -> usize {
        let (mut now, mut most) = (0_usize, 0);
        for said in self.inside() {
            now = if said.starts_with("in ") { now + 1 } else { now - 1 };
            most = most.max(now);
        }
        most
    }
}

/// A result with its code; `late` for a listener that took too long, which has none in a log.
fn result(message: &Message, error: Option<&ErrorInfo>) -> String {
    let [Block::ToolResult { tool_call_id, content, .. }] = &*message.content else {
        panic!("a result is one block: {message:?}");
    };
    let is_late = format!("{content:?}").contains("took more than");
    let code = error.map(|it| it.code.as_str()).or(is_late.then_some("late"));
    let code = code.map_or(String::new(), |it| format!(" {it}"));
    format!("result {}{code}", short(tool_call_id))
}

/// The number in the id that a script gives a call.
fn short(call_id: &str) -> &str {
    call_id.trim_start_matches("call_")
}

/// The ids that a script gives its calls.
pub(crate) fn ids(numbers: &[u32]) -> Vec<String> {
    numbers.iter().map(|it| format!("call_{it}")).collect()
}
