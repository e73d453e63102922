//! Updates of entitlements by operations, a page in one statement. Each update checks how many rows it changed.

use alloy_primitives::{Address, B256};
use serde_json::json;

use super::{Entitlement, HoldReason, Status, event_data, event_of};
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::distribution::Distribution;
use crate::id::{EntitlementId, OperationId};
use crate::sql::{sql, update_table};
use crate::{Error, Result, event};

const ROWS_PER_STATEMENT: usize = 500;

/// Queues entitlements in operations, each with its operation and line. If one of them has changed, the whole commit is stale.
pub async fn queue(tx: &mut Tx, places: &[(&str, i64, &str)]) -> Result<()> {
    let now = tx.now();
    for chunk in places.chunks(ROWS_PER_STATEMENT) {
        let rows = sql("update entitlements
            set status = 'queued', hold_reason = null, version = version + 1, updated_at = ")
        .value(now)
        .push(", operation_id = v.column1, line_index = v.column2 from (")
        .values(chunk, |(operation_id, line, id)| (*operation_id, *line, *id))
        .push(
            ") as v where entitlements.id = v.column3
                and (entitlements.status in :payable or entitlements.hold_reason in :withheld)",
        )
        .words(":payable", &Status::PAYABLE)
        .words(":withheld", &HoldReason::WITHHELD)
        .execute(tx)
        .await?;
        if rows != chunk.len() as u64 {
            return Err(Error::Stale { what: "entitlements of", id: chunk[0].0.to_owned() });
        }
    }
    Ok(())
}

/// Moves the entitlements of an operation that was never signed to another operation, with new line numbers.
pub async fn reassign(
    tx: &mut Tx,
    from_operation: &OperationId,
    to_operation: &OperationId,
    ids: &[EntitlementId],
) -> Result<()> {
    let now = tx.now();
    let mut moved = 0;
    for (chunk, from) in ids.chunks(ROWS_PER_STATEMENT).zip((0i64..).step_by(ROWS_PER_STATEMENT)) {
        moved += sql("update entitlements set version = version + 1, operation_id = ")
            .value(to_operation)
            .with(", updated_at = ", now)
            .push(", line_index = v.column2 from (")
            .values(chunk.iter().zip(from..), |(id, line)| (id, line))
            .with(
                ") as v where entitlements.id = v.column1 and entitlements.status = 'queued'
                and entitlements.operation_id = ",
                from_operation,
            )
            .execute(tx)
            .await?;
    }
    if moved == ids.len() as u64 {
        Ok(())
    } else {
        Err(Error::Stale { what: "entitlements of", id: from_operation.to_string() })
    }
}

/// The final payment of one transaction.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Paid<'a> {
    pub operation_id: &'a OperationId,
    /// Index of the transaction's first line in the operation.
    pub first_line: i64,
    /// The payee of each line; none where the distributor withholds the money.
    pub payees: &'a [Option<Address>],
    pub tx_hash: B256,
    pub block_number: i64,
}

/// Marks lines as paid and stores their receipts, in the commit that confirms the operation.
pub async fn set_paid(tx: &mut Tx, d: &Distribution, p: &Paid<'_>) -> Result<()> {
    let (now, end) = (tx.now(), p.first_line + i64::try_from(p.payees.len()).unwrap_or(i64::MAX));
    let paid = update_table("entitlements")
        .set("status", "paid")
        .set("tx_hash", Hex(p.tx_hash))
        .set("block_number", p.block_number)
        .set("paid_at", now)
        .set("updated_at", now)
        .with(", version = version + 1 where operation_id = ", p.operation_id)
        .with(" and line_index >= ", p.first_line)
        .with(" and line_index < ", end)
        .push(" and status = 'queued' returning *")
        .rows::<Entitlement>(tx)
        .await?;
    if paid.len() != p.payees.iter().flatten().count() {
        return Err(Error::Unreadable {
            what: "operation",
            id: p.operation_id.to_string(),
            why: format!("{} of its lines are paid, {} are queued", p.payees.iter().flatten().count(), paid.len()),
        });
    }
    // The chain decides who was paid, not the row.
    let payee = |e: &Entitlement| {
        let line = usize::try_from(e.line_index.unwrap_or(p.first_line) - p.first_line).unwrap_or(usize::MAX);
        p.payees.get(line).copied().flatten().unwrap_or(e.payee_address.0)
    };
    // Store the actual payee: a wallet that was recovered during the payment, or the replacement that the distributor paid.
    for e in paid.iter().filter(|e| payee(e) != e.payee_address.0) {
        sql("update entitlements set payee_address = $2 where id = $1")
            .bind((&e.id, Hex(payee(e))))
            .execute(tx)
            .await?;
    }
    for chunk in paid.chunks(ROWS_PER_STATEMENT) {
        sql("insert into payout_receipts (entitlement_id, distribution_id, operation_id, chain_id, tx_hash,
                 block_number, payout_token, payee_address, units, received_at)")
        .values(chunk, |e| {
            (
                &e.id,
                &d.id,
                p.operation_id,
                d.chain_id,
                Hex(p.tx_hash),
                p.block_number,
                d.payout_token,
                Hex(payee(e)),
                Dec(d.units(e.net)),
                now,
            )
        })
        .execute(tx)
        .await?;
    }
    let events: Vec<_> = paid.iter().map(|e| event_of("paid", e, Some(Status::Queued))).collect();
    event::write_all(tx, &events).await
}

/// Marks lines that the distributor withholds: they are held, and their money waits in the contract for a claim.
pub async fn withhold(tx: &mut Tx, operation_id: &OperationId, lines: &[(i64, HoldReason)]) -> Result<()> {
    let now = tx.now();
    for (line, reason) in lines {
        let held = sql("update entitlements
            set status = 'held', hold_reason = $3, version = version + 1, updated_at = $4
            where operation_id = $1 and line_index = $2 and status = 'queued' returning *")
        .bind((operation_id, line, reason, now))
        .optional::<Entitlement>(tx)
        .await?;
        let Some(held) = held else {
            let why = format!("its line {line} is not queued");
            return Err(Error::Unreadable { what: "operation", id: operation_id.to_string(), why });
        };
        let data = event_data(&held, Some(Status::Queued));
        event::write(tx, "distribution.entitlement_held", "entitlement", &held.id, held.version, data).await?;
    }
    Ok(())
}

/// Records that the operation was abandoned without effect. Its entitlements can be queued again.
pub async fn fail(tx: &mut Tx, operation_id: &OperationId) -> Result<u64> {
    let now = tx.now();
    let failed = sql("update entitlements
        set status = 'failed', hold_reason = null, version = version + 1, updated_at = $2
        where operation_id = $1 and status = 'queued' returning *")
    .bind((operation_id, now))
    .rows::<Entitlement>(tx)
    .await?;
    let count = failed.len() as u64;
    let mut events: Vec<_> = failed.iter().map(|e| event_of("failed", e, Some(Status::Queued))).collect();
    for event in &mut events {
        event.data["error"] = json!({ "code": "operation_given_up" });
    }
    event::write_all(tx, &events).await?;
    Ok(count)
}
