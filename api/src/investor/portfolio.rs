//! `GET /v1/investors/{id}/portfolio`: the holdings of an investor, as of the final blocks up to which the tokens were read.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::{Path, State};
use chrono::{DateTime, Utc};
use muniment_domain::entitlement::HoldReason;
use muniment_domain::id::{DistributionId, InvestorId, OfferingId, SubscriptionId};
use muniment_domain::money::{self, Money};
use muniment_domain::portfolio::{self, Commitment, Income, Payment, Position, Purchases};
use muniment_domain::subscription::Status;
use muniment_domain::{distribution, entitlement, investor, ledger};
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::principal::Principal;
use crate::app::App;
use crate::code::Code;
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;

/// How many payments are shown.
const RECENT: i64 = 10;
/// From which lag on the figures are called stale.
const STALE_SECONDS: i64 = 60;

/// The portfolio of an investor.
#[derive(Serialize, ToSchema)]
#[schema(as = Portfolio)]
pub struct View {
    investor_id: InvestorId,
    as_of: Instant,
    /// The currency of the totals. Null if there are several currencies.
    currency: Option<String>,
    totals: Option<Totals>,
    /// The totals for each currency.
    totals_by_currency: Vec<InCurrency>,
    /// The holdings.
    holdings: Vec<Holding>,
    /// The subscriptions that are not minted yet.
    pending: Vec<Pending>,
    /// The last ten distributions.
    recent_distributions: Vec<Paid>,
    /// The progress of reading the tokens.
    sync: Sync,
}

/// The totals of the distribution.
#[derive(Clone, Copy, Serialize, ToSchema)]
#[schema(as = PortfolioTotals)]
struct Totals {
    /// The total of subscriptions that are not minted yet.
    committed: Amount,
    /// The invested total.
    invested: Amount,
    /// The total of distributions before withholding.
    distributions_gross: Amount,
    withholding: Amount,
    /// The total of distributions after withholding.
    distributions_net: Amount,
}

impl Default for Totals {
    fn default() -> Self {
        let none = amount(0);
        Self { committed: none, invested: none, distributions_gross: none, withholding: none, distributions_net: none }
    }
}

/// The totals of one currency.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioTotalsInCurrency)]
struct InCurrency {
    currency: String,
    #[serde(flatten)]
    totals: Totals,
}

/// The units of a token in one wallet and partition.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioHolding)]
struct Holding {
    offering_id: OfferingId,
    offering_name: String,
    token_address: Typed,
    chain_id: i64,
    partition: String,
    wallet_address: Typed,
    quantity: String,
    base_units: String,
    locked_quantity: String,
    /// The number of tokens that can be transferred.
    #[schema(example = "250.00")]
    transferable_quantity: String,
    /// The locks.
    locks: Vec<Lock>,
    frozen: bool,
    currency: String,
    /// The cost of the units at the average price. Null if they came by a transfer.
    cost_basis: Option<Amount>,
    /// The last known price of a token.
    last_price: Amount,
    /// The estimated value.
    estimated_value: Amount,
    /// The source of the estimated value.
    #[schema(example = "issue_price")]
    value_source: &'static str,
    /// The block up to which the token was read.
    synced_block: i64,
}

/// Units that cannot be transferred yet.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioLock)]
struct Lock {
    quantity: String,
    /// When the units can be transferred. Null if they are locked without an end.
    release_at: Option<Instant>,
}

/// A subscription that is not minted yet.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioCommitment)]
struct Pending {
    subscription_id: SubscriptionId,
    offering_id: OfferingId,
    offering_name: String,
    status: Status,
    amount: Amount,
    currency: String,
}

/// A payment of a distribution.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioPayment)]
pub struct Paid {
    distribution_id: DistributionId,
    offering_id: OfferingId,
    offering_name: String,
    #[serde(rename = "type")]
    kind: distribution::Kind,
    currency: String,
    payment_date: Instant,
    gross_amount: Amount,
    withholding_amount: Amount,
    net_amount: Amount,
    status: entitlement::Status,
    hold_reason: Option<HoldReason>,
    tx_hash: Option<String>,
    paid_at: Option<Instant>,
}

/// The progress of reading the tokens.
#[derive(Serialize, ToSchema)]
#[schema(as = PortfolioSync)]
struct Sync {
    /// The block up to which the tokens were read. Null if there are several chains or no tokens.
    block: Option<i64>,
    /// The seconds that the data is behind.
    lag_seconds: i64,
    /// Whether the data is older than expected.
    stale: bool,
}

