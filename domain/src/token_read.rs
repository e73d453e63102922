//! The position up to which each token is read. Tokens that are up to date share one position of their chain, so that a block updates
//! one row for all of them. A token that is behind has its own position until it has caught up.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::Result;
use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::OfferingId;
use crate::ledger;
use crate::rows::portions;
use crate::sql::sql;
use crate::token_event::TokenEvent;

/// The tables of a token's ledger, which its events fill.
pub(crate) const LEDGER: [&str; 5] = ["token_events", "holdings", "tranches", "token_accounts", "token_partitions"];

crate::words! {
    /// How a token is read.
    ReadMode {
        /// For the first time; it joins the others of its chain when it has caught up.
        New = "new",
        /// With all others of its chain.
        Chain = "chain",
        /// Again and separately, because its events did not match.
        Alone = "alone",
    }
}

/// The shared position of a chain's tokens.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0013_token.sql explains those that need it.
pub struct TokenRead {
    pub chain_id: i64,
    pub block_number: i64,
    pub version: i64,
}

impl TokenRead {
    /// The position after a commit that applied events up to a block. While catching up, that block can be below it.
    pub fn after(&self, up_to: i64) -> Self {
        Self { block_number: self.block_number.max(up_to), version: self.version + 1, ..*self }
    }
}

/// The position of one token.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Cursor {
    pub offering_id: OfferingId,
    pub chain_id: i64,
    pub token_address: Hex<Address>,
    /// The block of its deployment.
    pub made_in: i64,
    pub pace: ReadMode,
    /// The ledger contains everything up to this block.
    pub block_number: i64,
    pub read_at: DateTime<Utc>,
}

/// The offerings with a token on a chain.
pub async fn offerings(tx: &mut Tx, chain_id: i64) -> Result<Vec<OfferingId>> {
    sql("select offering_id from token_cursors where chain_id = $1").bind(chain_id).scalars(tx).await
}

/// Starts to read tokens of a chain, each at the block of its deployment, the earliest first. The first token of a chain also starts the
/// chain's position.
pub async fn begin(tx: &mut Tx, chain_id: i64, tokens: &[(&str, Address, i64)]) -> Result<()> {
    let now = tx.now();
    if let Some((.., made_in)) = tokens.first() {
        sql("insert into token_reads (chain_id, block_number, version, read_at) values ($1, $2, 1, $3)
             on conflict do nothing")
        .bind((chain_id, made_in - 1, now))
        .write(tx)
        .await?;
    }
    for portion in portions(tx, tokens) {
        sql("insert into token_cursors (offering_id, chain_id, token_address, made_in, block_number, read_at, pace)")
            .values(portion, |(offering_id, token, made_in)| {
                (*offering_id, chain_id, Hex(*token), *made_in, *made_in - 1, now, ReadMode::New)
            })
            .push(" on conflict do nothing")
            .write(tx)
            .await?;
    }
    Ok(())
}

/// The shared position of a chain's tokens; none without tokens.
pub async fn find(tx: &mut Tx, chain_id: i64) -> Result<Option<TokenRead>> {
    sql("select chain_id, block_number, version from token_reads where chain_id = $1").bind(chain_id).optional(tx).await
}

/// Tokens of a chain with their own position, furthest behind first.
pub async fn behind(tx: &mut Tx, chain_id: i64) -> Result<Vec<Cursor>> {
    sql("select * from token_cursors where chain_id = $1 and pace <> 'chain' order by block_number, offering_id")
        .bind(chain_id)
        .rows(tx)
        .await
}

/// Up to `most` tokens that share the chain's position.
pub async fn with_chain(tx: &mut Tx, chain_id: i64, most: i64) -> Result<Vec<Cursor>> {
    sql("select * from token_places where chain_id = $1 and pace = 'chain' limit $2")
        .bind((chain_id, most))
        .rows(tx)
        .await
}

/// The positions of those contracts that are our tokens.
pub async fn among(tx: &mut Tx, chain_id: i64, contracts: &[Address]) -> Result<Vec<Cursor>> {
    let mut found = Vec::new();
    for portion in portions(tx, contracts) {
        let some = sql("select * from token_places where chain_id = ")
            .value(chain_id)
            .push(" and token_address in (")
            .list(portion.iter().copied().map(Hex))
            .push(")");
        found.extend(some.rows::<Cursor>(tx).await?);
    }
    Ok(found)
}

/// The position of an offering's token; none without a token.
pub async fn cursor(tx: &mut Tx, offering_id: &OfferingId) -> Result<Option<Cursor>> {
    sql("select * from token_places where offering_id = $1").bind(offering_id).optional(tx).await
}

/// Empties the ledger of a token, so that it is read again from its deployment. A worker that is reading the chain's tokens must restart.
pub async fn reset(tx: &mut Tx, token: &Cursor) -> Result<()> {
    sql("update token_reads set version = version + 1 where chain_id = $1").bind(token.chain_id).execute(tx).await?;
    let rows = sql("update token_cursors set block_number = made_in - 1, pace = 'alone' where offering_id = $1")
        .bind(&token.offering_id)
        .execute(tx)
        .await?;
    expect_updated(rows, "token cursor", &token.offering_id)?;
    for table in LEDGER {
        sql("delete from ").push(table).with(" where offering_id = ", &token.offering_id).execute(tx).await?;
    }
    Ok(())
}

/// Applies events up to a block: for the tokens with the shared position from there on, and for some tokens with their own position
/// from theirs. The shared position never goes back; a token that reaches it shares it from then on. If a position has changed since
/// it was read, the caller must not commit. The events are in chain order.
pub async fn apply(tx: &mut Tx, read: &TokenRead, apart: &[Cursor], up_to: i64, events: &[TokenEvent]) -> Result<()> {
    let (now, reached) = (tx.now(), read.after(up_to).block_number);
    sql("update token_reads set block_number = $3, read_at = $4, version = version + 1
        where chain_id = $1 and version = $2")
    .bind((read.chain_id, read.version, reached, now))
    .write_exactly(tx, 1, "token reads of", &read.chain_id.to_string())
    .await?;
    // While catching up, a commit can end below the position of some tokens; they must not go back.
    let behind: Vec<&Cursor> = apart.iter().filter(|token| token.block_number <= up_to).collect();
    let joins = if up_to == reached { ", pace = 'chain'" } else { "" };
    for portion in portions(tx, &behind) {
        sql("update token_cursors set block_number = ")
            .value(up_to)
            .with(", read_at = ", now)
            .push(joins)
            .push(" where offering_id in (")
            .list(portion.iter().map(|token| &token.offering_id))
            .push(")")
            .write_exactly(tx, portion.len(), "token cursors of", &portion[0].offering_id)
            .await?;
    }
    ledger::apply(tx, events).await
}
