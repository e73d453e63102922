//! Explains every nonce that the chain says is used: by the receipt of an attempt, or by the foreign transaction that took it. Only one of
//! these proves anything; a count does not.
//!
//! Following normally finds both in the blocks. What it missed is found here, whatever the cause was: an endpoint that left a transaction
//! out of a block, a restored cursor, or a long absence (`catch_up.rs`).

use std::collections::BTreeSet;

use alloy_primitives::B256;
use muniment_activities::chain::Tag;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::fault::Fault;
use muniment_domain::attempt::{self, Attempt};
use muniment_domain::chain::{self, Chain as Cursor, ForeignTransaction};
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::lane::{self as lanes, Lane, Mode, Stuck};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};
use muniment_domain::{operation, step};

use crate::engine::follow::{self, Walk};
use crate::engine::wait::{self, NONCE_UNEXPLAINED};
use crate::engine::{Engine, Network};
use crate::engine::{foreign, inclusion, lane};

/// Receipts in one request.
const RECEIPTS_PER_BATCH: usize = 100;
/// Nonces above a lane's next nonce that are searched. After a longer gap `lane import` finds the rest.
const NONCES_MAX: u64 = 64;

/// The use of one key up to a block.
pub struct KeyUse {
    /// Its lane.
    pub lane: Lane,
    /// Its attempts without a known outcome.
    pub open: Vec<Attempt>,
    /// The key's transaction count at the block.
    pub count: u64,
}

/// Finds what used the nonces of lanes whose final count passed a nonce that is still open. Called with the newest final count that was
/// read of each lane, so that it asks the chain only where something was missed.
pub async fn reconcile(engine: &Engine, network: &Network) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let lanes = lanes::of_chain(&mut tx, network.id()).await?;
    let mut missed = Vec::new();
    for lane in lanes {
        let lowest = step::signed_of_lane(&mut tx, &lane.id).await?.first().and_then(|step| step.nonce);
        let used = lane.chain_nonce_finalized.unwrap_or(0);
        let ahead = lane.mode != Mode::Quarantined && used > lane.next_nonce;
        if ahead || lowest.is_some_and(|nonce| nonce < used) {
            missed.push(lane.id);
        }
    }
    drop(tx);
    for lane_id in missed {
        reconcile_lane(engine, network, &lane_id).await?;
    }
    Ok(())
}

/// Finds what used the nonces of a lane that are below its final count and still open. Without an answer nothing changes.
pub async fn reconcile_lane(engine: &Engine, network: &Network, lane_id: &LaneId) -> Result<()> {
    let mut tx = engine.db.read().await?;
    // The cursor is read first: a step that is still open after it was not seen in any block up to it.
    let Some(cursor) = chain::find(&mut tx, network.id()).await? else { return Ok(()) };
    let one = open_use(&mut tx, lane_id).await?;
    drop(tx);
    if cursor.halted_reason.is_some() {
        return Ok(());
    }
    match explain_lane(engine, network, &cursor, one).await {
        Ok(()) | Err(Walk::Domain(Error::Stale { .. })) => Ok(()),
        Err(Walk::Domain(error)) => Err(error),
        Err(Walk::Fault(fault)) => {
            tracing::warn!(lane.id = lane_id.as_str(), "a used nonce is explained later: {fault}");
            Ok(())
        }
    }
}

/// A lane with the open attempts of its signed steps. Nonces with a proof of a foreign transaction need no other one.
async fn open_use(tx: &mut Tx, lane_id: &LaneId) -> Result<KeyUse> {
    let lane = lanes::find(tx, lane_id).await?;
    let proved = chain::foreign_of(tx, lane.chain_id, lane.signer.0, (0, i64::MAX)).await?;
    let signed: BTreeSet<Option<i64>> =
        step::signed_of_lane(tx, lane_id).await?.iter().map(|step| step.nonce).collect();
    let mut open = attempt::open_of_lane(tx, lane_id).await?;
    open.retain(|a| signed.contains(&Some(a.nonce)) && !proved.iter().any(|proof| proof.nonce == a.nonce));
    Ok(KeyUse { lane, open, count: 0 })
}

async fn explain_lane(engine: &Engine, network: &Network, cursor: &Cursor, mut one: KeyUse) -> Result<(), Walk> {
    let last = cursor.final_number.cast_unsigned();
    one.count = network.chain.transaction_counts(one.lane.signer.0, Tag::Number(last)).await?.believed();
    one.open.retain(|a| a.nonce.cast_unsigned() < one.count);
    let ahead = one.lane.mode != Mode::Quarantined && one.count > one.lane.next_nonce.cast_unsigned();
    let Some(lowest) = one.open.iter().map(|a| a.nonce).min().or(ahead.then_some(one.lane.next_nonce)) else {
        return Ok(());
    };
    let first = foreign::block_before(network, one.lane.signer.0, lowest.cast_unsigned(), last).await?;
    let hashes: Vec<B256> = one.open.iter().map(|a| a.tx_hash.0).collect();
    let mut receipts = receipts_of(network, &hashes).await?;
    receipts.retain(|r| r.block_number <= last);
    let uses = [one];
    let (foreign, missing) = foreign_of(network, &uses, &mut receipts, (first, last)).await?;
    are_canonical(network, &receipts).await?;
    let mut tx = engine.db.begin().await?;
    record(&mut tx, cursor.chain_id, &uses, &receipts, &foreign).await?;
    tx.commit(Point::Follow).await?;
    for receipt in &receipts {
        tracing::warn!(tx.hash = %receipt.tx_hash, "a transaction that was missed in its block was found by its nonce");
    }
    follow::notify_waiters(network, !receipts.is_empty() || !foreign.is_empty());
    Ok(show_unexplained(engine, &uses[0], &missing).await?)
}

