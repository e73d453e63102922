//! Reads a JSON value into a type. An array is not an object: serde alone would read its items as the fields of a struct. And serde does not
//! say where a value does not fit.

use std::iter::Enumerate;
use std::vec;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value, map};

use crate::http::pointer::{Trail, step};

/// The first place where a value does not fit its type.
pub struct Misfit {
    /// The JSON pointer of the place.
    pub pointer: String,
    /// The reason, in the words of serde.
    pub error: Error,
}

/// The value that the JSON holds.
pub fn read<T: DeserializeOwned>(value: Value) -> Result<T, Misfit> {
    let trail = Trail::default();
    T::deserialize(Json { value, trail: &trail }).map_err(|error| Misfit { pointer: trail.pointer(), error })
}

/// A value that is read strictly, and so is everything in it.
struct Json<'t> {
    value: Value,
    trail: &'t Trail,
}

impl<'de> Deserializer<'de> for Json<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => {
                let mut items = Items { rest: items.into_iter().enumerate(), trail: self.trail };
                let read = visitor.visit_seq(&mut items)?;
                all_read(read, items.rest.len())
            }
            Value::Object(fields) => {
                let mut fields = Fields { rest: fields.into_iter(), next: None, trail: self.trail };
                let read = visitor.visit_map(&mut fields)?;
                all_read(read, fields.rest.len())
            }
            single => single.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.value.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.value.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map
        identifier ignored_any
    }
}

/// A type that does not ask for everything would otherwise leave the rest unread.
fn all_read<T>(read: T, rest: usize) -> Result<T, Error> {
    if rest == 0 { Ok(read) } else { Err(Error::invalid_length(rest, &"nothing more")) }
}

/// The items of an array.
struct Items<'t> {
    rest: Enumerate<vec::IntoIter<Value>>,
    trail: &'t Trail,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((index, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(Json { value, trail: self.trail });
        read.map(Some).inspect_err(|_| self.trail.note(format!("/{index}")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}

/// The fields of an object.
struct Fields<'t> {
    rest: map::IntoIter,
    // The field whose name was read last.
    next: Option<(String, Value)>,
    trail: &'t Trail,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some((name, value)) = self.rest.next() else { return Ok(None) };
        let read = seed.deserialize(name.as_str().into_deserializer()).inspect_err(|_| self.trail.note(step(&name)));
        self.next = Some((name, value));
        read.map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let (name, value) = self.next.take().ok_or_else(|| Error::custom("a value was asked for before its name"))?;
        seed.deserialize(Json { value, trail: self.trail }).inspect_err(|_| self.trail.note(step(&name)))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.rest.len())
    }
}
