//! The data of each kind of event: its fields with their forms. The JSON Schemas of the catalog, the OpenAPI document and the samples
//! are made from this one place, and in a debug build no event is written whose data differ from it.
//!
//! What is sent are ids and the new state. Who acted and why stays in the row (`Presence::Internal`): a reason is free text, in which
//! people name people.

mod form;
mod kinds;
mod state;

use serde_json::{Map, Value, json};

pub use form::Form;
pub use kinds::fields;

/// One field of an event's data.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What its value looks like.
    pub form: Form,
    /// Whether it can be null.
    pub nullable: bool,
    /// Where it comes from, and whether receivers get it.
    pub presence: Presence,
    /// Its meaning.
    pub about: &'static str,
}

/// Where a field comes from, and whether receivers get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Every event of the kind has it.
    Always,
    /// Some events of the kind have it.
    Sometimes,
    /// It is not written with the event: the message gets it from the subject.
    Added,
    /// It is written with some events of the kind, for the platform's own use, and never sent.
    Internal,
}

impl Field {
    const fn new(name: &'static str, form: Form, about: &'static str) -> Self {
        Self { name, form, nullable: false, presence: Presence::Always, about }
    }

    const fn nullable(self) -> Self {
        Self { nullable: true, ..self }
    }

    const fn is(self, presence: Presence) -> Self {
        Self { presence, ..self }
    }

    fn accepts(&self, value: &Value) -> bool {
        if value.is_null() { self.nullable } else { self.form.accepts(value) }
    }

    fn schema(&self) -> Value {
        let mut schema = self.form.schema();
        if self.nullable && matches!(self.form, Form::Object(_) | Form::OneOf(_)) {
            schema = json!({ "oneOf": [{ "type": "null" }, schema] });
        } else if self.nullable {
            let kind = schema["type"].take();
            schema["type"] = json!([kind, "null"]);
        }
        schema["description"] = json!(self.about);
        schema["example"] = self.form.sample();
        schema
    }
}

/// The fields that receivers get, by name.
fn sent(kind: &str) -> impl Iterator<Item = Field> {
    fields(kind).into_iter().filter(|field| field.presence != Presence::Internal)
}

/// Whether a field of this kind is never sent.
pub fn is_internal(kind: &str, name: &str) -> bool {
    fields(kind).iter().any(|field| field.name == name && field.presence == Presence::Internal)
}

/// The JSON Schema of the data that receivers get. Unknown fields are allowed, because the data only ever gain fields.
pub fn schema(kind: &str) -> Value {
    object_schema(sent(kind))
}

/// A sample of the data that receivers get.
pub fn sample(kind: &str) -> Value {
    sent(kind).map(|field| (field.name.to_owned(), field.form.sample())).collect::<Map<_, _>>().into()
}

/// How the data of an event to be written differ from the fields of its kind. None if they do not, or if the kind is not in the catalog.
pub fn difference(kind: &str, data: &Value) -> Option<String> {
    let fields = fields(kind);
    if fields.is_empty() {
        return None;
    }
    let Some(given) = data.as_object() else { return Some("the data are not an object".to_owned()) };
    if let Some(name) = given.keys().find(|name| !fields.iter().any(|field| field.name == *name)) {
        return Some(format!("{name} is not a field of it"));
    }
    fields.iter().find_map(|field| match given.get(field.name) {
        Some(value) => (!field.accepts(value)).then(|| format!("{} cannot be {value}", field.name)),
        None => (field.presence == Presence::Always).then(|| format!("{} is missing", field.name)),
    })
}

fn object_schema(fields: impl Iterator<Item = Field>) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for field in fields {
        properties.insert(field.name.to_owned(), field.schema());
        if field.presence != Presence::Sometimes {
            required.push(field.name);
        }
    }
    required.sort_unstable();
    json!({ "type": "object", "required": required, "properties": properties })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event_type::CATALOG;

    #[test]
    fn every_kind_of_the_catalog_has_fields_and_its_sample_fits_them() {
        for kind in CATALOG {
            assert!(!fields(kind.name).is_empty(), "{} has no fields", kind.name);
            let Value::Object(mut sample) = sample(kind.name) else { panic!("{} is no object", kind.name) };
            assert_eq!(difference(kind.name, &json!(sample)), None, "{}", kind.name);
            sample.insert("surprise".to_owned(), json!(1));
            assert_eq!(difference(kind.name, &json!(sample)).as_deref(), Some("surprise is not a field of it"));
        }
    }

    #[test]
    fn a_missing_a_null_and_a_misshapen_field_are_differences() {
        let with = |name: &str, value: Option<Value>| {
            let Value::Object(mut data) = sample("subscription.minted") else { panic!() };
            match value {
                Some(value) => data.insert(name.to_owned(), value),
                None => data.remove(name),
            };
            difference("subscription.minted", &json!(data))
        };
        assert_eq!(with("status", None).as_deref(), Some("status is missing"));
        assert_eq!(with("status", Some(Value::Null)).as_deref(), Some("status cannot be null"));
        assert_eq!(with("status", Some(json!("sold"))).as_deref(), Some("status cannot be \"sold\""));
        assert_eq!(with("tx_hash", Some(json!("0x1"))).as_deref(), Some("tx_hash cannot be \"0x1\""));
        assert_eq!((with("quantity", Some(Value::Null)), with("actor", Some(json!("usr_1")))), (None, None));
    }

    #[test]
    fn no_reason_and_no_person_of_the_platform_is_sent() {
        for kind in CATALOG {
            let properties = schema(kind.name)["properties"].clone();
            assert!(properties.get("actor").is_none(), "{}", kind.name);
            // These reasons are sentences of the platform itself.
            let own = ["chain.halted", "endpoint.disabled", "wallet.removed"];
            assert!(own.contains(&kind.name) || properties.get("reason").is_none(), "{}", kind.name);
        }
    }
}
