//! Claims: a transaction that a person named as the proof of one operation proves no other.

use alloy_primitives::B256;

use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::{Result, on};

/// Claims a transaction for an operation. One that another operation has is refused by the caller's checks, and here as the last wall.
pub async fn insert(tx: &mut Tx, chain_id: i64, tx_hash: B256, operation_id: &str) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "insert into claims (chain_id, tx_hash, operation_id, claimed_at) values ($1, $2, $3, $4) on conflict do nothing")
        .bind(chain_id).bind(Hex(tx_hash)).bind(operation_id).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "claim on", &tx_hash.to_string())
}

/// The operation that a transaction was claimed for.
pub async fn find(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<String>> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, String>("select operation_id from claims where chain_id = $1 and tx_hash = $2")
        .bind(chain_id).bind(Hex(tx_hash)).fetch_optional(conn).await?),
    )
}
