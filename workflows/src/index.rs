//! Reading our tokens: every event of every token, in final blocks and in order, goes into the books. So the balances that the platform
//! shows are the chain's, also after transfers that the platform had no part in. What is final is settled only as far as the tokens are
//! read: whoever sees a mint confirmed sees its balances.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use muniment_activities::fault::Fault;
use muniment_activities::logs::PlacedLog;
use muniment_activities::receipt::Receipt;
use muniment_activities::token_event::{Change, Movement, moves_books, read};
use muniment_domain::column::{Dec, Hex};
use muniment_domain::point::Point;
use muniment_domain::token_event::{self, Cursor, Kind, TokenEvent};
use muniment_domain::{Error, Result, chain};

use crate::engine::{Engine, Network};

/// How many blocks are asked for at once at most; a node that finds it too many says so, and the range is halved.
const BLOCKS_PER_QUESTION: i64 = 2_000;
/// How many tokens are asked for at once.
const TOKENS_PER_QUESTION: usize = 200;
/// How many events one commit takes in, a block's own being more or less.
const EVENTS_PER_COMMIT: usize = 2_000;

/// Reads every token on to the final block. One that cannot be read holds back nobody but itself.
pub async fn index(engine: &Engine, network: &Network) -> Result<()> {
    loop {
        let mut tx = engine.db.read().await?;
        let Some(followed) = chain::find(&mut tx, network.id()).await? else { return Ok(()) };
        if followed.halted_reason.is_some() {
            return Ok(());
        }
        let mut behind = token_event::cursors(&mut tx, network.id()).await?;
        behind.retain(|token| token.block_number < followed.final_number);
        let mut groups = Vec::new();
        for group in
            behind.chunk_by(|a, b| a.block_number == b.block_number).flat_map(|g| g.chunks(TOKENS_PER_QUESTION))
        {
            let last = followed.final_number.min(group[0].block_number + BLOCKS_PER_QUESTION);
            let hash = chain::header(&mut tx, network.id(), last).await?.map(|header| header.hash.0);
            groups.push((group.to_vec(), last, hash));
        }
        drop(tx);
        let mut moved = false;
        for (tokens, last, hash) in groups {
            moved |= read_on(engine, network, tokens, last, hash).await?;
        }
        if !moved {
            return Ok(());
        }
    }
}

