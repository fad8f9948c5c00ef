//! What rules are about, which of them counts, and what is told with it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use command_policy::CommandPolicy;
use lockgate_plugin_api::testing::{Bench, Call, Fault, call};
use lockgate_plugin_api::{PreTool, PreToolDecision};
use serde_json::{Value, json};

/// Asks about a call under this configuration.
#[track_caller]
fn check(config: &Value, call: &Call, expected: Option<PreTool<'_>>) {
    let bench = Bench::<CommandPolicy>::new(config.clone()).unwrap();
    let decision = bench.pre_execute(call).unwrap();
    assert_eq!(decision.as_ref().map(|it| it.verdict().unwrap()), expected);
}

fn bash(text: &str) -> Call {
    call("bash").arguments(&json!({"command": text}))
}

fn ask(reason: &str) -> Option<PreTool<'_>> {
    Some(PreTool::Ask { reason: Some(reason) })
}

fn deny(reason: &str) -> Option<PreTool<'_>> {
    Some(PreTool::Deny { reason })
}

const ALLOW: Option<PreTool<'_>> = Some(PreTool::Allow);

#[test]
fn a_rule_for_a_tool_is_about_its_calls() {
    let config = json!({"rules": [
        {"tool": "todo_*", "verdict": "allow"},
        {"tool": "mcp__[a-m]?__*", "verdict": "ask", "reason": "who is that?"},
        {"tool": "w\\rite", "verdict": "deny", "reason": "read only"},
    ]});
    check(&config, &call("todo_write"), ALLOW);
    check(
        &config,
        &call("mcp__gh__push"),
        ask("`rules[1]` of command-policy asks about this call of `mcp__gh__push`: who is that?"),
    );
    check(&config, &call("mcp__zz__push"), None);
    check(
        &config,
        &call("write"),
        deny("`rules[2]` of command-policy denies this call of `write`: read only"),
    );
    check(&config, &call("rewrite"), None);
    check(&json!({}), &call("write"), None);
    check(&json!({"rules": [{"verdict": "allow"}]}), &call("write"), ALLOW);
}

#[test]
fn a_rule_for_an_argument_is_about_what_is_in_it() {
    let rule = |argument: &str, key: &str, pattern: &str| {
        json!({"rules": [
            {"argument": argument, key: pattern, "verdict": "deny", "reason": "no"},
        ]})
    };
    let denied = deny("`rules[0]` of command-policy denies this call of `write`: no");
    let write = call("write").arguments(&json!({
        "file_path": "/etc/passwd", "list": [{"a/b": "x"}], "count": 12, "on": true, "none": null,
    }));
    check(&rule("file_path", "glob", "/etc/*"), &write, denied);
    check(&rule("file_path", "glob", "/etc"), &write, None);
    check(
        &rule("/file_path", "regex", "pass"),
        &write,
        deny("`rules[0]` of command-policy denies this call of `write`: no"),
    );
    check(&rule("file_path", "regex", "^pass"), &write, None);
    let denied = || deny("`rules[0]` of command-policy denies this call of `write`: no");
    check(&rule("/list/0/a~1b", "glob", "x"), &write, denied());
    check(&rule("count", "glob", "1?"), &write, denied());
    check(&rule("on", "glob", "true"), &write, denied());
    check(&rule("list", "glob", "[[]{\"a/b\":\"x\"}]"), &write, denied());
    check(&rule("missing", "glob", "*"), &write, None);
    check(&rule("/list/1", "glob", "*"), &write, None);
}