/// Shows on the operations of these nonces what they wait for. The search goes on.
async fn show_unexplained(engine: &Engine, one: &KeyUse, missing: &[u64]) -> Result<()> {
    for attempt in &one.open {
        if !missing.contains(&attempt.nonce.cast_unsigned()) {
            continue;
        }
        let op = operation::find(&mut engine.db.read().await?, &attempt.operation_id).await?;
        let reason = format!(
            "{NONCE_UNEXPLAINED}: the chain shows that nonce {} of {} is used, and no transaction that used it was found. Add an archive node, or \
             close the nonce",
            attempt.nonce, one.lane.signer.0
        );
        let (lane_id, operation_id) = (&one.lane.id, &attempt.operation_id);
        let stuck = Stuck { lane_id, operation_id, nonce: attempt.nonce, code: NONCE_UNEXPLAINED };
        wait::show_stuck(engine, op, reason, &stuck).await?;
    }
    Ok(())
}

/// Writes the explanations, in the caller's transaction.
pub async fn record(
    tx: &mut Tx,
    chain_id: i64,
    uses: &[KeyUse],
    receipts: &[Receipt],
    foreign: &[ForeignTransaction],
) -> Result<()> {
    let hashes: Vec<B256> = receipts.iter().map(|receipt| receipt.tx_hash).collect();
    let sent = step::sent(tx, chain_id, &hashes).await?;
    inclusion::include(tx, &sent, receipts, &[]).await?;
    for proof in foreign {
        lane::note_foreign(tx, proof).await?;
    }
    for one in uses {
        let now = lanes::find(tx, &one.lane.id).await?;
        lane::quarantine_if_ahead(tx, &now, one.count).await?;
    }
    Ok(())
}

/// The receipts of these transactions, as far as the chain has them.
pub async fn receipts_of(network: &Network, hashes: &[B256]) -> Result<Vec<Receipt>, Fault> {
    let mut found = Vec::new();
    for hashes in hashes.chunks(RECEIPTS_PER_BATCH) {
        found.extend(network.chain.receipts(hashes).await?.into_iter().flatten());
    }
    Ok(found)
}

/// Checks that receipts are from blocks of the chain. A receipt of another branch would wait for ever to become final.
pub async fn are_canonical(network: &Network, receipts: &[Receipt]) -> Result<(), Fault> {
    for receipt in receipts {
        let header = network.chain.header(receipt.block_number).await?;
        if header.is_none_or(|header| header.hash != receipt.block_hash) {
            return Err(Fault::Incomplete(format!("the block of {} is not part of the chain", receipt.tx_hash)));
        }
    }
    Ok(())
}

/// The used nonces that no known receipt explains, each with the transaction that took it, and those for which none was found. The receipt
/// of a known attempt that is found this way is added to the others.
pub async fn foreign_of(
    network: &Network,
    uses: &[KeyUse],
    receipts: &mut Vec<Receipt>,
    gap: (u64, u64),
) -> Result<(Vec<ForeignTransaction>, Vec<u64>), Fault> {
    let (mut strangers, mut missing) = (Vec::new(), Vec::new());
    for one in uses {
        for nonce in unexplained(one, receipts, gap.0) {
            let (block, taken) = match foreign::find(network, one.lane.signer.0, nonce, gap).await {
                Ok(Some(found)) => found,
                // One nonce that cannot be explained must not hide the explanation of the others.
                Ok(None) | Err(Fault::Incomplete(_)) => {
                    missing.push(nonce);
                    continue;
                }
                Err(fault) => return Err(fault),
            };
            if one.open.iter().any(|a| a.tx_hash.0 == taken.hash) {
                // The transaction is a known attempt: an endpoint had omitted its receipt.
                let receipt = network.chain.receipts(&[taken.hash]).await?.pop().flatten();
                receipts.push(receipt.ok_or_else(|| Fault::Incomplete(format!("{} has no receipt", taken.hash)))?);
            } else {
                strangers.push(follow::stranger(network.id(), &block, taken.from, taken.nonce, taken.hash));
            }
        }
    }
    Ok((strangers, missing))
}

fn unexplained(one: &KeyUse, receipts: &[Receipt], last: u64) -> Vec<u64> {
    let explained = |a: &&Attempt| {
        let below = a.block_number.is_some_and(|number| number.cast_unsigned() <= last);
        below || receipts.iter().any(|r| r.tx_hash == a.tx_hash.0)
    };
    let settled: BTreeSet<i64> = one.open.iter().filter(explained).map(|a| a.nonce).collect();
    let open: BTreeSet<i64> = one.open.iter().map(|a| a.nonce).filter(|nonce| !settled.contains(nonce)).collect();
    let next = one.lane.next_nonce.cast_unsigned();
    let above = next..one.count.min(next + NONCES_MAX);
    open.into_iter().map(i64::cast_unsigned).filter(|nonce| *nonce < one.count).chain(above).collect()
}