/// Reads tokens that stand at one block on to another; whether they moved.
async fn read_on(
    engine: &Engine,
    network: &Network,
    tokens: Vec<Cursor>,
    last: i64,
    hash: Option<B256>,
) -> Result<bool> {
    let from = tokens[0].block_number + 1;
    let events = match ask(network, &tokens, (from, last), hash).await {
        Ok(events) => events,
        Err(fault) => {
            tracing::warn!(chain.id = network.id(), "tokens are read with the next block: {fault}");
            return Ok(false);
        }
    };
    match take(engine, tokens.clone(), last, events).await {
        Ok(()) => Ok(true),
        // What an endpoint showed before did not fit: the token that it is about is read again from its first block.
        Err(Error::Unreadable { id, why, .. }) if tokens.iter().any(|token| token.offering_id == id) => {
            tracing::error!(offering.id = id, "its events do not fit together, the token is read again: {why}");
            forget(engine, &id).await?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

async fn forget(engine: &Engine, offering_id: &str) -> Result<()> {
    let mut tx = engine.db.begin().await?;
    if let Some(cursor) = token_event::cursor(&mut tx, offering_id).await? {
        token_event::forget(&mut tx, &cursor).await?;
    }
    tx.commit(Point::Index).await
}

/// The events of some tokens in a range of final blocks, in order.
async fn ask(
    network: &Network,
    tokens: &[Cursor],
    (from, to): (i64, i64),
    last: Option<B256>,
) -> std::result::Result<Vec<TokenEvent>, Fault> {
    let offerings: BTreeMap<Address, &str> =
        tokens.iter().map(|t| (t.token_address.0, t.offering_id.as_str())).collect();
    let contracts: Vec<Address> = offerings.keys().copied().collect();
    let logs = network.chain.final_logs(&contracts, from.cast_unsigned(), to.cast_unsigned(), last).await?;
    let times = times(network, &logs).await?;
    let mut events = Vec::new();
    for log in &logs {
        if let (Some(offering_id), Some(at)) = (offerings.get(&log.address), times.get(&log.block_number)) {
            for (line, movement) in (0..).zip(read(log)?) {
                events.push(row(network.id(), offering_id, log, line, *at, &movement));
            }
        }
    }
    events.sort_by_key(|e| (e.block_number, e.log_index, e.line));
    // What is shown twice happened once.
    events.dedup_by_key(|e| (e.block_number, e.log_index, e.line));
    Ok(events)
}

fn row(chain_id: i64, offering_id: &str, log: &PlacedLog, line: i64, at: DateTime<Utc>, m: &Movement) -> TokenEvent {
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
        Change::Cut => Kind::Cut,
        Change::Hold => Kind::Hold,
        Change::Freeze => Kind::Freeze,
        Change::Unfreeze => Kind::Unfreeze,
        Change::Restrict => Kind::Restrict,
        Change::Unrestrict => Kind::Unrestrict,
        Change::Recover => Kind::Recover,
    }
}

/// Whether the books have what a final receipt told of a token. An endpoint that hid it once is not believed in what it showed before
/// either: the token is read again from its first block.
pub async fn has_read(engine: &Engine, network: &Network, receipt: &Receipt) -> Result<bool> {
    let mut told: BTreeMap<Address, usize> = BTreeMap::new();
    for log in receipt.logs.iter().filter(|log| moves_books(log)) {
        *told.entry(log.address).or_default() += 1;
    }
    let mut tx = engine.db.read().await?;
    for (token, told) in told {
        let Some(cursor) = token_event::cursor_at(&mut tx, network.id(), token).await? else { continue };
        let known = token_event::count_of(&mut tx, &cursor.offering_id, receipt.tx_hash).await?;
        if known < told {
            drop(tx);
            tracing::error!(tx.hash = %receipt.tx_hash, offering.id = cursor.offering_id, "an endpoint hid events; the token is read again");
            forget(engine, &cursor.offering_id).await?;
            return Ok(false);
        }
    }
    Ok(true)
}

/// When the blocks of the events were made. They must be the blocks that stand at those heights now: a final one stays.
async fn times(network: &Network, logs: &[PlacedLog]) -> std::result::Result<BTreeMap<u64, DateTime<Utc>>, Fault> {
    let blocks: BTreeMap<u64, B256> = logs.iter().map(|log| (log.block_number, log.block_hash)).collect();
    let numbers: Vec<u64> = blocks.keys().copied().collect();
    let mut times = BTreeMap::new();
    for header in network.chain.headers(&numbers).await? {
        if logs.iter().any(|log| log.block_number == header.number && log.block_hash != header.hash) {
            return Err(Fault::Incomplete(format!("block {} is another one than its events are of", header.number)));
        }
        let at = DateTime::from_timestamp(header.timestamp.cast_signed(), 0)
            .ok_or_else(|| Fault::Malformed(format!("block {} was made in no year", header.number)))?;
        times.insert(header.number, at);
    }
    Ok(times)
}

/// Takes the events in, a bounded number a commit, each commit ending with a block.
async fn take(engine: &Engine, mut tokens: Vec<Cursor>, last: i64, events: Vec<TokenEvent>) -> Result<()> {
    let mut rest = &events[..];
    loop {
        let (now, later) = match rest.get(EVENTS_PER_COMMIT) {
            None => (rest, &rest[..0]),
            // Up to where the block of the last one begins, or, where one block has more than that, to its end.
            Some(cut) => {
                let begins = rest.partition_point(|e| e.block_number < cut.block_number);
                let at = if begins > 0 { begins } else { rest.partition_point(|e| e.block_number <= cut.block_number) };
                rest.split_at(at)
            }
        };
        let up_to = later.first().map_or(last, |event| event.block_number - 1);
        let mut tx = engine.db.begin().await?;
        match token_event::take(&mut tx, &tokens, up_to, now).await {
            Ok(()) => tx.commit(Point::Index).await?,
            // Another process read on.
            Err(Error::Stale { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        if later.is_empty() {
            return Ok(());
        }
        tokens.iter_mut().for_each(|token| token.block_number = up_to);
        rest = later;
    }
}
