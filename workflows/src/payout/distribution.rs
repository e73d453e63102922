//! A distribution before its execution: draft, snapshot of the balances, calculation of the entitlements, cancellation.

use alloy_primitives::Address;
use chrono::{DateTime, Datelike, Utc};
use muniment_domain::column::Hex;
use muniment_domain::contract::{self, Kind as ContractKind};
use muniment_domain::date_or_time::DateOrTime;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Distribution, Kind, Method, Move, New, Scope, Status};
use muniment_domain::entitlement::{self, HoldReason, agreement};
use muniment_domain::id::{DistributionId, OfferingId};
use muniment_domain::money::Money;
use muniment_domain::offering::{self, Offering};
use muniment_domain::snapshot::{self, Holder};
use muniment_domain::{Code, Error, Result, allocation, holding, merkle, payout_token, wallet};

use crate::compliance::TokenContext;
use crate::engine::queue;
use crate::engine::timer;
use crate::limits;
use crate::payout::approval as payout_approval;
use crate::requester::Requester;
use crate::settings::Settings;

/// A request to create a distribution.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The offering whose token holders are paid.
    pub offering_id: OfferingId,
    /// The kind of payment.
    pub kind: Kind,
    /// Direct, or through the distributor.
    pub method: Method,
    /// The total amount in cents. Either this or `per_unit_amount` is set.
    pub total_amount: Option<i64>,
    /// The amount in cents for each whole token.
    pub per_unit_amount: Option<i64>,
    /// The partition whose holders are paid. Without it, the offering's own.
    pub partition_id: Option<i64>,
    /// The coin. Without it, the chain's only one.
    pub payout_token: Option<Address>,
    /// The time that decides who is paid. A date means its last second at the offering's location.
    pub record_date: DateOrTime,
    /// The earliest time of payment.
    pub payment_date: DateOrTime,
    /// A note for the readers.
    pub memo: Option<String>,
    /// Wallets that are not paid, such as the issuer's own.
    pub excluded_addresses: Vec<Address>,
}

/// Creates a draft for an offering in the caller's scope.
pub async fn create(tx: &mut Tx, offerings: &offering::Scope, draft: &Draft, by: &Requester) -> Result<Distribution> {
    offering::find_visible(tx, offerings, &draft.offering_id).await?;
    // Without a token there are no holders.
    let context = TokenContext::find(tx, &draft.offering_id).await?;
    if let Some(partition) = draft.partition_id {
        context.partition_exists(tx, u32::try_from(partition).unwrap_or(0)).await?;
    }
    let TokenContext { offering, token } = context;
    let (record_date, payment_date) = dates(draft, &offering)?;
    if draft.method == Method::Distributor {
        contract::only(tx, offering.chain_id, ContractKind::Distributor).await?;
    }
    let coin = payout_token::choose(tx, offering.chain_id, draft.payout_token).await?;
    let new = New {
        offering: &offering,
        token,
        kind: draft.kind,
        method: draft.method,
        total_amount: draft.total_amount,
        per_unit_amount: draft.per_unit_amount,
        partition_id: draft.partition_id.unwrap_or(offering.partition_id),
        coin: &coin,
        record_date,
        payment_date,
        memo: draft.memo.as_deref(),
        excluded: &draft.excluded_addresses,
        created_by: &by.actor,
        idempotency_key: by.idempotency_key.as_deref(),
    };
    let drafted = distribution::insert(tx, &new).await?;
    // A future record date starts the snapshot by itself.
    if drafted.record_date > tx.now() {
        timer::set(tx, &drafted.id, Some(drafted.record_date)).await?;
    }
    Ok(drafted)
}

/// The last second of the record date and the first second of the payment date, at the offering's location.
fn dates(draft: &Draft, offering: &Offering) -> Result<(DateTime<Utc>, DateTime<Utc>)> {
    let offset = offering.utc_offset_minutes;
    let (record_date, payment_date) = (draft.record_date.last(offset), draft.payment_date.first(offset));
    // A local day near the ends of this range can be in the year 0 or 10000 in UTC, which the text format cannot hold.
    for (pointer, at) in [("/record_date", record_date), ("/payment_date", payment_date)] {
        if !(1..=9999).contains(&at.year()) {
            return Err(Error::field(pointer, "date_format", "The date must be in the years 1 to 9999."));
        }
    }
    if draft.payment_date.last(offset) < draft.record_date.first(offset) {
        let detail = "The payment date cannot be before the record date.";
        return Err(Error::field("/payment_date", "below_minimum", detail));
    }
    Ok((record_date, payment_date))
}

/// Requests the snapshot of a draft whose record date has come.
pub async fn on_timer(tx: &mut Tx, id: &DistributionId) -> Result<()> {
    let d = distribution::lock_row(tx, id).await?;
    if d.status == Status::Draft && d.record_date <= tx.now() {
        let by = Requester { actor: "engine".to_owned(), request_id: None, idempotency_key: None };
        request_snapshot(tx, &Scope::All, id, &by).await?;
    }
    Ok(())
}

/// Requests the balances of the record date. A separate job takes them, and repeats until they are proved.
pub async fn request_snapshot(tx: &mut Tx, scope: &Scope, id: &DistributionId, by: &Requester) -> Result<Distribution> {
    let mut d = distribution::find(tx, scope, id).await?;
    let now = tx.now();
    if d.status == Status::Draft && d.record_date > now {
        let detail = format!("The record date {} is not reached yet.", d.record_date.to_rfc3339());
        return Err(d.illegal(detail).with_until(d.record_date));
    }
    d.next_action_at = Some(now);
    distribution::transition(tx, &mut d, Move::Snapshot, &by.actor, "the snapshot was requested").await?;
    queue::wake_id(tx, queue::SNAPSHOT, &d.id, now).await?;
    Ok(d)
}

