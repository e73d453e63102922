//! What our tokens told in final blocks, and how far they are read.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use sqlx::AssertSqlSafe;

use crate::book::Book;
use crate::column::{Dec, Hex};
use crate::db::{Tx, touched};
use crate::{Error, Result, on};

/// Rows in one statement: SQLite takes 32,766 parameters.
const ROWS_PER_STATEMENT: usize = 500;

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
#[allow(missing_docs)] // Each field is its column; 0013_token_event.sql explains those that need it.
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

/// How far a token is read.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Cursor {
    pub offering_id: String,
    pub chain_id: i64,
    pub token_address: Hex<Address>,
    /// The block of its deployment.
    pub made_in: i64,
    /// Everything up to this block is in the books.
    pub block_number: i64,
    pub read_at: DateTime<Utc>,
}

/// A token is read from the block that made it.
pub async fn begin(tx: &mut Tx, offering_id: &str, chain_id: i64, token: Address, made_in: i64) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into token_cursors (offering_id, chain_id, token_address, made_in, block_number, read_at) \
         values ($1, $2, $3, $4, $5, $6) \
         on conflict do nothing")
        .bind(offering_id).bind(chain_id).bind(Hex(token)).bind(made_in).bind(made_in - 1).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The tokens of a chain, those furthest behind first.
pub async fn cursors(tx: &mut Tx, chain_id: i64) -> Result<Vec<Cursor>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Cursor>("select * from token_cursors where chain_id = $1 order by block_number, offering_id")
        .bind(chain_id).fetch_all(conn).await?),
    )
}

/// How far the token of an offering is read; none without a token.
pub async fn cursor(tx: &mut Tx, offering_id: &str) -> Result<Option<Cursor>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Cursor>("select * from token_cursors where offering_id = $1")
        .bind(offering_id).fetch_optional(conn).await?))
}

/// How far the token at an address is read; none if it is no token of ours.
pub async fn cursor_at(tx: &mut Tx, chain_id: i64, token: Address) -> Result<Option<Cursor>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Cursor>("select * from token_cursors where chain_id = $1 and token_address = $2")
        .bind(chain_id).bind(Hex(token)).fetch_optional(conn).await?),
    )
}

/// The block up to which every token of a chain is read; none while there is no token.
pub async fn indexed_block(tx: &mut Tx, chain_id: i64) -> Result<Option<i64>> {
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, Option<i64>>("select min(block_number) from token_cursors where chain_id = $1")
        .bind(chain_id).fetch_one(conn).await?),
    )
}

/// How many logs of a transaction are in the books of a token.
pub async fn count_of(tx: &mut Tx, offering_id: &str, tx_hash: B256) -> Result<usize> {
    let count = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(distinct log_index) from token_events where tx_hash = $1 and offering_id = $2")
        .bind(Hex(tx_hash)).bind(offering_id).fetch_one(conn).await?);
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Empties the books of a token, so that it is read again from the block that made it.
pub async fn forget(tx: &mut Tx, token: &Cursor) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query(
        "update token_cursors set block_number = made_in - 1 where offering_id = $1 and block_number = $2")
        .bind(&token.offering_id).bind(token.block_number).execute(conn).await?.rows_affected());
    touched(rows, "token cursor", &token.offering_id)?;
    for table in ["token_events", "holdings", "tranches", "token_accounts", "token_partitions"] {
        let sql = format!("delete from {table} where offering_id = $1");
        on!(tx, conn => sqlx::query(AssertSqlSafe(sql)).bind(&token.offering_id).execute(conn).await?.rows_affected());
    }
    Ok(())
}

/// Takes the events of some tokens up to a block into the books. The tokens stood at one block; if somebody moved one of them meanwhile,
/// nothing of this may stand. Events come in the order of the chain.
pub async fn take(tx: &mut Tx, tokens: &[Cursor], up_to: i64, events: &[TokenEvent]) -> Result<()> {
    let Some(stood_at) = tokens.first().map(|token| token.block_number) else { return Ok(()) };
    let now = tx.now();
    let rows = on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("update token_cursors set block_number = ");
        query.push_bind(up_to).push(", read_at = ").push_bind(now).push(" where block_number = ").push_bind(stood_at);
        query.push(" and offering_id in (");
        let mut list = query.separated(", ");
        tokens.iter().for_each(|token| _ = list.push_bind(&token.offering_id));
        query.push(")");
        query.build().execute(conn).await?.rows_affected()
    });
    if rows != tokens.len() as u64 {
        return Err(Error::Stale { what: "token cursors of", id: tokens[0].chain_id.to_string() });
    }
    for chunk in events.chunks(ROWS_PER_STATEMENT) {
        insert(tx, chunk).await?;
    }
    for token in tokens {
        let own: Vec<&TokenEvent> = events.iter().filter(|e| e.offering_id == token.offering_id).collect();
        if !own.is_empty() {
            let mut book = Book::open(tx, &token.offering_id, &own).await?;
            own.iter().try_for_each(|event| book.enter(event))?;
            book.close(tx).await?;
        }
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
    let mut balances = std::collections::BTreeMap::<Address, u128>::new();
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
