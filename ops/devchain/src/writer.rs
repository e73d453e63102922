//! The only one that changes the chain: it makes blocks durable and then visible.
//!
//! Orders that arrive while a disk write runs are carried out together after it, so that one
//! write serves all of them; each still gets its own block.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use alloy::consensus::Transaction;
use alloy::primitives::{Address, U256};
use serde_json::{Value, json};

use crate::block::Signed;
use crate::chain::Chain;
use crate::config::Clock;
use crate::error::{Error, Result};
use crate::fault::Fault;
use crate::journal::Journal;
use crate::mine::{Staged, build};
use crate::record::{Entry, encode};
use crate::state::{Account, Diff};
use crate::transaction::{Terms, admit};

/// Staged blocks are written at the latest when there are this many.
const GROUP_BLOCKS_MAX: usize = 256;

/// The answer to a client.
pub(crate) type Answer = Result<Value, Fault>;

/// A command that changes the chain.
pub(crate) enum Command {
    /// Take transactions into the pool; with instant mining one block holds what they made ready.
    Send(Vec<Signed>),
    /// Make this many blocks, the first with the timestamp if one is given.
    Mine(u64, Option<u64>),
    SetBalance(Address, U256),
    IncreaseTime(u64),
    NextTimestamp(u64),
    Automine(bool),
    Interval(u64),
    /// The least base fee of the next blocks.
    BaseFeeMin(u64),
}

type Slot = Arc<Mutex<Option<Vec<Answer>>>>;

/// The queue of commands, and the writer behind its lock.
pub(crate) struct WriteQueue {
    queue: Mutex<Vec<(Command, Slot)>>,
    writer: Mutex<Writer>,
}

/// The journal and what is on the way to it.
pub(crate) struct Writer {
    journal: Option<Journal>,
    clock: Clock,
    staged: Staged,
    answered: Vec<(Slot, Vec<Answer>)>,
    broken: bool,
}

/// Takes a lock also after a panic elsewhere: the data behind it is changed in whole steps.
pub(crate) fn hold<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl WriteQueue {
    pub fn new(writer: Writer) -> Self {
        Self { queue: Mutex::default(), writer: Mutex::new(writer) }
    }

    /// Carries out a command, together with all that others have queued meanwhile.
    pub fn submit(&self, chain: &RwLock<Chain>, command: Command) -> Vec<Answer> {
        let slot = Slot::default();
        hold(&self.queue).push((command, slot.clone()));
        let mut writer = hold(&self.writer);
        if let Some(answers) = hold(&slot).take() {
            return answers;
        }
        let commands = std::mem::take(&mut *hold(&self.queue));
        writer.run(chain, commands);
        hold(&slot).take().unwrap_or_default()
    }
}

impl Writer {
    pub fn new(journal: Option<Journal>, clock: Clock) -> Self {
        Self { journal, clock, staged: Staged::default(), answered: Vec::new(), broken: false }
    }

    fn run(&mut self, chain: &RwLock<Chain>, commands: Vec<(Command, Slot)>) {
        for (command, slot) in commands {
            let answers = if self.broken {
                vec![Err(Fault::server(Error::Broken.to_string()))]
            } else {
                self.carry_out(chain, command)
            };
            self.answered.push((slot, answers));
            if self.staged.blocks.len() >= GROUP_BLOCKS_MAX {
                self.flush(chain);
            }
        }
        self.flush(chain);
    }

    fn carry_out(&mut self, chain: &RwLock<Chain>, command: Command) -> Vec<Answer> {
        match command {
            Command::Send(transactions) => self.send(chain, transactions),
            Command::Mine(blocks, timestamp) => vec![self.mine(chain, blocks, timestamp)],
            Command::SetBalance(address, balance) => vec![self.set_balance(chain, address, balance)],
            Command::IncreaseTime(seconds) => vec![Ok(json!(change(chain).schedule.ahead(seconds)))],
            Command::NextTimestamp(timestamp) => vec![self.next_timestamp(chain, timestamp)],
            Command::Automine(on) => {
                change(chain).schedule.automine(on);
                // What has been waiting is mined at once, as if it came now.
                self.stage_ready(chain);
                vec![Ok(Value::Null)]
            }
            Command::Interval(seconds) => {
                change(chain).schedule.interval(seconds);
                vec![Ok(Value::Null)]
            }
            Command::BaseFeeMin(wei) => {
                change(chain).schedule.base_fee_min = wei;
                self.stage_ready(chain);
                vec![Ok(Value::Null)]
            }
        }
    }

    fn send(&mut self, chain: &RwLock<Chain>, transactions: Vec<Signed>) -> Vec<Answer> {
        let mut guard = change(chain);
        let tip = self.staged.tip(&guard);
        // A fee that is too low for an ordered base fee waits in the pool, as it does on a busy chain.
        let base_fee = if guard.schedule.base_fee_min > 0 { 0 } else { tip.next_base_fee() };
        let terms = Terms { chain_id: guard.chain_id, gas_limit: guard.gas_limit, base_fee };
        let mut answers = Vec::with_capacity(transactions.len());
        for transaction in transactions {
            let hash = *transaction.inner().tx_hash();
            let account = self.staged.account(&guard, &transaction.signer());
            let taken = match admit(&transaction, account, &terms) {
                Err(fault) => Err(fault),
                Ok(()) => guard.pool.insert(Arc::new(transaction)),
            };
            answers.push(taken.map(|()| json!(hash)));
        }
        drop(guard);
        self.stage_ready(chain);
        answers
    }