/// Calculates each holder's entitlement, once. The result never changes.
pub async fn calculate(
    tx: &mut Tx,
    settings: &Settings,
    scope: &Scope,
    id: &DistributionId,
    by: &Requester,
) -> Result<Distribution> {
    distribution::find(tx, scope, id).await?;
    // Locked before the holders are read: a suspension at the same time is either seen here, or holds the entitlement afterwards.
    let mut d = distribution::lock_row(tx, id).await?;
    let offering = offering::find(tx, &d.offering_id).await?;
    let mut holders = if d.status == Status::Snapshotted { snapshot::holders(tx, id).await? } else { Vec::new() };
    holders.retain(|holder| !d.excludes(holder.wallet_address.0));
    if d.status == Status::Snapshotted {
        let total = total(&d, &offering, &holders)?;
        d.total_amount = Some(total);
        let mut parts = parts(limits::current(tx, settings).await?.1.payout_dust_threshold, total, holders);
        for part in parts.iter_mut().filter(|part| part.payee != part.wallet) {
            part.payee = last_successor(tx, part.payee).await?;
        }
        // A frozen holder cannot be paid, and would make the page of the others revert.
        let frozen = holding::frozen(tx, &d.offering_id).await?;
        for part in parts.iter_mut().filter(|part| part.hold_reason.is_none() && frozen.contains(&part.payee)) {
            part.hold_reason = Some(HoldReason::Frozen);
        }
        let leaves = parts.iter().map(|p| merkle::leaf(p.wallet, p.balance, p.gross, p.withholding, p.net()));
        d.entitlements_root = Some(Hex(merkle::root(leaves.collect())));
        entitlement::insert_all(tx, &d, &parts).await?;
    }
    distribution::transition(tx, &mut d, Move::Calculate, &by.actor, "the entitlements are calculated").await?;
    Ok(d)
}

fn total(d: &Distribution, offering: &Offering, holders: &[Holder]) -> Result<i64> {
    let supply = holders.iter().map(|h| h.balance.0).sum::<u128>();
    if supply == 0 {
        return Err(d.illegal("Nobody held a unit at the record date, so nobody can be paid."));
    }
    let decimals = offering.decimals();
    let total = match (d.total_amount, d.per_unit_amount) {
        (Some(total), _) => Some(total),
        (None, each) => allocation::total_of(each.unwrap_or(0), supply, decimals),
    };
    total
        .filter(|t| *t > 0 && *t <= muniment_domain::money::MAXIMUM.minor())
        .ok_or_else(|| d.illegal("The total amount is less than one cent or more than the maximum."))
}

fn parts(dust: Money, total: i64, holders: Vec<Holder>) -> Vec<entitlement::New> {
    let balances: Vec<_> = holders.iter().map(|h| (h.wallet_address.0, h.balance.0)).collect();
    let shares = allocation::largest_remainder(total, &balances);
    let dust = dust.minor().max(1);
    let part = |(holder, gross): (Holder, i64)| {
        let rate = holder.rate_basis_points.unwrap_or(0);
        let withholding = allocation::withheld(gross, rate);
        // Holds that follow from the rules alone. Nobody decides them, and the other holders do not wait for them.
        let hold_reason = match (&holder.investor_id, holder.kyc_status.as_deref()) {
            (None, _) => Some(HoldReason::WalletRequired),
            (Some(_), status) if status != Some("approved") => Some(HoldReason::KycRequired),
            _ if gross - withholding < dust => Some(HoldReason::BelowDust),
            _ => None,
        };
        entitlement::New {
            investor_id: holder.investor_id,
            wallet: holder.wallet_address.0,
            payee: holder.successor.map_or(holder.wallet_address.0, |a| a.0),
            balance: holder.balance.0,
            gross,
            rate_basis_points: rate,
            withholding,
            hold_reason,
        }
    };
    holders.into_iter().zip(shares).map(part).collect()
}

/// The wallet at the end of a chain of recoveries.
pub async fn last_successor(tx: &mut Tx, first: Address) -> Result<Address> {
    let mut last = first;
    // The contract follows at most 16 recoveries and refuses cycles.
    for _ in 0..16 {
        match wallet::find(tx, last).await?.and_then(|w| w.successor) {
            Some(next) => last = next.0,
            None => break,
        }
    }
    Ok(last)
}

/// Cancels a distribution before its execution.
pub async fn cancel(
    tx: &mut Tx,
    scope: &Scope,
    id: &DistributionId,
    by: &Requester,
    reason: &str,
) -> Result<Distribution> {
    distribution::find(tx, scope, id).await?;
    let mut d = distribution::lock_row(tx, id).await?;
    if d.status.next(Move::Cancel).is_some() {
        payout_approval::withdraw(tx, &mut d, &by.actor, reason).await?;
    }
    distribution::transition(tx, &mut d, Move::Cancel, &by.actor, reason).await?;
    Ok(d)
}

/// Returns the current list, if it is the approved one. A changed list needs a new approval.
pub async fn approved_list(tx: &mut Tx, d: &Distribution) -> Result<Vec<entitlement::Entitlement>> {
    let (now, list) = agreement(tx, d).await?;
    if d.list_sha256.as_deref() != Some(now.sha256().as_str()) {
        return Err(Error::refused(
            Code::SnapshotMismatch,
            "The list changed after the approval: an entitlement was held, released or redirected. Submit the distribution again.",
        ));
    }
    Ok(list)
}
