//! The snapshot of a distribution: who held how much at the last final block of its record date, and the chain's own word that this is
//! all. Until both agree nothing is written but why it waits.

use alloy_primitives::{Address, U256};
use chrono::Duration;
use muniment_activities::fault::Fault;
use muniment_activities::simulate::At;
use muniment_activities::token;
use muniment_domain::distribution::{self, Distribution, Move, Scope, Status};
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result, offering, snapshot, token_event, token_read};
use serde_json::json;

use crate::engine::Engine;
use crate::engine::{queue, timer};
use crate::payout::record_block;

/// Why a snapshot is not taken now.
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
        Self::Waits("chain_silent", format!("the chain cannot be asked now: {fault}"))
    }
}

type Balances = Vec<(Address, u128)>;

/// Makes the move that a distribution's snapshot is due. A wake too many finds nothing to do.
pub async fn act(engine: &Engine, distribution_id: &str) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let d = match distribution::find(&mut tx, &Scope::All, distribution_id).await {
        Err(Error::Refused { code: Code::NotFound, .. }) => return Ok(()),
        found => found?,
    };
    drop(tx);
    if d.status == Status::Draft {
        return timer::ring(engine, distribution_id).await;
    }
    if d.status != Status::Snapshotting {
        return Ok(());
    }
    let moved = match look(engine, &d).await {
        Ok((at, balances)) => take(engine, d, at, &balances).await,
        Err(Stop::Waits(code, why)) => wait(engine, d, code, why).await,
        Err(Stop::Domain(error)) => Err(error),
    };
    match moved {
        // Somebody else took it, or called it off, between our look and our write.
        Err(Error::Stale { .. }) => Ok(()),
        moved => moved,
    }
}

/// Finds the block and the balances, and compares their sum with the supply that the chain has at that very block.
async fn look(engine: &Engine, d: &Distribution) -> Result<(snapshot::At, Balances), Stop> {
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
        let why = format!("the record block is {}, the token's events are read up to {indexed}", at.number);
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
    let why = format!("the holders have {sum} units together, the chain says {supply} at block {}", at.number);
    Err(Stop::Waits("record_difference", why))
}

/// Stores the snapshot and moves the distribution on, in one commit.
async fn take(engine: &Engine, mut d: Distribution, at: snapshot::At, balances: &Balances) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    let stored = snapshot::insert(&mut tx, &d.id, at, balances).await?;
    let reason = format!("{} holders at block {}", stored.holder_count, stored.block_number);
    distribution::transition(&mut tx, &mut d, Move::Take, "engine", &reason).await?;
    tx.commit(Point::Snapshot).await
}

/// Writes down why it waits. What is told to a person is told once.
async fn wait(engine: &Engine, mut d: Distribution, code: &'static str, why: String) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    // Finality comes by itself, and soon; for everything else somebody or something has to change first.
    let pause = engine.settings.outage_pause_seconds.min(if ["not_final", "index_behind"].contains(&code) {
        3
    } else {
        u64::MAX
    });
    let at = tx.now() + Duration::seconds(pause.cast_signed());
    let new = d.problem_code.as_deref() != Some(code);
    d.next_action_at = Some(at);
    d.problem_code = Some(code.to_owned());
    d.problem_detail = Some(why.clone());
    distribution::save(&mut tx, &mut d).await?;
    if new {
        tracing::warn!(distribution.id = %d.id, error.code = code, "the snapshot waits: {why}");
        if code == "record_difference" {
            distribution::tell(&mut tx, &d, "record_difference", json!({ "detail": why })).await?;
        }
    }
    queue::wake_snapshot(&mut tx, &d.id, at).await?;
    tx.commit(Point::Snapshot).await
}
