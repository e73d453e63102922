//! How far our tokens are read. Those that are with their chain share its place, so that a block moves one row for all of them; a token
//! that is behind has its own until it has caught up.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};
use sqlx::AssertSqlSafe;

use crate::column::Hex;
use crate::db::{Tx, all_touched, touched};
use crate::rows::portions;
use crate::token_event::{self, TokenEvent};
use crate::{Result, on};

crate::words! {
    /// With whom a token is read.
    Pace {
        /// For the first time: with those of its chain, whom it joins then.
        New = "new",
        /// With all others of its chain.
        Chain = "chain",
        /// Again and by itself, because what was read of it did not fit.
        Alone = "alone",
    }
}

/// The place of those tokens of a chain that are with it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0013_token.sql explains those that need it.
pub struct TokenRead {
    pub chain_id: i64,
    pub block_number: i64,
    pub version: i64,
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
    pub pace: Pace,
    /// Everything up to this block is in the books.
    pub block_number: i64,
    pub read_at: DateTime<Utc>,
}

/// A token is read from the block that made it. The first one of a chain begins the chain's place too.
pub async fn begin(tx: &mut Tx, offering_id: &str, chain_id: i64, token: Address, made_in: i64) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into token_reads (chain_id, block_number, version, read_at) values ($1, $2, 1, $3) on conflict do nothing")
        .bind(chain_id).bind(made_in - 1).bind(now).execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query(
        "insert into token_cursors (offering_id, chain_id, token_address, made_in, block_number, read_at, pace) \
         values ($1, $2, $3, $4, $5, $6, 'new') \
         on conflict do nothing")
        .bind(offering_id).bind(chain_id).bind(Hex(token)).bind(made_in).bind(made_in - 1).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The place of a chain's tokens; none while it has no token.
pub async fn find(tx: &mut Tx, chain_id: i64) -> Result<Option<TokenRead>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, TokenRead>("select chain_id, block_number, version from token_reads where chain_id = $1")
        .bind(chain_id).fetch_optional(conn).await?),
    )
}

/// The tokens of a chain that are not with it, those furthest behind first.
pub async fn apart(tx: &mut Tx, chain_id: i64) -> Result<Vec<Cursor>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Cursor>(
        "select * from token_cursors where chain_id = $1 and pace <> 'chain' order by block_number, offering_id")
        .bind(chain_id).fetch_all(conn).await?))
}

/// Tokens that are with their chain, so many at most.
pub async fn with_chain(tx: &mut Tx, chain_id: i64, most: i64) -> Result<Vec<Cursor>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Cursor>("select * from token_places where chain_id = $1 and pace = 'chain' limit $2")
        .bind(chain_id).bind(most).fetch_all(conn).await?),
    )
}

/// How far those of some contracts are read that are tokens of ours.
pub async fn among(tx: &mut Tx, chain_id: i64, contracts: &[Address]) -> Result<Vec<Cursor>> {
    let mut found = Vec::new();
    for portion in portions(contracts) {
        let some: Vec<Cursor> = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("select * from token_places where chain_id = ");
            query.push_bind(chain_id).push(" and token_address in (");
            let mut list = query.separated(", ");
            portion.iter().for_each(|address| _ = list.push_bind(Hex(*address)));
            query.push(")");
            query.build_query_as().fetch_all(conn).await?
        });
        found.extend(some);
    }
    Ok(found)
}

/// How far the token of an offering is read; none without a token.
pub async fn cursor(tx: &mut Tx, offering_id: &str) -> Result<Option<Cursor>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Cursor>("select * from token_places where offering_id = $1")
        .bind(offering_id).fetch_optional(conn).await?))
}

/// Empties the books of a token, so that it is read again from the block that made it. Whoever reads the chain's tokens now begins anew.
pub async fn forget(tx: &mut Tx, token: &Cursor) -> Result<()> {
    on!(tx, conn => sqlx::query("update token_reads set version = version + 1 where chain_id = $1")
        .bind(token.chain_id).execute(conn).await?.rows_affected());
    let rows = on!(tx, conn => sqlx::query("update token_cursors set block_number = made_in - 1, pace = 'alone' where offering_id = $1")
        .bind(&token.offering_id).execute(conn).await?.rows_affected());
    touched(rows, "token cursor", &token.offering_id)?;
    for table in ["token_events", "holdings", "tranches", "token_accounts", "token_partitions"] {
        let sql = format!("delete from {table} where offering_id = $1");
        on!(tx, conn => sqlx::query(AssertSqlSafe(sql)).bind(&token.offering_id).execute(conn).await?.rows_affected());
    }
    Ok(())
}

/// Takes events up to a block into the books: those of the tokens that are with the chain, from its place on, and those of some that are
/// apart, each from its own. The chain's place never goes back, and who has reached it shares it from now on. If anybody moved a place
/// since the chain's was read, nothing of this may stand. Events come in the order of the chain.
pub async fn take(
    tx: &mut Tx,
    read: &mut TokenRead,
    apart: &[Cursor],
    up_to: i64,
    events: &[TokenEvent],
) -> Result<()> {
    let (now, reached) = (tx.now(), read.block_number.max(up_to));
    let rows = on!(tx, conn => sqlx::query(
        "update token_reads set block_number = $3, read_at = $4, version = version + 1 where chain_id = $1 and version = $2")
        .bind(read.chain_id).bind(read.version).bind(reached).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "token reads of", &read.chain_id.to_string())?;
    // On the way a commit may end below where some of them stand: nobody is moved back.
    let behind: Vec<&Cursor> = apart.iter().filter(|token| token.block_number <= up_to).collect();
    let joins = if up_to == reached { ", pace = 'chain'" } else { "" };
    for portion in portions(&behind) {
        let rows = on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new("update token_cursors set block_number = ");
            query.push_bind(up_to).push(", read_at = ").push_bind(now).push(joins).push(" where offering_id in (");
            let mut list = query.separated(", ");
            portion.iter().for_each(|token| _ = list.push_bind(&token.offering_id));
            query.push(")");
            query.build().execute(conn).await?.rows_affected()
        });
        all_touched(rows, portion.len(), "token cursors of", &portion[0].offering_id)?;
    }
    token_event::enter(tx, events).await?;
    (read.block_number, read.version) = (reached, read.version + 1);
    Ok(())
}
