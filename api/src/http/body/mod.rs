//! Reads a body into the type of the handler, and says which fields are invalid.

mod misfits;
mod missing;

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRef, FromRequest, Request};
use serde::de::{DeserializeOwned, DeserializeSeed};
use utoipa::ToSchema;

use self::missing::Schemas;
use crate::code::Code;
use crate::config::Limits;
use crate::http::error::{Field, Problem, Result};
use crate::http::json;
use crate::http::pointer::{Trail, step};
use crate::http::unique::Unique;

/// How deep objects and lists may be nested.
const DEPTH_MAX: usize = 32;

/// The body of a request, as what a handler asks for.
#[derive(Debug)]
pub struct Input<T>(pub T);

impl<T: DeserializeOwned + ToSchema, S: Send + Sync> FromRequest<S> for Input<T>
where
    Arc<Limits>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let bytes = read(request.into_body(), Arc::<Limits>::from_ref(state).body_bytes_max).await?;
        parse(&bytes).map(Self)
    }
}

/// The same where nothing needs to be sent: no body is an empty object.
#[derive(Debug)]
pub struct Optional<T>(pub T);

impl<T: DeserializeOwned + ToSchema, S: Send + Sync> FromRequest<S> for Optional<T>
where
    Arc<Limits>: FromRef<S>,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self> {
        let bytes = read(request.into_body(), Arc::<Limits>::from_ref(state).body_bytes_max).await?;
        parse(if bytes.is_empty() { b"{}" } else { &bytes }).map(Self)
    }
}

/// The bytes, up to the limit.
pub async fn read(body: Body, bytes_max: usize) -> Result<Bytes> {
    // The only way for this to fail other than by size is a caller that went away, who reads no answer.
    to_bytes(body, bytes_max).await.map_err(|_| too_large(bytes_max))
}

/// The problem of a body above the limit.
pub fn too_large(bytes_max: usize) -> Problem {
    Problem::new(Code::PayloadTooLarge, format!("The body can have at most {bytes_max} bytes."))
}

/// The value that the bytes hold.
pub fn parse<T: DeserializeOwned + ToSchema>(bytes: &[u8]) -> Result<T> {
    // Only a body that is refused is read a second time, for all that is wrong with it.
    match json::read(checked(bytes)?) {
        Ok(read) => Ok(read),
        Err(_) => {
            let read = |sent| json::read::<T>(sent).err();
            Err(misfits::problem(value(bytes)?, bytes.len(), Schemas::of::<T>(), read))
        }
    }
}

/// The text as a value without what no body may hold.
fn checked(bytes: &[u8]) -> Result<serde_json::Value> {
    let sent = value(bytes)?;
    if depth(&sent) > DEPTH_MAX {
        return Err(Problem::new(Code::MalformedJson, format!("The body can have at most {DEPTH_MAX} nested levels.")));
    }
    if let Some(pointer) = nul(&sent) {
        return Err(Problem::field(pointer, "text_format", "A string cannot contain the character U+0000."));
    }
    Ok(sent)
}

/// The text as a value, in which no object names a field twice.
fn value(bytes: &[u8]) -> Result<serde_json::Value> {
    let malformed = |error: &serde_json::Error| Problem::new(Code::MalformedJson, sentence(&error.to_string()));
    let (mut text, trail) = (serde_json::Deserializer::from_slice(bytes), Trail::default());
    let value = Unique(&trail).deserialize(&mut text).map_err(|error| match error.is_data() {
        // The only data error here is a duplicate name, because a value may be anything.
        true => Problem::malformed(trail.pointer(), "duplicate", "The field occurs twice in the object."),
        false => malformed(&error),
    })?;
    text.end().map_err(|error| malformed(&error))?;
    Ok(value)
}

/// The code of a field that is missing.
const REQUIRED: &str = "required";

/// The error codes of our own types, which stand before a colon in the text.
const OWN: [&str; 7] = [
    "address_checksum",
    "address_format",
    "amount_format",
    "date_format",
    "digest_format",
    "partition_unknown",
    "reference_format",
];

/// Turns an error of serde into an invalid field. serde gives the kind of error only in its text; only this function reads it.
fn field(path: &str, text: &str) -> Field {
    let field = |pointer: String, code, detail| Field { pointer, code, detail, params: None };
    let coded = text.split_once(": ").and_then(|(code, detail)| Some((OWN.iter().find(|own| **own == code)?, detail)));
    if let Some((code, detail)) = coded {
        return field(path.to_owned(), code, detail.to_owned());
    }
    let quoted = text.split('`').nth(1).unwrap_or_default();
    if text.starts_with("unknown field") {
        let at = if path.ends_with(&step(quoted)) { path.to_owned() } else { path.to_owned() + &step(quoted) };
        return field(at, "unknown_field", format!("The field {quoted} is unknown."));
    }
    if text.starts_with("missing field") {
        return field(path.to_owned() + &step(quoted), REQUIRED, format!("The field {quoted} is missing."));
    }
    field(path.to_owned(), "type_mismatch", mismatch(text))
}

/// What is allowed instead of a value of the wrong type, without the words of the implementation.
fn mismatch(text: &str) -> String {
    if let Some((given, allowed)) =
        text.strip_prefix("unknown variant `").and_then(|rest| rest.split_once("`, expected "))
    {
        let allowed = allowed.trim_start_matches("one of ").replace('`', "");
        return format!("The value {given} is not allowed. Allowed: {allowed}.");
    }
    let Some((_, expected)) = text.rsplit_once(", expected ") else { return sentence(text) };
    let expected = match expected {
        "a boolean" => "true or false",
        "a sequence" => "an array",
        number if ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "usize"].contains(&number) => "a whole number",
        object if object.starts_with("struct ") || object == "a map" => "an object",
        other if other.starts_with("a ") || other.starts_with("an ") => other,
        _ => return "The value has the wrong type.".to_owned(),
    };
    format!("The value must be {expected}.")
}

/// Where a text has the one character that PostgreSQL holds in none.
fn nul(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => text.contains('\0').then(String::new),
        serde_json::Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| Some(format!("/{index}{}", nul(item)?)))
        }
        serde_json::Value::Object(fields) => fields.iter().find_map(|(name, value)| {
            let inside = if name.contains('\0') { String::new() } else { nul(value)? };
            Some(format!("{}{inside}", step(name)))
        }),
        _ => None,
    }
}

fn depth(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        serde_json::Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| format!("{}{}.", first.to_uppercase(), letters.as_str()))
}

#[cfg(test)]
mod tests;