    fn mine(&mut self, chain: &RwLock<Chain>, blocks: u64, timestamp: Option<u64>) -> Answer {
        if let Some(timestamp) = timestamp {
            self.next_timestamp(chain, timestamp)?;
        }
        for _ in 0..blocks {
            self.stage(chain);
            if self.staged.blocks.len() >= GROUP_BLOCKS_MAX {
                self.flush(chain);
            }
        }
        if self.broken { Err(Fault::server(Error::Broken.to_string())) } else { Ok(json!("0x0")) }
    }

    fn next_timestamp(&mut self, chain: &RwLock<Chain>, timestamp: u64) -> Answer {
        let last = self.staged.tip(&read(chain)).header.timestamp;
        if timestamp < last {
            return Err(Fault::params(format!(
                "Timestamp error: {timestamp} is lower than previous block's timestamp"
            )));
        }
        change(chain).schedule.next_timestamp(timestamp);
        Ok(Value::Null)
    }

    fn set_balance(&mut self, chain: &RwLock<Chain>, address: Address, balance: U256) -> Answer {
        // Staged blocks are older than this command, so they must be durable first.
        self.flush(chain);
        let old = read(chain).state.account(&address).unwrap_or(Account::funded(U256::ZERO));
        let diff = Diff::of(address, Account { balance, ..old });
        let (chain_id, ahead) = origin(&read(chain));
        let entry = Entry::new(chain_id, ahead, None, &diff);
        self.write(vec![entry]).map_err(|error| Fault::server(error.to_string()))?;
        change(chain).patch(&diff);
        Ok(Value::Null)
    }

    /// With instant mining, as many blocks as the ready transactions fill.
    fn stage_ready(&mut self, chain: &RwLock<Chain>) {
        while ready_now(&read(chain), &self.staged) {
            self.stage(chain);
        }
    }

    /// Builds one block on top of what is staged.
    fn stage(&mut self, chain: &RwLock<Chain>) {
        let timestamp = change(chain).schedule.timestamp((self.clock)());
        let mined = build(&read(chain), &mut self.staged, timestamp);
        self.staged.push(mined);
    }

    /// Writes the staged blocks, shows them, and answers everybody who waits for them.
    fn flush(&mut self, chain: &RwLock<Chain>) {
        let staged = std::mem::take(&mut self.staged);
        let written = self.persist(chain, &staged);
        if written.is_ok() {
            self.show(chain, staged);
        }
        for (slot, mut answers) in self.answered.drain(..) {
            if let Err(error) = &written {
                for answer in &mut answers {
                    *answer = Err(Fault::server(error.to_string()));
                }
            }
            *hold(&slot) = Some(answers);
        }
    }

    fn persist(&mut self, chain: &RwLock<Chain>, staged: &Staged) -> Result<()> {
        if self.journal.is_none() || staged.blocks.is_empty() {
            return Ok(());
        }
        let (chain_id, ahead) = origin(&read(chain));
        let blocks = staged.blocks.iter();
        self.write(blocks.map(|mined| Entry::new(chain_id, ahead, Some(&mined.block), &mined.diff)).collect())
    }

    fn write(&mut self, entries: Vec<Entry>) -> Result<()> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        if self.broken {
            return Err(Error::Broken);
        }
        let written = journal.append(&encode(&entries));
        if let Err(error) = &written {
            // After a failed sync nobody knows what the disk has; only a restart finds out.
            tracing::error!(%error, "the chain's journal could not be written; it takes no more blocks");
            self.broken = true;
        }
        written
    }

    fn show(&mut self, chain: &RwLock<Chain>, staged: Staged) {
        if staged.blocks.is_empty() && staged.dropped.is_empty() {
            return;
        }
        let mut guard = change(chain);
        for mined in staged.blocks {
            guard.append(mined.block, &mined.diff);
        }
        for hash in &staged.dropped {
            guard.pool.forget(hash);
        }
    }
}

/// Reads the chain also after a panic elsewhere.
pub(crate) fn read(chain: &RwLock<Chain>) -> RwLockReadGuard<'_, Chain> {
    chain.read().unwrap_or_else(PoisonError::into_inner)
}

/// Changes the chain also after a panic elsewhere.
fn change(chain: &RwLock<Chain>) -> RwLockWriteGuard<'_, Chain> {
    chain.write().unwrap_or_else(PoisonError::into_inner)
}

/// The header of every journal entry.
fn origin(chain: &Chain) -> (u64, i64) {
    (chain.chain_id, chain.schedule.ahead_seconds)
}

/// Whether a block is due: mining is instant and the block would have a transaction.
fn ready_now(chain: &Chain, staged: &Staged) -> bool {
    if !chain.schedule.automine {
        return false;
    }
    let base_fee = u128::from(chain.next_base_fee(staged.tip(chain)));
    chain.pool.senders().any(|sender| {
        let nonce = staged.account(chain, sender).map_or(0, |account| account.nonce);
        chain.pool.get(sender, nonce).is_some_and(|waiting| {
            let transaction = &waiting.transaction;
            transaction.max_fee_per_gas() >= base_fee && !staged.dropped.contains(transaction.inner().tx_hash())
        })
    })
}

#[cfg(test)]
#[path = "writer_test.rs"]
mod test;
