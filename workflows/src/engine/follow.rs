//! Following a chain: reads its blocks from the cursor on, checks their parent hashes, and finds the platform's transactions in them.
//! Receipts and cursor are written in one commit. A missing receipt proves nothing and changes nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use alloy_primitives::{Address, B256};
use muniment_activities::chain::block::{self, Block, BlockTx};
use muniment_activities::chain::heads::Heads;
use muniment_activities::fault::{Fault, FaultClass};
use muniment_domain::chain::{self, Chain as Cursor, ForeignTransaction, Header};
use muniment_domain::column::Hex;
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};

use crate::engine::blocks::{self, Found, Taken};
use crate::engine::gather::{Gathered, are_connected, gather, next_blocks};
use crate::engine::network::BLOCKS_PER_PASS;
use crate::engine::position::Position;
use crate::engine::room::Announced;
use crate::engine::{Engine, Network};
use crate::engine::{catch_up, foreign, observe, queue};

/// From this distance on, the blocks in between are not read one by one.
const GAP_BLOCKS: u64 = 512;

/// The result of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// There is no new block.
    Still,
    /// The cursor moved, and there may be more blocks.
    Moved,
    /// The cursor moved to the newest block.
    Reached,
    /// No endpoint answers, or the answer cannot be used yet.
    Silent,
    /// The chain was halted, and a person must decide.
    Halted,
}

/// Makes one pass.
pub async fn follow(engine: &Engine, network: &Network) -> Result<Pass> {
    let position = match network.take_position() {
        None => Position::read(&engine.db, network.id()).await?,
        known => known,
    };
    let Some(position) = position else { return first_contact(engine, network).await };
    let cursor = position.cursor.clone();
    if cursor.halted_reason.is_some() {
        return Ok(Pass::Halted);
    }
    let heads = match network.chain.next_heads().await {
        Ok(heads) => heads,
        Err(fault) => return wait_for_answer(engine, &cursor, &fault).await,
    };
    network.known_market.note_base_fee(engine.db.clock().now(), heads.latest.base_fee_per_gas);
    let named = observe::name_endpoints(engine, network, &cursor).await?;
    match walk(engine, network, position, heads).await {
        Ok((pass, position)) => {
            pace(network, |blocks| (blocks * 2).min(BLOCKS_PER_PASS));
            if cursor.blocked_reason.is_some() && pass != Pass::Halted {
                unblock(engine, network).await?;
            } else if !named && let Some(position) = position {
                network.keep_position(position);
            }
            Ok(pass)
        }
        Err(Walk::Fault(fault)) => {
            pace(network, |blocks| (blocks / 2).max(1));
            wait_for_answer(engine, &cursor, &fault).await
        }
        Err(Walk::Domain(Error::Stale { .. })) => Ok(Pass::Moved),
        Err(Walk::Domain(error)) => Err(error),
    }
}

/// Changes the number of blocks in one request.
fn pace(network: &Network, change: impl Fn(u64) -> u64) {
    network.pass_blocks.store(change(network.pass_blocks.load(Ordering::Relaxed)), Ordering::Relaxed);
}

/// The reason why a pass stopped.
pub enum Walk {
    /// The chain gave no usable answer.
    Fault(Fault),
    /// The database failed.
    Domain(Error),
}

