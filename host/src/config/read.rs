//! The text of a configuration file as a [`Config`], or the place where it goes wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use lockgate_plugin_api::SeamName;
use serde_json::{Number, Value};
use thiserror::Error;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::Config;
use super::key::nearest;
use crate::approval::Approvals;
use crate::session::SyncPolicy;
use crate::settings::{PluginScope, PluginSettings, Required};

const KEYS: &[&str] = &[
    "api_key_env",
    "approve",
    "base_url",
    "cwd",
    "max_parallel_tool_calls",
    "model",
    "plugin_dirs",
    "plugins",
    "request_idle_timeout_ms",
    "session",
    "session_start_grace_ms",
    "strict",
    "system",
];
const SESSION_KEYS: &[&str] = &["sync"];
const PLUGIN_KEYS: &[&str] = &[
    "answer_deadline_ms",
    "config",
    "enabled",
    "entry_deadline_ms",
    "priority",
    "required",
    "scope",
];

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}

/// Something that a configuration file cannot say.
#[derive(Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It is not TOML.
    #[error("this is not TOML: {message}")]
    Syntax {
        /// What is wrong, and what could stand here.
        message: String,
    },
    /// There is no such key.
    #[error("unknown key `{key}`, {}", instead(*meant, known))]
    UnknownKey {
        /// The key, with the tables it is in.
        key: String,
        /// The nearest one there is, if one is near.
        meant: Option<&'static str>,
        /// Those there are.
        known: Vec<&'static str>,
    },
    /// The value of a key is not what it must be.
    #[error("`{key}` must be {expected}, not {found}")]
    Value {
        /// The key, with the tables it is in.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
}

fn instead(meant: Option<&str>, known: &[&str]) -> String {
    match meant {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the keys here are `{}`", known.join("`, `")),
    }
}

/// What the file `path` says, whose text is `text`.
pub(super) fn read(text: &str, path: &Path) -> Result<Config, (Place, Fault)> {
    document(text, path).map_err(|Wrong { span, fault }| (place(text, span.start), fault))
}

/// A fault and the bytes it is about.
struct Wrong {
    span: Range<usize>,
    fault: Fault,
}

/// A value and where it is.
struct Entry<'a> {
    /// The keys that lead to it, as one text.
    path: String,
    /// The last of them.
    name: &'a str,
    /// The bytes of that one.
    key: Range<usize>,
    value: &'a Spanned<DeValue<'a>>,
}

fn document(text: &str, path: &Path) -> Result<Config, Wrong> {
    let base = path.parent().unwrap_or(path);
    let root = DeTable::parse(text).map_err(|error| Wrong {
        span: error.span().unwrap_or_default(),
        fault: Fault::Syntax { message: error.message().to_owned() },
    })?;
    let keys = known("", root.get_ref(), KEYS)?;
    Ok(Config {
        file: Some(path.to_owned()),
        plugin_dirs: get(&keys, "plugin_dirs", |it| directories(it, base))?.unwrap_or_default(),
        strict: get(&keys, "strict", truth)?.unwrap_or_default(),
        session_start_grace: get(&keys, "session_start_grace_ms", milliseconds)?,
        approve: get(&keys, "approve", approvals)?,
        max_parallel_tool_calls: get(&keys, "max_parallel_tool_calls", count)?,
        sync: get(&keys, "session", session)?.flatten(),
        system: get(&keys, "system", string)?.map(str::to_owned),
        model: get(&keys, "model", string)?.map(str::to_owned),
        base_url: get(&keys, "base_url", string)?.map(str::to_owned),
        api_key_env: get(&keys, "api_key_env", string)?.map(str::to_owned),
        request_idle_timeout: get(&keys, "request_idle_timeout_ms", milliseconds)?,
        cwd: get(&keys, "cwd", string)?.map(|it| base.join(it)),
        plugins: get(&keys, "plugins", plugins)?.unwrap_or_default(),
    })
}

fn approvals(entry: &Entry<'_>) -> Result<Approvals, Wrong> {
    match entry.value.get_ref().as_str() {
        Some("ask") => Ok(Approvals::Ask),
        Some("never") => Ok(Approvals::Never),
        Some("always") => Ok(Approvals::Always),
        Some(_) | None => Err(wrong(entry, "`ask`, `never` or `always`")),
    }
}

