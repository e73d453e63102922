//! The version of an object: `ETag: "v7"` in answers, `If-Match: "v7"` in requests that change it.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::header::IF_MATCH;
use axum::http::request::Parts;
use utoipa::IntoParams;

use crate::code::Code;
use crate::http::error::{Problem, Result};

/// The version that the caller read. It is required for a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IfMatch(pub i64);

/// The header, as the document shows it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `IfMatch`")]
pub struct Seen {
    /// The ETag that the caller read.
    #[param(rename = "If-Match", pattern = "^\"v[0-9]+\"$", example = "\"v7\"")]
    tag: String,
}

/// The header where it may be left out, as the document shows it.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[allow(dead_code, reason = "the document reads it; requests are read by `IfMatch` and `IfAnyMatch`")]
pub struct OptionalSeen {
    /// The ETag that the caller read. The request is refused if the object has changed since.
    #[param(rename = "If-Match", pattern = "^\"v[0-9]{1,18}(-[0-9]+)*\"$", example = "\"v7\"")]
    tag: Option<String>,
}

/// The same where it may be left out. A tag that names more than the version, as that of an offering does, is read up to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IfAnyMatch(pub Option<i64>);

/// The tag of a version.
pub fn etag(version: i64) -> String {
    format!("\"v{version}\"")
}

impl IfMatch {
    /// The version that the caller decides on, where it need not be named.
    pub fn optional(headers: &HeaderMap) -> Result<Option<Self>> {
        Ok(given(headers, read)?.map(Self))
    }
}

impl<S: Sync> FromRequestParts<S> for IfMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        Self::optional(&parts.headers)?.ok_or_else(|| {
            let detail = "Read the object first and send its ETag in the header If-Match.";
            Problem::new(Code::PreconditionRequired, detail)
        })
    }
}

impl<S: Sync> FromRequestParts<S> for IfAnyMatch {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        given(&parts.headers, head).map(Self)
    }
}

/// The version of the one tag that is given, if one is.
fn given(headers: &HeaderMap, read: fn(&str) -> Option<i64>) -> Result<Option<i64>> {
    let mut given = headers.get_all(IF_MATCH).iter();
    let Some(value) = given.next() else { return Ok(None) };
    let version = value.to_str().ok().and_then(read).filter(|_| given.next().is_none());
    version.map(Some).ok_or_else(|| Problem::new(Code::InvalidHeader, "If-Match must be one ETag such as \"v7\"."))
}

fn head(tag: &str) -> Option<i64> {
    let tag = tag.trim();
    let Some((head, rest)) = tag.split_once('-') else { return read(tag) };
    let sound = rest.strip_suffix('"').is_some_and(|rest| rest.bytes().all(|b| b.is_ascii_digit() || b == b'-'));
    read(&format!("{head}\"")).filter(|_| sound)
}

fn read(tag: &str) -> Option<i64> {
    let digits = tag.trim().strip_prefix("\"v")?.strip_suffix('"')?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
mod tests;
