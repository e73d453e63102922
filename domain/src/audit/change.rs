//! What changed, as far as a log may say it: a fact that is open with its value before and after, a person's by its name alone.

use serde_json::{Map, Value, json};

use crate::canonical;

/// Longer values are told of by their name alone.
const CHARACTERS_MAX: usize = 200;
/// What moves with every change says nothing.
const COUNTED: &str = "version";

/// What a row says.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// What the log may show.
    open: Map<String, Value>,
    /// What is a person's own, or a secret.
    personal: Map<String, Value>,
}

impl Facts {
    /// By the names of their columns.
    pub(crate) fn new(open: Value, personal: Value) -> Self {
        let fields = |value| match value {
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, exact(value))).collect(),
            _ => Map::new(),
        };
        Self { open: fields(open), personal: fields(personal) }
    }

    /// Over what is open alone: a hash over a name would tell it to whoever guesses it.
    fn sha256(&self) -> String {
        let text = canonical::text(&Value::Object(self.open.clone()));
        canonical::sha256(&text.expect("numbers stand as texts here"))
    }
}

/// A row before and after.
#[derive(Debug)]
pub(super) struct Change {
    pub before: Facts,
    pub after: Facts,
}

impl Change {
    /// As a line shows it.
    pub fn shown(&self) -> Value {
        let mut diff = Map::new();
        for (name, after) in self.after.open.iter().filter(|(name, _)| *name != COUNTED) {
            let before = self.before.open.get(name).unwrap_or(&Value::Null);
            if before != after {
                let brief = |value: &Value| value.as_str().is_none_or(|text| text.chars().count() <= CHARACTERS_MAX);
                let shown = brief(before) && brief(after);
                diff.insert(name.clone(), if shown { json!({ "from": before, "to": after }) } else { json!({}) });
            }
        }
        for (name, after) in &self.after.personal {
            if self.before.personal.get(name) != Some(after) {
                diff.insert(name.clone(), json!({}));
            }
        }
        json!({ "before_sha256": self.before.sha256(), "after_sha256": self.after.sha256(), "diff_redacted": diff })
    }
}

/// The same of a row of which no more than its status is known.
pub(super) fn moved(from: Option<Option<&str>>, to: Option<&str>) -> Value {
    match (from, to) {
        (Some(from), Some(to)) if from != Some(to) => {
            json!({ "diff_redacted": { "status": { "from": from, "to": to } } })
        }
        _ => json!({}),
    }
}

/// A number as a text, so that every reader sees the same.
fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        value => value,
    }
}

#[cfg(test)]
mod tests;
