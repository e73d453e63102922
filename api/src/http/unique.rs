//! JSON without duplicate names in an object. serde uses the last of two values, and a proxy in front may have used the first.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::http::pointer::{Trail, step};

/// Reads a JSON value, and refuses a duplicate name at any depth. The trail leads to it.
#[derive(Clone, Copy)]
pub struct Unique<'t>(pub &'t Trail);

impl<'de> DeserializeSeed<'de> for Unique<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, text: D) -> Result<Value, D::Error> {
        text.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        let mut next = |index| items.next_element_seed(self).inspect_err(|_| self.0.note(format!("/{index}")));
        while let Some(item) = next(list.len())? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(name) = fields.next_key::<String>()? {
            let value = match object.contains_key(&name) {
                true => Err(A::Error::custom("it occurs twice")),
                false => fields.next_value_seed(self),
            };
            let value = value.inspect_err(|_| self.0.note(step(&name)))?;
            object.insert(name, value);
        }
        Ok(Value::Object(object))
    }
}
