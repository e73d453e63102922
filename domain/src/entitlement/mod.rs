//! Entitlements: what one holder gets from a distribution. Amounts never change; only the status does.

mod agreement;
mod list;
mod new;
mod pay;
mod state;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::json;

pub use agreement::{Agreement, agreement};
pub use list::{
    Filter, Listed, Reported, Totals, any_queued, calculated_of, list, of_operation, of_user, payable, queued_of,
    report, totals, totals_of, unpaid, unpaid_to, withheld,
};
pub use new::{New, insert_all};
pub use pay::{Paid, fail, queue, reassign, set_paid, withhold};
pub use state::{HoldReason, Move, Status};

use crate::column::{Dec, Hex};
use crate::db::{Tx, expect_updated};
use crate::id::{DistributionId, EntitlementId, InvestorId, OfferingId, OperationId};
use crate::money::Money;
use crate::recorder::Facts;
use crate::sql::{sql, update_table};
use crate::{Code, Error, Result, event};

/// One row of `entitlements`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0018_entitlement.sql explains those that need it.
pub struct Entitlement {
    pub id: EntitlementId,
    pub distribution_id: DistributionId,
    pub offering_id: OfferingId,
    pub investor_id: Option<InvestorId>,
    pub wallet_address: Hex<Address>,
    pub payee_address: Hex<Address>,
    pub balance_at_record: Dec<u128>,
    pub gross: i64,
    pub withholding_rate_basis_points: i64,
    pub withholding: i64,
    pub net: i64,
    pub status: Status,
    pub hold_reason: Option<HoldReason>,
    pub note: Option<String>,
    pub operation_id: Option<OperationId>,
    pub line_index: Option<i64>,
    pub tx_hash: Option<Hex<B256>>,
    pub block_number: Option<i64>,
    pub paid_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// The investor of an entitlement. None if its address is nobody's.
pub async fn investor_of(tx: &mut Tx, id: &EntitlementId) -> Result<Option<InvestorId>> {
    let found = sql("select investor_id from entitlements where id = $1").bind(id);
    Ok(found.optional_scalar::<Option<InvestorId>>(tx).await?.flatten())
}

/// One entitlement of a distribution; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, distribution_id: &DistributionId, id: &EntitlementId) -> Result<Entitlement> {
    sql("select * from entitlements where id = $1 and distribution_id = $2")
        .bind((id, distribution_id))
        .optional::<Entitlement>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no entitlement {id} in {distribution_id}.")))
}

/// Moves an entitlement by a person's decision and writes its event, unless the row has changed since it was read.
pub async fn transition(
    tx: &mut Tx,
    e: &mut Entitlement,
    by: Move,
    reason: Option<HoldReason>,
    actor: &str,
    note: &str,
) -> Result<()> {
    let from = e.status;
    e.status =
        from.next(by).ok_or_else(|| Error::illegal_move("entitlement", from.as_str(), by.as_str(), from.requests()))?;
    e.hold_reason = reason;
    e.note = Some(note.to_owned());
    save(tx, e).await?;
    let mut data = event_data(e, Some(from));
    data["actor"] = json!(actor);
    data["reason"] = json!(note);
    event::write(tx, &format!("distribution.entitlement_{}", e.status), "entitlement", &e.id, e.version, data).await
}

async fn save(tx: &mut Tx, e: &mut Entitlement) -> Result<()> {
    let before =
        if tx.recorder().has_caller() { Some(facts(&find(tx, &e.distribution_id, &e.id).await?)) } else { None };
    let read = e.version;
    e.version += 1;
    e.updated_at = tx.now();
    let rows = update_table("entitlements")
        .set("status", e.status)
        .set("hold_reason", e.hold_reason)
        .set("note", &e.note)
        .set("investor_id", &e.investor_id)
        .set("version", e.version)
        .set("updated_at", e.updated_at)
        .with(" where id = ", &e.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "entitlement", &e.id)?;
    if let Some(before) = before {
        tx.recorder().record_change(&e.id, before, facts(e));
    }
    Ok(())
}

/// The fields for the audit log.
fn facts(e: &Entitlement) -> Facts {
    let open =
        json!({ "status": e.status, "hold_reason": e.hold_reason, "investor_id": e.investor_id, "version": e.version });
    Facts::new(open, json!({ "note": e.note }))
}

/// The data of an event.
fn event_data(e: &Entitlement, from: Option<Status>) -> serde_json::Value {
    json!({ "distribution_id": e.distribution_id, "from": from, "status": e.status, "net_amount": Money::from_minor(e.net).to_string(),
        "hold_reason": e.hold_reason, "operation_id": e.operation_id, "tx_hash": e.tx_hash.map(|h| h.to_string()) })
}

/// An event of one of many entitlements.
fn event_of(what: &str, e: &Entitlement, from: Option<Status>) -> event::New {
    event::New {
        name: format!("distribution.entitlement_{what}"),
        subject_type: "entitlement",
        subject_id: e.id.to_string(),
        sequence: e.version,
        data: event_data(e, from),
    }
}

/// Redirects unpaid entitlements of a recovered wallet to its replacement, in the commit that confirms the recovery. Money withheld
/// by the distributor is not redirected here: the contract itself pays the replacement.
pub async fn follow_wallet(tx: &mut Tx, offering_id: &OfferingId, old: Address, new: Address) -> Result<u64> {
    let now = tx.now();
    let followed = sql("update entitlements set payee_address = $2, version = version + 1, updated_at = $3
        where payee_address = $1 and offering_id = $4 and status in :unpaid
            and distribution_id not in (select id from distributions where offering_id = $4 and status = 'cancelled')
        returning *")
    .words(":unpaid", &Status::UNPAID)
    .bind((Hex(old), Hex(new), now, offering_id))
    .rows::<Entitlement>(tx)
    .await?;
    let count = followed.len() as u64;
    let events: Vec<_> = followed.iter().map(|e| event_of("redirected", e, Some(e.status))).collect();
    event::write_all(tx, &events).await?;
    Ok(count)
}
