//! Programs that run another one, which stands behind their options.

use super::Word;

/// What a wrapper's own words look like. An option that is in none of the lists stops the reading:
/// nobody knows whether the next word belongs to it.
#[derive(Debug)]
pub(super) struct Wrapper {
    name: &'static str,
    /// Short options without a value.
    flags: &'static str,
    /// Short options that take the next word, or what stands behind them in theirs.
    values: &'static str,
    /// Short options that take what stands behind them in their word, if anything does.
    attached: &'static str,
    /// Long options without a value, or with one behind `=` alone.
    long_flags: &'static [&'static str],
    /// Long options that take the next word where there is no `=`.
    long_values: &'static [&'static str],
    /// Options after which it only tells something.
    telling: &'static [&'static str],
    /// The words between its options and the command.
    operands: usize,
    /// Whether assignments may stand before the command.
    pub(super) assigns: bool,
}

const PLAIN: Wrapper = Wrapper {
    name: "",
    flags: "",
    values: "",
    attached: "",
    long_flags: &[],
    long_values: &[],
    telling: &["help", "version"],
    operands: 0,
    assigns: false,
};

const WRAPPERS: [Wrapper; 18] = [
    Wrapper {
        name: "sudo",
        flags: "ABbEHikNnPSs",
        values: "CDghpRrTtUu",
        long_flags: &[
            "askpass",
            "background",
            "bell",
            "login",
            "no-update",
            "non-interactive",
            "preserve-env",
            "preserve-groups",
            "reset-timestamp",
            "set-home",
            "shell",
            "stdin",
        ],
        long_values: &[
            "chdir",
            "chroot",
            "close-from",
            "command-timeout",
            "group",
            "host",
            "other-user",
            "prompt",
            "role",
            "type",
            "user",
        ],
        telling: &[
            "K",
            "V",
            "e",
            "edit",
            "help",
            "l",
            "list",
            "remove-timestamp",
            "v",
            "validate",
            "version",
        ],
        assigns: true,
        ..PLAIN
    },
    Wrapper { name: "doas", flags: "Lns", values: "Cu", ..PLAIN },
    Wrapper {
        name: "env",
        flags: "0iv",
        values: "Cu",
        long_flags: &[
            "block-signal",
            "debug",
            "default-signal",
            "ignore-environment",
            "ignore-signal",
            "list-signal-handling",
            "null",
        ],
        long_values: &["chdir", "unset"],
        assigns: true,
        ..PLAIN
    },
    Wrapper {
        name: "nice",
        flags: "0123456789",
        values: "n",
        long_values: &["adjustment"],
        ..PLAIN
    },
    Wrapper { name: "nohup", ..PLAIN },
    Wrapper { name: "setsid", flags: "cfw", long_flags: &["ctty", "fork", "wait"], ..PLAIN },
    Wrapper {
        name: "time",
        flags: "apqv",
        values: "fo",
        long_flags: &["append", "portability", "quiet", "verbose"],
        long_values: &["format", "output"],
        ..PLAIN
    },
    Wrapper {
        name: "timeout",
        flags: "fpv",
        values: "ks",
        long_flags: &["foreground", "preserve-status", "verbose"],
        long_values: &["kill-after", "signal"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "stdbuf", values: "eio", long_values: &["error", "input", "output"], ..PLAIN },
    Wrapper {
        name: "ionice",
        flags: "t",
        values: "cn",
        long_flags: &["ignore"],
        long_values: &["class", "classdata"],
        telling: &["P", "help", "p", "pgid", "pid", "u", "uid", "version"],
        ..PLAIN
    },
    Wrapper {
        name: "chroot",
        long_flags: &["groups", "skip-chdir", "userspec"],
        operands: 1,
        ..PLAIN
    },
    Wrapper { name: "exec", flags: "cl", values: "a", ..PLAIN },
    Wrapper { name: "command", flags: "p", telling: &["V", "v"], ..PLAIN },
    Wrapper { name: "builtin", ..PLAIN },
    Wrapper { name: "busybox", telling: &["help", "install", "list", "list-full"], ..PLAIN },
    Wrapper { name: "toybox", telling: &["help", "long", "version"], ..PLAIN },
    Wrapper {
        name: "watch",
        flags: "bcegtx",
        values: "n",
        attached: "d",
        long_flags: &["beep", "chgexit", "color", "differences", "errexit", "exec", "no-title"],
        long_values: &["interval"],
        telling: &["h", "help", "v", "version"],
        ..PLAIN
    },
    Wrapper {
        name: "xargs",
        flags: "0oprtx",
        values: "EILPadns",
        attached: "eil",
        long_flags: &[
            "eof",
            "exit",
            "interactive",
            "max-lines",
            "no-run-if-empty",
            "null",
            "open-tty",
            "replace",
            "show-limits",
            "verbose",
        ],
        long_values: &[
            "arg-file",
            "delimiter",
            "max-args",
            "max-chars",
            "max-procs",
            "process-slot-var",
        ],
        ..PLAIN
    },
];

/// What a wrapper's words come to.
#[derive(Debug, Default)]
pub(super) struct Unwrapped<'a> {
    /// The words of the command; none where it runs none.
    pub(super) command: &'a [Word],
    /// Its options, with the values that they have.
    pub(super) options: Vec<(String, Option<String>)>,
}