fn session(entry: &Entry<'_>) -> Result<Option<SyncPolicy>, Wrong> {
    let keys = known(&entry.path, table(entry)?, SESSION_KEYS)?;
    get(&keys, "sync", |it| match it.value.get_ref().as_str() {
        Some("always") => Ok(SyncPolicy::Always),
        Some("checkpoint") => Ok(SyncPolicy::Checkpoint),
        Some("never") => Ok(SyncPolicy::Never),
        Some(_) | None => Err(wrong(it, "`always`, `checkpoint` or `never`")),
    })
}

fn plugins(entry: &Entry<'_>) -> Result<BTreeMap<String, PluginSettings>, Wrong> {
    let plugins = entries(&entry.path, table(entry)?);
    plugins.iter().map(|it| Ok((it.name.to_owned(), plugin(it)?))).collect()
}

fn plugin(entry: &Entry<'_>) -> Result<PluginSettings, Wrong> {
    let keys = known(&entry.path, table(entry)?, PLUGIN_KEYS)?;
    let unset = PluginSettings::default();
    Ok(PluginSettings {
        entry_deadline: get(&keys, "entry_deadline_ms", milliseconds)?,
        answer_deadline: get(&keys, "answer_deadline_ms", milliseconds)?,
        scope: get(&keys, "scope", scope)?.unwrap_or(unset.scope),
        enabled: get(&keys, "enabled", truth)?.unwrap_or(unset.enabled),
        required: get(&keys, "required", required)?.unwrap_or(unset.required),
        priority: get(&keys, "priority", priority)?.unwrap_or(unset.priority),
        config: get(&keys, "config", object)?.unwrap_or(unset.config),
    })
}

fn scope(entry: &Entry<'_>) -> Result<PluginScope, Wrong> {
    match entry.value.get_ref().as_str() {
        Some("global") => Ok(PluginScope::Global),
        Some("agent") => Ok(PluginScope::Agent),
        Some(_) | None => Err(wrong(entry, "`global` or `agent`")),
    }
}

fn required(entry: &Entry<'_>) -> Result<Required, Wrong> {
    match entry.value.get_ref() {
        DeValue::Boolean(required) => Ok(Required::All(*required)),
        DeValue::Table(_) => Ok(Required::At(by_seam(entry, truth)?)),
        _ => Err(wrong(entry, "true, false or a table of seams")),
    }
}

fn priority(entry: &Entry<'_>) -> Result<BTreeMap<SeamName, i32>, Wrong> {
    by_seam(entry, |it| integer(it, "a whole number of 32 bits"))
}

/// A table whose keys are seams.
fn by_seam<T>(
    entry: &Entry<'_>,
    read: impl Fn(&Entry<'_>) -> Result<T, Wrong>,
) -> Result<BTreeMap<SeamName, T>, Wrong> {
    let keys = known(&entry.path, table(entry)?, &SeamName::ALL.map(SeamName::as_str))?;
    let mut seams = BTreeMap::new();
    for seam in SeamName::ALL {
        seams.extend(get(&keys, seam.as_str(), &read)?.map(|it| (seam, it)));
    }
    Ok(seams)
}

/// The entries of `table`, if each has a key that is `known`.
fn known<'a>(
    path: &str,
    table: &'a DeTable<'a>,
    known: &[&'static str],
) -> Result<Vec<Entry<'a>>, Wrong> {
    let entries = entries(path, table);
    match entries.iter().find(|it| !known.contains(&it.name)) {
        None => Ok(entries),
        Some(Entry { path, name, key, .. }) => {
            let meant = nearest(name, known);
            let fault = Fault::UnknownKey { key: path.clone(), meant, known: known.to_vec() };
            Err(Wrong { span: key.clone(), fault })
        }
    }
}

/// The entries of `table`, which is at `path`, as they come in the file.
fn entries<'a>(path: &str, table: &'a DeTable<'a>) -> Vec<Entry<'a>> {
    let mut entries: Vec<_> = table
        .iter()
        .map(|(key, value)| Entry {
            path: join(path, key.get_ref()),
            name: key.get_ref(),
            key: key.span(),
            value,
        })
        .collect();
    entries.sort_by_key(|it| it.key.start);
    entries
}

