//! Pausing and resuming a lane.

use alloy_primitives::Address;
use muniment_activities::chain::Tag;
use muniment_activities::contract::operation::highest_operation_number;
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result, chain, contract};

use crate::engine::{Engine, execution, queue};
use crate::reconciliation::import;

/// Pauses a lane for an operator.
pub async fn pause(engine: &Engine, lane_id: &LaneId, actor: &str, reason: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    stop(&mut tx, lane_id, actor, reason).await?;
    tx.commit(Point::Mode).await
}

/// Pauses a lane, in the caller's transaction.
pub async fn stop(tx: &mut Tx, lane_id: &LaneId, actor: &str, reason: &str) -> Result<()> {
    let lane = lane::find(tx, lane_id).await?;
    if lane.mode != Mode::Active {
        return Err(Error::refused(Code::InvalidState, format!("The lane is already {}.", lane.mode)));
    }
    lane::set_mode(tx, &lane, Mode::Paused, &format!("{actor}: {reason}"), lane.next_nonce).await
}

/// A lane that can sign again, with the counters from which it starts.
#[derive(Clone, Debug)]
pub struct Resumable {
    lane: Lane,
    next_nonce: i64,
    highest: Vec<(Address, i64)>,
}

/// Lets a lane sign again.
pub async fn resume(engine: &Engine, lane_id: &LaneId, actor: &str, reason: &str) -> Result<()> {
    let resumable = may_resume(engine, lane_id).await?;
    let mut tx = engine.db.begin().await?;
    restart(&mut tx, &resumable, actor, reason).await?;
    tx.commit(Point::Mode).await
}

/// Checks that a lane can sign again. After a quarantine its nonce and its contracts' operation numbers are raised above those on the
/// chain, so that no used nonce or number is used again.
pub async fn may_resume(engine: &Engine, lane_id: &LaneId) -> Result<Resumable> {
    let mut tx = engine.db.read().await?;
    let lane = lane::find(&mut tx, lane_id).await?;
    let contracts = contract::of_chain(&mut tx, lane.chain_id).await?;
    let last = chain::find(&mut tx, lane.chain_id).await?.map_or(0, |c| c.final_number);
    drop(tx);
    if lane.mode == Mode::Active {
        return Err(Error::refused(Code::InvalidState, "The lane is already active."));
    }
    let unknown = || Error::refused(Code::UnknownChain, format!("Chain {} is not configured here.", lane.chain_id));
    let network = engine.network(lane.chain_id).ok_or_else(unknown)?;
    let unavailable = |fault| execution::unavailable(&fault);
    // Only final transactions count: a foreign one that a reorganisation removes would leave a gap in the nonces. So would one that a single
    // endpoint invents while the others answer.
    let counts = network.chain.transaction_counts(lane.signer.0, Tag::Number(last.cast_unsigned())).await;
    let used = counts.map_err(unavailable)?.believed();
    let next_nonce = lane.next_nonce.max(used.cast_signed());
    let pending = network.chain.transaction_count(lane.signer.0, Tag::Pending).await.map_err(unavailable)?;
    if pending.cast_signed() > next_nonce {
        let detail = format!(
            "{} has {pending} transactions on the chain and in the pool, but only {next_nonce} of them are final. Wait for the rest.",
            lane.signer.0
        );
        return Err(Error::refused(Code::NonceStillOpen, detail));
    }
    import::nothing_is_forgotten(engine, network, &lane).await?;
    let mut highest = Vec::new();
    // After a pause nothing is unknown. Out of quarantine, only the blocks since then can hold a number that this database does not know.
    let unknown = (lane.mode == Mode::Quarantined).then(|| lane.unknown_from.unwrap_or(0).cast_unsigned());
    for (address, kind) in contracts {
        if let (Some(since), contract::Kind::Token | contract::Kind::Distributor) = (unknown, kind) {
            let number = highest_operation_number(&network.chain, address.0, since).await.map_err(unavailable)?;
            highest.push((address.0, number));
        }
    }
    Ok(Resumable { lane, next_nonce, highest })
}

/// Resumes a lane, if its row has not changed.
pub async fn restart(tx: &mut Tx, r: &Resumable, actor: &str, reason: &str) -> Result<()> {
    for (address, number) in &r.highest {
        contract::raise_op_number(tx, r.lane.chain_id, *address, *number).await?;
    }
    lane::set_mode(tx, &r.lane, Mode::Active, &format!("{actor}: {reason}"), r.next_nonce).await?;
    queue::release(tx, r.lane.chain_id, "lane_").await?;
    Ok(())
}