impl From<Fault> for Walk {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Error> for Walk {
    fn from(error: Error) -> Self {
        Self::Domain(error)
    }
}

async fn first_contact(engine: &Engine, network: &Network) -> Result<Pass> {
    match engine.meet(network).await {
        Ok(()) => Ok(Pass::Moved),
        Err(crate::engine::StartError::Domain(error)) => Err(error),
        Err(error) => {
            tracing::error!("{error}");
            Ok(Pass::Silent)
        }
    }
}

/// Returns the new position, too, if it is known.
async fn walk(
    engine: &Engine,
    network: &Network,
    mut position: Position,
    heads: Heads,
) -> Result<(Pass, Option<Position>), Walk> {
    let cursor = position.cursor.clone();
    let head = cursor.head_number.cast_unsigned();
    let newest = heads.latest.number;
    // One endpoint's head is no reason to leave blocks out: as many as the quorum requires must have got that far.
    if newest.min(heads.reached) > head + GAP_BLOCKS {
        return Ok((catch_up::jump(engine, network, &cursor, &heads).await?, None));
    }
    let mut ancestor = cursor.head_number;
    if newest < head {
        // An endpoint that lags behind is no news, but one with another block at the same height is.
        let same = position.hash_at(&engine.db, newest.cast_signed()).await?.is_none_or(|h| h == heads.latest.hash);
        if same {
            return Ok((Pass::Still, Some(position)));
        }
        ancestor = common_ancestor(engine, network, &mut position, newest).await?;
    } else if newest == head && heads.latest.hash != cursor.head_hash.0 {
        ancestor = common_ancestor(engine, network, &mut position, newest).await?;
    }
    let mut blocks = next_blocks(network, ancestor, heads.latest.clone()).await?;
    let parent = position.hash_at(&engine.db, ancestor).await?;
    if blocks.first().is_some_and(|b| parent.is_some_and(|hash| b.parent_hash != hash)) {
        ancestor = common_ancestor(engine, network, &mut position, newest).await?;
        blocks = next_blocks(network, ancestor, heads.latest.clone()).await?;
    }
    if ancestor < cursor.final_number {
        return Ok((halt_if_gone(engine, network, &cursor, heads.finalized.as_ref(), ancestor).await?, None));
    }
    // Blocks and ancestor may come from two endpoints on two branches. Blocks that do not connect are not accepted.
    let below = position.hash_at(&engine.db, ancestor).await?;
    if !blocks.is_empty() && !below.is_some_and(|hash| are_connected(hash, &blocks)) {
        return Err(Fault::Incomplete(format!("the blocks above {ancestor} do not follow it and each other")).into());
    }
    if blocks.is_empty() && ancestor == cursor.head_number && final_block(&cursor, &heads, &blocks, ancestor).is_none()
    {
        return Ok((Pass::Still, Some(position)));
    }
    let gathered = gather(engine, network, &position.signers, blocks, heads).await?;
    let last = final_block(&cursor, &gathered.heads, &gathered.blocks, ancestor);
    let reached = gathered.blocks.last().is_none_or(|b| b.number == gathered.heads.latest.number);
    let (mut found, announced) = find_transactions(network, &position.signers, gathered)?;
    found.foreign = with_signature(network, found.foreign).await?;
    let position = commit(engine, network, position, ancestor, found, announced, last).await?;
    Ok((if reached { Pass::Reached } else { Pass::Moved }, Some(position)))
}

/// The highest known block that the chain still has. It cannot be below the final block.
async fn common_ancestor(
    engine: &Engine,
    network: &Network,
    position: &mut Position,
    newest: u64,
) -> Result<i64, Walk> {
    let mut number = position.cursor.head_number;
    while number >= position.cursor.final_number {
        let ours = position.hash_at(&engine.db, number).await?;
        let theirs = network.chain.header(number.cast_unsigned()).await?.map(|h| h.hash);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours == theirs => return Ok(number),
            // Only a different block proves another branch. A block that a node omits below its own head does not.
            (_, None) if number.cast_unsigned() <= newest => return Err(Fault::UnknownBlock.into()),
            _ => number -= 1,
        }
    }
    Ok(number)
}

/// Halts the chain if its endpoints agree that the known final block is gone. A node that lags behind may be on a branch that all others
/// left, so its block proves nothing.
pub async fn halt_if_gone(
    engine: &Engine,
    network: &Network,
    cursor: &Cursor,
    finalized: Option<&block::Header>,
    ancestor: i64,
) -> Result<Pass, Walk> {
    let as_far = finalized.is_some_and(|last| last.number.cast_signed() >= cursor.final_number);
    let agreed = network.chain.agreed_header(cursor.final_number.cast_unsigned()).await;
    if !(as_far && agreed.is_some_and(|header| header.hash != cursor.final_hash.0)) {
        return Err(Fault::UnknownBlock.into());
    }
    let reason = format!(
        "The final block {} ({}) is no longer part of the chain. The last common block is at most {ancestor}. Either the endpoints lead to \
         another chain, or finality failed. Nothing more is signed until a person decides.",
        cursor.final_number, cursor.final_hash
    );
    tracing::error!(chain.id = cursor.chain_id, "{reason}");
    let mut tx = engine.db.begin().await?;
    chain::halt(&mut tx, cursor, &reason).await?;
    tx.commit(Point::Mode).await?;
    Ok(Pass::Halted)
}

/// The chain's final block, if it is followed that far and the known block there is the same. Finality never goes back.
fn final_block(cursor: &Cursor, heads: &Heads, blocks: &[Block], ancestor: i64) -> Option<(i64, B256)> {
    let announced = heads.finalized.as_ref()?;
    let number = announced.number.cast_signed();
    let walked = blocks.last().map_or(ancestor, |b| b.number.cast_signed());
    (cursor.final_number < number && number <= walked).then_some((number, announced.hash))
}

