//! Texts before and after, kind by kind.

use std::error::Error;

use serde_json::{Value, json};

use super::{Own, Secrets};
use crate::built_in::Kind;

const GITHUB: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const JWT: &str = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N";

fn own(patterns: Value) -> Vec<Own> {
    serde_json::from_value(patterns).unwrap()
}

#[test]
fn tokens_are_known_by_their_form() {
    check("id AKIAIOSFODNN7EXAMPLE.", "id [redacted:aws-key].");
    check(
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = [redacted:aws-key]",
    );
    check(&format!("push with {GITHUB}, please"), "push with [redacted:github-token], please");
    check("github_pat_11ABCDEFG0abcdefghijkl_x", "[redacted:github-token]");
    check("xoxb-123456789012-abcdefABCDEF", "[redacted:slack-token]");
    check("xapp-1-A012345-678-abcdef", "[redacted:slack-token]");
    check(
        "https://hooks.slack.com/services/T0000/B0000/abcdefghijkl",
        "https://hooks.slack.com/services/[redacted:slack-token]",
    );
    check(&format!("cookie {JWT}; path"), "cookie [redacted:jwt]; path");
    check(
        "Authorization: Bearer abcDEF0123456789xyz",
        "Authorization: Bearer [redacted:bearer-token]",
    );
}

#[test]
fn a_private_key_is_replaced_to_its_end_or_that_of_the_text() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----";
    check(&format!("a {key} b {key} c"), "a [redacted:private-key] b [redacted:private-key] c");
    check("a -----BEGIN PRIVATE KEY-----\nMIIE\nmore", "a [redacted:private-key]");
    check("-----BEGIN PUBLIC KEY-----\nMIIE", "-----BEGIN PUBLIC KEY-----\nMIIE");
}

#[test]
fn what_is_assigned_to_a_secret_name_is_replaced() {
    check("DB_PASSWORD=hunter2 next", "DB_PASSWORD=[redacted:assignment] next");
    check("api_key: correcthorse", "api_key: [redacted:assignment]");
    check("--api-key=a1b2c3,x", "--api-key=[redacted:assignment],x");
    check(r#"{"password": "two words"}"#, r#"{"password": "[redacted:assignment]"}"#);
    check(r#"{\"password\": \"hunter2\"}"#, r#"{\"password\": \"[redacted:assignment]\"}"#);
    check("clientSecret := 'abcd'", "clientSecret := '[redacted:assignment]'");
    check("?access_token=abcd1234&x=1", "?access_token=[redacted:assignment]&x=1");
}

#[test]
fn code_about_secrets_is_no_secret() {
    let code = [
        "fn login(user: &str, password: &str)",
        "password: String,",
        "self.password = password",
        "api_key = os.environ['KEY']",
        "secret = read_line()",
        "password=\"${DB_PASSWORD}\" token=4096",
        "password == other",
        "next_page_token: abcdef1234",
        "the bearer authentication-scheme of HTTP",
        "PASSWORD_FILE=/run/password",
        "task_1234 skills-0123456789abcdefghij",
    ];
    for it in code {
        check(it, it);
    }
}

#[test]
fn a_secret_is_called_by_its_best_name_once() {
    check(&format!("password={GITHUB}"), "password=[redacted:github-token]");
    check(&format!("token: \"{JWT}\""), "token: \"[redacted:jwt]\"");
    check("password=\"[redacted:jwt]\"", "password=\"[redacted:jwt]\"");
    check(&format!("Bearer {JWT}"), "Bearer [redacted:jwt]");
}

#[test]
fn only_the_kinds_asked_for_are_replaced() {
    let text = format!("password=hunter2 {GITHUB}");
    check_with(&[Kind::GithubToken], json!([]), &text, "password=hunter2 [redacted:github-token]");
    check_with(&[], json!([]), &text, &text);
}

#[test]
fn patterns_of_ones_own_replace_their_first_group_or_all() {
    let badge = |regex: &str| json!([{"kind": "badge", "regex": regex}]);
    check_with(&[], badge("B-[0-9]+"), "I am B-123.", "I am [redacted:badge].");
    check_with(&[], badge("(?i)badge (\\d+)"), "Badge 77!", "Badge [redacted:badge]!");
    check_with(&[], badge("x=(a)|y=(b)"), "x=a y=b", "x=[redacted:badge] y=[redacted:badge]");
}

#[test]
fn what_an_environment_variable_holds_is_replaced_under_its_name() {
    // Cargo sets it for every test; the dot in it is no wildcard.
    let secrets = Secrets::new(&[], &[], &["CARGO_MANIFEST_DIR".into()]).unwrap();
    let mut text = format!("in {}/src", env!("CARGO_MANIFEST_DIR"));
    assert!(secrets.hide(&mut text));
    assert_eq!(text, "in [redacted:CARGO_MANIFEST_DIR]/src");
    let unset = Secrets::new(&[], &[], &["LOCKGATE_NOT_SET".into()]).unwrap();
    assert!(!unset.may_be_in("anything"));
}

#[test]
fn what_cannot_be_looked_for_is_refused() {
    check(
        json!([{"kind": "a", "regex": "("}]),
        &[],
        "the regex of the pattern `a` cannot be read: regex parse error:\n    (\n    ^\nerror: unclosed group",
    );
    check(
        json!([{"kind": "a", "regex": "x*"}]),
        &[],
        "the regex of the pattern `a` matches the empty text; let it ask for a character",
    );
    check(
        json!([{"kind": "", "regex": "x"}]),
        &[],
        "the pattern with the regex `x` has an empty `kind`; say what it finds",
    );
    check(
        json!([]),
        &["CARGO_PKG_VERSION_MAJOR"],
        "the environment variable `CARGO_PKG_VERSION_MAJOR` has fewer than 6 characters, which \
         occur in other texts by chance; take it off the list `env`",
    );

    #[track_caller]
    fn check(patterns: Value, env: &[&str], expected: &str) {
        let env: Vec<String> = env.iter().map(|it| (*it).to_owned()).collect();
        let error = Secrets::new(&[], &own(patterns), &env).unwrap_err();
        let cause = error.source().map(|it| format!(": {it}")).unwrap_or_default();
        assert_eq!(format!("{error}{cause}"), expected);
    }
}

#[track_caller]
fn check(text: &str, expected: &str) {
    check_with(&Kind::ALL, json!([]), text, expected);
}

#[track_caller]
fn check_with(kinds: &[Kind], patterns: Value, text: &str, expected: &str) {
    let secrets = Secrets::new(kinds, &own(patterns), &[]).unwrap();
    let mut hidden = text.to_owned();
    assert_eq!((secrets.hide(&mut hidden), &*hidden), (text != expected, expected));
    // What is hidden once stays as it is.
    assert_eq!((secrets.hide(&mut hidden), &*hidden), (false, expected));
}