#[test]
fn a_pattern_without_an_argument_is_about_all_of_them_as_json() {
    let config = json!({"rules": [
        {"regex": "\"path\":\"/etc", "verdict": "deny", "reason": "no"},
        {"glob": "*secret*", "verdict": "ask", "reason": "sure?"},
    ]});
    let denied = deny("`rules[0]` of command-policy denies this call of `read`: no");
    let with = |arguments: &str| call("read").arguments_json(arguments);
    check(&config, &with(r#"{ "path" : "\u002fetc/x" }"#), denied);
    check(&config, &with(r#"{"path":"/home"}"#), None);
    let asked = ask("`rules[1]` of command-policy asks about this call of `read`: sure?");
    check(&config, &with(r#"{"a":{"b":["s\u0065cret"]}}"#), asked);
}

#[test]
fn of_the_rules_that_fit_the_first_counts() {
    let allow_first = json!({"rules": [
        {"command": "git push origin", "verdict": "allow"},
        {"command": "git push", "verdict": "deny", "reason": "only to origin"},
    ]});
    check(&allow_first, &bash("git push origin main"), ALLOW);
    let denied = "`rules[1]` of command-policy denies `git push evil`: only to origin";
    check(&allow_first, &bash("git push evil"), deny(denied));
    check(&allow_first, &bash("git push origin && git push evil"), deny(denied));
    let conditions = json!({"rules": [
        {"tool": "bash", "argument": "cwd", "glob": "/tmp*", "command": "rm", "verdict": "allow"},
        {"command": "rm", "verdict": "deny", "reason": "only in /tmp"},
    ]});
    let rm = |cwd| call("bash").arguments(&json!({"command": "rm x", "cwd": cwd}));
    check(&conditions, &rm("/tmp/a"), ALLOW);
    let denied = "`rules[1]` of command-policy denies `rm x`: only in /tmp";
    check(&conditions, &rm("/home"), deny(denied));
}

#[test]
fn a_rule_for_the_tool_alone_is_about_each_of_its_commands() {
    let config = json!({"rules": [
        {"command": "rm", "verdict": "deny", "reason": "no"},
        {"tool": "bash", "verdict": "allow"},
    ]});
    check(&config, &bash("make && ls"), ALLOW);
    check(&config, &bash(""), ALLOW);
    check(&config, &bash("make; rm x"), deny("`rules[0]` of command-policy denies `rm x`: no"));
    let unclear = "command-policy cannot tell all that this text runs: what `$X` runs is known \
                   only then; write it plainly";
    check(&config, &bash("$X"), ask(unclear));
    // Without rules for commands nothing is read.
    check(&json!({"rules": [{"tool": "bash", "verdict": "allow"}]}), &bash("$X '"), ALLOW);
}

#[test]
fn a_regex_is_searched_for_in_each_command_without_its_quoting() {
    let config = json!({"rules": [
        {"command_regex": "^(rm|shred) (.* )?-[a-z]*f", "verdict": "deny", "reason": "no force"},
        {"command": "git", "command_regex": "--hard$", "verdict": "ask", "reason": "sure?"},
        {"command_regex": "^git log$", "verdict": "allow"},
    ]});
    let denied = "`rules[0]` of command-policy denies `'rm' -i \"-rf\" y`: no force";
    check(&config, &bash("ls; 'rm' -i \"-rf\" y"), deny(denied));
    let denied = "`rules[0]` of command-policy denies `A=1 /bin/rm -f y`: no force";
    check(&config, &bash("A=1 /bin/rm -f y"), deny(denied));
    check(&config, &bash("rm y"), None);
    let asked = "`rules[1]` of command-policy asks about `git reset --hard`: sure?";
    check(&config, &bash("git reset --hard"), ask(asked));
    check(&config, &bash("git log"), ALLOW);
    check(&config, &bash("git log -p"), None);
    check(&config, &bash("git log; A=1 git log"), None);
    let perhaps = "`rules[0]` of command-policy may be about `rm $x`, which is known only when it \
                   runs: no force";
    check(&config, &bash("rm $x"), ask(perhaps));
}

#[test]
fn a_shell_is_a_tool_that_is_listed_as_one() {
    let config = json!({
        "shells": [{"tool": "run_*", "argument": "/input/script"}],
        "rules": [{"command": "rm", "verdict": "deny", "reason": "no"}],
    });
    let denied = || deny("`rules[0]` of command-policy denies `rm x`: no");
    let run = |script: Value| call("run_it").arguments(&json!({"input": {"script": script}}));
    check(&config, &run(json!("ls; rm x")), denied());
    check(&config, &run(json!(["rm", "x"])), denied());
    check(&config, &run(json!(["ls", "; rm x"])), None);
    check(&config, &run(json!(["bash", "-lc", "ls; rm x"])), denied());
    check(&config, &bash("rm x"), None);
    let missing = "command-policy cannot tell all that this text runs: the argument with the text \
                   is not there; write it plainly";
    check(&config, &run(json!(3)), ask(missing));
    check(&config, &run(json!(["ls", 3])), ask(missing));
    check(&config, &call("run_it"), ask(missing));
}

#[test]
fn what_is_not_known_is_treated_as_unparsable_says_and_never_more_strictly_than_its_rule() {
    let config = |unparsable: &str, verdict: &str| {
        json!({
            "unparsable": unparsable,
            "rules": [{"command": "git push * -f", "verdict": verdict, "reason": "no"},
                      {"command": "*", "verdict": "allow"}],
        })
    };
    let perhaps = "`rules[0]` of command-policy may be about `git push $x`, which is known only \
                   when it runs: no";
    let push = bash("git push $x");
    check(&config("ask", "deny"), &push, ask(perhaps));
    check(&config("deny", "deny"), &push, deny(perhaps));
    check(&config("deny", "ask"), &push, ask(perhaps));
    check(&config("pass", "deny"), &push, ALLOW);
    let several = json!({
        "unparsable": "deny",
        "rules": [{"command": "git push origin", "verdict": "allow"},
                  {"command": "git push * -n", "verdict": "ask", "reason": "sure?"},
                  {"command": "git push * -f", "verdict": "deny", "reason": "no"}],
    });
    let strictest = perhaps.replace("rules[0]", "rules[2]");
    check(&several, &push, deny(&strictest));
    check(&several, &bash("git push origin $x"), ALLOW);
    let unclear = "command-policy cannot tell all that this text runs: a double quote is not \
                   closed; write it plainly";
    let open = bash("ls \"");
    check(&config("ask", "deny"), &open, ask(unclear));
    check(&config("deny", "ask"), &open, deny(unclear));
    check(&config("pass", "deny"), &open, None);
    check(&config("pass", "deny"), &bash("ls; $x"), None);
}

#[test]
fn what_no_rule_names_is_treated_as_default_says() {
    let config = |default: &str, unparsable: &str| {
        json!({
            "default": default,
            "unparsable": unparsable,
            "rules": [{"command": "ls", "verdict": "allow"},
                      {"command": "mv", "verdict": "ask", "reason": "sure?"}],
        })
    };
    check(&config("pass", "ask"), &bash("ls && make"), None);
    let unnamed = "no rule of command-policy names `make`";
    check(&config("ask", "ask"), &bash("ls && make"), ask(unnamed));
    check(&config("deny", "ask"), &bash("ls && make && mv a b"), deny(unnamed));
    check(&config("deny", "ask"), &bash("ls"), ALLOW);
    let unnamed = "no rule of command-policy names this call of `read`";
    check(&config("deny", "ask"), &call("read"), deny(unnamed));
    let unclear = "command-policy cannot tell all that this text runs: a double quote is not \
                   closed; write it plainly";
    check(&config("deny", "pass"), &bash("\""), deny(unclear));
}

#[test]
fn a_long_command_is_told_in_short() {
    let config = json!({"rules": [{"command": "rm", "verdict": "deny", "reason": "no"}]});
    let text = format!("rm {}", "é".repeat(300));
    let told = format!("`rules[0]` of command-policy denies `rm {}…`: no", "é".repeat(197));
    check(&config, &bash(&text), deny(&told));
}

#[test]
fn an_allowed_call_is_not_asked_about_further_in_and_an_open_one_is() {
    let config = json!({"rules": [{"command": "ls", "verdict": "allow"}]});
    let bench = Bench::<CommandPolicy>::new(config).unwrap();
    let further_in = || PreToolDecision::ask("a person knows");
    let decision = bench.pre_execute_before(&bash("ls"), further_in).unwrap();
    assert_eq!(decision.verdict().unwrap(), PreTool::Allow);
    let decision = bench.pre_execute_before(&bash("ls; make"), further_in).unwrap();
    assert_eq!(decision.verdict().unwrap(), PreTool::Ask { reason: Some("a person knows") });
}

#[test]
fn a_bad_rule_is_told_by_its_index_with_what_to_do() {
    let with = |rule: Value| json!({"rules": [{"verdict": "allow"}, rule]});
    let refused = |what: &str| format!("`rules[1]` cannot be used: {what}");
    let shape = "correct this key or value: ";
    check(
        with(json!({"verdict": "allow", "cmd": "rm"})),
        &refused(&format!(
            "{shape}unknown field `cmd`, expected one of `tool`, `command`, `command_regex`, \
             `argument`, `glob`, `regex`, `verdict`, `reason`"
        )),
    );
    check(with(json!({})), &refused(&format!("{shape}missing field `verdict`")));
    check(
        with(json!({"verdict": "maybe"})),
        &refused(&format!(
            "{shape}unknown variant `maybe`, expected one of `allow`, `ask`, `deny`"
        )),
    );
    check(
        with(json!({"tool": "[a", "verdict": "allow"})),
        &refused(
            "correct the glob in `tool`: its `[` is not closed; write `\\[` for the character",
        ),
    );
    check(
        with(json!({"command": "rm [z-a]", "verdict": "allow"})),
        &refused(
            "correct the glob in `command`: the range `z-a` in it is empty; write the lower \
             character first",
        ),
    );
    check(
        with(json!({"glob": "a\\", "verdict": "allow"})),
        &refused(
            "correct the glob in `glob`: nothing follows its last `\\`; write `\\\\` for the \
             character",
        ),
    );
    check(
        with(json!({"command": " ", "verdict": "allow"})),
        &refused("correct the glob in `command`: it is empty; leave the key out, or write `*`"),
    );
    let open = "regex parse error:\n    (a\n    ^\nerror: unclosed group";
    check(
        with(json!({"regex": "(a", "verdict": "allow"})),
        &refused(&format!("correct the regular expression in `regex`: {open}")),
    );
    check(
        with(json!({"command_regex": "(a", "verdict": "allow"})),
        &refused(&format!("correct the regular expression in `command_regex`: {open}")),
    );
    check(
        with(json!({"glob": "a", "regex": "a", "verdict": "allow"})),
        &refused("`glob` and `regex` exclude each other; write two rules"),
    );
    check(
        with(json!({"argument": "a", "verdict": "allow"})),
        &refused("`argument` says only where to look; add `glob` or `regex`"),
    );
    let reason = refused("its verdict needs a `reason`; say there what to do instead");
    check(with(json!({"verdict": "deny"})), &reason);
    check(with(json!({"verdict": "ask", "reason": " "})), &reason);
    check(
        json!({"shells": [{"tool": "", "argument": "command"}]}),
        "correct the glob in `shells[0].tool`: it is empty; leave the key out, or write `*`",
    );
    check(
        json!({"unparsable": "allow"}),
        "unknown variant `allow`, expected one of `pass`, `ask`, `deny` at line 1 column 21",
    );
    check(
        json!({"rule": []}),
        "unknown field `rule`, expected one of `rules`, `shells`, `unparsable`, `default` at line \
         1 column 7",
    );

    #[track_caller]
    fn check(config: Value, message: &str) {
        let expected = Fault::Failed { place: "create".into(), message: message.into() };
        assert_eq!(Bench::<CommandPolicy>::new(config).map(drop), Err(expected));
    }
}

#[test]
fn its_config_schema_says_what_it_accepts() {
    assert_eq!(Bench::<CommandPolicy>::check_config_schema(), Ok(()));
}
