//! What operations do to entitlements, a page of them in one statement. Each update says how many rows it must touch.

use alloy_primitives::{Address, B256};
use serde_json::json;

use super::{Entitlement, HoldReason, Status, news, told};
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::distribution::Distribution;
use crate::{Error, Result, event, on};

const ROWS_PER_STATEMENT: usize = 500;

/// Puts entitlements into operations, each with the operation and the line that pays it. One that somebody moved meanwhile makes the whole commit stale.
pub async fn queue(tx: &mut Tx, places: &[(&str, i64, &str)]) -> Result<()> {
    let now = tx.now();
    for chunk in places.chunks(ROWS_PER_STATEMENT) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "update entitlements set status = 'queued', hold_reason = null, version = version + 1, updated_at = ");
            query.push_bind(now).push(", operation_id = v.column1, line_index = v.column2 from (");
            query.push_values(chunk, |mut row, (operation_id, line, id)| {
                row.push_bind(*operation_id).push_bind(*line).push_bind(*id);
            });
            query.push(") as v where entitlements.id = v.column3 and (entitlements.status in ('calculated', 'failed') or \
                entitlements.hold_reason in ('withheld_frozen', 'withheld_transfer_failed'))");
            query.build().execute(conn).await?.rows_affected()
        });
        if rows != chunk.len() as u64 {
            return Err(Error::Stale { what: "entitlements of", id: chunk[0].0.to_owned() });
        }
    }
    Ok(())
}

/// Gives the entitlements of an operation that was never signed to another one, from one of its lines on.
pub async fn take_over(tx: &mut Tx, from_operation: &str, to_operation: &str, ids: &[String]) -> Result<()> {
    let now = tx.now();
    let mut moved = 0;
    for (chunk, from) in ids.chunks(ROWS_PER_STATEMENT).zip((0i64..).step_by(ROWS_PER_STATEMENT)) {
        moved += on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("update entitlements set version = version + 1, operation_id = ");
            query.push_bind(to_operation).push(", updated_at = ").push_bind(now).push(", line_index = v.column2 from (");
            query.push_values(chunk.iter().zip(from..), |mut row, (id, line)| {
                row.push_bind(id).push_bind(line);
            });
            query.push(") as v where entitlements.id = v.column1 and entitlements.status = 'queued' and entitlements.operation_id = ")
                .push_bind(from_operation);
            query.build().execute(conn).await?.rows_affected()
        });
    }
    if moved == ids.len() as u64 {
        Ok(())
    } else {
        Err(Error::Stale { what: "entitlements of", id: from_operation.to_owned() })
    }
}

/// The final payment of the lines of one transaction.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Paid<'a> {
    pub operation_id: &'a str,
    /// The place of the transaction's first line in the operation.
    pub first_line: i64,
    /// Who got the money, line by line; none where the distributor kept it.
    pub payees: &'a [Option<Address>],
    pub tx_hash: B256,
    pub block_number: i64,
}

/// Marks lines as paid, with a receipt for each, in the commit that confirms them.
pub async fn set_paid(tx: &mut Tx, d: &Distribution, p: &Paid<'_>) -> Result<()> {
    let (now, end) = (tx.now(), p.first_line + i64::try_from(p.payees.len()).unwrap_or(i64::MAX));
    let paid = on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "update entitlements set status = 'paid', tx_hash = $4, block_number = $5, paid_at = $6, version = version + 1, updated_at = $6 \
         where operation_id = $1 and line_index >= $2 and line_index < $3 and status = 'queued' returning *")
        .bind(p.operation_id).bind(p.first_line).bind(end).bind(Hex(p.tx_hash)).bind(p.block_number).bind(now)
        .fetch_all(conn).await?);
    if paid.len() != p.payees.iter().flatten().count() {
        return Err(Error::Unreadable {
            what: "operation",
            id: p.operation_id.to_owned(),
            why: format!("{} of its lines are paid, {} are queued", p.payees.iter().flatten().count(), paid.len()),
        });
    }
    let payee = |e: &Entitlement| {
        let line = usize::try_from(e.line_index.unwrap_or(p.first_line) - p.first_line).unwrap_or(usize::MAX);
        p.payees.get(line).copied().flatten().unwrap_or(e.payee_address.0)
    };
    // A wallet that was recovered while its payment was under way got it all the same; or its successor got it from the distributor.
    for e in paid.iter().filter(|e| payee(e) != e.payee_address.0) {
        on!(tx, conn => sqlx::query("update entitlements set payee_address = $2 where id = $1")
            .bind(&e.id).bind(Hex(payee(e))).execute(conn).await?.rows_affected());
    }
    for chunk in paid.chunks(ROWS_PER_STATEMENT) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into payout_receipts (entitlement_id, distribution_id, operation_id, chain_id, tx_hash, block_number, \
                 payout_token, payee_address, units, received_at) ");
            query.push_values(chunk, |mut row, e| {
                row.push_bind(&e.id).push_bind(&d.id).push_bind(p.operation_id).push_bind(d.chain_id).push_bind(Hex(p.tx_hash))
                    .push_bind(p.block_number).push_bind(d.payout_token).push_bind(Hex(payee(e))).push_bind(Dec(d.units(e.net)))
                    .push_bind(now);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    let events: Vec<_> = paid.iter().map(|e| news("paid", e, Some(Status::Queued))).collect();
    event::write_all(tx, &events).await
}

/// Marks lines that the distributor keeps: they are held, and their money waits there for their claim.
pub async fn withhold(tx: &mut Tx, operation_id: &str, lines: &[(i64, HoldReason)]) -> Result<()> {
    let now = tx.now();
    for (line, reason) in lines {
        let held = on!(tx, conn => sqlx::query_as::<_, Entitlement>(
            "update entitlements set status = 'held', hold_reason = $3, version = version + 1, updated_at = $4 \
             where operation_id = $1 and line_index = $2 and status = 'queued' returning *")
            .bind(operation_id).bind(line).bind(reason).bind(now).fetch_optional(conn).await?);
        let Some(held) = held else {
            let why = format!("its line {line} is not queued");
            return Err(Error::Unreadable { what: "operation", id: operation_id.to_owned(), why });
        };
        let data = told(&held, Some(Status::Queued));
        event::write(tx, "distribution.entitlement_held", "entitlement", &held.id, held.version, data).await?;
    }
    Ok(())
}

/// The operation was given up without effect: what it was to pay can be put into another one. Of a claim the money stays where it is.
pub async fn fail(tx: &mut Tx, operation_id: &str, withheld: Option<HoldReason>) -> Result<u64> {
    let (now, status) = (tx.now(), if withheld.is_some() { Status::Held } else { Status::Failed });
    let failed = on!(tx, conn => sqlx::query_as::<_, Entitlement>(
        "update entitlements set status = $2, hold_reason = $3, version = version + 1, updated_at = $4 \
         where operation_id = $1 and status = 'queued' returning *")
        .bind(operation_id).bind(status).bind(withheld).bind(now).fetch_all(conn).await?);
    let count = failed.len() as u64;
    let mut events: Vec<_> = failed.iter().map(|e| news(status.as_str(), e, Some(Status::Queued))).collect();
    for event in &mut events {
        event.data["error"] = json!({ "code": "operation_given_up" });
    }
    event::write_all(tx, &events).await?;
    Ok(count)
}
