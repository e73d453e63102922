//! What our tokens told in final blocks.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

use crate::book::Book;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::rows::portions;
use crate::{Result, on};

crate::words! {
    /// What an event does to the books.
    Kind {
        /// Units move; from nobody when they are issued, to nobody when they are burnt.
        Transfer = "transfer",
        /// Units of a holder are locked until a time, beside what is locked already.
        Lock = "lock",
        /// So many units less are locked, those with the latest release first.
        Cut = "cut",
        /// Exactly so many units of a holder are locked without end.
        Hold = "hold",
        /// An address is frozen.
        Freeze = "freeze",
        /// It is not any more.
        Unfreeze = "unfreeze",
        /// A partition is restricted.
        Restrict = "restrict",
        /// It is not any more.
        Unrestrict = "unrestrict",
        /// Everything of a lost wallet belongs to another one.
        Recover = "recover",
    }
}

/// One row of `token_events`.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0013_token.sql explains those that need it.
pub struct TokenEvent {
    pub chain_id: i64,
    pub block_number: i64,
    pub log_index: i64,
    pub line: i64,
    pub block_hash: Hex<B256>,
    pub block_at: DateTime<Utc>,
    pub tx_hash: Hex<B256>,
    pub offering_id: String,
    pub kind: Kind,
    pub partition_id: Option<i64>,
    pub from_address: Option<Hex<Address>>,
    pub to_address: Option<Hex<Address>>,
    pub quantity: Option<Dec<u128>>,
    pub release_at: Option<i64>,
}

/// How many logs of each of some transactions are in the books of each token.
pub async fn counts(tx: &mut Tx, hashes: &[B256]) -> Result<Vec<(B256, String, i64)>> {
    let mut counts = Vec::new();
    for portion in portions(hashes) {
        let some: Vec<(Hex<B256>, String, i64)> = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "select tx_hash, offering_id, count(distinct log_index) from token_events where tx_hash in (");
            let mut list = query.separated(", ");
            portion.iter().for_each(|hash| _ = list.push_bind(Hex(*hash)));
            query.push(") group by tx_hash, offering_id");
            query.build_query_as().fetch_all(conn).await?
        });
        counts.extend(some.into_iter().map(|(hash, offering_id, count)| (hash.0, offering_id, count)));
    }
    Ok(counts)
}

/// Enters events into the books, in the order of the chain.
pub(crate) async fn enter(tx: &mut Tx, events: &[TokenEvent]) -> Result<()> {
    for portion in portions(events) {
        insert(tx, portion).await?;
    }
    let mut by_token: BTreeMap<&str, Vec<&TokenEvent>> = BTreeMap::new();
    for event in events {
        by_token.entry(&event.offering_id).or_default().push(event);
    }
    for (offering_id, own) in by_token {
        let mut book = Book::open(tx, offering_id, &own).await?;
        own.iter().try_for_each(|event| book.enter(event))?;
        book.close(tx).await?;
    }
    Ok(())
}

async fn insert(tx: &mut Tx, events: &[TokenEvent]) -> Result<()> {
    on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new(
            "insert into token_events (chain_id, block_number, log_index, line, block_hash, block_at, tx_hash, offering_id, kind, \
             partition_id, from_address, to_address, quantity, release_at) ");
        query.push_values(events, |mut row, e| {
            row.push_bind(e.chain_id).push_bind(e.block_number).push_bind(e.log_index).push_bind(e.line).push_bind(e.block_hash)
                .push_bind(e.block_at).push_bind(e.tx_hash).push_bind(&e.offering_id).push_bind(e.kind).push_bind(e.partition_id)
                .push_bind(e.from_address).push_bind(e.to_address).push_bind(e.quantity).push_bind(e.release_at);
        });
        query.build().execute(conn).await?;
    });
    Ok(())
}

/// Who held how much of a partition at the end of a block that is read; nobody with nothing.
pub async fn balances_at(
    tx: &mut Tx,
    offering_id: &str,
    partition_id: i64,
    block: i64,
) -> Result<Vec<(Address, u128)>> {
    let moved = on!(tx, conn => sqlx::query_as::<_, (Option<Hex<Address>>, Option<Hex<Address>>, Dec<u128>)>(
        "select from_address, to_address, quantity from token_events \
         where offering_id = $1 and partition_id = $2 and kind = 'transfer' and block_number <= $3 order by block_number, log_index, line")
        .bind(offering_id).bind(partition_id).bind(block).fetch_all(conn).await?);
    let mut balances = BTreeMap::<Address, u128>::new();
    for (from, to, quantity) in moved {
        if let Some(from) = from {
            let balance = balances.entry(from.0).or_default();
            *balance = balance.checked_sub(quantity.0).ok_or_else(|| crate::book::misfit(offering_id, from.0))?;
        }
        if let Some(to) = to {
            *balances.entry(to.0).or_default() += quantity.0;
        }
    }
    Ok(balances.into_iter().filter(|(_, balance)| *balance > 0).collect())
}
