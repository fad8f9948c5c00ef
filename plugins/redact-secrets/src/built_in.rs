//! The kinds of secrets that everybody has, and what each looks like.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;

use crate::secrets::{Spares, spares_nothing};

/// A built-in kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The id of an AWS access key, or a secret access key by its name.
    AwsKey,
    /// A GitHub token of any form.
    GithubToken,
    /// A Slack token, or the address of an incoming webhook.
    SlackToken,
    /// A private key in PEM, also one whose end is missing.
    PrivateKey,
    /// A JSON web token.
    Jwt,
    /// What stands after `Bearer`.
    BearerToken,
    /// What is assigned to a name such as `password` or `api_key`.
    Assignment,
}

impl Kind {
    /// All of them. The vague ones come last, so that a secret is called by its best name.
    pub(crate) const ALL: [Self; 7] = [
        Self::AwsKey,
        Self::GithubToken,
        Self::SlackToken,
        Self::PrivateKey,
        Self::Jwt,
        Self::BearerToken,
        Self::Assignment,
    ];

    /// What replacements and the configuration call it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::AwsKey => "aws-key",
            Self::GithubToken => "github-token",
            Self::SlackToken => "slack-token",
            Self::PrivateKey => "private-key",
            Self::Jwt => "jwt",
            Self::BearerToken => "bearer-token",
            Self::Assignment => "assignment",
        }
    }

    /// What it looks like, and what only looks like it. Word boundaries are ASCII's, which keeps
    /// the search fast on any text.
    pub(crate) fn pattern(self) -> (&'static str, Spares) {
        match self {
            Self::AwsKey => (AWS_KEY, spares_nothing),
            Self::GithubToken => (GITHUB_TOKEN, spares_nothing),
            Self::SlackToken => (SLACK_TOKEN, spares_nothing),
            Self::PrivateKey => (PRIVATE_KEY, spares_nothing),
            Self::Jwt => (JWT, spares_nothing),
            Self::BearerToken => (BEARER_TOKEN, is_plain_word),
            Self::Assignment => (&ASSIGNMENT, is_no_value),
        }
    }

    /// The keys whose values are secrets.
    pub(crate) fn names() -> Regex {
        Regex::new(&format!("(?i)(?:{NAMES})$")).expect("the names are a valid pattern")
    }
}

const AWS_KEY: &str = r#"(?x)
    (?-u:\b) ( (?: AKIA | ASIA | ABIA | ACCA ) [A-Z2-7]{16} ) (?-u:\b)
    | (?i: aws_?(?:secret_?)?(?:access_?)?key ) \\?["']? \s* [:=] \s* \\?["']? ( [A-Za-z0-9/+]{40} )
"#;

const GITHUB_TOKEN: &str =
    r"(?-u:\b)(?:gh[pousr]_[A-Za-z0-9_]{36,}|github_pat_[A-Za-z0-9_]{22,})(?-u:\b)";

const SLACK_TOKEN: &str = r"(?-u:\b)xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10,}|(?-u:\b)xapp-[0-9]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/([A-Za-z0-9/]{20,})";

const PRIVATE_KEY: &str = r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)";

const JWT: &str = r"(?-u:\b)eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*";

const BEARER_TOKEN: &str = r"(?i)(?-u:\b)bearer\s+([a-z0-9._~+/=-]{16,})";

/// The names whose values are secrets. A plain `token` is not one of them: lexers and pages of
/// results have tokens too.
const NAMES: &str = "passw(?:or)?d|passphrase|secret|(?:api|access|secret|private)[_-]?key\
                     |(?:access|api|auth|bearer|id|refresh|session)[_-]?token";

/// A name, `=` or `:`, and a value in quotes or without.
static ASSIGNMENT: LazyLock<String> = LazyLock::new(|| {
    let bare = r#"[^\s"'`,;&|()\[\]{}<>$=:*\\][^\s"'`,;&|()\[\]{}<>\\]{3,}"#;
    format!(
        r#"(?i)(?:{NAMES})\\?["']?\s*(?:=>|:=|[:=])\s*(?:"([^"\n]{{4,}})"|'([^'\n]{{4,}})'|\\?["']?({bare}))"#
    )
});

/// What is assigned in code and manuals where no value is.
const PLACEHOLDERS: [&str; 18] = [
    "any",
    "bool",
    "boolean",
    "bytes",
    "false",
    "input",
    "none",
    "null",
    "number",
    "object",
    "optional",
    "required",
    "str",
    "string",
    "text",
    "true",
    "undefined",
    "value",
];

/// What is assigned is a type, a variable, a call or a reference to where the value is kept.
fn is_no_value(value: &str, rest: &str) -> bool {
    if value.starts_with("${") || value.starts_with("{{") || value.starts_with('<') {
        return true;
    }
    let is_quoted = rest.starts_with(['"', '\'', '\\']);
    let is_path = value.chars().all(|it| it.is_ascii_alphabetic() || "_.".contains(it));
    if is_quoted || !is_path {
        return false;
    }
    let value = value.to_ascii_lowercase();
    let is_named_alike = ["pass", "secret", "key", "token"].iter().any(|it| value.contains(it));
    is_named_alike || rest.starts_with(['(', '[', '<']) || PLACEHOLDERS.contains(&&*value)
}

/// `Bearer` is a word of prose too, and so is what follows it there.
fn is_plain_word(value: &str, _: &str) -> bool {
    value.chars().all(|it| it.is_ascii_lowercase() || "-./".contains(it))
}
