//! `GET /blockchain/operations/{id}/proof`: what a transaction would prove, before anybody decides.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use muniment_domain::id::OperationId;
use muniment_workflows::operator::mark_confirmed;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::http::error::{Problem, Result};
use crate::http::pages::Parameters;

/// The proof of an operation by a transaction.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationProof)]
pub struct Proof {
    tx_hash: String,
    /// Whether every check passed, so that the operation can be marked confirmed with it.
    proves: bool,
    /// The checks with their results, in the order in which they were made.
    checks: Vec<Item>,
}

/// A check of the proof.
#[derive(Serialize, ToSchema)]
#[schema(as = OperationProofCheck)]
struct Item {
    #[schema(example = "effect")]
    name: &'static str,
    /// The question that it belongs to, from 1 to 6: executed, contract, sender, effect, unclaimed, state.
    group: i64,
    /// Whether the check passed.
    passed: bool,
    /// The finding.
    detail: String,
}

/// Check whether a transaction proves the effect of an operation.
///
/// Asks the chain and changes nothing.
#[utoipa::path(
    get,
    path = "/blockchain/operations/{id}/proof",
    params(("tx_hash" = String, Query, description = "The hash of the transaction.", pattern = "^0x[0-9a-fA-F]{64}$")),
    responses((status = 200, body = Proof)),
    extensions(("x-codes" = json!(["invalid_state", "chain_halted", "unknown_chain", "chain_unavailable"]))),
)]
pub async fn read(State(app): State<App>, Path(id): Path<OperationId>, uri: Uri) -> Result<Json<Proof>> {
    id.check()?;
    let hash: Option<alloy_primitives::B256> = Parameters::read(&uri, &["tx_hash"])?.hex("tx_hash", 64)?;
    let hash = hash.ok_or_else(|| {
        Problem::new(crate::code::Code::InvalidParameter, "tx_hash: send 0x and 64 hexadecimal digits.")
    })?;
    let examined = mark_confirmed::examine(&app.desk, &id, hash).await?;
    let proves = examined.is_proof();
    let item = |check: mark_confirmed::Check| Item {
        name: check.name,
        group: group(check.name),
        passed: check.passed,
        detail: check.detail,
    };
    Ok(Json(Proof { tx_hash: hash.to_string(), proves, checks: examined.checks.into_iter().map(item).collect() }))
}

fn group(name: &str) -> i64 {
    match name {
        "chain_id" | "receipt" | "successful" | "endpoints_agree" | "final" => 1,
        "target" => 2,
        "sender" | "nonce_closed" => 3,
        "effect" => 4,
        "unclaimed" => 5,
        _ => 6,
    }
}
