//! Fields of an act: how a page asks for them, and how they are sent to the API.

use chrono::NaiveDateTime;
use serde_json::{Map, Value, json};

use crate::console::form::Form;

/// The form control of a field.
#[derive(Clone, Copy)]
pub enum Kind {
    /// One line.
    Line,
    /// Several lines.
    Text,
    /// One of these: value and name.
    Choice(&'static [(&'static str, &'static str)]),
    /// Any of these: value and name. Sent as a list.
    Several(&'static [(&'static str, &'static str)]),
    /// Yes or no.
    Flag,
    /// A moment, in UTC.
    Moment,
    /// A day.
    Day,
    /// A whole number.
    Number,
    /// One value a line. Sent as a list.
    Lines,
    /// A fixed value, not shown in the form.
    Fixed(&'static str),
}

/// A field.
#[derive(Clone, Copy)]
pub struct Field {
    /// Its name in the body. A slash leads into an object.
    pub name: &'static str,
    /// Its label.
    pub label: &'static str,
    /// Its hint.
    pub hint: &'static str,
    /// Its form control.
    pub kind: Kind,
    /// Whether it is required.
    pub required: bool,
}

/// A required field.
pub const fn needed(name: &'static str, label: &'static str, kind: Kind) -> Field {
    Field { name, label, hint: "", kind, required: true }
}

/// An optional field.
pub const fn optional(name: &'static str, label: &'static str, kind: Kind) -> Field {
    Field { name, label, hint: "", kind, required: false }
}

/// A field that always has this value.
pub const fn fixed(name: &'static str, value: &'static str) -> Field {
    Field { name, label: "", hint: "", kind: Kind::Fixed(value), required: true }
}

/// The reason of the act.
pub const REASON: Field =
    needed("reason", "Reason", Kind::Text).hint("For the audit log, and for people who read it later");
/// The reason, where the API does not require one.
pub const REMARK: Field = optional("reason", "Reason", Kind::Text);
/// The SHA-256 of a document that proves the cause.
pub const EVIDENCE: Field =
    needed("evidence_sha256", "SHA-256 of the evidence", Kind::Line).hint("64 hexadecimal digits");

impl Field {
    /// With a hint.
    pub const fn hint(self, hint: &'static str) -> Self {
        Self { hint, ..self }
    }

    /// Writes the field into a body. What was not given is left out, unless it is needed: then the API says so.
    pub fn write(&self, form: &Form, body: &mut Map<String, Value>) {
        let text = form.text(self.name);
        let value = match self.kind {
            Kind::Fixed(value) => json!(value),
            Kind::Flag => json!(!text.is_empty()),
            Kind::Several(_) => json!(form.all(self.name)),
            Kind::Lines => json!(text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>()),
            Kind::Number => text.parse::<i64>().map_or_else(|_| json!(text), |number| json!(number)),
            Kind::Moment => json!(moment(text)),
            _ => json!(text),
        };
        let is_empty =
            text.is_empty() && !matches!(self.kind, Kind::Flag | Kind::Fixed(_)) && form.all(self.name).is_empty();
        if is_empty && !self.required {
            return;
        }
        let mut place = body;
        let mut path: Vec<&str> = self.name.split('/').collect();
        let last = path.pop().unwrap_or_default();
        for part in path {
            let inner = place.entry(part).or_insert_with(|| json!({}));
            let Some(inner) = inner.as_object_mut() else { return };
            place = inner;
        }
        place.insert(last.to_owned(), value);
    }
}

/// A browser sends a time without seconds and without a zone. The page says that it is UTC.
fn moment(text: &str) -> String {
    let read = NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M");
    read.map_or_else(|_| text.to_owned(), |at| at.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The values of the fields of a page.
pub struct Filled {
    fields: Vec<(String, String)>,
}

impl Filled {
    /// The values in the address of a page.
    pub fn of_query(query: Option<&str>) -> Self {
        let fields = form_urlencoded::parse(query.unwrap_or_default().as_bytes()).into_owned();
        Self { fields: fields.take(100).collect() }
    }

    /// The values that were typed.
    pub fn of_form(form: &Form) -> Self {
        Self { fields: form.kept() }
    }

    /// The value of a field.
    pub fn text(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Whether this value of a field was chosen.
    pub fn has(&self, name: &str, wanted: &str) -> bool {
        self.fields.iter().any(|(known, value)| known == name && value == wanted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_of_a_browser_is_utc() {
        assert_eq!(moment("2026-12-01T08:30"), "2026-12-01T08:30:00Z");
        assert_eq!(moment("2026-12-01T08:30:00+01:00"), "2026-12-01T08:30:00+01:00");
        assert_eq!(moment("soon"), "soon", "the API says what is wrong with it");
    }
}
