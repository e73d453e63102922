//! Catching up after a long absence without reading every block. The logs of the platform's contracts and the receipts of sent transactions
//! show the results, and a nonce that somebody else used is proved by the transaction that took it. Following continues near the head.

use std::collections::BTreeSet;

use alloy_primitives::B256;
use muniment_activities::chain::Tag;
use muniment_activities::chain::heads::Heads;
use muniment_activities::chain::logs::LogFilter;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::fault::Fault;
use muniment_domain::attempt::{self, Attempt};
use muniment_domain::chain::{self, Chain as Cursor, ForeignTransaction};
use muniment_domain::column::Hex;
use muniment_domain::contract::{self, Kind};
use muniment_domain::lane::{self as lanes, Lane};
use muniment_domain::point::Point;

use crate::engine::follow::{self, Pass, Walk};
use crate::engine::{Engine, Network};
use crate::engine::{foreign, lane};

/// Blocks below the head at which following continues, so that it covers an ordinary reorganisation.
const WALK_BLOCKS: u64 = 64;
/// Receipts in one request.
const RECEIPTS_PER_BATCH: usize = 100;
/// Nonces above a lane's next nonce that are searched. After a longer gap `lane import` finds the rest.
const NONCES_MAX: u64 = 64;

/// The use of one key in the gap.
struct KeyUse {
    lane: Lane,
    open: Vec<Attempt>,
    count: u64,
}

/// Moves the cursor close to the head, and records the result of every open attempt below it.
pub async fn jump(engine: &Engine, network: &Network, cursor: &Cursor, heads: &Heads) -> Result<Pass, Walk> {
    check_same_chain(network, cursor).await?;
    let to = heads.latest.number - WALK_BLOCKS;
    let gap = (cursor.final_number.cast_unsigned(), to);
    let landing = network.chain.header(to).await?.ok_or(Fault::UnknownBlock)?;
    let seen = key_uses(engine, network, cursor, to).await?;
    let mut receipts = receipts(engine, network, &seen, gap).await?;
    let foreign = foreign(network, &seen, &mut receipts, gap).await?;
    let announced = heads.finalized.as_ref().map_or(cursor.final_number, |h| h.number.cast_signed());
    let last = if announced >= to.cast_signed() {
        (to.cast_signed(), landing.hash)
    } else {
        let header = network.chain.header(announced.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)?;
        (announced, header.hash)
    };
    let mut tx = engine.db.begin().await?;
    chain::rewind(&mut tx, cursor.chain_id, cursor.final_number).await?;
    let header =
        chain::Header { number: to.cast_signed(), hash: Hex(landing.hash), parent_hash: Hex(landing.parent_hash) };
    chain::add_headers(&mut tx, cursor.chain_id, &[header]).await?;
    follow::include(&mut tx, cursor.chain_id, &receipts.iter().collect::<Vec<_>>()).await?;
    for proof in &foreign {
        lane::note_foreign(&mut tx, proof).await?;
    }
    for one in &seen {
        // In the commit that moves the cursor, so that a later search starts at the old position.
        let now = lanes::find(&mut tx, &one.lane.id).await?;
        lane::quarantine_if_ahead(&mut tx, &now, one.count).await?;
    }
    chain::advance(&mut tx, cursor, (to.cast_signed(), landing.hash), last).await?;
    tx.commit(Point::Follow).await?;
    follow::notify_waiters(network, !receipts.is_empty());
    tracing::warn!(
        chain.id = cursor.chain_id,
        chain.from = cursor.head_number,
        chain.to = to,
        "caught up after a long absence"
    );
    Ok(Pass::Moved)
}

/// The known final block must still be there. Otherwise this is another chain.
async fn check_same_chain(network: &Network, cursor: &Cursor) -> Result<(), Walk> {
    let header = network.chain.header(cursor.final_number.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)?;
    if header.hash == cursor.final_hash.0 {
        return Ok(());
    }
    Err(Fault::WrongChain {
        endpoint: "the endpoints".to_owned(),
        expected: format!("final block {} to be {}", cursor.final_number, cursor.final_hash),
        found: format!("{}", header.hash),
    }
    .into())
}

/// Each lane with its open attempts, and its key's transaction count at the new cursor.
async fn key_uses(engine: &Engine, network: &Network, cursor: &Cursor, to: u64) -> Result<Vec<KeyUse>, Walk> {
    let mut tx = engine.db.read().await?;
    let mut all = Vec::new();
    for lane in lanes::of_chain(&mut tx, cursor.chain_id).await? {
        let open = attempt::open_of_lane(&mut tx, &lane.id).await?;
        all.push(KeyUse { lane, open, count: 0 });
    }
    drop(tx);
    for one in &mut all {
        one.count = network.chain.transaction_count(one.lane.signer.0, Tag::Number(to)).await?;
    }
    Ok(all)
}

/// The receipts of the open attempts in the gap, found by their hashes. Every attempt that the platform's contracts logged must have one.
async fn receipts(engine: &Engine, network: &Network, seen: &[KeyUse], gap: (u64, u64)) -> Result<Vec<Receipt>, Walk> {
    let open: Vec<B256> = seen.iter().flat_map(|s| &s.open).map(|a| a.tx_hash.0).collect();
    if open.is_empty() {
        return Ok(Vec::new());
    }
    let mut tx = engine.db.read().await?;
    let contracts = contract::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    let addresses = contracts.iter().filter(|(_, kind)| *kind != Kind::Registry).map(|(address, _)| address.0);
    let filter =
        LogFilter { from_block: gap.0 + 1, to_block: Some(gap.1), addresses: addresses.collect(), topics: Vec::new() };
    let logs = if filter.addresses.is_empty() { Vec::new() } else { network.chain.logs(&filter).await? };
    let logged: BTreeSet<B256> = logs.iter().map(|log| log.tx_hash).filter(|hash| open.contains(hash)).collect();
    let mut found = Vec::new();
    for hashes in open.chunks(RECEIPTS_PER_BATCH) {
        found.extend(network.chain.receipts(hashes).await?.into_iter().flatten());
    }
    if let Some(missing) = logged.iter().find(|hash| !found.iter().any(|r| r.tx_hash == **hash)) {
        return Err(Fault::Incomplete(format!("{missing} has an event and no receipt")).into());
    }
    // Receipts above the new cursor are found by following.
    found.retain(|r| r.block_number <= gap.1);
    Ok(found)
}

/// The used nonces that no known receipt explains, each with the transaction that took it.
async fn foreign(
    network: &Network,
    seen: &[KeyUse],
    receipts: &mut Vec<Receipt>,
    gap: (u64, u64),
) -> Result<Vec<ForeignTransaction>, Walk> {
    let mut strangers = Vec::new();
    for one in seen {
        for nonce in unexplained(one, receipts, gap.0) {
            let Some((block, taken)) = foreign::find(network, one.lane.signer.0, nonce, gap).await? else { continue };
            if one.open.iter().any(|a| a.tx_hash.0 == taken.hash) {
                // The transaction is a known attempt: an endpoint had omitted its receipt.
                let receipt = network.chain.receipts(&[taken.hash]).await?.pop().flatten();
                receipts.push(receipt.ok_or_else(|| Fault::Incomplete(format!("{} has no receipt", taken.hash)))?);
            } else {
                strangers.push(follow::stranger(network.id(), &block, taken.from, taken.nonce, taken.hash));
            }
        }
    }
    Ok(strangers)
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
