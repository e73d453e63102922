//! The events of blocks that the follower read and proved: the hash of a block covers its header, and the header its receipts. So nobody
//! is asked for the events of a final block that is among them. They are in memory only; what is missing there is asked for.
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use alloy::primitives::{B256, Bloom, BloomInput};

use super::{chain_log::ChainLog, header::Header};

/// Blocks in memory, more than between the head and the final block of any chain in use.
const BLOCKS_MAX: usize = 1_024;

/// The proved blocks of a chain, by number and hash.
#[derive(Default)]
pub(crate) struct ProvedEvents(Mutex<BTreeMap<(u64, B256), ProvedBlock>>);

struct ProvedBlock {
    parent: B256,
    timestamp: u64,
    bloom: Bloom,
    events: Option<Kept>,
}

/// All events of a block with one of these first topics.
struct Kept {
    topics: &'static [B256],
    events: Vec<ChainLog>,
}

impl ProvedEvents {
    /// Keeps a header that its hash proves.
    pub fn keep_header(&self, header: &Header, bloom: Bloom) {
        let mut blocks = self.blocks();
        let block = ProvedBlock { parent: header.parent_hash, timestamp: header.timestamp, bloom, events: None };
        blocks.entry((header.number, header.hash)).or_insert(block);
        while blocks.len() > BLOCKS_MAX {
            blocks.pop_first();
        }
    }

    /// Keeps all events of a block with one of these first topics, in order. Its receipts prove them.
    pub fn keep_events(&self, (number, hash): (u64, B256), topics: &'static [B256], events: Vec<ChainLog>) {
        if let Some(block) = self.blocks().get_mut(&(number, hash)) {
            block.events = Some(Kept { topics, events });
        }
    }

    /// The events of the blocks from `from` to `to`, of which the last one has this hash. None if one of the blocks is not here, or may
    /// have events that are not.
    pub fn between(
        &self,
        (from, to): (u64, u64),
        last: B256,
        topics: &[B256],
        wanted: impl Fn(&ChainLog) -> bool,
    ) -> Option<Vec<ChainLog>> {
        let (blocks, mut hash, mut found) = (self.blocks(), last, Vec::new());
        for number in (from..=to).rev() {
            let block = blocks.get(&(number, hash))?;
            let may_have = || topics.iter().any(|topic| block.bloom.contains_input(BloomInput::Raw(topic.as_slice())));
            match &block.events {
                Some(kept) if kept.topics == topics => {
                    found.extend(kept.events.iter().rev().filter(|e| wanted(e)).cloned())
                }
                _ if may_have() => return None,
                _ => {}
            }
            hash = block.parent;
        }
        found.reverse();
        Some(found)
    }

    /// The time of a block.
    pub fn timestamp(&self, number: u64, hash: B256) -> Option<u64> {
        self.blocks().get(&(number, hash)).map(|block| block.timestamp)
    }

    fn blocks(&self) -> MutexGuard<'_, BTreeMap<(u64, B256), ProvedBlock>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use alloy::primitives::{Address, Bytes};

    use super::*;

    const OURS: B256 = B256::repeat_byte(0xa1);
    const OTHER: B256 = B256::repeat_byte(0xa2);
    const TOPICS: &[B256] = &[OURS];

    fn hash(number: u64) -> B256 {
        B256::left_padding_from(&number.to_be_bytes())
    }

    fn event(number: u64, log_index: u64) -> ChainLog {
        ChainLog {
            address: Address::ZERO,
            topics: vec![OURS],
            data: Bytes::new(),
            block_number: number,
            block_hash: hash(number),
            tx_hash: B256::ZERO,
            log_index,
        }
    }

    /// Keeps a block whose filter has these topics.
    fn keep(proved: &ProvedEvents, number: u64, topics: &[B256]) {
        let mut bloom = Bloom::default();
        topics.iter().for_each(|topic| bloom.accrue(BloomInput::Raw(topic.as_slice())));
        let (parent_hash, timestamp) = (hash(number - 1), number * 2);
        let header =
            Header { number, hash: hash(number), parent_hash, timestamp, base_fee_per_gas: 0, gas_limit: 30_000_000 };
        proved.keep_header(&header, bloom);
    }

    fn between(proved: &ProvedEvents, from: u64, to: u64) -> Option<Vec<u64>> {
        let found = proved.between((from, to), hash(to), TOPICS, |event| event.log_index != 9)?;
        Some(found.iter().map(|event| event.block_number * 10 + event.log_index).collect())
    }

    #[test]
    fn events_come_in_order_from_blocks_of_which_each_is_known() {
        let proved = ProvedEvents::default();
        for (number, topics) in [(5, &[OURS][..]), (6, &[OTHER]), (7, &[OURS]), (8, &[])] {
            keep(&proved, number, topics);
        }
        proved.keep_events((5, hash(5)), TOPICS, vec![event(5, 0), event(5, 3)]);
        assert_eq!(between(&proved, 5, 6), Some(vec![50, 53]));
        assert_eq!(between(&proved, 8, 8), Some(vec![]), "its filter rules the events out");
        assert_eq!(between(&proved, 5, 8), None, "block 7 may have events, and its receipts were not read");
        proved.keep_events((7, hash(7)), TOPICS, vec![event(7, 1), event(7, 9)]);
        assert_eq!(between(&proved, 5, 8), Some(vec![50, 53, 71]));
        assert_eq!(between(&proved, 4, 8), None, "block 4 is not here");
        assert_eq!((proved.timestamp(7, hash(7)), proved.timestamp(7, hash(8))), (Some(14), None));
    }

    #[test]
    fn a_block_of_another_branch_or_with_other_topics_answers_nothing() {
        let proved = ProvedEvents::default();
        keep(&proved, 5, &[OURS]);
        proved.keep_events((5, hash(5)), TOPICS, vec![event(5, 0)]);
        assert_eq!(proved.between((5, 5), hash(6), TOPICS, |_| true), None);
        assert_eq!(proved.between((5, 5), hash(5), &[OURS, OTHER], |_| true), None);
        proved.keep_events((6, hash(6)), TOPICS, vec![event(6, 0)]);
        assert_eq!(between(&proved, 6, 6), None, "events without a proved header are not kept");
    }

    #[test]
    fn the_oldest_blocks_are_dropped() {
        let proved = ProvedEvents::default();
        (1..=BLOCKS_MAX as u64 + 1).for_each(|number| keep(&proved, number, &[]));
        assert_eq!(between(&proved, 1, 1), None);
        assert_eq!(between(&proved, 2, BLOCKS_MAX as u64 + 1), Some(vec![]));
    }
}
