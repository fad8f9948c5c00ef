//! What a text violates, and how it is told.

use serde_json::{Value, json};

use super::super::{Role, Schema};

#[track_caller]
fn check_as(role: Role, schema: &Value, text: &str, expected: Result<(), &str>) {
    let read = Schema::read(schema, "schema").unwrap();
    assert_eq!(read.check(text, role), expected.map_err(str::to_owned), "{schema}: {text}");
}

#[track_caller]
fn check(schema: Value, text: &str, expected: Result<(), &str>) {
    check_as(Role::Value, &schema, text, expected);
}

#[test]
fn a_value_is_of_its_kind() {
    let of = |kind: &str| json!({"type": kind});
    for (kind, rule, right, wrong) in [
        ("string", "a string", [r#""""#, r#""a\"""#], ["1", "null"]),
        ("number", "a number", ["-1.5e3", "1e400"], [r#""1""#, "true"]),
        ("integer", "an integer", ["-0", "1.0"], ["1.5", "1e-1"]),
        ("boolean", "a boolean", ["true", " false "], ["0", "null"]),
        ("null", "null", ["null", "\n null"], ["0", r#""null""#]),
        ("array", "an array", ["[]", " [1]"], ["{}", r#""[]""#]),
        ("object", "an object", ["{}", r#" {"a":1}"#], ["[]", "null"]),
    ] {
        for text in right {
            check(of(kind), text, Ok(()));
        }
        for text in wrong {
            check(of(kind), text, Err(&format!("\"value\" must be {rule}")));
        }
    }
    check(json!({}), r#"{"a":[1,"x",null]}"#, Ok(()));
}

#[test]
fn only_the_allowed_values_are() {
    let color = || json!({"type": "string", "enum": ["red", "grün"]});
    check(color(), r#""red""#, Ok(()));
    check(color(), r#""gr\u00fcn""#, Ok(()));
    check(color(), r#""blue""#, Err("\"value\" must be one of [\"red\",\"grün\"]"));
    check(color(), "1", Err("\"value\" must be a string"));
    let number = || json!({"type": "number", "enum": [1, 0, 0.1]});
    for text in ["1", "1.0", "10e-1", "-0", "0.10"] {
        check(number(), text, Ok(()));
    }
    check(number(), "0.1000000000000000055", Err("\"value\" must be one of [1,0,0.1]"));
    check(json!({"type": "boolean", "const": true}), "false", Err("\"value\" must be true"));
    check(json!({"type": "null", "const": null}), "null", Ok(()));
    let both = || json!({"type": "string", "enum": ["a", "b"], "const": "a"});
    check(both(), r#""b""#, Err("\"value\" must be \"a\""));
}

#[test]
fn the_keys_of_an_object_are_checked() {
    let open = || {
        json!({
            "type": "object",
            "properties": {
                "file": {"type": "string"},
                "nested": {
                    "type": "object",
                    "properties": {"n": {"type": "integer"}},
                    "required": ["n"],
                    "additionalProperties": false,
                },
                "any": {},
            },
            "required": ["file", "any"],
        })
    };
    check(open(), r#"{"file":"a","any":null,"more":[1,{"x":"}"}]}"#, Ok(()));
    check(
        open(),
        "{ }",
        Err("missing required property \"value.file\"; missing required property \"value.any\""),
    );
    check(open(), r#"{"file":"a"}"#, Err("missing required property \"value.any\""));
    check(
        open(),
        r#"{ "any" : 1 , "file" : 2 , "nested" : { "extra" : [ ] , "n" : "1" } }"#,
        Err("\"value.file\" must be a string; \
             \"value.nested.extra\" is not a declared property (additionalProperties: false); \
             \"value.nested.n\" must be an integer"),
    );
    check(
        open(),
        r#"{"file":"a","any":1,"nested":{}}"#,
        Err("missing required property \"value.nested.n\""),
    );
}

#[test]
fn a_list_is_checked_item_by_item() {
    let lists =
        || json!({"type": "array", "items": {"type": "array", "items": {"type": "string"}}});
    check(lists(), "[]", Ok(()));
    check(lists(), r#"[ [ ] , [ "a" , "b" ] ]"#, Ok(()));
    check(
        lists(),
        r#"[["a",1,"]"],2]"#,
        Err("\"value[0][1]\" must be a string; \"value[1]\" must be an array"),
    );
}

#[test]
fn exactly_one_branch_matches() {
    let numbers = || json!({"oneOf": [{"type": "number"}, {"type": "integer"}]});
    check(numbers(), "1.5", Ok(()));
    check(numbers(), "1", Err("\"value\" must match exactly one oneOf branch (matched 2)"));
    check(numbers(), "null", Err("\"value\" must match exactly one oneOf branch (matched 0)"));
    let shapes = || {
        let of = |kind: &str, more: &str| {
            json!({
                "type": "object",
                "properties": {"kind": {"type": "string", "const": kind}, more: {"type": "number"}},
                "required": ["kind", more],
            })
        };
        json!({"type": "array", "items": {"oneOf": [of("circle", "r"), of("square", "a")]}})
    };
    check(shapes(), r#"[{"kind":"circle","r":1},{"a":2,"kind":"square"}]"#, Ok(()));
    check(
        shapes(),
        r#"[{"kind":"circle","a":1},{"kind":"square","a":"2"},{"a":2,"kind":"square"}]"#,
        Err("\"value[0]\" must match exactly one oneOf branch (matched 0); \
             \"value[1]\" must match exactly one oneOf branch (matched 0)"),
    );
}

#[test]
fn arguments_are_called_by_their_names() {
    let schema = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "servers": {
                "type": "array",
                "items": {"type": "object", "properties": {"host": {}}, "required": ["host"]},
            },
        },
        "required": ["path"],
    });
    #[track_caller]
    fn check(schema: &Value, text: &str, expected: Result<(), &str>) {
        check_as(Role::Arguments, schema, text, expected);
    }
    check(&schema, r#"{"path":"a","extra":1}"#, Ok(()));
    check(&schema, "{}", Err("missing required property \"path\""));
    check(
        &schema,
        r#"{"path":1,"servers":[{"host":1},{}]}"#,
        Err("\"path\" must be a string; missing required property \"servers[1].host\""),
    );
    check(&schema, r#""{\"path\":""#, Err("\"arguments\" must be an object"));
    check(&json!({"type": "object"}), "[]", Err("\"arguments\" must be an object"));
}

#[test]
fn every_value_of_a_key_that_is_there_twice_counts() {
    let schema = || json!({"type": "object", "properties": {"a": {"type": "string"}}});
    check(schema(), r#"{"a":"x","a":"y"}"#, Ok(()));
    check(schema(), r#"{"a":1,"a":"y"}"#, Err("\"value.a\" must be a string"));
    check(schema(), r#"{"a":"x","\u0061":1}"#, Err("\"value.\\u0061\" must be a string"));
}

#[test]
fn a_text_that_is_no_unicode_is_a_string_and_nobodys_name() {
    let closed = || {
        json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "additionalProperties": false,
        })
    };
    check(closed(), r#"{"a":"\ud800 \u0000"}"#, Ok(()));
    check(
        closed(),
        r#"{"\ud800":1}"#,
        Err("\"value.\\ud800\" is not a declared property (additionalProperties: false)"),
    );
    let chosen = json!({"type": "string", "enum": ["a"]});
    check(chosen, r#""\udc00""#, Err("\"value\" must be one of [\"a\"]"));
}

#[test]
fn a_flood_of_violations_is_told_in_short() {
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let many = json!(vec![0; 100_000]).to_string();
    let told: Vec<_> = (0..8).map(|at| format!("\"value[{at}]\" must be a string")).collect();
    check(texts(), &many, Err(&format!("{}; and 99992 more", told.join("; "))));
    let closed = json!({"type": "object", "additionalProperties": false});
    let key = "k".repeat(1_000_000);
    let told = format!("\"value.{}…\" is not a declared property", &key[..80]);
    let told = format!("{told} (additionalProperties: false)");
    check(closed, &format!("{{\"{key}\":1}}"), Err(&told));
}

#[test]
fn numbers_of_any_length_are_what_they_say() {
    let long = "1".repeat(1_000_000);
    check(json!({"type": "integer"}), &long, Ok(()));
    check(json!({"type": "integer", "enum": [1]}), &long, Err("\"value\" must be one of [1]"));
    check(json!({"type": "integer"}), &format!("{long}.5"), Err("\"value\" must be an integer"));
}

#[test]
fn a_text_may_be_deeper_than_any_stack() {
    let levels = 1_000_000;
    let deep = "[".repeat(levels) + &"]".repeat(levels);
    check(json!({}), &deep, Ok(()));
    check(json!({"type": "array"}), &deep, Ok(()));
    check(json!({"type": "array", "items": {"type": "array"}}), &deep, Ok(()));
    check(json!({"type": "string"}), &deep, Err("\"value\" must be a string"));
    let field = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    check(field.clone(), &format!("{{\"b\":{deep},\"a\":\"x\"}}"), Ok(()));
    check(field, &format!("{{\"a\":{deep},\"b\":1}}"), Err("\"value.a\" must be a string"));
}

#[test]
fn a_schema_as_deep_as_there_is_needs_little_stack() {
    // serde_json reads no deeper one.
    let levels = 120;
    let mut schema = json!({"type": "string"});
    for _ in 0..levels {
        schema = json!({"type": "array", "items": schema});
    }
    let deep = |inside: &str| "[".repeat(levels) + inside + &"]".repeat(levels);
    check(schema.clone(), &deep("\"x\""), Ok(()));
    let place = "[0]".repeat(levels);
    check(schema, &deep("1"), Err(&format!("\"value{place}\" must be a string")));
    let mut choices = json!({"type": "string"});
    for _ in 0..40 {
        choices = json!({"oneOf": [choices, {"type": "null"}]});
    }
    check(choices, "\"x\"", Ok(()));
}