/// Read an investor's portfolio.
///
/// Investors read their own, staff any.
#[utoipa::path(
    get,
    path = "/v1/investors/{id}/portfolio",
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["forbidden"]))),
)]
pub async fn read(State(app): State<App>, Path(id): Path<InvestorId>, principal: Principal) -> Result<Json<View>> {
    let mut tx = app.db.read().await?;
    if !principal.is_staff() {
        let own = muniment_domain::principal::investor_of(&mut tx, &principal.0.user_id).await?;
        if own.as_deref() != Some(id.as_str()) {
            return Err(Problem::new(Code::Forbidden, "You can read only your own portfolio."));
        }
    }
    let owner = investor::find(&mut tx, &id).await?;
    let positions = portfolio::positions(&mut tx, &owner.id).await?;
    let commitments = portfolio::commitments(&mut tx, &owner.id).await?;
    let purchases = Purchases::of(&commitments, &portfolio::successors(&mut tx, &owner.id).await?);
    let locks = portfolio::locks(&mut tx, &owner.id).await?;
    let holdings = positions.iter().map(|p| holding(p, locks.of(p), &purchases)).collect();
    let totals = totals(&commitments, &portfolio::income(&mut tx, &owner.id).await?);
    let recent = portfolio::recent(&mut tx, &owner.id, RECENT).await?;
    let single = totals.iter().next().filter(|_| totals.len() == 1);
    Ok(Json(View {
        investor_id: owner.id,
        as_of: Instant(tx.now()),
        currency: single.map(|(currency, _)| currency.clone()),
        totals: if totals.len() > 1 { None } else { Some(single.map(|(_, all)| *all).unwrap_or_default()) },
        totals_by_currency: totals.into_iter().map(|(currency, totals)| InCurrency { currency, totals }).collect(),
        holdings,
        pending: commitments.iter().filter(|c| c.status != Status::Minted).map(waiting).collect(),
        recent_distributions: recent.iter().map(payment).collect(),
        sync: sync(&positions, tx.now()),
    }))
}

fn totals(commitments: &[Commitment], income: &[Income]) -> BTreeMap<String, Totals> {
    let mut totals = BTreeMap::<String, Totals>::new();
    for c in commitments {
        let sums = totals.entry(c.currency.clone()).or_default();
        let sum = if c.status == Status::Minted { &mut sums.invested } else { &mut sums.committed };
        *sum = amount(sum.0.minor() + c.amount);
    }
    for i in income {
        let sums = totals.entry(i.currency.clone()).or_default();
        sums.distributions_gross = amount(i.gross);
        sums.withholding = amount(i.withholding);
        sums.distributions_net = amount(i.net);
    }
    totals
}

fn holding(p: &Position, locks: &[portfolio::Lock], purchases: &Purchases) -> Holding {
    let units =
        |endless: bool| locks.iter().filter(move |t| (t.release_at == ledger::NEVER) == endless).map(|t| t.quantity.0);
    // Units frozen without end overlap the locks, and an order may freeze more than is held.
    let locked = units(false).sum::<u128>().max(units(true).sum()).min(p.balance.0);
    let decimals = u32::try_from(p.token_decimals).unwrap_or(0);
    let quantity = |units| money::quantity(units, decimals);
    // Units that are held without end have no time of release.
    let release = |at: i64| DateTime::from_timestamp(at, 0).filter(|_| at < ledger::NEVER).map(Instant);
    let lock = |t: &portfolio::Lock| Lock { quantity: quantity(t.quantity.0), release_at: release(t.release_at) };
    Holding {
        offering_id: p.offering_id.clone(),
        offering_name: p.offering_name.clone(),
        token_address: Typed(p.token_address.0),
        chain_id: p.chain_id,
        partition: p.partition_id.to_string(),
        wallet_address: Typed(p.wallet_address.0),
        quantity: quantity(p.balance.0),
        base_units: p.balance.to_string(),
        locked_quantity: quantity(locked),
        transferable_quantity: quantity(p.balance.0.saturating_sub(locked)),
        locks: locks.iter().map(lock).collect(),
        frozen: p.frozen,
        currency: p.currency.clone(),
        cost_basis: purchases.cost(p).map(amount),
        last_price: amount(p.unit_price),
        estimated_value: amount(portfolio::value(p.balance.0, p.unit_price, decimals)),
        value_source: "issue_price",
        synced_block: p.synced_block,
    }
}

fn waiting(c: &Commitment) -> Pending {
    Pending {
        subscription_id: c.id.clone(),
        offering_id: c.offering_id.clone(),
        offering_name: c.offering_name.clone(),
        status: c.status,
        amount: amount(c.amount),
        currency: c.currency.clone(),
    }
}

/// As answers show it.
pub fn payment(p: &Payment) -> Paid {
    let e = &p.entitlement;
    Paid {
        distribution_id: e.distribution_id.clone(),
        offering_id: e.offering_id.clone(),
        offering_name: p.offering_name.clone(),
        kind: p.kind,
        currency: p.currency.clone(),
        payment_date: Instant(p.payment_date),
        gross_amount: amount(e.gross),
        withholding_amount: amount(e.withholding),
        net_amount: amount(e.net),
        status: e.status,
        hold_reason: e.hold_reason,
        tx_hash: e.tx_hash.map(|hash| hash.to_string()),
        paid_at: e.paid_at.map(Instant),
    }
}

/// How far the tokens are read: the furthest behind of them counts.
fn sync(positions: &[Position], now: DateTime<Utc>) -> Sync {
    let lag = positions.iter().map(|p| p.lag_seconds(now)).max().unwrap_or(0);
    let chains: BTreeSet<i64> = positions.iter().map(|p| p.chain_id).collect();
    // Blocks of several chains cannot be compared.
    let block = positions.iter().map(|p| p.synced_block).min().filter(|_| chains.len() == 1);
    Sync { block, lag_seconds: lag, stale: lag > STALE_SECONDS }
}

const fn amount(minor: i64) -> Amount {
    Amount(Money::from_minor(minor))
}
