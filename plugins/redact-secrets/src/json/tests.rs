//! Texts found in JSON, and trees before and after.

use serde_json::{Value, json};

use super::{hide, may_hold, texts};
use crate::built_in::Kind;
use crate::secrets::Secrets;

const GITHUB: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn secrets() -> Secrets {
    Secrets::new(&Kind::ALL, &[], &[]).unwrap()
}

#[test]
fn every_text_is_found_and_keys_are_told_from_values() {
    check(r#"{"a":"b", "c" : ["d", 1, {"e":null}]}"#, &["a:", "b", "c:", "d", "e:"]);
    check(r#""a \"quoted\" \\""#, &["a \"quoted\" \\"]);
    check(r#"["\u0041\n", ":", "x"]"#, &["A\n", ":", "x"]);
    check(r#"["\ud800"]"#, &["\\ud800"]);
    check("12", &[]);
    check("", &[]);

    #[track_caller]
    fn check(json: &str, expected: &[&str]) {
        let found = texts(json).map(|it| it.text.into_owned() + if it.is_key { ":" } else { "" });
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_secret_is_replaced_wherever_it_stands() {
    check(json!({"a": [{"b": GITHUB}]}), json!({"a": [{"b": "[redacted:github-token]"}]}));
    check(json!({GITHUB: 1}), json!({"[redacted:github-token]": 1}));
    check(json!("say \"api_key=hunter2\"\n"), json!("say \"api_key=[redacted:assignment]\"\n"));
    check(json!({"n": [1, null, true, "clean"]}), json!({"n": [1, null, true, "clean"]}));
}

#[test]
fn what_stands_under_a_secret_name_is_replaced_whatever_it_looks_like() {
    check(json!({"dbPassword": "correct horse"}), json!({"dbPassword": "[redacted:assignment]"}));
    check(json!({"api_key": GITHUB}), json!({"api_key": "[redacted:github-token]"}));
    check(json!({"password": {"a": "b"}}), json!({"password": {"a": "b"}}));
    check(json!({"password": ""}), json!({"password": ""}));
    check(json!({"password": "${FROM_ENV}"}), json!({"password": "${FROM_ENV}"}));
    check(json!({"cursor_token": "abcdefgh"}), json!({"cursor_token": "abcdefgh"}));
}

#[test]
fn keys_that_become_the_same_are_numbered() {
    let other = GITHUB.replace('0', "9");
    check(
        json!({GITHUB: 1, other.clone(): 2}),
        json!({"[redacted:github-token]": 1, "[redacted:github-token] 2": 2}),
    );
}

#[test]
fn any_depth_is_searched() {
    let deep = |text: &str| "[".repeat(5_000) + &json!(text).to_string() + &"]".repeat(5_000);
    assert!(may_hold(&secrets(), &deep(GITHUB)));
    assert!(!may_hold(&secrets(), &deep("clean")));
}

#[track_caller]
fn check(value: Value, expected: Value) {
    let secrets = secrets();
    let mut hidden = value.clone();
    assert_eq!((hide(&secrets, &mut hidden), &hidden), (value != expected, &expected));
    assert!(value == expected || may_hold(&secrets, &value.to_string()));
    // What is hidden once stays as it is.
    assert!(!hide(&secrets, &mut hidden));
}
