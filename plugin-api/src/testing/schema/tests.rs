//! What is found between a schema and a configuration type.

use serde::Deserialize;
use serde_json::{Value, json};

use super::differences;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only parsed")]
struct Closed {
    path: String,
    #[serde(default)]
    limit: u32,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "only parsed")]
struct Open {
    #[serde(default)]
    limit: u32,
}

#[test]
fn a_schema_that_says_what_is_accepted_differs_in_nothing() {
    check::<Closed>(closed(), &[]);
    check::<Open>(json!({"type": "object", "properties": {"limit": {"default": 1}}}), &[]);
}

#[test]
fn required_keys_are_the_ones_that_must_be_there() {
    let mut schema = closed();
    schema["required"] = json!([]);
    check::<Closed>(
        schema,
        &[
            "the least configuration is refused: missing field `path`",
            "the default of `limit` is refused: missing field `path`",
        ],
    );
    let mut schema = closed();
    schema["required"] = json!(["path", "limit"]);
    check::<Closed>(schema, &["`limit` is required, and a configuration without it is accepted"]);
}

#[test]
fn additional_properties_say_what_becomes_of_unknown_keys() {
    let mut schema = closed();
    schema["additionalProperties"] = json!(true);
    check::<Closed>(
        schema,
        &["`additionalProperties` is not `false`, and an unknown key is refused: \
           unknown field `lockgate-no-such-key`, expected `path` or `limit`"],
    );
    check::<Open>(
        json!({"type": "object", "additionalProperties": false}),
        &["`additionalProperties` is `false`, and an unknown key is accepted"],
    );
}

#[test]
fn what_the_schema_shows_is_accepted() {
    let mut schema = closed();
    schema["properties"]["limit"] = json!({"default": 1, "examples": [-1]});
    check::<Closed>(
        schema,
        &["the first example of `limit` is refused: invalid value: integer `-1`, expected u32"],
    );
    let mut schema = closed();
    schema["properties"]["limit"] = json!({"type": "integer"});
    check::<Closed>(schema, &["`limit` has no `default` or `examples` to try"]);
}

#[test]
fn keys_that_are_accepted_are_in_the_schema() {
    let mut schema = closed();
    schema["properties"].as_object_mut().unwrap().remove("limit");
    check::<Closed>(schema, &["`limit` is accepted and not in the schema"]);
}

fn closed() -> Value {
    json!({
        "type": "object",
        "properties": {"path": {"examples": ["/x"]}, "limit": {"default": 1}},
        "required": ["path"],
        "additionalProperties": false,
    })
}

#[track_caller]
fn check<T: for<'a> Deserialize<'a>>(schema: Value, expected: &[&str]) {
    let create = |config: &Value| T::deserialize(config).map(drop).map_err(|it| it.to_string());
    assert_eq!(differences(&schema, create), expected);
}
