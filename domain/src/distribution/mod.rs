//! Distributions: money for the holders of a token, from the draft to the last receipt.

mod list;
mod new;
mod state;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

pub use list::{Filter, Scope, about_to_pay, count, due, find, list, lock_row, operation_count, operations_of};
pub use new::{New, insert};
pub use state::{Move, Status};

use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::{ApprovalId, DistributionId, OfferingId};
use crate::recorder::Facts;
use crate::sql::{sql, update_table};
use crate::{Error, Result, event};

crate::words! {
    /// The kind of income.
    Kind {
        /// A share of profit.
        Dividend = "dividend",
        /// Interest on a loan.
        Interest = "interest",
        /// Rent from tenants.
        Rent = "rent",
        /// Repayment of invested money.
        Principal = "principal",
        /// Another kind.
        Other = "other",
    }
}

crate::words! {
    /// The way of payment.
    Method {
        /// Straight from the payer to each holder.
        DirectPayout = "direct_payout",
        /// Through the escrow of the distributor contract.
        Distributor = "distributor",
    }
}

/// One row of `distributions`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0017_distribution.sql explains those that need it.
pub struct Distribution {
    pub id: DistributionId,
    pub offering_id: OfferingId,
    pub kind: Kind,
    pub status: Status,
    pub method: Method,
    pub currency: String,
    pub total_amount: Option<i64>,
    pub per_unit_amount: Option<i64>,
    pub chain_id: i64,
    pub token_address: Hex<Address>,
    pub partition_id: i64,
    pub payout_token: Hex<Address>,
    pub payout_symbol: String,
    pub payout_decimals: i64,
    pub funding_wallet: Hex<Address>,
    pub record_date: DateTime<Utc>,
    pub payment_date: DateTime<Utc>,
    pub memo: Option<String>,
    pub excluded_addresses: Json<Vec<String>>,
    pub entitlements_root: Option<Hex<B256>>,
    pub list_sha256: Option<String>,
    pub approval_id: Option<ApprovalId>,
    pub next_action_at: Option<DateTime<Utc>>,
    pub problem_code: Option<String>,
    pub problem_detail: Option<String>,
    pub audit_report_sha256: Option<Hex<B256>>,
    pub audit_tx_hash: Option<Hex<B256>>,
    pub created_by: String,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub executed_at: Option<DateTime<Utc>>,
    pub completed_at: Option<DateTime<Utc>>,
}

impl Distribution {
    /// The id of this distribution in contracts.
    pub fn chain_key(&self) -> B256 {
        alloy_primitives::keccak256(self.id.as_str())
    }

    /// Whether a wallet is excluded.
    pub fn excludes(&self, wallet: Address) -> bool {
        self.excluded_addresses.0.iter().any(|excluded| excluded.parse() == Ok(wallet))
    }

    /// A net amount in units of the payout token, which has at least two decimals.
    pub fn units(&self, net: i64) -> u128 {
        let more = u32::try_from(self.payout_decimals - 2).unwrap_or(0);
        u128::from(net.unsigned_abs()) * 10u128.pow(more)
    }
}

/// Moves a distribution and writes its event, unless the row has changed since it was read.
pub async fn transition(tx: &mut Tx, d: &mut Distribution, by: Move, actor: &str, reason: &str) -> Result<()> {
    let from = d.status;
    let to = allowed(d, by)?;
    d.status = to;
    match to {
        Status::Executing => d.executed_at = d.executed_at.or(Some(tx.now())),
        Status::Completed | Status::PartiallyCompleted => d.completed_at = Some(tx.now()),
        _ => {}
    }
    // The timer and the problem belong to the snapshot.
    if to != Status::Snapshotting {
        d.next_action_at = None;
        d.problem_code = None;
        d.problem_detail = None;
    }
    save(tx, d).await?;
    write_event(tx, d, event_name(by, to), json!({ "from": from, "actor": actor, "reason": reason })).await
}

/// The status after a move; an error if the move is not allowed.
pub fn allowed(d: &Distribution, by: Move) -> Result<Status> {
    let request = by.request().unwrap_or(by.as_str());
    let refused = || Error::illegal_move("distribution", d.status.as_str(), request, d.status.requests());
    d.status.next(by).ok_or_else(refused)
}

impl Distribution {
    /// The error for a request that the distribution does not allow now.
    pub fn illegal(&self, detail: impl Into<String>) -> Error {
        Error::illegal(detail, self.status.as_str(), self.status.requests())
    }
}

/// The last part of the event's name. The event catalog has its own names for some moves.
pub const fn event_name(by: Move, to: Status) -> &'static str {
    match (by, to) {
        (Move::RequestApproval, _) => "approval_requested",
        (Move::Revise, _) => "revised",
        _ => to.as_str(),
    }
}

/// Writes the changed columns if the version is still the one that was read.
pub async fn save(tx: &mut Tx, d: &mut Distribution) -> Result<()> {
    let before = if tx.recorder().has_caller() { Some(facts(&find(tx, &Scope::All, &d.id).await?)) } else { None };
    let read = d.version;
    d.version += 1;
    d.updated_at = tx.now();
    let rows = update_table("distributions")
        .set("status", d.status)
        .set("total_amount", d.total_amount)
        .set("entitlements_root", d.entitlements_root)
        .set("list_sha256", &d.list_sha256)
        .set("approval_id", &d.approval_id)
        .set("next_action_at", d.next_action_at)
        .set("problem_code", &d.problem_code)
        .set("problem_detail", &d.problem_detail)
        .set("audit_report_sha256", d.audit_report_sha256)
        .set("audit_tx_hash", d.audit_tx_hash)
        .set("version", d.version)
        .set("updated_at", d.updated_at)
        .set("executed_at", d.executed_at)
        .set("completed_at", d.completed_at)
        .with(" where id = ", &d.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "distribution", &d.id)?;
    if let Some(before) = before {
        tx.recorder().record_change(&d.id, before, facts(d));
    }
    Ok(())
}

/// The fields for the audit log.
fn facts(d: &Distribution) -> Facts {
    let open = json!({
        "status": d.status, "total_amount": d.total_amount, "entitlements_root": d.entitlements_root.map(|root| root.to_string()),
        "list_sha256": d.list_sha256, "approval_id": d.approval_id, "problem_code": d.problem_code,
        "audit_report_sha256": d.audit_report_sha256.map(|hash| format!("{:x}", hash.0)), "audit_tx_hash": d.audit_tx_hash.map(|hash| hash.to_string()),
        "executed_at": d.executed_at, "completed_at": d.completed_at, "version": d.version,
    });
    Facts::new(open, json!({}))
}

/// Changes only the time of the next check; the version stays.
pub async fn postpone(tx: &mut Tx, d: &Distribution, until: DateTime<Utc>) -> Result<()> {
    sql("update distributions set next_action_at = $2 where id = $1 and status = 'snapshotting'")
        .bind((&d.id, until))
        .execute(tx)
        .await?;
    Ok(())
}

/// Writes an event of a distribution.
pub async fn write_event(tx: &mut Tx, d: &Distribution, what: &str, data: Value) -> Result<()> {
    let mut data = data;
    data["offering_id"] = json!(d.offering_id);
    data["status"] = json!(d.status);
    data["total_amount"] = json!(d.total_amount.map(|t| crate::money::Money::from_minor(t).to_string()));
    event::write(tx, &format!("distribution.{what}"), "distribution", &d.id, d.version, data).await
}