/// The platform's transactions in the blocks: known attempts with their receipts, and foreign transactions of its keys.
fn find_transactions<'a>(
    network: &Network,
    signers: &HashSet<Address>,
    gathered: Gathered<'a>,
) -> Result<(Found, Announced<'a>), Fault> {
    let Gathered { blocks, sent, receipts, announced, .. } = gathered;
    let known: HashSet<B256> = sent.iter().map(|one| one.sent_hash.0).collect();
    let is_strange = |t: &&BlockTx| signers.contains(&t.from) && !known.contains(&t.hash);
    let mut foreign = Vec::new();
    for block in &blocks {
        let strange = block.transactions.iter().filter(is_strange);
        foreign.extend(strange.map(|t| stranger(network.id(), block, t.from, t.nonce, t.hash)));
    }
    let headers = blocks.iter().map(header_of).collect();
    Ok((Found { headers, sent, receipts: receipts?, foreign }, announced))
}

/// The foreign transactions that their signers have signed.
async fn with_signature(network: &Network, foreign: Vec<ForeignTransaction>) -> Result<Vec<ForeignTransaction>, Fault> {
    let mut signed = Vec::with_capacity(foreign.len());
    for one in foreign {
        if foreign::is_signed(network, one.tx_hash.0, one.signer.0).await? {
            signed.push(one);
        }
    }
    Ok(signed)
}

/// The proof of a foreign transaction: one of a platform key that the platform did not sign.
pub fn stranger(chain_id: i64, block: &Block, signer: Address, nonce: u64, tx_hash: B256) -> ForeignTransaction {
    ForeignTransaction {
        chain_id,
        signer: Hex(signer),
        nonce: nonce.cast_signed(),
        tx_hash: Hex(tx_hash),
        block_number: block.number.cast_signed(),
        block_hash: Hex(block.hash),
    }
}

/// Stores the blocks with the transactions in them, and moves the cursor. Returns the new position.
async fn commit(
    engine: &Engine,
    network: &Network,
    mut position: Position,
    ancestor: i64,
    found: Found,
    announced: Announced<'_>,
    finalized: Option<(i64, B256)>,
) -> Result<Position> {
    let mut last = (position.cursor.final_number, position.cursor.final_hash.0);
    if let Some((number, hash)) = finalized {
        let ours = match found.headers.iter().find(|header| header.number == number) {
            Some(header) => Some(header.hash.0),
            None => position.hash_at(&engine.db, number).await?,
        };
        if ours == Some(hash) {
            last = (number, hash);
        }
    }
    let head = match found.headers.last() {
        Some(newest) => (newest.number, newest.hash.0),
        None => (ancestor, position.hash_at(&engine.db, ancestor).await?.unwrap_or(position.cursor.head_hash.0)),
    };
    let answers: Vec<_> = found.receipts.iter().filter_map(|receipt| network.take_answer(receipt.tx_hash)).collect();
    let taken = Arc::new(Taken { cursor: position.cursor.clone(), ancestor, found, head, last, answers });
    let has_room = match blocks::store(engine, network, taken.clone(), announced).await {
        Ok(has_room) => has_room,
        Err(error) => {
            network.hold_answers(taken.answers.clone());
            return Err(error);
        }
    };
    if !taken.found.headers.is_empty() {
        network.count_head();
    }
    notify_waiters(network, has_room && !taken.found.receipts.is_empty());
    Ok(position.moved(ancestor, &taken.found.headers, head, last))
}

/// Notifies the finaliser and the lanes after a commit: steps may be final, and lanes may have room.
pub fn notify_waiters(network: &Network, included: bool) {
    network.followed.notify_one();
    if included {
        network.room.look_again();
    }
}

fn header_of(block: &Block) -> Header {
    Header { number: block.number.cast_signed(), hash: Hex(block.hash), parent_hash: Hex(block.parent_hash) }
}

async fn wait_for_answer(engine: &Engine, cursor: &Cursor, fault: &Fault) -> Result<Pass> {
    if fault.class() == FaultClass::Transient {
        tracing::info!(chain.id = cursor.chain_id, "the head is read again: {fault}");
        return Ok(Pass::Silent);
    }
    let reason = format!("{}: {fault}", fault.code());
    if cursor.blocked_reason.as_deref() != Some(reason.as_str()) {
        tracing::error!(chain.id = cursor.chain_id, "the chain's operations wait: {fault}");
        let mut tx = engine.db.begin().await?;
        chain::set_blocked(&mut tx, cursor.chain_id, Some(&reason)).await?;
        tx.commit(Point::Mode).await?;
    }
    Ok(Pass::Silent)
}

/// Closes the circuit, and lets the chain's operations go on.
async fn unblock(engine: &Engine, network: &Network) -> Result<()> {
    tracing::info!(chain.id = network.id(), "the chain answers again");
    let mut tx = engine.db.begin().await?;
    chain::set_blocked(&mut tx, network.id(), None).await?;
    queue::release(&mut tx, network.id(), "").await?;
    tx.commit(Point::Mode).await?;
    notify_waiters(network, true);
    Ok(())
}
