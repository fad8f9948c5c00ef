//! What the dialect is, keyword by keyword.

use serde_json::{Value, json};

use super::super::Schema;

#[track_caller]
fn check(schema: Value, faults: &[&str]) {
    let told = Schema::read(&schema, "parameters").err().unwrap_or_default();
    assert_eq!(told, faults, "{schema}");
}

#[test]
fn every_kind_of_schema_is_accepted() {
    check(json!({}), &[]);
    check(json!({"title": "t", "description": "d", "default": [1], "examples": {"a": null}}), &[]);
    check(json!({"type": "string", "enum": ["a", ""], "const": "a"}), &[]);
    check(json!({"type": "number", "enum": [1, -0.5, 1e300]}), &[]);
    check(json!({"type": "integer", "enum": [1, 2.0], "const": 2}), &[]);
    check(json!({"type": "boolean", "const": true}), &[]);
    check(json!({"type": "null", "enum": [null]}), &[]);
    check(json!({"type": "array"}), &[]);
    check(json!({"type": "array", "items": {"type": "array", "items": {}}}), &[]);
    check(json!({"type": "object", "additionalProperties": true}), &[]);
    check(
        json!({
            "type": "object",
            "properties": {"toString": {}, "__proto__": {"type": "object"}},
            "required": ["toString"],
            "additionalProperties": false,
        }),
        &[],
    );
    check(json!({"oneOf": [{"type": "string"}, {"oneOf": [{}, {"type": "null"}]}]}), &[]);
}

#[test]
fn what_is_no_schema_is_refused() {
    for schema in [json!(null), json!(true), json!([]), json!("string")] {
        check(schema, &["parameters must be a schema object"]);
    }
    let known =
        "parameters.type must be one of string, number, integer, boolean, null, array, object";
    check(json!({"type": "float"}), &[known]);
    check(json!({"type": 1}), &[known]);
    check(
        json!({"type": ["string", "null"]}),
        &["parameters.type must be a single type string (type arrays are not supported)"],
    );
}

#[test]
fn a_keyword_that_is_not_checked_is_refused() {
    check(
        json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}}),
        &["parameters.properties.n.minimum is not a supported keyword"],
    );
    for key in ["anyOf", "allOf", "not", "$ref", "$schema", "pattern", "format", "minLength"] {
        check(json!({key: 1}), &[&format!("parameters.{key} is not a supported keyword")]);
    }
}

#[test]
fn a_keyword_stands_where_it_means_something() {
    let all = json!({
        "properties": {}, "required": [], "additionalProperties": true, "items": {}, "enum": [],
        "const": 1,
    });
    let told = |what: &str| {
        let keys = ["properties", "required", "additionalProperties", "items", "enum", "const"];
        keys.map(|key| format!("parameters.{key} {what}")).to_vec()
    };
    let faults = told("requires type or oneOf");
    check(all.clone(), &faults.iter().map(String::as_str).collect::<Vec<_>>());
    let mut beside = all;
    beside["oneOf"] = json!([{}, {}]);
    let faults = told("is not supported beside oneOf");
    check(beside, &faults.iter().map(String::as_str).collect::<Vec<_>>());
    check(
        json!({"type": "string", "items": {}}),
        &["parameters.items is not supported on type \"string\""],
    );
    check(
        json!({"type": "array", "required": [], "enum": [[]]}),
        &[
            "parameters.required is not supported on type \"array\"",
            "parameters.enum is not supported on type \"array\"",
        ],
    );
    check(
        json!({"type": "object", "items": {}, "const": {}}),
        &[
            "parameters.items is not supported on type \"object\"",
            "parameters.const is not supported on type \"object\"",
        ],
    );
}

#[test]
fn a_choice_has_two_schemas_at_least_and_no_type() {
    let two = "parameters.oneOf must be an array of at least two schemas";
    check(json!({"oneOf": []}), &[two]);
    check(json!({"oneOf": [{}]}), &[two]);
    check(json!({"oneOf": {}}), &[two]);
    check(
        json!({"oneOf": [{}, {}], "type": "string"}),
        &["parameters cannot declare both type and oneOf"],
    );
    check(
        json!({"oneOf": [{}, {"type": "any"}]}),
        &[
            "parameters.oneOf[1].type must be one of string, number, integer, boolean, null, array, object",
        ],
    );
}

#[test]
fn the_keys_of_an_object_are_described_as_they_must_be() {
    check(
        json!({"type": "object", "properties": [], "required": {}, "additionalProperties": {}}),
        &[
            "parameters.properties must be an object of schemas",
            "parameters.required must be an array of strings",
            "parameters.additionalProperties must be a boolean",
        ],
    );
    check(
        json!({"type": "object", "properties": {"a": {}}, "required": ["missing", 1, "a", "a"]}),
        &[
            "parameters.required names \"missing\" which is not in properties",
            "parameters.required must be an array of strings",
            "parameters.required names \"a\" twice",
        ],
    );
    check(json!({"type": "array", "items": true}), &["parameters.items must be a schema object"]);
}

#[test]
fn allowed_values_are_of_their_type() {
    for values in [json!([]), json!("a"), json!(null)] {
        check(
            json!({"type": "string", "enum": values}),
            &["parameters.enum must be an array of at least one value"],
        );
    }
    check(
        json!({"type": "integer", "enum": [1, 1.5, "1", [1]]}),
        &[
            "parameters.enum[1] must be of the type \"integer\"",
            "parameters.enum[2] must be of the type \"integer\"",
            "parameters.enum[3] must be of the type \"integer\"",
        ],
    );
    check(
        json!({"type": "string", "const": 1}),
        &["parameters.const must be of the type \"string\""],
    );
    check(
        json!({"type": "string", "enum": ["a"], "const": "b"}),
        &["parameters.const must be among the values of enum"],
    );
}

#[test]
fn words_for_the_reader_are_texts() {
    check(
        json!({"description": 1, "title": null}),
        &["parameters.description must be a string", "parameters.title must be a string"],
    );
}

#[test]
fn independent_faults_are_all_told() {
    check(
        json!({
            "type": "object",
            "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"type": "str"}}},
            "required": ["c"],
        }),
        &[
            "parameters.properties.a.$ref is not a supported keyword",
            "parameters.properties.b.items.type must be one of string, number, integer, boolean, null, array, object",
            "parameters.required names \"c\" which is not in properties",
        ],
    );
}
