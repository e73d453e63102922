//! A subscription as lists and details show it.

use chrono::{DateTime, Utc};
use muniment_domain::money::{self, Money};
use muniment_domain::operation;
use muniment_domain::subscription::{Listed, Status};
use serde_json::{Value, json};

use crate::instant;

/// One subscription. What is derived here is stored nowhere: whether it may be withdrawn, what it still lacks, how far its mint is.
pub fn item(row: &Listed, now: DateTime<Utc>) -> Value {
    let s = &row.subscription;
    let decimals = u32::try_from(row.token_decimals).unwrap_or(0);
    let (money, expires_at) = (|minor| Money::from_minor(minor).to_string(), instant::text(s.cooling_off_expires_at));
    json!({
        "subscription_id": s.id, "id": s.id, "offering_id": s.offering_id, "offering_name": row.offering_name,
        "investor_id": s.investor_id, "status": s.status, "status_reason": s.status_reason, "amount": money(s.amount),
        "currency": row.currency, "unit_price": money(row.unit_price),
        "quantity": s.quantity.map(|q| money::quantity(q.0, decimals)), "base_units": s.quantity.map(|q| q.to_string()),
        "wallet_address": s.wallet_address.map(|a| a.0.to_checksum(None)), "reference": s.reference,
        "cooling_off": { "expires_at": expires_at, "active": is_cooling_off(row, now) }, "cooling_off_expires_at": expires_at,
        "reconfirm_by": instant::optional(s.reconfirm_by),
        "payment": {
            "status": s.payment_status(), "due_at": instant::optional(s.payment_due_at), "received_amount": money(s.received_amount),
            "refunded_amount": money(s.refunded_amount), "method": s.payment_method, "reference": s.id,
        },
        "gates": gates(row, now),
        "mint": {
            "status": mint_status(row), "operation_id": s.mint_operation_id.as_ref().or(row.live_operation_id.as_ref()),
            "tx_hash": s.mint_tx_hash.map(|h| h.to_string()), "block_number": s.mint_block_number,
            "minted_at": instant::optional(s.minted_at), "lock_release_at": instant::optional(s.lock_release_at),
        },
        "accepted_at": instant::optional(s.accepted_at), "version": s.version, "created_at": instant::text(s.created_at),
        "updated_at": instant::text(s.updated_at),
    })
}

fn is_cooling_off(row: &Listed, now: DateTime<Utc>) -> bool {
    row.subscription.status == Status::Committed && row.subscription.cooling_off_expires_at > now
}

/// What has to be so before it is minted. What has ended lacks nothing any more.
fn gates(row: &Listed, now: DateTime<Utc>) -> Value {
    let s = &row.subscription;
    if !s.status.is_open() && s.status != Status::Minted {
        return json!([]);
    }
    let taken = matches!(s.status, Status::Accepted | Status::Minted);
    let gates = [
        ("cooling_off_active", !is_cooling_off(row, now)),
        ("reconfirmation_required", s.status != Status::PendingReconfirmation),
        ("payment_required", taken || s.held() == s.amount),
        ("kyc_required", s.status == Status::Minted || row.kyc_status == "approved"),
        ("wallet_required", s.wallet_address.is_some()),
        ("wallet_unverified", taken || row.wallet_verified_at.is_some()),
        ("acceptance_required", taken),
    ];
    gates.iter().map(|(code, satisfied)| json!({ "code": code, "satisfied": satisfied })).collect()
}

// Derived, never stored: minted is what the final commit wrote, everything before is the operation's.
fn mint_status(row: &Listed) -> &'static str {
    use operation::Status as Op;
    if row.subscription.status == Status::Minted {
        return "minted";
    }
    match row.live_operation_status {
        None => "none",
        Some(Op::Pending) => "pending",
        Some(Op::Submitted | Op::Confirmed) => "submitted",
        Some(Op::Failed) => "failed",
        Some(Op::DeadLetter) => "needs_attention",
    }
}
