//! Distributions: somebody drafts one, and it goes its way from the snapshot to the last receipt, with everything else in between.

use std::collections::BTreeMap;

use alloy::primitives::{Address, U256};
use alloy::sol;
use chrono::Duration;
use muniment_domain::Result;
use muniment_domain::date_or_time::DateOrTime;
use muniment_domain::distribution::{Kind, Method, Scope};
use muniment_domain::offering::Scope as Offerings;
use muniment_domain::point::Point;
use muniment_domain::sql::sql;
use muniment_workflows::payout;
use muniment_workflows::payout::distribution::{self, Draft};
use muniment_workflows::payout::{approval as payout_approval, snapshot};
use muniment_workflows::requester::Requester;

use crate::books::{same, view};
use crate::life::{Life, Lived};
use crate::people::MAKER;
use crate::stage::{self, HOLDERS};

/// What the payer begins with, in units of the coin, which has six decimals.
pub const FUNDS: u128 = 1_000_000_000_000;
const UNITS_IN_A_CENT: u128 = 10_000;

sol! {
    function balanceOf(address account) returns (uint256);
}

/// Whatever waits for somebody to move it on.
const OPEN: &str = "select id || ' ' || status from distributions where status in ('draft', 'snapshotted', 'calculated', 'approved') order by id";

/// Every distribution goes on by a step.
pub async fn move_all(life: &mut Life) -> Lived {
    for open in life.ids(OPEN).await {
        let (id, status) = open.split_once(' ').unwrap();
        let moved = step(life, id, status).await;
        life.judge(&format!("{id}, which is {status}"), moved.map(drop))?;
    }
    Ok(())
}

/// Drafts a distribution, or moves one on by a step.
pub async fn move_on(life: &mut Life) -> Lived {
    let open = life.ids(OPEN).await;
    let moved = if open.is_empty() || life.seed.chance(0.2) {
        let (offering, cents) = (life.seed.pick(&life.stage.offerings).clone(), 1 + life.seed.below(100_000));
        let method = if life.seed.chance(0.5) { Method::DirectPayout } else { Method::Distributor };
        draft(life, offering, method, cents.cast_signed()).await
    } else {
        let (id, status) = life.seed.pick(&open).split_once(' ').unwrap();
        step(life, id, status).await
    };
    match moved {
        Ok(said) => life.note(said),
        Err(error) => life.judge("a distribution", Err(error))?,
    }
    Ok(())
}

fn maker() -> Requester {
    Requester { actor: MAKER.to_owned(), request_id: None, idempotency_key: None }
}

async fn draft(life: &Life, offering_id: String, method: Method, cents: i64) -> Result<String> {
    let mut tx = life.stage.db.begin().await?;
    let now = tx.now();
    let draft = Draft {
        offering_id: offering_id.into(),
        kind: Kind::Dividend,
        method,
        total_amount: Some(cents),
        per_unit_amount: None,
        partition_id: None,
        payout_token: None,
        record_date: DateOrTime::Exact(now - Duration::seconds(30)),
        payment_date: DateOrTime::Exact(now),
        memo: None,
        excluded_addresses: Vec::new(),
    };
    let drafted = distribution::create(&mut tx, &Offerings::All, &draft, &maker()).await?;
    tx.commit(Point::Accept).await?;
    Ok(format!("{} of {cents} cents by {method}", drafted.id))
}

async fn step(life: &Life, id: &str, status: &str) -> Result<String> {
    let mut tx = life.stage.db.begin().await?;
    match status {
        "draft" => drop(distribution::request_snapshot(&mut tx, &Scope::All, &id.into(), &maker()).await?),
        "snapshotted" => {
            drop(distribution::calculate(&mut tx, &life.settings, &Scope::All, &id.into(), &maker()).await?)
        }
        "calculated" => {
            drop(payout_approval::submit(&mut tx, &life.settings, &Scope::All, &id.into(), &maker()).await?)
        }
        _ => drop(payout::execute(&mut tx, &life.settings, &id.into(), &maker()).await?),
    }
    tx.commit(Point::Accept).await?;
    Ok(format!("{id} was {status} and moved on"))
}

/// The job behind a snapshot.
pub async fn take_snapshots(life: &mut Life) -> Lived {
    for id in life.ids("select id from distributions where status = 'snapshotting' order by id").await {
        let Some(engine) = life.engine.clone() else { return Ok(()) };
        let taken = snapshot::act(&engine, &id.as_str().into()).await;
        life.judge(&format!("snapshot {id}"), taken)?;
    }
    Ok(())
}

/// Each wallet has in coin exactly what the receipts say, the sums are exact, and what left the payer is somewhere.
pub async fn compare(life: &Life) -> Lived {
    let coin = life.stage.platform.coin;
    let has = |account: Address| view(life, coin, &balanceOfCall { account }).to::<u128>();
    let mut paid: BTreeMap<Address, u128> = BTreeMap::new();
    for (payee, cents) in rows(life, "select payee_address, net from entitlements where status = 'paid'").await? {
        *paid.entry(payee.parse().unwrap()).or_default() += u128::from(cents.unsigned_abs()) * UNITS_IN_A_CENT;
    }
    let wallets =
        (0..2 * HOLDERS).map(stage::holder).map(|wallet| (wallet, has(wallet))).filter(|(_, units)| *units > 0);
    same("what was paid", &paid, &wallets.collect())?;
    let kept = has(life.stage.platform.distributor);
    let left = U256::from(has(life.stage.signers[0].address()) + kept + paid.values().sum::<u128>());
    same("all the money", &U256::from(FUNDS), &left)?;
    let inexact = "select d.id from distributions d join entitlements e on e.distribution_id = d.id \
                   group by d.id, d.total_amount having sum(e.gross) <> d.total_amount";
    same("distributions whose parts are not the whole", &life.ids(inexact).await, &Vec::new())
}

async fn rows(life: &Life, text: &'static str) -> std::result::Result<Vec<(String, i64)>, String> {
    let mut tx = life.stage.db.read().await.map_err(|e| e.to_string())?;
    sql(text).rows(&mut tx).await.map_err(|e| e.to_string())
}
