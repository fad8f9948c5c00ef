//! Whether a manifest's config schema says what the plugin's `create` accepts.

use std::collections::BTreeSet;
use std::{error, fmt};

use serde_json::{Map, Value};

use super::Bench;
use crate::abi::root::Purpose;
use crate::export::linked::Linked;
use crate::plugin::Plugin;

/// Where a config schema and `create` disagree: one sentence each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaMismatch {
    differences: Vec<String>,
}

impl SchemaMismatch {
    /// The sentences.
    pub fn differences(&self) -> &[String] {
        &self.differences
    }
}

impl fmt::Display for SchemaMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the config schema and `create` disagree: {}", self.differences.join("; "))
    }
}

impl error::Error for SchemaMismatch {}

/// A key that no plugin knows.
const UNKNOWN: &str = "lockgate-no-such-key";

impl<P: Plugin + Linked> Bench<P> {
    /// Compares the manifest's `config_schema` with what `create` accepts, by trying: nothing is
    /// started.
    ///
    /// - `{}` is accepted if nothing is `required`, and refused otherwise; so is every
    ///   configuration that lacks one required key.
    /// - An unknown key is refused if `additionalProperties` is `false`, and accepted otherwise.
    /// - Every property has a `default` or `examples`, and the default and the first example are
    ///   accepted.
    /// - Keys that `create` knows are in the schema, where its refusal of an unknown key lists
    ///   them, as serde's does.
    ///
    /// # Errors
    /// Every difference, also that there is no schema.
    pub fn check_config_schema() -> Result<(), SchemaMismatch> {
        let manifest: Result<Value, _> = serde_json::from_slice(P::manifest());
        let schema = match &manifest {
            Ok(manifest) => manifest.get("config_schema"),
            Err(error) => return differ(vec![format!("the manifest is no JSON: {error}")]),
        };
        let Some(schema) = schema else {
            return differ(vec!["the manifest has no `config_schema`".into()]);
        };
        differ(differences(schema, |config| {
            Self::create(config, Purpose::Validate, None).map(drop).map_err(|it| it.message())
        }))
    }
}

fn differ(differences: Vec<String>) -> Result<(), SchemaMismatch> {
    if differences.is_empty() { Ok(()) } else { Err(SchemaMismatch { differences }) }
}

/// What `create` says to a configuration that is tried.
type Told = Result<(), String>;

/// Where `schema` says something else than `create`.
fn differences(schema: &Value, create: impl Fn(&Value) -> Told) -> Vec<String> {
    let mut told = Vec::new();
    if schema["type"] != "object" {
        told.push("the schema's `type` is not `object`".into());
    }
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    let required: Vec<&str> = required.iter().filter_map(Value::as_str).collect();
    let mut least = Map::new();
    for key in &required {
        match properties.get(*key).and_then(|it| samples(it).next()) {
            Some((_, sample)) => drop(least.insert((*key).to_owned(), sample.clone())),
            None => told.push(format!("`{key}` is required and has no `default` or `examples`")),
        }
    }
    told.extend(refused("the least configuration", create(&least.clone().into())));
    for key in &required {
        let mut without = least.clone();
        without.remove(*key);
        if create(&without.into()).is_ok() {
            told.push(format!("`{key}` is required, and a configuration without it is accepted"));
        }
    }
    for (key, property) in properties {
        if samples(property).next().is_none() {
            told.push(format!("`{key}` has no `default` or `examples` to try"));
        }
        for (what, sample) in samples(property) {
            let mut with = least.clone();
            with.insert(key.clone(), sample.clone());
            told.extend(refused(&format!("the {what} of `{key}`"), create(&with.into())));
        }
    }
    let mut unknown = least;
    unknown.insert(UNKNOWN.into(), Value::Bool(true));
    let is_closed = schema["additionalProperties"] == false;
    match create(&unknown.into()) {
        Ok(()) if is_closed => {
            told.push("`additionalProperties` is `false`, and an unknown key is accepted".into());
        }
        Err(error) if !is_closed => {
            let rule = "`additionalProperties` is not `false`, and an unknown key is refused";
            told.push(format!("{rule}: {error}"));
        }
        Ok(()) => {}
        Err(error) => {
            let known: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
            let missing = expected(&error).filter(|it| !known.contains(it));
            told.extend(missing.map(|it| format!("`{it}` is accepted and not in the schema")));
        }
    }
    told
}

fn refused(what: &str, told: Told) -> Option<String> {
    told.err().map(|error| format!("{what} is refused: {error}"))
}

/// The values of a property that the schema itself shows.
fn samples(property: &Value) -> impl Iterator<Item = (&'static str, &Value)> {
    let default = property.get("default").map(|it| ("default", it));
    let example = property.get("examples").and_then(|it| it.get(0));
    default.into_iter().chain(example.map(|it| ("first example", it)))
}

/// The keys that the refusal of an unknown one names as those it expected, as serde writes it.
fn expected(refusal: &str) -> impl Iterator<Item = &str> {
    let listed = refusal.split_once("expected ").map_or("", |it| it.1);
    listed.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests;
