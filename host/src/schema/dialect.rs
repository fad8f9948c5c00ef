//! Reads a schema: every keyword is understood, or the schema is refused.
//!
//! A keyword that nobody checks would promise what is not kept.

use serde_json::{Map, Value};

use super::{Allowed, Fields, Kind, Node, Property, Scalar};

/// The keywords that say something of the value, in the order in which they are complained about.
const RULES: [&str; 6] =
    ["properties", "required", "additionalProperties", "items", "enum", "const"];

/// The keywords that say something to the reader.
const NOTES: [&str; 4] = ["description", "title", "default", "examples"];

/// Reads `schema`, which is called `name`. It calls itself once a level, and serde_json reads no
/// value of more than 128.
///
/// # Errors
/// Every fault, with its path.
pub(super) fn read(schema: &Value, name: &str) -> Result<Node, Vec<String>> {
    let mut reader = Reader { path: name.to_owned(), faults: Vec::new() };
    let node = reader.node(schema);
    if reader.faults.is_empty() { Ok(node) } else { Err(reader.faults) }
}

struct Reader {
    /// Where the schema is that is read.
    path: String,
    faults: Vec<String>,
}

type Keywords = Map<String, Value>;

impl Reader {
    fn fault(&mut self, place: &str, what: &str) {
        self.faults.push(format!("{}{place} {what}", self.path));
    }

    /// Reads the schema that is at `place` in this one.
    fn part(&mut self, place: &str, schema: &Value) -> Node {
        let length = self.path.len();
        self.path.push_str(place);
        let node = self.node(schema);
        self.path.truncate(length);
        node
    }

    fn node(&mut self, schema: &Value) -> Node {
        let Some(schema) = schema.as_object() else {
            self.fault("", "must be a schema object");
            return Node::Any;
        };
        for key in schema.keys() {
            let is_known = ["type", "oneOf"].contains(&&**key)
                || RULES.contains(&&**key)
                || NOTES.contains(&&**key);
            if !is_known {
                self.fault(&format!(".{key}"), "is not a supported keyword");
            }
        }
        for key in ["description", "title"] {
            if schema.get(key).is_some_and(|it| !it.is_string()) {
                self.fault(&format!(".{key}"), "must be a string");
            }
        }
        match (schema.get("oneOf"), schema.get("type")) {
            (Some(branches), kind) => {
                if kind.is_some() {
                    self.fault("", "cannot declare both type and oneOf");
                }
                self.misplaced(schema, &[], "is not supported beside oneOf");
                self.one_of(branches)
            }
            (None, Some(kind)) => self.typed(schema, kind),
            (None, None) => {
                self.misplaced(schema, &[], "requires type or oneOf");
                Node::Any
            }
        }
    }

    fn one_of(&mut self, branches: &Value) -> Node {
        let Some(branches) = branches.as_array().filter(|it| it.len() > 1) else {
            self.fault(".oneOf", "must be an array of at least two schemas");
            return Node::Any;
        };
        let branches = branches.iter().enumerate();
        Node::OneOf(branches.map(|(at, it)| self.part(&format!(".oneOf[{at}]"), it)).collect())
    }

    fn typed(&mut self, schema: &Keywords, kind: &Value) -> Node {
        let kind = match kind {
            Value::String(kind) => kind.as_str(),
            Value::Array(_) => {
                let what = "must be a single type string (type arrays are not supported)";
                self.fault(".type", what);
                return Node::Any;
            }
            _ => "",
        };
        let scalar = match kind {
            "string" => Kind::Text,
            "number" => Kind::Number,
            "integer" => Kind::Integer,
            "boolean" => Kind::Boolean,
            "null" => Kind::Null,
            "array" => {
                self.misplaced(schema, &["items"], "is not supported on type \"array\"");
                let items = schema.get("items").map(|it| Box::new(self.part(".items", it)));
                return Node::Array { items };
            }
            "object" => {
                let own = ["properties", "required", "additionalProperties"];
                self.misplaced(schema, &own, "is not supported on type \"object\"");
                return Node::Object(self.fields(schema));
            }
            _ => {
                let known = "string, number, integer, boolean, null, array, object";
                self.fault(".type", &format!("must be one of {known}"));
                return Node::Any;
            }
        };
        let what = format!("is not supported on type \"{kind}\"");
        self.misplaced(schema, &["enum", "const"], &what);
        Node::Scalar { kind: scalar, allowed: self.allowed(schema, scalar, kind) }
    }