impl Unwrapped<'_> {
    /// Whether one of these options is there.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|(name, _)| names.contains(&name.as_str()))
    }
}

/// The wrapper of this name.
pub(super) fn named(name: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|it| it.name == name)
}

/// Finds the command in the words behind the wrapper's name.
///
/// # Errors
/// The word that leaves it open where the command begins.
pub(super) fn unwrap<'a>(wrapper: &Wrapper, words: &'a [Word]) -> Result<Unwrapped<'a>, &'a Word> {
    let mut found = Unwrapped::default();
    let mut rest = words;
    while let Some((word, behind)) = rest.split_first() {
        if word.splits {
            return Err(word);
        }
        let value = word.value.as_str();
        // For `env`, a dash alone is an option too.
        if !value.starts_with('-') || value == "-" && wrapper.name != "env" {
            break;
        }
        rest = behind;
        match value.strip_prefix("--") {
            Some("") => break,
            Some(long) => rest = long_option(wrapper, long, rest, &mut found).ok_or(word)?,
            None => rest = short_options(wrapper, &value[1..], rest, &mut found).ok_or(word)?,
        }
    }
    if found.has(wrapper.telling) {
        return Ok(found);
    }
    let operands = wrapper.operands.min(rest.len());
    if let Some(word) = rest[..operands].iter().find(|it| it.splits) {
        return Err(word);
    }
    found.command = &rest[operands..];
    Ok(found)
}

/// Reads a long option without its dashes. Returns what is left of `rest`, unless that is open.
fn long_option<'a>(
    wrapper: &Wrapper,
    option: &str,
    rest: &'a [Word],
    found: &mut Unwrapped<'_>,
) -> Option<&'a [Word]> {
    let (name, attached) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (option, None),
    };
    if wrapper.long_values.contains(&name) && attached.is_none() {
        return with_value(name, rest, found);
    }
    let is_known = [wrapper.long_flags, wrapper.long_values, wrapper.telling]
        .iter()
        .any(|it| it.contains(&name));
    found.options.push((name.to_owned(), attached));
    is_known.then_some(rest)
}

/// Reads a word of short options without its dash. Returns what is left of `rest`, unless that is
/// open.
fn short_options<'a>(
    wrapper: &Wrapper,
    options: &str,
    rest: &'a [Word],
    found: &mut Unwrapped<'_>,
) -> Option<&'a [Word]> {
    for (at, option) in options.char_indices() {
        let name = option.to_string();
        let behind = &options[at + option.len_utf8()..];
        let attached = Some(behind.to_owned()).filter(|it| !it.is_empty());
        if wrapper.values.contains(option) && attached.is_none() {
            return with_value(&name, rest, found);
        }
        if wrapper.values.contains(option) || wrapper.attached.contains(option) {
            found.options.push((name, attached));
            return Some(rest);
        }
        if !wrapper.flags.contains(option) && !wrapper.telling.contains(&name.as_str()) {
            return None;
        }
        found.options.push((name, None));
    }
    Some(rest)
}

/// Takes the next word as the value of an option.
fn with_value<'a>(name: &str, rest: &'a [Word], found: &mut Unwrapped<'_>) -> Option<&'a [Word]> {
    let value = rest.first();
    found.options.push((name.to_owned(), value.map(|it| it.value.clone())));
    let is_open = value.is_some_and(|it| it.splits);
    (!is_open).then(|| rest.get(1..).unwrap_or_default())
}
