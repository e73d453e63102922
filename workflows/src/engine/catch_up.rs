//! Catching up after a long absence without reading every block. The logs of the platform's contracts and the receipts of sent transactions
//! show the results, and a nonce that somebody else used is proved by the transaction that took it. Following continues near the head.

use std::collections::BTreeSet;

use alloy_primitives::B256;
use muniment_activities::chain::Tag;
use muniment_activities::chain::block::Header;
use muniment_activities::chain::heads::Heads;
use muniment_activities::chain::logs::LogFilter;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::fault::Fault;
use muniment_domain::attempt;
use muniment_domain::chain::{self, Chain as Cursor};
use muniment_domain::column::Hex;
use muniment_domain::contract::{self, Kind};
use muniment_domain::db::Tx;
use muniment_domain::lane as lanes;
use muniment_domain::point::Point;
use muniment_domain::step::{self, State, Step};

use crate::engine::follow::{self, Pass, Walk};
use crate::engine::used_nonce::{self, KeyUse};
use crate::engine::{Engine, Network};

/// Blocks below the head at which following continues, so that it covers an ordinary reorganisation.
const WALK_BLOCKS: u64 = 64;

/// Moves the cursor close to the head, and records the result of every open attempt below it.
pub async fn jump(engine: &Engine, network: &Network, cursor: &Cursor, heads: &Heads) -> Result<Pass, Walk> {
    // Far behind the head, the final block is not read with each look.
    let finalized = match &heads.finalized {
        Some(known) => Some(known.clone()),
        None => network.chain.heads().await?.finalized,
    };
    if let Some(other) = other_final(network, cursor).await? {
        return match follow::halt_if_gone(engine, network, cursor, finalized.as_ref(), cursor.final_number - 1).await {
            // While the endpoints do not agree, its operations wait, and the reason is shown.
            Err(Walk::Fault(Fault::UnknownBlock)) => Err(wrong_chain(cursor, other).into()),
            halted => halted,
        };
    }
    let to = heads.latest.number.min(heads.reached) - WALK_BLOCKS;
    let gap = (cursor.final_number.cast_unsigned(), to);
    let landing = network.chain.header(to).await?.ok_or(Fault::UnknownBlock)?;
    let seen = key_uses(engine, network, cursor, to).await?;
    let mut receipts = receipts(engine, network, &seen, gap).await?;
    // What stays unexplained is searched again by the nonces, behind the new cursor.
    let (foreign, _) = used_nonce::foreign_of(network, &seen, &mut receipts, gap).await?;
    let (adopted, shown) = adopted(engine, network, cursor).await?;
    let last = new_final(network, cursor, finalized, &landing).await;
    let mut tx = engine.db.begin().await?;
    chain::rewind(&mut tx, cursor.chain_id, cursor.final_number).await?;
    let header =
        chain::Header { number: to.cast_signed(), hash: Hex(landing.hash), parent_hash: Hex(landing.parent_hash) };
    chain::add_headers(&mut tx, cursor.chain_id, &[header]).await?;
    keep_adopted(&mut tx, adopted, &shown).await?;
    // In the commit that moves the cursor, so that a later search starts at the old position.
    used_nonce::record(&mut tx, cursor.chain_id, &seen, &receipts, &foreign).await?;
    chain::advance(&mut tx, cursor, (to.cast_signed(), landing.hash), last).await?;
    tx.commit(Point::Follow).await?;
    network.count_head();
    follow::notify_waiters(network, !receipts.is_empty());
    tracing::warn!(
        chain.id = cursor.chain_id,
        chain.from = cursor.head_number,
        chain.to = to,
        "caught up after a long absence"
    );
    Ok(Pass::Moved)
}

/// The block that an endpoint shows in the place of the known final one.
async fn other_final(network: &Network, cursor: &Cursor) -> Result<Option<B256>, Fault> {
    let header = network.chain.header(cursor.final_number.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)?;
    Ok((header.hash != cursor.final_hash.0).then_some(header.hash))
}

fn wrong_chain(cursor: &Cursor, found: B256) -> Fault {
    Fault::WrongChain {
        endpoint: "the endpoints".to_owned(),
        expected: format!("final block {} to be {}", cursor.final_number, cursor.final_hash),
        found: found.to_string(),
    }
}

/// The newest final block up to the landing, as the quorum has it. Finality never goes back.
async fn new_final(network: &Network, cursor: &Cursor, finalized: Option<Header>, landing: &Header) -> (i64, B256) {
    let known = (cursor.final_number, cursor.final_hash.0);
    let found = match finalized {
        Some(last) if last.number < landing.number => Some(last),
        // One endpoint alone does not make the landing final.
        Some(_) => network.chain.agreed_header(landing.number).await.filter(|agreed| agreed.hash == landing.hash),
        None => None,
    };
    found.map(|last| (last.number.cast_signed(), last.hash)).filter(|last| last.0 > known.0).unwrap_or(known)
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
        one.count = network.chain.transaction_counts(one.lane.signer.0, Tag::Number(to)).await?.believed();
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
    let mut found = used_nonce::receipts_of(network, &open).await?;
    if let Some(missing) = logged.iter().find(|hash| !found.iter().any(|r| r.tx_hash == **hash)) {
        return Err(Fault::Incomplete(format!("{missing} has an event and no receipt")).into());
    }
    // Receipts above the new cursor are found by following.
    found.retain(|r| r.block_number <= gap.1);
    Ok(found)
}

/// The adopted steps that are not final yet, and the receipts of their transactions that the chain still has.
async fn adopted(engine: &Engine, network: &Network, cursor: &Cursor) -> Result<(Vec<Step>, Vec<Receipt>), Walk> {
    let mut tx = engine.db.read().await?;
    let adopted = step::adopted_above(&mut tx, cursor.chain_id, cursor.final_number).await?;
    drop(tx);
    let hashes: Vec<B256> = adopted.iter().filter_map(|step| step.tx_hash).map(|hash| hash.0).collect();
    if hashes.is_empty() {
        return Ok((adopted, Vec::new()));
    }
    let shown = used_nonce::receipts_of(network, &hashes).await?;
    used_nonce::are_canonical(network, &shown).await?;
    Ok((adopted, shown))
}

/// The rewind woke all adopted steps. Those whose transaction is still in a block stay adopted there.
async fn keep_adopted(tx: &mut Tx, adopted: Vec<Step>, shown: &[Receipt]) -> Result<(), Walk> {
    for mut step in adopted {
        let Some(receipt) = shown.iter().find(|r| step.tx_hash.is_some_and(|hash| hash.0 == r.tx_hash)) else {
            continue;
        };
        step.block_number = Some(receipt.block_number.cast_signed());
        step.block_hash = Some(Hex(receipt.block_hash));
        step::save(tx, &step, State::Unsigned).await?;
    }
    Ok(())
}
