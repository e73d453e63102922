//! The safety of a lane: when the chain knows more of a key than we do, nothing is signed with it until a person has looked.

use alloy_primitives::Address;
use muniment_activities::chain::Tag;
use muniment_activities::operation::operation_id_highest;
use muniment_domain::chain::{self, Foreign};
use muniment_domain::contract;
use muniment_domain::db::Tx;
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result, event};
use serde_json::json;

use crate::engine::{Engine, Network};
use crate::operator::retry;
use crate::reconciliation::import;

/// Compares the chain's count with ours. More on the chain means a restored database, or a key in other hands.
pub async fn check(engine: &Engine, network: &Network, lane_id: &str) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let lane = lane::find(&mut tx, lane_id).await?;
    drop(tx);
    let Ok(count) = network.chain.transaction_count(lane.signer.0, Tag::Latest).await else { return Ok(()) };
    if count.cast_signed() <= lane.next_nonce || lane.mode == Mode::Quarantined {
        return Ok(());
    }
    let mut tx = engine.db.begin().await?;
    doubt(&mut tx, &lane, count).await?;
    tx.commit(Point::Mode).await
}

/// Stops a lane if the chain has seen more transactions of its key than this database knows of.
pub async fn doubt(tx: &mut Tx, lane: &Lane, count: u64) -> Result<()> {
    if count.cast_signed() <= lane.next_nonce || lane.mode == Mode::Quarantined {
        return Ok(());
    }
    let reason = format!(
        "The chain has seen {count} transactions of {}, this database knows of {}. It was restored from an older backup, or somebody else \
         uses the key.",
        lane.signer, lane.next_nonce
    );
    quarantine(tx, lane, &reason).await
}

/// Checks every lane, at start.
pub async fn check_all(engine: &Engine, network: &Network) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let lanes = lane::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    for lane in lanes.iter().filter(|l| network.signers.contains_key(&l.signer.0)) {
        check(engine, network, &lane.id).await?;
    }
    Ok(())
}

async fn quarantine(tx: &mut Tx, lane: &Lane, reason: &str) -> Result<()> {
    tracing::error!(lane.id = %lane.id, lane.signer = %lane.signer, "quarantined: {reason}");
    lane::set_mode(tx, lane, Mode::Quarantined, reason, lane.next_nonce).await
}

/// A transaction of our key that we did not sign: kept as the proof, and the lane stops.
pub async fn note_foreign(tx: &mut Tx, foreign: &Foreign) -> Result<()> {
    if !chain::add_foreign(tx, foreign).await? {
        return Ok(());
    }
    let data =
        json!({ "signer": foreign.signer.to_string(), "nonce": foreign.nonce, "tx_hash": foreign.tx_hash.to_string() });
    event::write(tx, "lane.foreign_transaction", "chain", &foreign.chain_id.to_string(), foreign.nonce, data).await?;
    let lanes = lane::of_chain(tx, foreign.chain_id).await?;
    let Some(lane) = lanes.iter().find(|l| l.signer == foreign.signer && l.mode != Mode::Quarantined) else {
        return Ok(());
    };
    let reason = format!(
        "The chain shows {} with nonce {} of {}, which this database did not sign. Somebody else uses the key, or the database was \
         restored from an older backup.",
        foreign.tx_hash, foreign.nonce, foreign.signer
    );
    quarantine(tx, lane, &reason).await
}

/// Stops a lane by a person's word.
pub async fn pause(engine: &Engine, lane_id: &str, actor: &str, reason: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    stop(&mut tx, lane_id, actor, reason).await?;
    tx.commit(Point::Mode).await
}

/// Writes that a lane stops.
pub async fn stop(tx: &mut Tx, lane_id: &str, actor: &str, reason: &str) -> Result<()> {
    let lane = lane::find(tx, lane_id).await?;
    if lane.mode != Mode::Active {
        return Err(Error::refused(Code::InvalidState, format!("The lane is {} already.", lane.mode)));
    }
    lane::set_mode(tx, &lane, Mode::Paused, &format!("{actor}: {reason}"), lane.next_nonce).await
}

/// A lane that may sign again, with the counters that it then starts from.
#[derive(Clone, Debug)]
pub struct Resumable {
    lane: Lane,
    next_nonce: i64,
    highest: Vec<(Address, i64)>,
}

/// Lets a lane sign again.
pub async fn resume(engine: &Engine, lane_id: &str, actor: &str, reason: &str) -> Result<()> {
    let resumable = may_resume(engine, lane_id).await?;
    let mut tx = engine.db.begin().await?;
    restart(&mut tx, &resumable, actor, reason).await?;
    tx.commit(Point::Mode).await
}

/// Whether a lane may sign again. Out of quarantine its counter, and those of its contracts, are first lifted above what the chain has
/// seen, so that nothing is signed over, or named like, what is there already.
pub async fn may_resume(engine: &Engine, lane_id: &str) -> Result<Resumable> {
    let mut tx = engine.db.read().await?;
    let lane = lane::find(&mut tx, lane_id).await?;
    let contracts = contract::of_chain(&mut tx, lane.chain_id).await?;
    let last = chain::find(&mut tx, lane.chain_id).await?.map_or(0, |c| c.final_number);
    drop(tx);
    if lane.mode == Mode::Active {
        return Err(Error::refused(Code::InvalidState, "The lane is active already."));
    }
    let unknown = || Error::refused(Code::UnknownChain, format!("Chain {} is not configured here.", lane.chain_id));
    let network = engine.network(lane.chain_id).ok_or_else(unknown)?;
    let unavailable = |fault| retry::unavailable(&fault);
    let count = |at| network.chain.transaction_count(lane.signer.0, at);
    // Only what is final counts: a stranger's transaction that is lost in a reorganisation would leave a gap behind it.
    let next_nonce =
        lane.next_nonce.max(count(Tag::Number(last.cast_unsigned())).await.map_err(unavailable)?.cast_signed());
    let pending = count(Tag::Pending).await.map_err(unavailable)?;
    if pending.cast_signed() > next_nonce {
        let detail = format!(
            "{} has {pending} transactions on the chain and in the pool, of which {next_nonce} are final. Wait for the rest.",
            lane.signer
        );
        return Err(Error::refused(Code::NonceStillOpen, detail));
    }
    import::nothing_is_forgotten(engine, network, &lane).await?;
    let mut highest = Vec::new();
    for (address, kind) in contracts {
        if matches!(kind, contract::Kind::Token | contract::Kind::Distributor) {
            let number = operation_id_highest(&network.chain, address.0, 0).await.map_err(unavailable)?;
            highest.push((address.0, number.cast_signed()));
        }
    }
    Ok(Resumable { lane, next_nonce, highest })
}

/// Writes that a lane signs again, if nobody moved it since.
pub async fn restart(tx: &mut Tx, r: &Resumable, actor: &str, reason: &str) -> Result<()> {
    for (address, number) in &r.highest {
        contract::raise_op_number(tx, r.lane.chain_id, *address, *number).await?;
    }
    lane::set_mode(tx, &r.lane, Mode::Active, &format!("{actor}: {reason}"), r.next_nonce).await
}
