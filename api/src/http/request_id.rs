//! The id of a request: the caller's own if it is valid, else a new one. Every answer, log line and operation has it.

use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use muniment_domain::db::Db;
use muniment_domain::id::of;

use crate::http::error::{Problem, Result};

/// Its header.
pub const HEADER: &str = "x-request-id";

const CHARACTERS_MAX: usize = 64;

/// The id of this request.
#[derive(Clone, Debug)]
pub struct RequestId(pub String);

impl RequestId {
    /// The caller's id, or a new one.
    // Not `tower_http::request_id`: it keeps any id that the caller sends, so an id could forge a log line.
    pub fn of(headers: &HeaderMap, db: &Db) -> Self {
        let given = headers.get(HEADER).and_then(|value| value.to_str().ok()).filter(|text| is_sound(text));
        Self(given.map_or_else(|| db.ids().new_id::<of::HttpRequest>(db.clock().now()).into(), str::to_owned))
    }
}

// The id is repeated in logs and answers, so it must not contain their syntax.
fn is_sound(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    (1..=CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(fits)
}

impl<S: Sync> FromRequestParts<S> for RequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self> {
        parts.extensions.get::<Self>().cloned().ok_or_else(|| Problem::internal("the request has no id"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_id_that_could_forge_a_log_line_is_replaced() {
        assert!(is_sound("0af7651916cd43dd8448eb211c80319c"));
        for text in ["", "a b", "a\nb", "<script>", &"a".repeat(65)] {
            assert!(!is_sound(text), "{text}");
        }
    }
}
