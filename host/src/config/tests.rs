//! What configuration files come to.

use std::error::Error;

use lockgate_plugin_api::SeamName;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::approval::Approvals;
use crate::session::SyncPolicy;
use crate::settings::{PluginScope, Required};

#[test]
fn a_file_may_say_nothing() {
    check("", Config::default());
    check("# nothing\n[plugins]\n", Config::default());
}

#[test]
fn every_key_is_read() {
    check(
        r#"
        plugin_dirs = ["target/plugins", "../more", "/usr/lib/lockgate"]
        strict = true
        approve = "never"
        session_start_grace_ms = 1_500
        max_parallel_tool_calls = 4
        system = "Be brief."
        model = "script:play.json"
        base_url = "http://127.0.0.1:8080/v1"
        api_key_env = "MY_KEY"
        request_idle_timeout_ms = 60_000
        cwd = "work"
        session.sync = "always"

        [plugins.gate]
        enabled = false
        scope = "agent"
        required = true
        priority = { pre-execute = 10, guard = -7 }
        answer_deadline_ms = 90000
        config.deny = ["shell"]

        [plugins."a b"]
        required.guard = false
        "#,
        Config {
            file: None,
            plugin_dirs: ["DIR/target/plugins", "DIR/../more", "/usr/lib/lockgate"]
                .map(Into::into)
                .into(),
            strict: true,
            approve: Some(Approvals::Never),
            session_start_grace: Some(Duration::from_millis(1500)),
            max_parallel_tool_calls: NonZeroUsize::new(4),
            sync: Some(SyncPolicy::Always),
            system: Some("Be brief.".into()),
            model: Some("script:play.json".into()),
            base_url: Some("http://127.0.0.1:8080/v1".into()),
            api_key_env: Some("MY_KEY".into()),
            request_idle_timeout: Some(Duration::from_secs(60)),
            cwd: Some("DIR/work".into()),
            plugins: BTreeMap::from([
                (
                    "gate".into(),
                    PluginSettings {
                        enabled: false,
                        scope: PluginScope::Agent,
                        required: Required::All(true),
                        priority: BTreeMap::from([
                            (SeamName::PreExecute, 10),
                            (SeamName::Guard, -7),
                        ]),
                        entry_deadline: None,
                        answer_deadline: Some(Duration::from_secs(90)),
                        config: json!({ "deny": ["shell"] }),
                    },
                ),
                (
                    "a b".into(),
                    PluginSettings {
                        required: Required::At(BTreeMap::from([(SeamName::Guard, false)])),
                        ..PluginSettings::default()
                    },
                ),
            ]),
        },
    );
}

#[test]
fn a_plugin_that_is_only_named_is_enabled() {
    let plugins = BTreeMap::from([(
        "gate".to_owned(),
        PluginSettings {
            enabled: true,
            scope: PluginScope::Global,
            required: Required::At(BTreeMap::new()),
            priority: BTreeMap::new(),
            entry_deadline: None,
            answer_deadline: None,
            config: json!({}),
        },
    )]);
    check("[plugins.gate]", Config { plugins, ..Config::default() });
}

#[test]
fn what_a_plugin_is_given_keeps_its_types() {
    let config = json!({
        "text": "a",
        "whole": -5,
        "long": 9_223_372_036_854_775_807_i64,
        "unsigned": 18_446_744_073_709_551_615_u64,
        "hex": 255,
        "plus": 7,
        "float": 1000.5,
        "truth": false,
        "moment": "2026-01-31T12:00:00.5Z",
        "day": "2026-01-31",
        "time": "07:32:00",
        "mixed": [1, "a", [true], { "b": {} }],
        "table": { "c.d": 1 },
        "rows": [{ "n": 1 }, { "n": 2 }],
    });
    let plugins = BTreeMap::from([(
        "gate".to_owned(),
        PluginSettings { config, ..PluginSettings::default() },
    )]);
    check(
        r#"
        [plugins.gate.config]
        text = "a"
        whole = -5
        long = 9223372036854775807
        unsigned = 18446744073709551615
        hex = 0xff
        plus = +7
        float = 1_000.5
        truth = false
        moment = 2026-01-31T12:00:00.5Z
        day = 2026-01-31
        time = 07:32:00
        mixed = [1, "a", [true], { b = {} }]
        table."c.d" = 1
        [[plugins.gate.config.rows]]
        n = 1
        [[plugins.gate.config.rows]]
        n = 2
        "#,
        Config { plugins, ..Config::default() },
    );
}

