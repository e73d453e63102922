//! The ledger: every event of every token, from final blocks and in order. Balances, locks, freezes and restrictions have no other source,
//! so transfers outside the platform are in them, too.
//!
//! 1. `index` reads the events up to the final block: from memory if the blocks were proved, otherwise from as many endpoints as the quorum
//!    requires. The question carries the hash of the last block, so that an endpoint that lags cannot hide events.
//! 2. `muniment_domain::ledger` applies the events in order. Events, balances and cursor change in one commit.
//! 3. All tokens that are up to date share the chain's cursor, so a block updates one row. Above 200 tokens the question names kinds of
//!    events instead of addresses. A new token joins the others; a token that is read again has its own cursor until it has caught up.
//! 4. An operation is settled only when its token is read up to its block. So a confirmed mint is always in the balances.
//! 5. A final receipt of ours without its events, or events that contradict each other, prove that an endpoint hid something. Only that
//!    token is read again, from its first block. Hidden events of foreign transactions are found by a reconciliation run, not here.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::logs::{ChainLog, EventFilter};
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::fault::Fault;
use muniment_activities::token::event::{Change, Movement, TOPICS, changes_ledger, read};
use muniment_domain::chain::{self, Chain};
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::point::Point;
use muniment_domain::token_event::{self, Kind, TokenEvent};
use muniment_domain::token_read::{self, Cursor, ReadMode, TokenRead};
use muniment_domain::{Error, Result, holding};

use crate::engine::commits::Writes;
use crate::engine::follow::Walk;
use crate::engine::platform::Platform;
use crate::engine::{Engine, Network};

/// Limit of blocks in one request. If a node refuses the range as too large, it is halved.
const BLOCKS_PER_QUESTION: i64 = 2_000;
/// Limit of token addresses in one request. With more tokens the request filters by event only, and foreign events are dropped.
const TOKENS_PER_QUESTION: usize = 200;
/// Events that one commit stores. A commit always contains whole blocks.
const EVENTS_PER_COMMIT: usize = 2_000;

/// One request: the events of some tokens in a range of final blocks.
struct Question {
    from: i64,
    to: i64,
    /// The tokens in the filter. None for the events of all contracts.
    tokens: Option<Vec<Cursor>>,
    /// The tokens with their own cursor.
    apart: Vec<Cursor>,
}

/// Reads every token up to the final block. A token that cannot be read delays only itself.
pub async fn index(engine: &Engine, network: &Network) -> Result<()> {
    loop {
        let mut tx = engine.db.read().await?;
        let Some(followed) = chain::find(&mut tx, network.id()).await? else { return Ok(()) };
        let Some(mut read) = token_read::find(&mut tx, network.id()).await? else { return Ok(()) };
        if followed.halted_reason.is_some() {
            return Ok(());
        }
        let apart = token_read::behind(&mut tx, network.id()).await?;
        let together = joint_question(&mut tx, &read, followed.final_number, &apart).await?;
        drop(tx);
        let mut left = false;
        if let Some(question) = &together {
            let answer = read_on(engine, network, &followed, &mut read, question).await?;
            left = answer == Answer::Changed || answer == Answer::Stored && question.to < followed.final_number;
        }
        let with_them = together.map(|question| question.apart).unwrap_or_default();
        for token in apart.into_iter().filter(|token| !with_them.contains(token)) {
            if let Some(question) = single_question(&read, token) {
                left |= read_on(engine, network, &followed, &mut read, &question).await? != Answer::Unusable;
            }
        }
        if !left {
            return Ok(());
        }
    }
}

/// The request for the tokens at the chain's cursor, and for new tokens close behind it.
async fn joint_question(tx: &mut Tx, read: &TokenRead, last: i64, apart: &[Cursor]) -> Result<Option<Question>> {
    let to = last.min(read.block_number + BLOCKS_PER_QUESTION);
    let near = |t: &&Cursor| t.pace == ReadMode::New && (to - BLOCKS_PER_QUESTION..to).contains(&t.block_number);
    let apart: Vec<Cursor> = apart.iter().filter(near).cloned().collect();
    if apart.is_empty() && to <= read.block_number {
        return Ok(None);
    }
    let behind = apart.iter().map(|token| token.block_number).min().unwrap_or(to);
    let most = TOKENS_PER_QUESTION + 1;
    let mut tokens = token_read::with_chain(tx, read.chain_id, i64::try_from(most).unwrap_or(i64::MAX)).await?;
    tokens.extend_from_slice(&apart);
    let tokens = (tokens.len() < most).then_some(tokens);
    Ok(Some(Question { from: read.block_number.min(behind) + 1, to, tokens, apart }))
}

