//! The new blocks of a pass, with the platform's transactions in them. On a chain that mines at once, the follower reads on for a moment while
//! lanes wait for room: one commit then stores more blocks, and the signatures for all of their room. What the lanes have signed ahead is
//! sent meanwhile, and the receipts are read.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::time::Duration;

use alloy_primitives::{Address, B256};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesOrdered, StreamExt};
use muniment_activities::chain::block::Block;
use muniment_activities::chain::heads::Heads;
use muniment_activities::chain::receipt::{Receipt, ReceiptRequest};
use muniment_activities::fault::Fault;
use muniment_activities::token::event::TOPICS;
use muniment_domain::Result;
use muniment_domain::id::LaneId;
use muniment_domain::step::{self, Sent};
use tokio::time::{Instant, sleep, timeout};

use crate::engine::network::BLOCKS_PER_PASS;
use crate::engine::room::Announced;
use crate::engine::{Engine, Network};

/// How long the follower reads on at most.
const GATHER: Duration = Duration::from_millis(100);
/// The pause before it looks for the next blocks.
const LOOK: Duration = Duration::from_millis(5);
/// The limit of a look. It is not the rest of the time above: a request that is given up costs its connection, also at an endpoint that is
/// only far away.
const LOOK_MAX: Duration = Duration::from_secs(1);

/// The blocks of a pass.
pub struct Gathered<'a> {
    /// The heads when the last of them was read, with the newest final block that was.
    pub heads: Heads,
    /// In order, each the parent of the next.
    pub blocks: Vec<Block>,
    /// The known transactions in them.
    pub sent: Vec<Sent>,
    /// The receipts of those.
    pub receipts: Result<Vec<Receipt>, Fault>,
    /// The room that they make.
    pub announced: Announced<'a>,
}

/// Finds the platform's transactions in blocks, and in those that follow while lanes wait for room, with their receipts.
pub async fn gather<'a>(
    engine: &Engine,
    network: &'a Network,
    signers: &HashSet<Address>,
    blocks: Vec<Block>,
    heads: Heads,
) -> Result<Gathered<'a>> {
    let sent = find_sent(engine, network, signers, &blocks).await?;
    let mut reading = Reading { asked: FuturesOrdered::new(), read: Ok(Vec::new()) };
    reading.ask(network, &blocks, &sent);
    let mut all = Gathered { heads, blocks, sent, receipts: Ok(Vec::new()), announced: network.room.announce() };
    all.announced.add(lowest_missing(network, &all.sent));
    let begun = Instant::now();
    while all.is_continued(network) && reading.read.is_ok() && begun.elapsed() < GATHER {
        let next = async {
            sleep(LOOK).await;
            read_on(network, &all.blocks).await
        };
        // What cannot be read in time, or is on another branch, is for the next pass.
        let Ok(Ok((heads, blocks))) = timeout(LOOK_MAX, reading.meanwhile(next)).await else { break };
        let sent = find_sent(engine, network, signers, &blocks).await?;
        all.announced.add(lowest_missing(network, &sent));
        reading.ask(network, &blocks, &sent);
        all.heads = Heads { finalized: heads.finalized.or(all.heads.finalized.take()), ..heads };
        all.blocks.extend(blocks);
        all.sent.extend(sent);
    }
    all.announced.commit();
    all.receipts = reading.end().await;
    Ok(all)
}

/// The receipts that are being read, in the order of the blocks.
struct Reading<'a> {
    asked: FuturesOrdered<BoxFuture<'a, Result<Vec<Vec<Receipt>>, Fault>>>,
    read: Result<Vec<Receipt>, Fault>,
}

impl<'a> Reading<'a> {
    /// Asks for the receipts of known transactions in blocks, in one request, or none if the blocks contain no transaction of the platform.
    fn ask(&mut self, network: &'a Network, blocks: &[Block], sent: &[Sent]) {
        let known: HashSet<B256> = sent.iter().map(|one| one.sent_hash.0).collect();
        let request = |block: &Block| ReceiptRequest {
            block: block.hash,
            receipts_root: block.receipts_root,
            transactions: block.transactions.iter().map(|t| t.hash).collect(),
            ours: block.transactions.iter().map(|t| t.hash).filter(|hash| known.contains(hash)).collect(),
            events: TOPICS,
        };
        let asked: Vec<ReceiptRequest> = blocks.iter().map(request).collect();
        self.asked.push_back(async move { network.chain.receipts_of_blocks(&asked).await }.boxed());
    }

    /// Reads on until this future ends.
    async fn meanwhile<T>(&mut self, next: impl Future<Output = T>) -> T {
        let mut next = pin!(next);
        loop {
            tokio::select! {
                biased;
                ended = &mut next => return ended,
                Some(read) = self.asked.next() => self.add(read),
            }
        }
    }

    /// All receipts, or the first fault.
    async fn end(mut self) -> Result<Vec<Receipt>, Fault> {
        while self.read.is_ok()
            && let Some(read) = self.asked.next().await
        {
            self.add(read);
        }
        self.read
    }

