//! The fields of a form that a page sent.

use std::convert::Infallible;

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use crate::code::Code;
use crate::http::body;
use crate::http::error::{Problem, Result};

/// The field with the CSRF token.
pub const CSRF: &str = "csrf";
/// The field with the key that makes two clicks one change.
pub const KEY: &str = "key";
/// The fields in which a person confirms their identity again.
pub const IDENTITY: [&str; 2] = ["identity_code", "identity_password"];

/// The fields, in the order of the page.
#[derive(Clone, Debug, Default)]
pub struct Form {
    fields: Vec<(String, String)>,
}

impl Form {
    /// Reads the fields of a body.
    pub async fn read(headers: &HeaderMap, content: Body, bytes_max: usize) -> Result<Self> {
        let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|text| text.split(';').next()).map(str::trim).unwrap_or_default();
        if media_type != "application/x-www-form-urlencoded" {
            return Err(Problem::new(Code::UnsupportedMediaType, "Send the form of a page."));
        }
        let bytes = body::read(content, bytes_max).await?;
        Ok(Self { fields: form_urlencoded::parse(&bytes).into_owned().collect() })
    }

    /// These fields, as a form that was not sent yet.
    pub fn of(fields: Vec<(String, String)>) -> Self {
        Self { fields }
    }

    /// The field with this name, without spaces around it; empty if it was not sent.
    pub fn text(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// The field, if it was sent and is not empty.
    pub fn given(&self, name: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(known, _)| known == name);
        field.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    }

    /// Every value of a field that can be sent several times.
    pub fn all(&self, name: &str) -> Vec<&str> {
        let values = self.fields.iter().filter(|(known, _)| known == name).map(|(_, value)| value.trim());
        values.filter(|value| !value.is_empty()).collect()
    }

    /// The fields to send again: everything that a person typed or chose, without tokens and secrets.
    pub fn kept(&self) -> Vec<(String, String)> {
        let secret = |name: &str| name == CSRF || name == "password" || IDENTITY.contains(&name);
        self.fields.iter().filter(|(name, _)| !secret(name)).cloned().collect()
    }

    /// The fields that a sign-in carries along: those whose name begins with `kept.`.
    pub fn carried(&self) -> Vec<(String, String)> {
        let own = |(name, value): &(String, String)| Some((name.strip_prefix("kept.")?.to_owned(), value.clone()));
        self.fields.iter().filter_map(own).collect()
    }
}

impl<S: Sync> FromRequestParts<S> for Form {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Self, Infallible> {
        // `door` has read it. A page without a form has none.
        Ok(parts.extensions.get().cloned().unwrap_or_default())
    }
}
