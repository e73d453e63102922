//! `GET /v1/investors/{id}/portfolio`: what an investor has, as of the final blocks up to which the tokens are read.

use std::collections::{BTreeMap, BTreeSet};

use axum::Json;
use axum::extract::{Path, State};
use chrono::DateTime;
use muniment_domain::db::Tx;
use muniment_domain::money::{self, Money};
use muniment_domain::portfolio::{self, Commitment, Income, Payment, Position, Purchases};
use muniment_domain::subscription::Status;
use muniment_domain::{book, holding, investor, wallet};
use serde_json::{Value, json};

use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::instant;
use crate::principal::Principal;

/// How many payments are shown.
const RECENT: i64 = 10;
/// From which lag on the figures are called stale.
const STALE_SECONDS: i64 = 60;

/// The portfolio of one investor: an investor's own, or anybody's for the staff. That an id is nobody's is told to the staff alone.
pub async fn read(State(app): State<App>, Path(id): Path<String>, principal: Principal) -> Result<Json<Value>> {
    let mut tx = app.db.read().await?;
    if !principal.is_staff() {
        let own = muniment_domain::principal::investor_of(&mut tx, &principal.0.user_id).await?;
        if own.as_deref() != Some(id.as_str()) {
            return Err(Problem::new(Code::Forbidden, "This portfolio is not yours."));
        }
    }
    let owner = investor::find(&mut tx, &id).await?;
    let positions = portfolio::positions(&mut tx, &owner.id).await?;
    let commitments = portfolio::commitments(&mut tx, &owner.id).await?;
    let wallets = wallet::of_investor(&mut tx, &owner.id).await?;
    let successors = wallets.iter().filter_map(|w| Some((w.address.0, w.successor?.0))).collect();
    let purchases = Purchases::of(&commitments, &successors);
    let mut holdings = Vec::with_capacity(positions.len());
    for p in &positions {
        holdings.push(holding(&mut tx, p, &purchases).await?);
    }
    let totals = totals(&commitments, &portfolio::income(&mut tx, &owner.id).await?);
    let recent = portfolio::recent(&mut tx, &owner.id, RECENT).await?;
    let pending = commitments.iter().filter(|c| c.status != Status::Minted);
    Ok(Json(json!({
        "investor_id": owner.id, "as_of": instant::text(tx.now()),
        // Sums of several currencies are no sums: then each stands by itself.
        "currency": single(&totals).map(|(currency, _)| currency),
        "totals": if totals.len() > 1 { Value::Null } else { single(&totals).map_or_else(|| sums(&Sums::default()), |(_, all)| sums(all)) },
        "totals_by_currency": totals.iter().map(|(currency, all)| with_currency(currency, all)).collect::<Vec<_>>(),
        "holdings": holdings, "pending": pending.map(waiting).collect::<Vec<_>>(),
        "recent_distributions": recent.iter().map(payment).collect::<Vec<_>>(), "sync": sync(&positions, tx.now()),
    })))
}

async fn holding(tx: &mut Tx, p: &Position, purchases: &Purchases) -> Result<Value> {
    let tranches = holding::tranches(tx, &p.offering_id, &[p.wallet_address.0]).await?;
    let locks: Vec<_> = tranches.iter().filter(|t| t.partition_id == p.partition_id).collect();
    let locked = locks.iter().map(|t| t.quantity.0).sum::<u128>();
    let decimals = u32::try_from(p.token_decimals).unwrap_or(0);
    let quantity = |units| money::quantity(units, decimals);
    // Units that are held without end have no time of release.
    let release = |at: i64| DateTime::from_timestamp(at, 0).filter(|_| at < book::NEVER).map(instant::text);
    let lock =
        |t: &&holding::Tranche| json!({ "quantity": quantity(t.quantity.0), "release_at": release(t.release_at) });
    Ok(json!({
        "offering_id": p.offering_id, "offering_name": p.offering_name, "token_address": p.token_address.0.to_checksum(None),
        "chain_id": p.chain_id, "partition": p.partition_id.to_string(), "wallet_address": p.wallet_address.0.to_checksum(None),
        "quantity": quantity(p.balance.0), "base_units": p.balance.to_string(), "locked_quantity": quantity(locked),
        "transferable_quantity": quantity(p.balance.0.saturating_sub(locked)), "locks": locks.iter().map(lock).collect::<Vec<_>>(),
        "frozen": p.frozen, "currency": p.currency, "cost_basis": purchases.cost(p).map(amount), "last_price": amount(p.unit_price),
        "estimated_value": amount(portfolio::value(p.balance.0, p.unit_price, decimals)), "value_source": "issue_price",
        "synced_block": p.synced_block,
    }))
}

/// In minor units.
#[derive(Default)]
struct Sums {
    committed: i64,
    invested: i64,
    gross: i64,
    withholding: i64,
    net: i64,
}

fn totals(commitments: &[Commitment], income: &[Income]) -> BTreeMap<String, Sums> {
    let mut totals = BTreeMap::<String, Sums>::new();
    for c in commitments {
        let sums = totals.entry(c.currency.clone()).or_default();
        match c.status {
            Status::Minted => sums.invested += c.amount,
            _ => sums.committed += c.amount,
        }
    }
    for i in income {
        let sums = totals.entry(i.currency.clone()).or_default();
        (sums.gross, sums.withholding, sums.net) = (i.gross, i.withholding, i.net);
    }
    totals
}

fn single(totals: &BTreeMap<String, Sums>) -> Option<(&String, &Sums)> {
    totals.iter().next().filter(|_| totals.len() == 1)
}

fn sums(s: &Sums) -> Value {
    json!({ "committed": amount(s.committed), "invested": amount(s.invested), "distributions_gross": amount(s.gross),
        "withholding": amount(s.withholding), "distributions_net": amount(s.net) })
}

fn with_currency(currency: &str, s: &Sums) -> Value {
    let mut all = sums(s);
    all["currency"] = json!(currency);
    all
}

fn waiting(c: &Commitment) -> Value {
    json!({ "subscription_id": c.id, "offering_id": c.offering_id, "offering_name": c.offering_name, "status": c.status,
        "amount": amount(c.amount), "currency": c.currency })
}

fn payment(p: &Payment) -> Value {
    let e = &p.entitlement;
    json!({ "distribution_id": e.distribution_id, "offering_id": e.offering_id, "offering_name": p.offering_name, "type": p.kind,
        "currency": p.currency, "payment_date": instant::text(p.payment_date), "gross_amount": amount(e.gross),
        "withholding_amount": amount(e.withholding), "net_amount": amount(e.net), "status": e.status, "hold_reason": e.hold_reason,
        "tx_hash": e.tx_hash.map(|hash| hash.to_string()), "paid_at": instant::optional(e.paid_at) })
}

/// How far the tokens are read: the furthest behind of them counts.
fn sync(positions: &[Position], now: DateTime<chrono::Utc>) -> Value {
    let lag = positions.iter().map(|p| p.lag_seconds(now)).max().unwrap_or(0);
    let chains: BTreeSet<i64> = positions.iter().map(|p| p.chain_id).collect();
    // Blocks of several chains cannot be compared.
    let block = positions.iter().map(|p| p.synced_block).min().filter(|_| chains.len() == 1);
    json!({ "block": block, "lag_seconds": lag, "stale": lag > STALE_SECONDS })
}

fn amount(minor: i64) -> String {
    Money::from_minor(minor).to_string()
}
