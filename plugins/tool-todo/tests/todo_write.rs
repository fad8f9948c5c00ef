//! The tool as it is offered, and one run of it.

use lockgate_plugin_api::testing::Bench;
use serde_json::json;
use tool_todo::ToolTodo;

#[test]
fn it_takes_a_list_and_says_how_far_it_is() {
    let bench = Bench::<ToolTodo>::new(json!({})).unwrap();
    let tool = bench.tool("todo_write").unwrap();
    assert_eq!(tool.spec().parameters["required"], json!(["todos"]));
    let todos = json!({"todos": [{"content": "read", "status": "completed"}]});
    let outcome = tool.run(&todos).unwrap();
    let told = "\"the plan is noted: 0 pending, 0 in progress, 1 completed\"";
    assert_eq!(outcome.value_json(), told);
    assert_eq!(bench.appended(), [("todo/write".to_owned(), todos)]);
    assert_eq!(tool.run(&json!({})).unwrap().code().as_deref(), Some("INVALID_ARGS"));
}

#[test]
fn there_is_nothing_to_configure() {
    let refused = Bench::<ToolTodo>::new(json!({"max": 3})).unwrap_err();
    let message = "unknown field `max`, there are no fields at line 1 column 6";
    assert_eq!(refused.message(), message);
}
