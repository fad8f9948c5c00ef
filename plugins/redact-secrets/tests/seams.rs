//! Secrets at every place of an outcome, and in what others decide about it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use lockgate_plugin_api::testing::{Bench, call};
use lockgate_plugin_api::{
    Block, ErrorInfo, Extras, Message, PostTool, PostToolDecision, Source, ToolOutcome,
};
use redact_secrets::RedactSecrets;
use serde_json::{Value, json};

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
const HIDDEN: &str = "[redacted:github-token]";

fn bench() -> Bench<RedactSecrets> {
    Bench::new(json!({})).unwrap()
}

fn note(text: &str) -> Message {
    Message::from_plugin("other", text)
}

fn blocks(text: &str) -> Vec<Block> {
    vec![Block::text(text)]
}

/// Everything of an outcome, as JSON.
fn all(outcome: &ToolOutcome) -> Value {
    json!({
        "message": outcome.message(),
        "value": outcome.value::<Value>().unwrap_or_default(),
        "content": outcome.content().unwrap(),
        "extras": outcome.extras().unwrap(),
    })
}

/// Everything of a decision, as JSON.
fn told(decision: &PostToolDecision) -> Value {
    match decision.verdict().unwrap() {
        PostTool::Accept { contexts } => json!({"accept": null, "contexts": contexts}),
        PostTool::ReplaceContent { content, contexts } => {
            json!({"content": content, "contexts": contexts})
        }
        PostTool::ReplaceValue { value, contexts } => {
            json!({"value": value, "contexts": contexts})
        }
        PostTool::Block { feedback, contexts } => json!({"block": feedback, "contexts": contexts}),
    }
}

/// The same JSON with the secret replaced.
fn hidden(json: &Value) -> Value {
    serde_json::from_str(&json.to_string().replace(SECRET, HIDDEN)).unwrap()
}

/// A notice whose summary says something too.
fn summed_up(summary: &str, text: &str) -> Message {
    let form = json!({"form": "notice", "summary": summary}).as_object().unwrap().clone();
    Message { source: Source::Plugin { plugin: "other".into(), form }, ..note(text) }
}

fn full_failure(text: &str) -> ToolOutcome {
    let error = Some(ErrorInfo { name: "ToolArgsError".into(), code: "INVALID_ARGS".into() });
    let meta = Some(serde_json::value::to_raw_value(&json!({"said": text})).unwrap());
    let content = [
        Block::text(format!("Error: {text}")),
        Block::Reasoning { text: text.into() },
        Block::Image { attachment: json!({"attachmentId": text}) },
        Block::ToolCall {
            id: "1".into(),
            name: "t".into(),
            arguments: json!({"a": text}).to_string(),
        },
        Block::ToolResult { tool_call_id: "1".into(), content: blocks(text), is_error: false },
    ];
    let extras = Extras { error, code: None, meta, contexts: vec![summed_up(text, text)] };
    ToolOutcome::failure(text).with_content(&content).with_extras(&extras)
}

#[test]
fn a_result_has_no_secrets_once_it_leaves_the_body() {
    let success = |text: &str| ToolOutcome::success(&json!({"out": [text]}));
    check(success, false);
    check(|text| success("clean").with_context(note(text)), false);
    check(|text| success("clean").with_context(summed_up(text, "clean")), false);
    check(|text| ToolOutcome::failure(text), false);
    check(|text| ToolOutcome::failure("clean").with_content(&blocks(text)), false);
    check(full_failure, false);
    // A clean one goes back as it came, meta and all.
    check(|_| full_failure("clean"), true);
    check(|_| success("clean"), true);

    #[track_caller]
    fn check(body: impl Fn(&str) -> ToolOutcome, is_clean: bool) {
        let outcome = bench().execute(&call("read"), |_| body(SECRET)).unwrap();
        assert_eq!(all(&outcome), hidden(&all(&body(SECRET))));
        assert_eq!(all(&outcome) == all(&body(SECRET)), is_clean);
    }
}

#[test]
fn a_result_that_was_let_stand_is_replaced_where_it_holds_a_secret() {
    let accept = PostToolDecision::accept;
    let success = |value: &str, shown: &str| {
        ToolOutcome::success(&json!({"out": value})).with_content(&blocks(shown))
    };
    check(&success("clean", "clean"), accept, json!({"accept": null, "contexts": []}));
    check(&success(SECRET, SECRET), accept, json!({"value": {"out": HIDDEN}, "contexts": []}));
    check(&success("clean", SECRET), accept, json!({"content": blocks(HIDDEN), "contexts": []}));
    check(
        &success("clean", SECRET),
        || accept().with_context(note(SECRET)).with_context(note("first")),
        json!({"content": blocks(HIDDEN), "contexts": [note("first"), note(HIDDEN)]}),
    );
    check(
        &success("clean", "clean"),
        || accept().with_context(note(SECRET)),
        json!({"accept": null, "contexts": [note(HIDDEN)]}),
    );
}

