//! Distributions: money for the holders of a token, from a draft to the last receipt.

mod agreement;
mod list;
mod new;
mod state;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::types::Json;

pub use agreement::{Agreement, agreement};
pub use list::{Filter, Scope, about_to_pay, due, find, list, lock, operations_of};
pub use new::{New, insert};
pub use state::{Move, Status};

use crate::audit::Facts;
use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// What is paid.
    Kind {
        /// A share of profit.
        Dividend = "dividend",
        /// The price of a loan.
        Interest = "interest",
        /// What tenants pay.
        Rent = "rent",
        /// Money that was invested, given back.
        Principal = "principal",
        /// Anything else.
        Other = "other",
    }
}

crate::words! {
    /// By which way it is paid.
    Method {
        /// From the payer straight to each holder.
        DirectPayout = "direct_payout",
        /// Through the escrow of the distributor.
        Distributor = "distributor",
    }
}

/// One row of `distributions`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0017_distribution.sql explains those that need it.
pub struct Distribution {
    pub id: String,
    pub offering_id: String,
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
    pub approval_id: Option<String>,
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
    /// The id that contracts know it by.
    pub fn chain_key(&self) -> B256 {
        alloy_primitives::keccak256(&self.id)
    }

    /// Whether a wallet is left out of it.
    pub fn excludes(&self, wallet: Address) -> bool {
        self.excluded_addresses.0.iter().any(|excluded| excluded.parse() == Ok(wallet))
    }

    /// What a net amount of cents is in units of the payout token; its decimals are two at least.
    pub fn units(&self, net: i64) -> u128 {
        let more = u32::try_from(self.payout_decimals - 2).unwrap_or(0);
        u128::from(net.unsigned_abs()) * 10u128.pow(more)
    }
}

/// Moves a distribution, with its event, if nobody moved it since it was read.
pub async fn transition(tx: &mut Tx, d: &mut Distribution, by: Move, actor: &str, reason: &str) -> Result<()> {
    let from = d.status;
    let to = allowed(d, by)?;
    d.status = to;
    match to {
        Status::Executing => d.executed_at = d.executed_at.or(Some(tx.now())),
        Status::Completed | Status::PartiallyCompleted => d.completed_at = Some(tx.now()),
        _ => {}
    }
    if to != Status::Snapshotting {
        d.next_action_at = None;
        d.problem_code = None;
        d.problem_detail = None;
    }
    save(tx, d).await?;
    tell(tx, d, told_as(by, to), json!({ "from": from, "actor": actor, "reason": reason })).await
}

/// Where a move leads from where a distribution is; a refusal if it is not allowed there.
pub fn allowed(d: &Distribution, by: Move) -> Result<Status> {
    d.status.next(by).ok_or_else(|| {
        let detail = format!(
            "The distribution is {}; the move {by} is not allowed there. Allowed are: {}.",
            d.status,
            d.status.moves().join(", ")
        );
        Error::refused(Code::InvalidState, detail)
    })
}

/// The word in the event's name, which follows the catalogue of events where that differs from the status.
/// Under which name a move is told.
pub const fn told_as(by: Move, to: Status) -> &'static str {
    match (by, to) {
        (Move::Ask, _) => "approval_requested",
        (Move::Revise, _) => "revised",
        _ => to.as_str(),
    }
}

/// Writes the columns that move, guarded by the version that was read.
pub async fn save(tx: &mut Tx, d: &mut Distribution) -> Result<()> {
    let before = if tx.doing().is_an_act() { Some(facts(&find(tx, &Scope::All, &d.id).await?)) } else { None };
    let read = d.version;
    d.version += 1;
    d.updated_at = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update distributions set status = $3, total_amount = $4, entitlements_root = $5, list_sha256 = $6, approval_id = $7, \
         next_action_at = $8, problem_code = $9, problem_detail = $10, audit_report_sha256 = $11, audit_tx_hash = $12, version = $13, \
         updated_at = $14, executed_at = $15, completed_at = $16 where id = $1 and version = $2")
        .bind(&d.id).bind(read).bind(d.status).bind(d.total_amount).bind(d.entitlements_root).bind(&d.list_sha256)
        .bind(&d.approval_id).bind(d.next_action_at).bind(&d.problem_code).bind(&d.problem_detail).bind(d.audit_report_sha256)
        .bind(d.audit_tx_hash).bind(d.version).bind(d.updated_at).bind(d.executed_at).bind(d.completed_at)
        .execute(conn).await?.rows_affected());
    touched(rows, "distribution", &d.id)?;
    if let Some(before) = before {
        tx.doing().changed(&d.id, before, facts(d));
    }
    Ok(())
}

/// What the audit log may show of it.
fn facts(d: &Distribution) -> Facts {
    let open = json!({
        "status": d.status, "total_amount": d.total_amount, "entitlements_root": d.entitlements_root.map(|root| root.to_string()),
        "list_sha256": d.list_sha256, "approval_id": d.approval_id, "problem_code": d.problem_code,
        "audit_report_sha256": d.audit_report_sha256.map(|hash| hash.to_string()), "audit_tx_hash": d.audit_tx_hash.map(|hash| hash.to_string()),
        "executed_at": d.executed_at, "completed_at": d.completed_at, "version": d.version,
    });
    Facts::new(open, json!({}))
}

/// Moves the next look alone, and leaves the version.
pub async fn postpone(tx: &mut Tx, d: &Distribution, until: DateTime<Utc>) -> Result<()> {
    on!(tx, conn => sqlx::query("update distributions set next_action_at = $2 where id = $1 and status = 'snapshotting'")
        .bind(&d.id).bind(until).execute(conn).await?.rows_affected());
    Ok(())
}

/// Tells of a distribution what happened to it.
pub async fn tell(tx: &mut Tx, d: &Distribution, what: &str, data: Value) -> Result<()> {
    let mut data = data;
    data["offering_id"] = json!(d.offering_id);
    data["status"] = json!(d.status);
    data["total_amount"] = json!(d.total_amount.map(|t| crate::money::Money::from_minor(t).to_string()));
    event::write(tx, &format!("distribution.{what}"), "distribution", &d.id, d.version, data).await
}
