//! Claims: a transaction that proves one operation cannot prove another one.

use alloy_primitives::B256;

use crate::Result;
use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::OperationId;
use crate::sql::sql;

/// Claims a transaction for an operation. The caller checks for another claim first; this insert is the last guard.
pub async fn insert(tx: &mut Tx, chain_id: i64, tx_hash: B256, operation_id: &OperationId) -> Result<()> {
    let now = tx.now();
    let rows = sql("insert into claims (chain_id, tx_hash, operation_id, claimed_at) values ($1, $2, $3, $4)
        on conflict do nothing")
    .bind((chain_id, Hex(tx_hash), operation_id, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "claim on", &tx_hash.to_string())
}

/// The operation that claimed a transaction.
pub async fn find(tx: &mut Tx, chain_id: i64, tx_hash: B256) -> Result<Option<OperationId>> {
    sql("select operation_id from claims where chain_id = $1 and tx_hash = $2")
        .bind((chain_id, Hex(tx_hash)))
        .optional_scalar(tx)
        .await
}
