//! `GET /v1/audit-log/{line}/proof`: that a line is what was written, for somebody who has noted an anchor and trusts nobody here.

use axum::Json;
use axum::extract::{Path, State};
use muniment_domain::audit::{self, Side};
use serde::Serialize;
use utoipa::ToSchema;

use super::anchor::Shown as Anchor;
use crate::app::App;
use crate::error::Result;

/// A line's place in the chain, and its way up to the root of its day.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditProof)]
pub struct Proof {
    position: i64,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    prev_hash: String,
    /// SHA-256 over `prev_hash` and `text`, as they stand.
    hash: String,
    /// The whole line as canonical JSON.
    #[schema(example = "{\"action\":\"POST /v1/users/{id}/disable\"}")]
    text: String,
    /// Null until its day is over.
    anchor: Option<Anchor>,
    /// From the leaf, SHA-256 over a byte 0 and `hash`, up to the root: at each step SHA-256 over a byte 1, what is left and what is right.
    path: Vec<Step>,
}

/// What stands beside the way up.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditProofStep)]
struct Step {
    side: Side,
    hash: String,
}

/// The proof of a line by its id, or by its position in the chain.
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
