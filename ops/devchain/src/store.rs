//! Opening a chain: the lock, the journal's replay, the genesis block of a new one.

use std::fs::File;
use std::path::Path;

use alloy::consensus::Header;
use alloy::consensus::constants::EMPTY_ROOT_HASH;

use crate::block::{Block, blank_header};
use crate::chain::Chain;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::journal::Journal;
use crate::record::{Entry, decode, encode};
use crate::schedule::Schedule;
use crate::state::{Account, Change, Diff};

/// A stored or new chain with its journal and its lock.
pub(crate) struct OpenChain {
    pub chain: Chain,
    pub journal: Option<Journal>,
    /// Held as long as the chain is open; the system frees it also after a crash.
    pub lock: Option<File>,
}

/// Opens the chain that `config` describes.
pub(crate) fn open(config: &Config) -> Result<OpenChain> {
    let Some(dir) = &config.dir else {
        let (block, diff) = genesis(config);
        let chain = found(config, block, &diff);
        return Ok(OpenChain { chain, journal: None, lock: None });
    };
    std::fs::create_dir_all(dir).map_err(|source| Error::Io { path: dir.clone(), source })?;
    let lock = lock(&dir.join("devchain.lock"))?;
    let mut replay = Replay { config, chain: None, foreign: None };
    let opened = Journal::open(&dir.join("devchain.log"), |payload| replay.entries(payload));
    if let Some(stored) = replay.foreign {
        return Err(Error::ChainId { stored, configured: config.chain_id });
    }
    let mut journal = opened?;
    let chain = match replay.chain {
        Some(chain) => chain,
        None => {
            let (block, diff) = genesis(config);
            journal.append(&encode(&vec![Entry::new(config.chain_id, 0, Some(&block), &diff)]))?;
            found(config, block, &diff)
        }
    };
    Ok(OpenChain { chain, journal: Some(journal), lock: Some(lock) })
}

fn lock(path: &Path) -> Result<File> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    let file = File::options().write(true).create(true).truncate(false).open(path).map_err(io)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(Error::Locked { path: path.to_owned() }),
        Err(std::fs::TryLockError::Error(source)) => Err(io(source)),
    }
}

struct Replay<'a> {
    config: &'a Config,
    chain: Option<Chain>,
    foreign: Option<u64>,
}

impl Replay<'_> {
    fn entries(&mut self, payload: &[u8]) -> Result<(), String> {
        let entries = decode(payload).map_err(|error| format!("the record cannot be read ({error})"))?;
        entries.into_iter().try_for_each(|entry| self.entry(entry))
    }

    fn entry(&mut self, entry: Entry) -> Result<(), String> {
        if entry.chain_id != self.config.chain_id {
            self.foreign = Some(entry.chain_id);
            return Err("another chain".to_owned());
        }
        let ahead_seconds = i64::from_be_bytes(entry.ahead_seconds.to_be_bytes());
        let (block, diff) = entry.open();
        match (&mut self.chain, block) {
            (None, Some(block)) if block.header.number == 0 => self.chain = Some(found(self.config, block, &diff)),
            (Some(chain), Some(block)) if follows(chain, &block) => chain.append(block, &diff),
            (Some(chain), None) => chain.patch(&diff),
            (_, Some(block)) => return Err(format!("block {} does not follow the one before", block.header.number)),
            (None, None) => return Err("the chain does not begin with a block".to_owned()),
        }
        if let Some(chain) = &mut self.chain {
            chain.schedule.ahead_seconds = ahead_seconds;
        }
        Ok(())
    }
}

fn follows(chain: &Chain, block: &Block) -> bool {
    let head = chain.head();
    block.header.parent_hash == head.hash && block.header.number == head.header.number + 1
}

fn found(config: &Config, block: Block, diff: &Diff) -> Chain {
    let accounts = config.accounts.iter().map(|(address, _)| *address).collect();
    Chain::new(config.chain_id, block, diff, accounts, config.history_blocks, Schedule::new(config.block_time))
}

fn genesis(config: &Config) -> (Block, Diff) {
    let mut diff = Diff::default();
    for (address, balance) in &config.accounts {
        diff.accounts.insert(*address, Change { account: Some(Account::funded(*balance)), ..Change::default() });
    }
    let header = Header {
        timestamp: (config.clock)(),
        gas_limit: config.gas_limit,
        base_fee_per_gas: Some(config.base_fee),
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        state_root: EMPTY_ROOT_HASH,
        ..blank_header()
    };
    let block = Block { hash: header.hash_slow(), header, transactions: Vec::new(), receipts: Vec::new() };
    (block, diff)
}