/// The request for a token with its own cursor, up to the chain's cursor. None while the chain's cursor is behind it.
fn single_question(read: &TokenRead, token: Cursor) -> Option<Question> {
    let (from, to) = (token.block_number + 1, read.block_number.min(token.block_number + BLOCKS_PER_QUESTION));
    (from <= to + 1).then(|| Question { from, to, tokens: Some(vec![token.clone()]), apart: vec![token] })
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answer {
    /// Its events are stored, and its cursors moved.
    Stored,
    /// Another process continued, or a token was reset: the cursors are read again.
    Changed,
    /// It is made again with the next block.
    Unusable,
}

/// Makes a request and stores its events.
async fn read_on(
    engine: &Engine,
    network: &Network,
    followed: &Chain,
    read: &mut TokenRead,
    question: &Question,
) -> Result<Answer> {
    let taken = match ask(engine, network, followed, question).await {
        Ok(events) => store(engine, read, question, &events).await,
        Err(Walk::Fault(fault)) => {
            tracing::warn!(chain.id = network.id(), "tokens are read with the next block: {fault}");
            return Ok(Answer::Unusable);
        }
        Err(Walk::Domain(error)) => Err(error),
    };
    match taken {
        Ok(()) => Ok(Answer::Stored),
        Err(Error::Stale { .. }) => Ok(Answer::Changed),
        // The stored events are inconsistent, so the token is read again from its first block.
        Err(Error::Unreadable { id, what, why }) => match forget(engine, &id.as_str().into()).await? {
            true => {
                tracing::error!(
                    offering.id = id.as_str(),
                    "the events of the token are inconsistent, it is read again: {why}"
                );
                Ok(Answer::Unusable)
            }
            false => Err(Error::Unreadable { id, what, why }),
        },
        Err(error) => Err(error),
    }
}

/// Resets the ledger of an offering's token. Returns whether it has one.
async fn forget(engine: &Engine, offering_id: &OfferingId) -> Result<bool> {
    let mut tx = engine.db.begin().await?;
    let Some(cursor) = token_read::cursor(&mut tx, offering_id).await? else { return Ok(false) };
    token_read::reset(&mut tx, &cursor).await?;
    tx.commit(Point::Index).await?;
    Ok(true)
}

/// The events of a request, in order, without those that are already stored.
async fn ask(
    engine: &Engine,
    network: &Network,
    followed: &Chain,
    question: &Question,
) -> std::result::Result<Vec<TokenEvent>, Walk> {
    let (from, to) = (question.from, question.to);
    let contracts: Vec<Address> = question.tokens.iter().flatten().map(|token| token.token_address.0).collect();
    if from > to || question.tokens.is_some() && contracts.is_empty() {
        return Ok(Vec::new());
    }
    let last = if to == followed.final_number {
        // Its header may be gone already, because the follower goes on.
        Some(followed.final_hash.0)
    } else {
        let mut tx = engine.db.read().await?;
        chain::header(&mut tx, network.id(), to).await?.map(|header| header.hash.0)
    };
    let wanted = EventFilter { contracts: &contracts, topics: TOPICS };
    let mut logs = network.chain.final_logs(&wanted, (from.cast_unsigned(), to.cast_unsigned()), last).await?;
    let tokens = match &question.tokens {
        Some(tokens) => tokens.clone(),
        None => platform_tokens(engine, network, &logs, &question.apart).await?,
    };
    let tokens: BTreeMap<Address, Cursor> = tokens.into_iter().map(|token| (token.token_address.0, token)).collect();
    let news = |token: &Cursor, log: &ChainLog| token.block_number < log.block_number.cast_signed();
    logs.retain(|log| tokens.get(&log.address).is_some_and(|token| news(token, log)));
    let times = times(network, &logs).await?;
    let mut events = Vec::new();
    for log in &logs {
        let (Some(token), Some(at)) = (tokens.get(&log.address), times.get(&log.block_number)) else { continue };
        let told = read(log).map_err(|fault| Error::Unreadable {
            what: "an event of the token of",
            id: token.offering_id.to_string(),
            why: fault.to_string(),
        })?;
        for (line, movement) in (0..).zip(told) {
            events.push(row(network.id(), &token.offering_id, log, line, *at, &movement));
        }
    }
    events.sort_by_key(|e| (e.block_number, e.log_index, e.line));
    // An endpoint can return an event twice.
    events.dedup_by_key(|e| (e.block_number, e.log_index, e.line));
    Ok(events)
}

/// The platform's tokens among the emitters of the events, if the request had no address filter.
async fn platform_tokens(
    engine: &Engine,
    network: &Network,
    logs: &[ChainLog],
    apart: &[Cursor],
) -> Result<Vec<Cursor>> {
    let told: BTreeSet<Address> = logs.iter().map(|log| log.address).collect();
    let mut tx = engine.db.read().await?;
    let mut tokens = token_read::among(&mut tx, network.id(), &told.into_iter().collect::<Vec<_>>()).await?;
    // Tokens with their own cursor have their own requests.
    tokens.retain(|token| token.pace == ReadMode::Chain);
    tokens.extend_from_slice(apart);
    Ok(tokens)
}

fn row(
    chain_id: i64,
    offering_id: &OfferingId,
    log: &ChainLog,
    line: i64,
    at: DateTime<Utc>,
    m: &Movement,
) -> TokenEvent {
    TokenEvent {
        chain_id,
        block_number: log.block_number.cast_signed(),
        log_index: log.log_index.cast_signed(),
        line,
        block_hash: Hex(log.block_hash),
        block_at: at,
        tx_hash: Hex(log.tx_hash),
        offering_id: offering_id.to_owned(),
        kind: kind(m.change),
        partition_id: m.partition,
        from_address: m.from.map(Hex),
        to_address: m.to.map(Hex),
        quantity: m.units.map(Dec),
        release_at: m.release_at,
    }
}

const fn kind(change: Change) -> Kind {
    match change {
        Change::Transfer => Kind::Transfer,
        Change::Lock => Kind::Lock,
        Change::ReduceLock => Kind::ReduceLock,
        Change::FreezeUnits => Kind::FreezeUnits,
        Change::Freeze => Kind::Freeze,
        Change::Unfreeze => Kind::Unfreeze,
        Change::Restrict => Kind::Restrict,
        Change::Unrestrict => Kind::Unrestrict,
        Change::Recover => Kind::Recover,
    }
}

/// The stored events of some final receipts.
pub struct Known {
    tokens: BTreeMap<Address, OfferingId>,
    /// By transaction and offering.
    counts: BTreeMap<(B256, OfferingId), i64>,
}

impl Known {
    /// Reads them for all receipts together.
    pub async fn of(tx: &mut Tx, network: &Network, receipts: &[&Receipt]) -> Result<Self> {
        let told: BTreeSet<Address> = receipts.iter().flat_map(|r| count_events(r).into_keys()).collect();
        let tokens = token_read::among(tx, network.id(), &told.into_iter().collect::<Vec<_>>()).await?;
        let tokens: BTreeMap<Address, OfferingId> =
            tokens.into_iter().map(|token| (token.token_address.0, token.offering_id)).collect();
        let ours = |r: &&&Receipt| r.logs.iter().any(|log| tokens.contains_key(&log.address));
        let hashes: Vec<B256> = receipts.iter().filter(ours).map(|receipt| receipt.tx_hash).collect();
        let counts = token_event::counts(tx, &hashes).await?;
        Ok(Self { tokens, counts: counts.into_iter().map(|(hash, id, count)| ((hash, id), count)).collect() })
    }

    /// The offering of a token whose ledger lacks an event of a receipt.
    fn lacking(&self, receipt: &Receipt) -> Option<OfferingId> {
        count_events(receipt).into_iter().find_map(|(token, told)| {
            let offering_id = self.tokens.get(&token)?;
            let known = self.counts.get(&(receipt.tx_hash, offering_id.clone())).copied().unwrap_or_default();
            (known < told).then(|| offering_id.clone())
        })
    }
}

/// The number of ledger events in a receipt, for each contract.
fn count_events(receipt: &Receipt) -> BTreeMap<Address, i64> {
    let mut told = BTreeMap::new();
    for log in receipt.logs.iter().filter(|log| changes_ledger(log)) {
        *told.entry(log.address).or_default() += 1;
    }
    told
}

/// Whether the ledger has every event of a final receipt. If an endpoint hid one, its earlier answers are not trusted either: the token is
/// read again from its first block.
pub async fn has_read(engine: &Engine, known: &mut Known, receipt: &Receipt) -> Result<bool> {
    let Some(offering_id) = known.lacking(receipt) else { return Ok(true) };
    tracing::error!(tx.hash = %receipt.tx_hash, offering.id = offering_id.as_str(), "an endpoint hid events; the token is read again");
    forget(engine, &offering_id).await?;
    // The other receipts of the token wait as well, because their events were removed with the reset.
    known.counts.retain(|(_, id), _| *id != offering_id);
    Ok(false)
}

/// The times of the events' blocks. The blocks must still be the canonical ones at their heights.
async fn times(network: &Network, logs: &[ChainLog]) -> std::result::Result<BTreeMap<u64, DateTime<Utc>>, Fault> {
    let blocks: BTreeMap<u64, B256> = logs.iter().map(|log| (log.block_number, log.block_hash)).collect();
    let mut times = BTreeMap::new();
    for (number, seconds) in network.chain.times(&blocks).await? {
        let at = DateTime::from_timestamp(seconds.cast_signed(), 0)
            .ok_or_else(|| Fault::Malformed(format!("block {number} has an invalid time")))?;
        times.insert(number, at);
    }
    Ok(times)
}

/// Stores the events, a limited number in each commit. A commit ends with the last event of a block.
async fn store(engine: &Engine, read: &mut TokenRead, question: &Question, events: &[TokenEvent]) -> Result<()> {
    let mut rest = events;
    loop {
        let (now, later) = match rest.get(EVENTS_PER_COMMIT) {
            None => (rest, &rest[..0]),
            // The commit ends before the block of the last event or, if that block alone is larger than the limit, after it.
            Some(cut) => {
                let begins = rest.partition_point(|e| e.block_number < cut.block_number);
                let at = if begins > 0 { begins } else { rest.partition_point(|e| e.block_number <= cut.block_number) };
                rest.split_at(at)
            }
        };
        let up_to = later.first().map_or(question.to, |event| event.block_number - 1);
        // A restriction in the past may be lifted since. Only the final state of the ledger decides what may be sold.
        let reached = later.is_empty() && question.to >= read.block_number;
        let restricts = |event: &&TokenEvent| reached && event.kind == Kind::Restrict;
        let told = Told {
            platform: engine.platform,
            read: read.clone(),
            apart: question.apart.clone(),
            up_to,
            events: now.to_vec(),
            reached,
            restricted: events.iter().filter(restricts).map(|event| event.offering_id.clone()).collect(),
        };
        engine.commit_soon(read.chain_id, Point::Index, Arc::new(told)).await?;
        *read = read.after(up_to);
        if later.is_empty() {
            return Ok(());
        }
        rest = later;
    }
}

/// The events of a commit, ready to be applied.
struct Told {
    platform: &'static Platform,
    read: TokenRead,
    apart: Vec<Cursor>,
    up_to: i64,
    events: Vec<TokenEvent>,
    /// Whether the ledger has its final state after this commit.
    reached: bool,
    /// The offerings with a new restriction.
    restricted: BTreeSet<OfferingId>,
}

impl Writes for Told {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        self.apply(tx).boxed()
    }
}

impl Told {
    async fn apply(&self, tx: &mut Tx) -> Result<()> {
        let mut restricted = self.restricted.clone();
        if self.reached {
            // An earlier commit may have read the restriction of a token that had its own cursor until now.
            let apart: Vec<&OfferingId> = self.apart.iter().map(|token| &token.offering_id).collect();
            restricted.extend(holding::restricted_among(tx, &apart).await?);
        }
        for id in &restricted {
            muniment_domain::offering::lock_row(tx, id).await?;
        }
        token_read::apply(tx, &self.read, &self.apart, self.up_to, &self.events).await?;
        for id in &restricted {
            (self.platform.on_restriction)(tx, id).await?;
        }
        Ok(())
    }
}
