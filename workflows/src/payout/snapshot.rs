//! The snapshot of a distribution: the balances at the record block, proved by the chain's supply at that block. Until both agree, only the
//! reason for waiting is written.

use alloy_primitives::{Address, U256};
use chrono::Duration;
use muniment_activities::chain::simulate::At;
use muniment_activities::fault::Fault;
use muniment_activities::token;
use muniment_domain::distribution::{self, Distribution, Move, Scope, Status};
use muniment_domain::id::DistributionId;
use muniment_domain::operation;
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result, offering, snapshot, token_event, token_read};
use serde_json::json;

use crate::engine::Engine;
use crate::engine::{queue, timer};
use crate::payout::record_block;

/// Snapshots that one pass of the sweep wakes.
const WAKES_PER_PASS: i64 = 500;

/// The reason why a snapshot is not taken now.
pub enum Stop {
    /// It waits, with a code and a sentence.
    Waits(&'static str, String),
    /// The database failed.
    Domain(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Domain(error)
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Waits("chain_silent", format!("the chain is not available: {fault}"))
    }
}

type Balances = Vec<(Address, u128)>;

/// Makes the next move of a distribution's snapshot. A superfluous wake finds nothing to do.
pub async fn act(engine: &Engine, distribution_id: &DistributionId) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let d = match distribution::find(&mut tx, &Scope::All, distribution_id).await {
        Err(Error::Refused { code: Code::NotFound, .. }) => return Ok(()),
        found => found?,
    };
    drop(tx);
    if d.status == Status::Draft {
        return timer::run(engine, distribution_id).await;
    }
    if d.status != Status::Snapshotting {
        return Ok(());
    }
    let moved = match read_balances(engine, &d).await {
        Ok((at, balances)) => store(engine, d, at, &balances).await,
        Err(Stop::Waits(code, why)) => wait(engine, d, code, why).await,
        Err(Stop::Domain(error)) => Err(error),
    };
    match moved {
        // Another worker took it, or a person cancelled it, between the read and the write.
        Err(Error::Stale { .. }) => Ok(()),
        moved => moved,
    }
}

/// Finds the record block and the balances, and compares their sum with the chain's supply at that block.
async fn read_balances(engine: &Engine, d: &Distribution) -> Result<(snapshot::SnapshotBlock, Balances), Stop> {
    let Some(network) = engine.network(d.chain_id) else {
        let why = format!("chain {} is not configured in this worker", d.chain_id);
        return Err(Stop::Waits("unknown_chain", why));
    };
    let mut tx = engine.db.read().await?;
    let first = offering::find(&mut tx, &d.offering_id).await?.token_block_number.unwrap_or(0);
    drop(tx);
    let at = record_block::find(engine, network, d, first).await?;
    let mut tx = engine.db.read().await?;
    let indexed = token_read::cursor(&mut tx, &d.offering_id).await?.map_or(0, |cursor| cursor.block_number);
    if indexed < at.number {
        let why = format!("the record block is {}, but the token's events are read only up to {indexed}", at.number);
        return Err(Stop::Waits("index_behind", why));
    }
    let mut balances = token_event::balances_at(&mut tx, &d.offering_id, d.partition_id, at.number).await?;
    drop(tx);
    balances.retain(|(_, balance)| *balance > 0);
    balances.sort_unstable();
    let (node, token, partition) = (&network.chain, d.token_address.0, u32::try_from(d.partition_id).unwrap_or(0));
    let supply = token::partition(node, token, partition, At::Hash(at.hash)).await?.supply;
    let sum = balances.iter().map(|(_, b)| U256::from(*b)).sum::<U256>();
    if supply == sum {
        return Ok((at, balances));
    }
    let why = format!(
        "the balances add up to {sum} units, but the chain reports a supply of {supply} at block {}",
        at.number
    );
    Err(Stop::Waits("record_difference", why))
}

/// Stores the snapshot and moves the distribution, in one commit.
async fn store(engine: &Engine, mut d: Distribution, at: snapshot::SnapshotBlock, balances: &Balances) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let stored = snapshot::insert(&mut tx, &d.id, at, balances).await?;
    let reason = format!("{} holders at block {}", stored.holder_count, stored.block_number);
    distribution::transition(&mut tx, &mut d, Move::StoreSnapshot, "engine", &reason).await?;
    tx.commit(Point::Snapshot).await
}

/// Stores the reason for waiting. A person is notified once for each reason.
async fn wait(engine: &Engine, mut d: Distribution, code: &'static str, why: String) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    // Finality and the index catch up soon, as with every snapshot. Everything else needs a change first, so the pause is longer.
    let soon = ["not_final", "index_behind"].contains(&code);
    let pause = engine.settings.outage_pause_seconds.min(if soon { 3 } else { u64::MAX });
    let at = tx.now() + Duration::seconds(pause.cast_signed());
    let new = d.problem_code.as_deref() != Some(code);
    d.next_action_at = Some(at);
    d.problem_code = Some(code.to_owned());
    d.problem_detail = Some(why.clone());
    distribution::save(&mut tx, &mut d).await?;
    if new && soon {
        tracing::info!(distribution.id = %d.id, "the snapshot waits: {why}");
    } else if new {
        tracing::warn!(distribution.id = %d.id, error.code = code, "the snapshot waits: {why}");
        if code == "record_difference" {
            distribution::write_event(&mut tx, &d, "record_difference", json!({ "detail": why })).await?;
        }
    }
    queue::wake_id(&mut tx, queue::SNAPSHOT, &d.id, at).await?;
    tx.commit(Point::Snapshot).await
}

/// Wakes snapshots that are due again, and returns their number.
pub async fn sweep(engine: &Engine) -> Result<usize> {
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    let due = distribution::due(&mut tx, now, WAKES_PER_PASS).await?;
    if due.is_empty() {
        return Ok(0);
    }
    for d in &due {
        distribution::postpone(&mut tx, d, now + Duration::seconds(operation::WAKE_AGAIN_SECONDS)).await?;
        queue::wake_id(&mut tx, queue::SNAPSHOT, &d.id, now).await?;
    }
    tx.commit(Point::Sweep).await?;
    Ok(due.len())
}