    /// Complains about the rules in `schema` that are not among `own`.
    fn misplaced(&mut self, schema: &Keywords, own: &[&str], what: &str) {
        for key in RULES.iter().filter(|it| schema.contains_key(**it) && !own.contains(it)) {
            self.fault(&format!(".{key}"), what);
        }
    }

    fn fields(&mut self, schema: &Keywords) -> Fields {
        let mut fields = Fields::default();
        match schema.get("properties") {
            Some(Value::Object(properties)) => {
                for (key, schema) in properties {
                    let node = self.part(&format!(".properties.{key}"), schema);
                    fields.properties.insert(key.clone(), Property { node, required: None });
                }
            }
            Some(_) => self.fault(".properties", "must be an object of schemas"),
            None => {}
        }
        match schema.get("required") {
            Some(Value::Array(required)) => {
                required.iter().for_each(|it| self.require(&mut fields, it));
            }
            Some(_) => self.fault(".required", "must be an array of strings"),
            None => {}
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(is_open)) => fields.is_closed = !is_open,
            Some(_) => self.fault(".additionalProperties", "must be a boolean"),
            None => {}
        }
        fields
    }

    fn require(&mut self, fields: &mut Fields, key: &Value) {
        let Some(key) = key.as_str() else {
            return self.fault(".required", "must be an array of strings");
        };
        match fields.properties.get_mut(key) {
            Some(Property { required: Some(_), .. }) => {
                self.fault(".required", &format!("names \"{key}\" twice"));
            }
            Some(property) => {
                property.required = Some(fields.required.len());
                fields.required.push(key.to_owned());
            }
            None => {
                self.fault(".required", &format!("names \"{key}\" which is not in properties"));
            }
        }
    }

    /// The values that `schema` allows, where it does not allow all of its kind.
    fn allowed(&mut self, schema: &Keywords, kind: Kind, name: &str) -> Option<Allowed> {
        let values = schema.get("enum").and_then(|it| self.listed(it, kind, name));
        let Some(only) = schema.get("const") else {
            let values = values?;
            let rule = format!("must be one of {}", Value::from(values.clone()));
            let values = values.iter().filter_map(|it| Scalar::read(&it.to_string())).collect();
            return Some(Allowed { values, rule });
        };
        if !kind.holds(&only.to_string()) {
            self.fault(".const", &format!("must be of the type \"{name}\""));
            return None;
        }
        let only_value = Scalar::read(&only.to_string())?;
        let mut all = values.iter().flatten().map(|it| Scalar::read(&it.to_string()));
        if values.is_some() && !all.any(|it| it.as_ref() == Some(&only_value)) {
            self.fault(".const", "must be among the values of enum");
        }
        Some(Allowed { values: vec![only_value], rule: format!("must be {only}") })
    }

    /// The values of an `enum`.
    fn listed(&mut self, values: &Value, kind: Kind, name: &str) -> Option<Vec<Value>> {
        let Some(values) = values.as_array().filter(|it| !it.is_empty()) else {
            self.fault(".enum", "must be an array of at least one value");
            return None;
        };
        for (at, value) in values.iter().enumerate() {
            if !kind.holds(&value.to_string()) {
                self.fault(&format!(".enum[{at}]"), &format!("must be of the type \"{name}\""));
            }
        }
        Some(values.clone())
    }
}

#[cfg(test)]
mod tests;
