//! A subscription as lists and details show it.

use chrono::{DateTime, Utc};
use muniment_domain::id::{InvestorId, OfferingId, OperationId, SubscriptionId};
use muniment_domain::investor::Status as KycStatus;
use muniment_domain::money::{self, Money};
use muniment_domain::offering::choice::PaymentMethod;
use muniment_domain::operation;
use muniment_domain::subscription::{Listed, PaymentStatus, Status};
use serde::Serialize;
use utoipa::ToSchema;

use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::http::instant::Instant;
use crate::offering::brief;

/// A subscription. Its conditions, its cooling-off period and the progress of its mint are computed when it is read.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscription)]
pub struct View {
    subscription_id: SubscriptionId,
    id: SubscriptionId,
    pub offering_id: OfferingId,
    offering_name: String,
    /// The offering. Only with `expand=offering`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub offering: Option<brief::View>,
    investor_id: InvestorId,
    status: Status,
    status_reason: Option<String>,
    amount: Amount,
    currency: String,
    unit_price: Amount,
    quantity: Option<String>,
    base_units: Option<String>,
    wallet_address: Option<Typed>,
    #[schema(example = "my first one")]
    reference: Option<String>,
    cooling_off: CoolingOff,
    cooling_off_expires_at: Instant,
    reconfirm_by: Option<Instant>,
    payment: PaymentState,
    /// The conditions for the mint.
    gates: Vec<Gate>,
    mint: MintState,
    accepted_at: Option<Instant>,
    version: i64,
    created_at: Instant,
    updated_at: Instant,
}

/// The cooling-off period, in which the subscription can be withdrawn without a reason.
#[derive(Serialize, ToSchema)]
struct CoolingOff {
    expires_at: Instant,
    /// Whether the period is running.
    active: bool,
}

/// The payment status.
#[derive(Serialize, ToSchema)]
#[schema(as = SubscriptionPayment)]
struct PaymentState {
    status: PaymentStatus,
    due_at: Option<Instant>,
    /// The received amount.
    received_amount: Amount,
    /// The refunded amount.
    refunded_amount: Amount,
    /// The amount paid in excess. It can be refunded at any time.
    excess_amount: Amount,
    method: Option<PaymentMethod>,
    #[schema(example = "sub_01jc8yq3k5e9v8w2m4n6p7r9st")]
    reference: String,
}

/// A condition of the mint.
#[derive(Serialize, ToSchema)]
struct Gate {
    code: GateCode,
    /// Whether the condition is met.
    satisfied: bool,
}

/// What must be met. A mint that skips the subscription for it names the same code.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = SubscriptionGate)]
#[serde(rename_all = "snake_case")]
enum GateCode {
    CoolingOffActive,
    ReconfirmationRequired,
    PaymentRequired,
    KycRequired,
    WalletRequired,
    WalletUnverified,
    AcceptanceRequired,
}

/// The progress of the mint.
#[derive(Serialize, ToSchema)]
#[schema(as = SubscriptionMint)]
struct MintState {
    /// `none`, `pending`, `submitted`, `failed`, `needs_attention` or `minted`.
    #[schema(example = "none")]
    status: &'static str,
    operation_id: Option<OperationId>,
    tx_hash: Option<String>,
    block_number: Option<i64>,
    /// When the tokens were minted. Null if they are not.
    minted_at: Option<Instant>,
    /// When the lockup of the minted tokens ends. Null if they are not locked.
    lock_release_at: Option<Instant>,
}

/// One subscription in its current state.
pub fn item(row: &Listed, now: DateTime<Utc>) -> View {
    let s = &row.subscription;
    let decimals = u32::try_from(row.token_decimals).unwrap_or(0);
    let (money, expires_at) = (|minor| Amount(Money::from_minor(minor)), Instant(s.cooling_off_expires_at));
    View {
        subscription_id: s.id.clone(),
        id: s.id.clone(),
        offering_id: s.offering_id.clone(),
        offering_name: row.offering_name.clone(),
        offering: None,
        investor_id: s.investor_id.clone(),
        status: s.status,
        status_reason: s.status_reason.clone(),
        amount: money(s.amount),
        currency: row.currency.clone(),
        unit_price: money(row.unit_price),
        quantity: s.quantity.map(|q| money::quantity(q.0, decimals)),
        base_units: s.quantity.map(|q| q.to_string()),
        wallet_address: s.wallet_address.map(|address| Typed(address.0)),
        reference: s.reference.clone(),
        cooling_off: CoolingOff { expires_at, active: is_cooling_off(row, now) },
        cooling_off_expires_at: expires_at,
        reconfirm_by: s.reconfirm_by.map(Instant),
        payment: PaymentState {
            status: s.payment_status(),
            due_at: s.payment_due_at.map(Instant),
            received_amount: money(s.received_amount),
            refunded_amount: money(s.refunded_amount),
            excess_amount: money(s.excess()),
            method: s.payment_method,
            reference: s.id.to_string(),
        },
        gates: gates(row, now),
        mint: MintState {
            status: mint_status(row),
            operation_id: s.mint_operation_id.as_ref().or(row.live_operation_id.as_ref()).cloned(),
            tx_hash: s.mint_tx_hash.map(|hash| hash.to_string()),
            block_number: s.mint_block_number,
            minted_at: s.minted_at.map(Instant),
            lock_release_at: s.lock_release_at.map(Instant),
        },
        accepted_at: s.accepted_at.map(Instant),
        version: s.version,
        created_at: Instant(s.created_at),
        updated_at: Instant(s.updated_at),
    }
}

fn is_cooling_off(row: &Listed, now: DateTime<Utc>) -> bool {
    row.subscription.status == Status::Committed && row.subscription.cooling_off_expires_at > now
}

/// The conditions for the mint. A subscription that ended has none.
fn gates(row: &Listed, now: DateTime<Utc>) -> Vec<Gate> {
    let s = &row.subscription;
    if !s.status.is_open() && s.status != Status::Minted {
        return Vec::new();
    }
    let taken = matches!(s.status, Status::Accepted | Status::Minted);
    let gates = [
        (GateCode::CoolingOffActive, !is_cooling_off(row, now)),
        (GateCode::ReconfirmationRequired, s.status != Status::PendingReconfirmation),
        (GateCode::PaymentRequired, taken || s.net_received() == s.amount),
        (GateCode::KycRequired, s.status == Status::Minted || row.kyc_status == KycStatus::Approved),
        (GateCode::WalletRequired, s.wallet_address.is_some()),
        (GateCode::WalletUnverified, taken || row.wallet_verified_at.is_some()),
        (GateCode::AcceptanceRequired, taken),
    ];
    gates.into_iter().map(|(code, satisfied)| Gate { code, satisfied }).collect()
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
