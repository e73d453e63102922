//! The changed fields of a row for the audit log. Personal and secret fields appear by name only, without their values.

use serde_json::{Map, Value, json};

use crate::canonical;

/// Longer values appear by name only.
const CHARACTERS_MAX: usize = 200;
/// This field changes with every update, so it is not reported.
const COUNTED: &str = "version";

/// The fields of a row.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Fields whose values the log may show.
    open: Map<String, Value>,
    /// Personal or secret fields.
    personal: Map<String, Value>,
}

impl Facts {
    /// Builds the fields from JSON objects with column names as keys.
    pub(crate) fn new(open: Value, personal: Value) -> Self {
        let fields = |value| match value {
            Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, exact(value))).collect(),
            _ => Map::new(),
        };
        Self { open: fields(open), personal: fields(personal) }
    }

    /// Hash over the open fields only. A hash over personal data could be guessed.
    fn sha256(&self) -> String {
        let text = canonical::text(&Value::Object(self.open.clone()));
        canonical::sha256(&text.expect("numbers are strings here"))
    }
}

/// The fields of a row before and after a change.
#[derive(Debug)]
pub(super) struct Change {
    pub before: Facts,
    pub after: Facts,
}

impl Change {
    /// The change as an audit entry shows it.
    pub fn shown(&self) -> Value {
        let mut diff = Map::new();
        for (name, after) in self.after.open.iter().filter(|(name, _)| *name != COUNTED) {
            let before = self.before.open.get(name).unwrap_or(&Value::Null);
            if before != after {
                let brief = |value: &Value| value.as_str().is_none_or(|text| text.chars().count() <= CHARACTERS_MAX);
                // Long texts would fill the log; their hash shows that they changed.
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

/// The change of a row of which only the status is known.
pub(super) fn status_change(from: Option<Option<&str>>, to: Option<&str>) -> Value {
    match (from, to) {
        (Some(from), Some(to)) if from != Some(to) => {
            json!({ "diff_redacted": { "status": { "from": from, "to": to } } })
        }
        _ => json!({}),
    }
}

/// A number as a string, because JSON readers disagree on large numbers.
fn exact(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        value => value,
    }
}

#[cfg(test)]
mod tests;