#[test]
fn a_failure_that_says_a_secret_is_blocked_with_what_is_left_of_it() {
    let denied = ToolOutcome::failure(SECRET);
    let feedback = blocks(&format!("Error: {HIDDEN}"));
    check(&denied, PostToolDecision::accept, json!({"block": feedback, "contexts": []}));
    // Its own messages would be dropped by a block.
    check(
        &ToolOutcome::failure("clean").with_context(note(SECRET)),
        || PostToolDecision::accept().with_context(note("last")),
        json!({"block": blocks("Error: clean"), "contexts": [note(HIDDEN), note("last")]}),
    );
    check(
        &denied,
        || PostToolDecision::replace_content(blocks("other")).with_context(note("last")),
        json!({"block": blocks("other"), "contexts": [note("last")]}),
    );
    check(
        &ToolOutcome::failure("clean").with_content(&blocks(SECRET)),
        PostToolDecision::accept,
        json!({"content": blocks(HIDDEN), "contexts": []}),
    );
}

#[test]
fn what_the_listeners_further_in_decide_has_no_secrets_either() {
    let clean = ToolOutcome::success(&json!("clean"));
    for text in [SECRET, "clean"] {
        let contexts = json!([note(&text.replace(SECRET, HIDDEN))]);
        let shown = blocks(&text.replace(SECRET, HIDDEN));
        let with = |decision: PostToolDecision| decision.with_context(note(text));
        check(
            &clean,
            || with(PostToolDecision::replace_content(blocks(text))),
            json!({"content": shown, "contexts": contexts}),
        );
        check(
            &clean,
            || with(PostToolDecision::replace_value(&json!({"out": text}))),
            json!({"value": {"out": text.replace(SECRET, HIDDEN)}, "contexts": contexts}),
        );
        check(
            &clean,
            || with(PostToolDecision::replace_value(&json!("other"))),
            json!({"value": "other", "contexts": contexts}),
        );
        check(
            &clean,
            || with(PostToolDecision::block(blocks(text))),
            json!({"block": shown, "contexts": contexts}),
        );
    }
}

#[test]
fn messages_of_the_body_are_replaced_by_others_without_the_secret() {
    check(PostToolDecision::accept, true, &[note(HIDDEN), note("clean")]);
    check(
        || PostToolDecision::accept().with_context(note("added")),
        true,
        &[note(HIDDEN), note("clean"), note("added")],
    );
    check(
        || PostToolDecision::accept().replacing_contexts(vec![note(SECRET)]),
        true,
        &[note(HIDDEN)],
    );
    check(|| PostToolDecision::accept().replacing_contexts(Vec::new()), true, &[]);

    #[track_caller]
    fn check(further_in: impl Fn() -> PostToolDecision, replaces: bool, expected: &[Message]) {
        let decision = bench().post_execute_before(&call("read"), &outcome(), further_in).unwrap();
        assert_eq!(decision.replaces_contexts(), replaces);
        assert_eq!(told(&decision), json!({"accept": null, "contexts": expected}));
    }
    fn outcome() -> ToolOutcome {
        ToolOutcome::success(&json!("clean")).with_context(note(SECRET)).with_context(note("clean"))
    }
}

#[test]
fn a_result_that_cannot_be_searched_is_kept_back() {
    let deep = "[".repeat(200) + &json!(SECRET).to_string() + &"]".repeat(200);
    let fault =
        bench().execute(&call("read"), |_| ToolOutcome::success_json(deep.clone())).unwrap_err();
    assert_eq!(
        fault.message(),
        "the value may hold a secret and cannot be searched, so the result is kept back: \
         recursion limit exceeded at line 1 column 128"
    );
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<RedactSecrets>::check_config_schema(), Ok(()));
}

#[test]
fn what_it_cannot_look_for_refuses_the_start() {
    let config = json!({"patterns": [{"kind": "x", "regex": "y*"}]});
    let message = "the regex of the pattern `x` matches the empty text; let it ask for a character";
    assert_eq!(Bench::<RedactSecrets>::probe(config).unwrap_err().message(), message);
}

/// Reviews `outcome`, with another listener further in that decides as `further_in` says.
#[track_caller]
fn check(outcome: &ToolOutcome, further_in: impl Fn() -> PostToolDecision, expected: Value) {
    let decision = bench().post_execute_before(&call("read"), outcome, further_in).unwrap();
    assert_eq!(told(&decision), expected);
}