fn join(path: &str, key: &str) -> String {
    let bare = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let key = match !key.is_empty() && key.chars().all(bare) {
        true => key.to_owned(),
        false => format!("{key:?}"),
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// What `read` makes of the entry `name`, if there is one.
fn get<'a, T>(
    entries: &[Entry<'a>],
    name: &str,
    read: impl FnOnce(&Entry<'a>) -> Result<T, Wrong>,
) -> Result<Option<T>, Wrong> {
    entries.iter().find(|it| it.name == name).map(read).transpose()
}

fn truth(entry: &Entry<'_>) -> Result<bool, Wrong> {
    entry.value.get_ref().as_bool().ok_or_else(|| wrong(entry, "true or false"))
}

fn string<'a>(entry: &Entry<'a>) -> Result<&'a str, Wrong> {
    entry.value.get_ref().as_str().ok_or_else(|| wrong(entry, "a string"))
}

fn table<'a>(entry: &Entry<'a>) -> Result<&'a DeTable<'a>, Wrong> {
    entry.value.get_ref().as_table().ok_or_else(|| wrong(entry, "a table"))
}

fn milliseconds(entry: &Entry<'_>) -> Result<Duration, Wrong> {
    integer(entry, "a whole number of milliseconds").map(Duration::from_millis)
}

fn count(entry: &Entry<'_>) -> Result<NonZeroUsize, Wrong> {
    let expected = "a whole number, at least 1";
    NonZeroUsize::new(integer(entry, expected)?).ok_or_else(|| wrong(entry, expected))
}

fn integer<T: TryFrom<i128>>(entry: &Entry<'_>, expected: &'static str) -> Result<T, Wrong> {
    let number = entry.value.get_ref().as_integer();
    number
        .and_then(|it| i128::from_str_radix(it.as_str(), it.radix()).ok())
        .and_then(|it| T::try_from(it).ok())
        .ok_or_else(|| wrong(entry, expected))
}

fn directories(entry: &Entry<'_>, base: &Path) -> Result<Vec<PathBuf>, Wrong> {
    let items = items(entry).ok_or_else(|| wrong(entry, "an array of strings"))?;
    items.iter().map(|it| Ok(base.join(string(it)?))).collect()
}

/// The items of an array, as entries.
fn items<'a>(entry: &Entry<'a>) -> Option<Vec<Entry<'a>>> {
    let item = |(number, value): (usize, &'a Spanned<DeValue<'a>>)| Entry {
        path: format!("{}[{number}]", entry.path),
        name: entry.name,
        key: value.span(),
        value,
    };
    Some(entry.value.get_ref().as_array()?.iter().enumerate().map(item).collect())
}

fn object(entry: &Entry<'_>) -> Result<Value, Wrong> {
    let entries = entries(&entry.path, table(entry)?);
    let members = entries.iter().map(|it| Ok((it.name.to_owned(), json(it)?)));
    members.collect::<Result<_, _>>().map(Value::Object)
}

fn json(entry: &Entry<'_>) -> Result<Value, Wrong> {
    match entry.value.get_ref() {
        DeValue::String(text) => Ok(Value::String(text.to_string())),
        DeValue::Boolean(truth) => Ok(Value::Bool(*truth)),
        DeValue::Datetime(date) => Ok(Value::String(date.to_string())),
        DeValue::Table(_) => object(entry),
        DeValue::Array(_) => {
            let items = items(entry).unwrap_or_default();
            items.iter().map(json).collect::<Result<_, _>>().map(Value::Array)
        }
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .ok()
            .and_then(Number::from_i128)
            .map(Value::Number)
            .ok_or_else(|| wrong(entry, "a whole number of 64 bits")),
        DeValue::Float(number) => number
            .as_str()
            .parse()
            .ok()
            .and_then(Number::from_f64)
            .map(Value::Number)
            .ok_or_else(|| wrong(entry, "a finite number")),
    }
}

fn wrong(entry: &Entry<'_>, expected: &'static str) -> Wrong {
    let found = match entry.value.get_ref() {
        DeValue::String(_) => "a string".to_owned(),
        DeValue::Integer(number) => format!("the integer {number}"),
        DeValue::Float(number) => format!("the float {number}"),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    let fault = Fault::Value { key: entry.path.clone(), expected, found };
    Wrong { span: entry.value.span(), fault }
}

fn place(text: &str, byte: usize) -> Place {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.rsplit('\n').next().unwrap_or_default();
    Place { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
}