    fn add(&mut self, read: Result<Vec<Vec<Receipt>>, Fault>) {
        match (&mut self.read, read) {
            (Ok(all), Ok(read)) => all.extend(read.into_iter().flatten()),
            (Ok(_), Err(fault)) => self.read = Err(fault),
            (Err(_), _) => {}
        }
    }
}

impl Gathered<'_> {
    /// Whether more blocks should share the commit: no lane has sent all that it has signed ahead, or lanes wait and these blocks make no room.
    fn is_continued(&self, network: &Network) -> bool {
        let is_useful = match self.sent.is_empty() {
            // Moves that share no commits read nothing on: a simulation repeats the same story from its seed.
            true => network.commits.are_shared() && !self.blocks.is_empty() && network.room.is_awaited(),
            false => network.room.announced() > 0,
        };
        is_useful && most_of_a_lane(&self.sent) < network.ahead_max() && (self.blocks.len() as u64) < BLOCKS_PER_PASS
    }
}

/// The number of transactions of the lane that has most of these.
fn most_of_a_lane(sent: &[Sent]) -> i64 {
    let mut included: BTreeMap<&str, i64> = BTreeMap::new();
    for one in sent.iter().filter(|one| one.is_awaited()) {
        *included.entry(&one.sent_lane).or_default() += 1;
    }
    included.into_values().max().unwrap_or(0)
}

/// The newest heads, and the blocks up to them that follow these.
async fn read_on(network: &Network, blocks: &[Block]) -> Result<(Heads, Vec<Block>), Fault> {
    let heads = network.chain.next_heads().await?;
    let last = blocks.last().ok_or(Fault::UnknownBlock)?;
    let next = next_blocks(network, last.number.cast_signed(), heads.latest.clone()).await?;
    let follows = match next.first() {
        Some(_) => are_connected(last.hash, &next),
        None => heads.latest.hash == last.hash,
    };
    if follows { Ok((heads, next)) } else { Err(Fault::UnknownBlock) }
}

/// Whether the blocks follow this one and each other.
pub fn are_connected(mut parent: B256, blocks: &[Block]) -> bool {
    blocks.iter().all(|block| block.parent_hash == std::mem::replace(&mut parent, block.hash))
}

/// The blocks above a height, in order, up to the limit of a pass. The newest one is already read.
pub async fn next_blocks(network: &Network, ancestor: i64, newest: Block) -> Result<Vec<Block>, Fault> {
    // If not even the first block is common, all of them are requested.
    let above = u64::try_from(ancestor).unwrap_or(0);
    let to = newest.number.min(above + network.pass_blocks.load(Ordering::Relaxed));
    if to <= above {
        return Ok(Vec::new());
    }
    if to < newest.number {
        return network.chain.blocks(above + 1, to).await;
    }
    let mut blocks = if to > above + 1 { network.chain.blocks(above + 1, to - 1).await? } else { Vec::new() };
    blocks.push(newest);
    Ok(blocks)
}

/// The platform's known transactions in the blocks.
async fn find_sent(
    engine: &Engine,
    network: &Network,
    signers: &HashSet<Address>,
    blocks: &[Block],
) -> Result<Vec<Sent>> {
    let transactions = blocks.iter().flat_map(|block| &block.transactions);
    let hashes: Vec<B256> = transactions.filter(|t| signers.contains(&t.from)).map(|t| t.hash).collect();
    match hashes.as_slice() {
        [] => Ok(Vec::new()),
        hashes => step::sent(&mut engine.db.read().await?, network.id(), hashes).await,
    }
}

/// The lowest nonce of each lane that is not among these transactions. Nothing where moves do not share commits.
fn lowest_missing(network: &Network, sent: &[Sent]) -> BTreeMap<LaneId, i64> {
    let mut nonces = BTreeMap::new();
    if network.commits.are_shared() {
        for one in sent.iter().filter(|one| one.is_awaited()) {
            let nonce = nonces.entry(one.sent_lane.clone()).or_default();
            *nonce = (one.sent_nonce + 1).max(*nonce);
        }
    }
    nonces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(number: u64, hash: u8, parent: u8) -> Block {
        Block {
            number,
            hash: B256::repeat_byte(hash),
            parent_hash: B256::repeat_byte(parent),
            timestamp: 0,
            base_fee_per_gas: 0,
            gas_limit: 0,
            transactions: Vec::new(),
            receipts_root: None,
        }
    }

    #[test]
    fn blocks_of_another_branch_do_not_follow() {
        let last = B256::repeat_byte(1);
        assert!(are_connected(last, &[]));
        assert!(are_connected(last, &[block(2, 2, 1), block(3, 3, 2)]));
        assert!(!are_connected(last, &[block(2, 2, 9), block(3, 3, 2)]), "the first is on another branch");
        assert!(!are_connected(last, &[block(2, 2, 1), block(3, 3, 9)]), "the second is");
    }
}
