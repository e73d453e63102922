//! The ledger: every event of every token, from final blocks and in order. Balances, locks, freezes and restrictions have no other source,
//! so transfers outside the platform are in them, too.
//!
//! 1. `read_to_final` reads the events up to the final block: from memory if the blocks were proved, otherwise from as many endpoints as the
//!    quorum requires. The question carries the hash of the last block, so that an endpoint that lags cannot hide events.
//! 2. `muniment_domain::ledger` applies the events in order. Events, balances and cursor change in one commit: the one of the verdicts on the
//!    same blocks, if there are any.
//! 3. All tokens that are up to date share the chain's cursor, so a block updates one row. Above 200 tokens the question names kinds of
//!    events instead of addresses. A new token joins the others; a token that is read again has its own cursor until it has caught up.
//! 4. An operation is settled only when its token is read up to its block. So a confirmed mint is always in the balances.
//! 5. A final receipt of ours without its events, or events that contradict each other, prove that an endpoint hid something. Only that
//!    token is read again, from its first block. Hidden events of foreign transactions are found by a reconciliation run, not here.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::logs::{ChainLog, EventFilter};
use muniment_activities::fault::Fault;
use muniment_activities::token::event::{Change, Movement, TOPICS, read};
use muniment_domain::chain::{self, Chain};
use muniment_domain::column::{Dec, Hex};
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::point::Point;
use muniment_domain::token_event::{Kind, TokenEvent};
use muniment_domain::token_read::{self, Cursor, ReadMode, TokenRead};
use muniment_domain::{Error, Result, holding};

use crate::engine::commits::{Patience, Writes};
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

/// Reads every token up to the final block, and stores the events.
pub async fn index(engine: &Engine, network: &Network) -> Result<()> {
    while let Some(read) = read_to_final(engine, network).await? {
        if store(engine, read).await? != Answer::Changed {
            break;
        }
    }
    Ok(())
}

/// Reads every token up to the final block. A token that cannot be read delays only itself. Returns the last events if all tokens are read
/// that far with them. The caller stores them.
pub async fn read_to_final(engine: &Engine, network: &Network) -> Result<Option<Arc<Told>>> {
    loop {
        let mut tx = engine.db.read().await?;
        let Some(followed) = chain::find(&mut tx, network.id()).await? else { return Ok(None) };
        let Some(mut read) = token_read::find(&mut tx, network.id()).await? else { return Ok(None) };
        if followed.halted_reason.is_some() {
            return Ok(None);
        }
        let apart = token_read::behind(&mut tx, network.id()).await?;
        let together = joint_question(&mut tx, &read, followed.final_number, &apart).await?;
        drop(tx);
        let mut left = false;
        if let Some(question) = &together {
            let is_last = question.to == followed.final_number && question.apart.len() == apart.len();
            let answer = match ask(engine, network, &followed, question).await {
                Ok(events) if is_last && events.len() <= EVENTS_PER_COMMIT => {
                    return Ok(Some(Arc::new(Told::of(engine, &read, question, &events, 0..events.len()))));
                }
                answered => store_answer(engine, network, &mut read, question, answered).await?,
            };
            left = answer == Answer::Changed || answer == Answer::Stored && question.to < followed.final_number;
        }
        let with_them = together.map(|question| question.apart).unwrap_or_default();
        for token in apart.into_iter().filter(|token| !with_them.contains(token)) {
            if let Some(question) = single_question(&read, token) {
                let answered = ask(engine, network, &followed, &question).await;
                left |= store_answer(engine, network, &mut read, &question, answered).await? != Answer::Unusable;
            }
        }
        if !left {
            return Ok(None);
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
pub enum Answer {
    /// Its events are stored, and its cursors moved.
    Stored,
    /// Another process continued, or a token was reset: the cursors are read again.
    Changed,
    /// It is made again with the next block.
    Unusable,
}

/// Stores the events of a request, if it was answered.
async fn store_answer(
    engine: &Engine,
    network: &Network,
    read: &mut TokenRead,
    question: &Question,
    answered: std::result::Result<Vec<TokenEvent>, Walk>,
) -> Result<Answer> {
    match answered {
        Ok(events) => outcome(engine, store_in_parts(engine, read, question, &events).await).await,
        Err(Walk::Fault(fault)) => {
            tracing::warn!(chain.id = network.id(), "tokens are read with the next block: {fault}");
            Ok(Answer::Unusable)
        }
        Err(Walk::Domain(error)) => outcome(engine, Err(error)).await,
    }
}

/// Stores the events that were read last, without verdicts.
pub async fn store(engine: &Engine, told: Arc<Told>) -> Result<Answer> {
    let stored = engine.commit(told.read.chain_id, Point::Index, Patience::NONE, told.clone()).await;
    outcome(engine, stored).await
}

/// What becomes of a request whose events were stored, or not.
async fn outcome(engine: &Engine, stored: Result<()>) -> Result<Answer> {
    match stored {
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
pub(super) async fn forget(engine: &Engine, offering_id: &OfferingId) -> Result<bool> {
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

/// Stores the events, a limited number in each commit.
async fn store_in_parts(
    engine: &Engine,
    read: &mut TokenRead,
    question: &Question,
    events: &[TokenEvent],
) -> Result<()> {
    let mut begin = 0;
    loop {
        let end = end_of_part(events, begin);
        let told = Told::of(engine, read, question, events, begin..end);
        let up_to = told.up_to;
        engine.commit(read.chain_id, Point::Index, Patience::NONE, Arc::new(told)).await?;
        *read = read.after(up_to);
        if end == events.len() {
            return Ok(());
        }
        begin = end;
    }
}

/// The end of the events that one commit stores. It ends before the block of the first event above the limit or, if that block alone is
/// larger than the limit, after it.
fn end_of_part(events: &[TokenEvent], begin: usize) -> usize {
    let rest = &events[begin..];
    let Some(cut) = rest.get(EVENTS_PER_COMMIT) else { return events.len() };
    let begins = rest.partition_point(|e| e.block_number < cut.block_number);
    begin + if begins > 0 { begins } else { rest.partition_point(|e| e.block_number <= cut.block_number) }
}

/// The events of a commit, ready to be applied.
pub struct Told {
    platform: &'static Platform,
    read: TokenRead,
    apart: Vec<Cursor>,
    /// The ledger contains everything up to this block after the commit.
    pub up_to: i64,
    /// In the order of the chain.
    pub events: Vec<TokenEvent>,
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
    /// A part of the events of a request.
    fn of(engine: &Engine, read: &TokenRead, question: &Question, events: &[TokenEvent], part: Range<usize>) -> Self {
        let next = events.get(part.end);
        // A restriction in the past may be lifted since. Only the final state of the ledger decides what may be sold.
        let reached = next.is_none() && question.to >= read.block_number;
        let restricts = |event: &&TokenEvent| reached && event.kind == Kind::Restrict;
        Self {
            platform: engine.platform,
            read: read.clone(),
            apart: question.apart.clone(),
            up_to: next.map_or(question.to, |event| event.block_number - 1),
            events: events[part].to_vec(),
            reached,
            restricted: events.iter().filter(restricts).map(|event| event.offering_id.clone()).collect(),
        }
    }

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