#[test]
fn an_unknown_key_is_told_with_the_one_that_was_meant() {
    check_error(
        "model = 'm'\n  strcit = true\n",
        "`FILE`, line 2, column 3: unknown key `strcit`, did you mean `strict`?",
    );
    check_error(
        "[plugins.gate]\nenable = true",
        "`FILE`, line 2, column 1: unknown key `plugins.gate.enable`, did you mean `enabled`?",
    );
    check_error(
        "[plugin.gate]",
        "`FILE`, line 1, column 2: unknown key `plugin`, did you mean `plugins`?",
    );
    check_error(
        "[plugins.'ä b'.priority]\npre_execute = 1",
        "`FILE`, line 2, column 1: unknown key `plugins.\"ä b\".priority.pre_execute`, \
         did you mean `pre-execute`?",
    );
    check_error(
        "[plugins.gate]\ncolour = 'red'",
        "`FILE`, line 2, column 1: unknown key `plugins.gate.colour`, \
         the keys here are `answer_deadline_ms`, `config`, `enabled`, `entry_deadline_ms`, \
         `priority`, `required`, `scope`",
    );
}

#[test]
fn the_first_unknown_key_of_a_table_is_told() {
    check_error(
        "zzz = 1\naaa = 1",
        "`FILE`, line 1, column 1: unknown key `zzz`, the keys here are `api_key_env`, \
         `approve`, `base_url`, `cwd`, `max_parallel_tool_calls`, `model`, `plugin_dirs`, \
         `plugins`, `request_idle_timeout_ms`, `session`, `session_start_grace_ms`, `strict`, \
         `system`",
    );
}

#[test]
fn a_value_of_another_type_is_told_with_its_place() {
    for (text, expected) in [
        ("strict = 'yes'", "line 1, column 10: `strict` must be true or false, not a string"),
        ("\nmodel = 1", "line 2, column 9: `model` must be a string, not the integer 1"),
        ("system = 1.5", "line 1, column 10: `system` must be a string, not the float 1.5"),
        ("cwd = 2026-01-31", "line 1, column 7: `cwd` must be a string, not a date"),
        ("plugins = []", "line 1, column 11: `plugins` must be a table, not an array"),
        (
            "plugin_dirs = 'a'",
            "line 1, column 15: `plugin_dirs` must be an array of strings, not a string",
        ),
        (
            "plugin_dirs = ['ä', true]",
            "line 1, column 21: `plugin_dirs[1]` must be a string, not true",
        ),
        (
            "session_start_grace_ms = -1",
            "line 1, column 26: `session_start_grace_ms` must be a whole number of milliseconds, \
             not the integer -1",
        ),
        (
            "max_parallel_tool_calls = 0",
            "line 1, column 27: `max_parallel_tool_calls` must be a whole number, at least 1, \
             not the integer 0",
        ),
        (
            "max_parallel_tool_calls = 1.5",
            "line 1, column 27: `max_parallel_tool_calls` must be a whole number, at least 1, \
             not the float 1.5",
        ),
        (
            "[session]\nsync = 'often'",
            "line 2, column 8: `session.sync` must be `always`, `checkpoint` or `never`, \
             not a string",
        ),
        (
            "plugins.gate = 1",
            "line 1, column 16: `plugins.gate` must be a table, not the integer 1",
        ),
        (
            "[plugins.gate]\nrequired = ['guard']",
            "line 2, column 12: `plugins.gate.required` must be true, false or a table of seams, \
             not an array",
        ),
        (
            "plugins.gate.enabled = {}",
            "line 1, column 24: `plugins.gate.enabled` must be true or false, not a table",
        ),
        (
            "plugins.gate.config = 'a'",
            "line 1, column 23: `plugins.gate.config` must be a table, not a string",
        ),
        (
            "plugins.gate.priority = 1",
            "line 1, column 25: `plugins.gate.priority` must be a table, not the integer 1",
        ),
        (
            "plugins.gate.priority.guard = 3000000000",
            "line 1, column 31: `plugins.gate.priority.guard` must be a whole number of 32 bits, \
             not the integer 3000000000",
        ),
    ] {
        check_error(text, &format!("`FILE`, {expected}"));
    }
}

#[test]
fn what_json_cannot_say_is_an_error() {
    check_error(
        "plugins.gate.config.a = [0, nan]",
        "`FILE`, line 1, column 29: `plugins.gate.config.a[1]` must be a finite number, \
         not the float nan",
    );
    check_error(
        "plugins.gate.config.a = 18446744073709551616",
        "`FILE`, line 1, column 25: `plugins.gate.config.a` must be a whole number of 64 bits, \
         not the integer 18446744073709551616",
    );
}

