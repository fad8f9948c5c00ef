//! The tool `todo_write`: the agent states its plan.

use lockgate_plugin_api::{
    Create, Plugin, PluginError, Run, Tool, ToolError, ToolSpec, Tools, export_plugin,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The plugin: it has no state and no configuration.
#[derive(Debug)]
pub struct ToolTodo;

impl Plugin for ToolTodo {
    fn create(create: &Create) -> Result<Self, PluginError> {
        let Config {} = create.config()?;
        Ok(Self)
    }

    fn tools(&self, tools: &mut Tools) {
        tools.add(TodoWrite);
    }
}

/// What may be set under `[plugins.tool-todo.config]`: nothing, so that a typo there is found.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Config {}

struct TodoWrite;

#[derive(Deserialize, Serialize)]
struct Args {
    todos: Vec<Todo>,
}

#[derive(Deserialize, Serialize)]
struct Todo {
    content: String,
    status: Status,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Tool for TodoWrite {
    fn spec(&self) -> ToolSpec {
        let description = "States the plan as a list of todos. Every call gives the whole list, \
                           which replaces the one before. Several may be in progress at once.";
        ToolSpec::new("todo_write", description)
            .parameters(json!({
                "type": "object",
                "properties": {
                    "todos": {
                        "type": "array",
                        "description": "The whole list, in the order of the work.",
                        "items": {
                            "type": "object",
                            "properties": {
                                "content": {"type": "string", "description": "What is to be done; not empty."},
                                "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            },
                            "required": ["content", "status"],
                        },
                    },
                },
                "required": ["todos"],
            }))
            .output(json!({"type": "string"}))
    }

    async fn execute(&self, run: &Run) -> Result<Value, ToolError> {
        let plan = plan(run.call().arguments())?;
        if let Some(agent) = run.call().agent() {
            agent.append("todo/write", &json!(plan)).await?;
        }
        Ok(Value::String(summary(&plan)))
    }
}

/// The plan that `arguments` state.
fn plan(arguments: &str) -> Result<Args, ToolError> {
    let plan: Args = serde_json::from_str(arguments).map_err(|it| invalid(&it.to_string()))?;
    let todos = &plan.todos;
    if let Some(at) = todos.iter().position(|it| it.content.trim().is_empty()) {
        return Err(invalid(&format!("`todos[{at}].content` is empty; say what is to be done")));
    }
    Ok(plan)
}

/// How far a plan is.
fn summary(Args { todos }: &Args) -> String {
    let count = |status| todos.iter().filter(|it| it.status == status).count();
    format!(
        "the plan is noted: {} pending, {} in progress, {} completed",
        count(Status::Pending),
        count(Status::InProgress),
        count(Status::Completed),
    )
}

fn invalid(what: &str) -> ToolError {
    ToolError::coded(format!("invalid arguments: {what}"), "ToolArgsError", "INVALID_ARGS")
}

export_plugin!(ToolTodo {
    description: "The tool todo_write: the agent states its plan",
    events: ["todo/write"],
    tools,
});

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{invalid, plan, summary};

    #[test]
    fn a_list_is_summed_up_by_status() {
        check(
            json!([["read", "in_progress"], ["build", "in_progress"], ["fix", "pending"]]),
            Ok("the plan is noted: 1 pending, 2 in progress, 0 completed"),
        );
        check(
            json!([["read", "completed"]]),
            Ok("the plan is noted: 0 pending, 0 in progress, 1 completed"),
        );
        check(json!([]), Ok("the plan is noted: 0 pending, 0 in progress, 0 completed"));
    }

    #[test]
    fn a_todo_says_what_is_to_be_done() {
        let expected = Err("`todos[1].content` is empty; say what is to be done");
        check(json!([["read", "pending"], ["", "pending"]]), expected);
        check(json!([["read", "pending"], [" \n", "pending"]]), expected);
    }

    #[test]
    fn only_the_three_statuses_are_known() {
        check(
            json!([["read", "done"]]),
            Err("unknown variant `done`, expected one of `pending`, `in_progress`, `completed` \
                 at line 1 column 43"),
        );
    }

    #[test]
    fn what_is_no_list_of_todos_is_refused() {
        check_arguments("{}", Err("missing field `todos` at line 1 column 2"));
        check_arguments(
            r#"{"todos":[{"content":"read"}]}"#,
            Err("missing field `status` at line 1 column 28"),
        );
        check_arguments("", Err("EOF while parsing a value at line 1 column 0"));
    }

    /// Calls the tool with todos of these contents and statuses.
    #[track_caller]
    fn check(todos: Value, expected: Result<&str, &str>) {
        let todos: Vec<Value> = todos
            .as_array()
            .unwrap()
            .iter()
            .map(|it| json!({"content": it[0], "status": it[1]}))
            .collect();
        check_arguments(&json!({"todos": todos}).to_string(), expected);
    }

    #[track_caller]
    fn check_arguments(arguments: &str, expected: Result<&str, &str>) {
        assert_eq!(
            plan(arguments).map(|it| summary(&it)),
            expected.map(str::to_owned).map_err(invalid)
        );
    }
}
