//! Reads a body into what a handler asked for, and says exactly what does not fit.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRef, FromRequest, Request};
use serde::de::DeserializeOwned;

use crate::code::Code;
use crate::config::Limits;
use crate::http::error::{Problem, Result};
use crate::http::json::Json;
use crate::http::unique::Unique;

/// How deep objects and lists may be nested.
const DEPTH_MAX: usize = 32;

/// The body of a request, as what a handler asks for.
#[derive(Debug)]
pub struct Input<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T>
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

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Optional<T>
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
pub fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let value = value(bytes)?;
    if depth(&value) > DEPTH_MAX {
        return Err(Problem::new(Code::MalformedJson, format!("The body can have at most {DEPTH_MAX} nested levels.")));
    }
    if let Some(pointer) = nul(&value) {
        return Err(Problem::field(pointer, "text_format", "A string cannot contain the character U+0000."));
    }
    serde_path_to_error::deserialize(Json(value)).map_err(|error| {
        let path = pointer(error.path());
        misfit(&path, &error.inner().to_string())
    })
}

/// The text as a value, in which no object names a field twice.
fn value(bytes: &[u8]) -> Result<serde_json::Value> {
    let malformed = |error: &serde_json::Error| Problem::new(Code::MalformedJson, sentence(&error.to_string()));
    let mut text = serde_json::Deserializer::from_slice(bytes);
    let Unique(value) = serde_path_to_error::deserialize(&mut text).map_err(|error| match error.inner().is_data() {
        // Nothing but a name that stands twice is found unfit here: a value may be anything.
        true => Problem::malformed(pointer(error.path()), "duplicate", "The field occurs twice in the object."),
        false => malformed(error.inner()),
    })?;
    text.end().map_err(|error| malformed(&error))?;
    Ok(value)
}

/// What types of ours find unfit, they name by its code, before a colon.
const OWN: [&str; 7] = [
    "address_checksum",
    "address_format",
    "amount_format",
    "date_format",
    "digest_format",
    "partition_unknown",
    "reference_format",
];

/// serde names the kind of misfit in its text alone; this is the one place that reads it.
fn misfit(path: &str, text: &str) -> Problem {
    let coded = text.split_once(": ").and_then(|(code, detail)| Some((OWN.iter().find(|own| **own == code)?, detail)));
    if let Some((code, detail)) = coded {
        return Problem::field(path, code, detail);
    }
    let quoted = text.split('`').nth(1).unwrap_or_default();
    if text.starts_with("unknown field") {
        let at = if path.ends_with(&format!("/{quoted}")) { path.to_owned() } else { format!("{path}/{quoted}") };
        return Problem::field(at, "unknown_field", format!("The field {quoted} is unknown."));
    }
    if text.starts_with("missing field") {
        return Problem::field(format!("{path}/{quoted}"), "required", format!("The field {quoted} is missing."));
    }
    Problem::field(path, "type_mismatch", sentence(text))
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let segment = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => step(key),
        Segment::Enum { variant } => format!("/{variant}"),
        Segment::Unknown => String::new(),
    };
    path.iter().map(segment).collect()
}

/// One step of a JSON pointer.
pub fn step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
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