#[test]
fn what_is_not_toml_is_told_with_its_place() {
    check_error(
        "strict = \n",
        "`FILE`, line 1, column 10: this is not TOML: string values must be quoted, \
         expected literal string",
    );
    check_error(
        "model = 'a'\n[plugins\n",
        "`FILE`, line 2, column 9: this is not TOML: unclosed table, expected `]`",
    );
    check_error(
        "strict = true\nstrict = true",
        "`FILE`, line 2, column 1: this is not TOML: duplicate key",
    );
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let error = Config::load(Some(Path::new("missing.toml")), directory.path()).unwrap_err();
    assert_eq!(
        chain(&error, directory.path()),
        "cannot read the configuration `DIR/missing.toml`: No such file or directory (os error 2)"
    );
    fs::create_dir(directory.path().join(NAME)).unwrap();
    let error = Config::load(None, directory.path()).unwrap_err();
    assert_eq!(
        chain(&error, directory.path()),
        "cannot read the configuration `DIR/lockgate.toml`: Is a directory (os error 21)"
    );
    let error = Config::load(None, &directory.path().join("missing")).unwrap_err();
    assert_eq!(
        chain(&error, directory.path()),
        "cannot look for `lockgate.toml` from `DIR/missing` upwards: \
         No such file or directory (os error 2)"
    );
}

#[test]
fn the_nearest_file_upwards_comes_before_that_of_the_user() {
    let tree = tree(&["a/lockgate.toml", "a/b/c/", "user/lockgate/lockgate.toml", "other/"]);
    check_found(&tree, "a", Some("a/lockgate.toml"));
    check_found(&tree, "a/b/c", Some("a/lockgate.toml"));
    check_found(&tree, "a/b/../../other", Some("user/lockgate/lockgate.toml"));
    fs::write(tree.path().join("a/b/lockgate.toml"), "").unwrap();
    check_found(&tree, "a/b/c", Some("a/b/lockgate.toml"));
    fs::remove_dir_all(tree.path().join("user")).unwrap();
    check_found(&tree, "other", None);
    fs::write(tree.path().join("user"), "").unwrap();
    check_found(&tree, "other", None);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_is_not_passed_over() {
    let tree = tree(&["a/b/", "a/lockgate.toml"]);
    std::os::unix::fs::symlink("nowhere", tree.path().join("a/b/lockgate.toml")).unwrap();
    check_found(&tree, "a/b", Some("a/b/lockgate.toml"));
}

#[test]
fn an_explicit_file_comes_before_the_one_that_would_be_found() {
    let tree = tree(&["lockgate.toml", "a/other.toml"]);
    let config = Config::load(Some(Path::new("a/other.toml")), tree.path()).unwrap();
    let file = Some(tree.path().join("a/other.toml"));
    assert_eq!(config, Config { file, ..Config::default() });
}

/// Loads `text`; `DIR` in `expected` is the directory of the file.
#[track_caller]
fn check(text: &str, expected: Config) {
    let directory = tempfile::tempdir().unwrap();
    let place = fs::canonicalize(directory.path()).unwrap();
    fs::write(place.join(NAME), text).unwrap();
    let put = |path: PathBuf| match path.strip_prefix("DIR") {
        Ok(rest) => place.join(rest),
        Err(_) => path,
    };
    let expected = Config {
        file: Some(place.join(NAME)),
        plugin_dirs: expected.plugin_dirs.into_iter().map(put).collect(),
        cwd: expected.cwd.map(put),
        ..expected
    };
    assert_eq!(Config::load(None, &place).unwrap(), expected);
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("gate.toml");
    fs::write(&file, text).unwrap();
    let error = Config::load(Some(&file), directory.path()).unwrap_err();
    assert_eq!(chain(&error, directory.path()).replace("DIR/gate.toml", "FILE"), expected);
}

#[track_caller]
fn check_found(tree: &TempDir, cwd: &str, expected: Option<&str>) {
    let root = fs::canonicalize(tree.path()).unwrap();
    let found = find(&root.join(cwd), Some(&root.join("user"))).unwrap();
    assert_eq!(found, expected.map(|it| root.join(it)));
}

/// A directory with `paths` in it, empty; those that end in `/` are directories.
fn tree(paths: &[&str]) -> TempDir {
    let tree = tempfile::tempdir().unwrap();
    for it in paths {
        let path = tree.path().join(it);
        if it.ends_with('/') {
            fs::create_dir_all(path).unwrap();
        } else {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
    }
    tree
}

fn chain(error: &ConfigError, directory: &Path) -> String {
    let root = fs::canonicalize(directory).unwrap();
    let cause = error.source().map(|it| format!(": {it}")).unwrap_or_default();
    format!("{error}{cause}")
        .replace(root.to_str().unwrap(), "DIR")
        .replace(directory.to_str().unwrap(), "DIR")
}
