//! `GET /v1/audit-log/{line}/proof`: proves that an audit entry is unchanged, to somebody who stored an anchor and does not trust the
//! server.

use axum::Json;
use axum::extract::{Path, State};
use muniment_domain::audit::{self, Side};
use serde::Serialize;
use utoipa::ToSchema;

use super::anchor::View as Anchor;
use crate::app::App;
use crate::http::error::Result;

/// The position of an audit entry in the hash chain, and its Merkle path to the root of its day.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditProof)]
pub struct Proof {
    position: i64,
    /// The hash of the entry before.
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    prev_hash: String,
    /// SHA-256 of `prev_hash` followed by `text`.
    hash: String,
    /// The whole entry as canonical JSON.
    #[schema(example = "{\"action\":\"POST /v1/users/{id}/disable\"}")]
    text: String,
    /// The anchor of the entry's day. Null until the day is over.
    anchor: Option<Anchor>,
    /// The Merkle path from the leaf (SHA-256 of byte 0 and `hash`) to the root. Each step is SHA-256 of byte 1, the left hash and the
    /// right hash.
    path: Vec<Step>,
}

/// A step of a Merkle path.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditProofStep)]
struct Step {
    /// The side of the sibling hash.
    side: Side,
    hash: String,
}

/// Prove that an audit entry is in the log.
///
/// `line` is the id of the entry or its position in the chain.
#[utoipa::path(
    get,
    path = "/v1/audit-log/{line}/proof",
    responses((status = 200, body = Proof)),
)]
pub async fn handle(State(app): State<App>, Path(line): Path<String>) -> Result<Json<Proof>> {
    let found = audit::proof(&mut app.db.read().await?, &line).await?;
    let step = |sibling: audit::Sibling| Step { side: sibling.side, hash: sibling.hash };
    Ok(Json(Proof {
        position: found.position,
        prev_hash: found.prev_hash,
        hash: found.hash,
        text: found.text,
        anchor: found.anchor.map(|anchor| Anchor::of(&anchor, None, Some(&app.auth.tokens))),
        path: found.way.into_iter().map(step).collect(),
    }))
}
