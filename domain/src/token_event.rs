//! Events of our tokens in final blocks.

use std::collections::BTreeMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::OfferingId;
use crate::rows::portions;
use crate::sql::sql;
use crate::{Error, Result};

crate::words! {
    /// What an event does to the ledger.
    Kind {
        /// Units move. A mint has no sender, a burn has no recipient.
        Transfer = "transfer",
        /// Units are locked until a time, in addition to existing locks.
        Lock = "lock",
        /// Locked units decrease by this amount: those of the release time given, else the latest ones first.
        ReduceLock = "cut",
        /// The units frozen without end are set to this amount.
        FreezeUnits = "hold",
        /// An address is frozen.
        Freeze = "freeze",
        /// An address is unfrozen.
        Unfreeze = "unfreeze",
        /// A partition is restricted. Without a partition: the token is paused.
        Restrict = "restrict",
        /// The restriction of a partition is lifted, or the pause of the token.
        Unrestrict = "unrestrict",
        /// Everything of a lost wallet moves to another wallet. To the wallet itself: its recovery is taken back.
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
    pub offering_id: OfferingId,
    pub kind: Kind,
    pub partition_id: Option<i64>,
    pub from_address: Option<Hex<Address>>,
    pub to_address: Option<Hex<Address>>,
    pub quantity: Option<Dec<u128>>,
    pub release_at: Option<i64>,
}

/// The number of stored events of each of these transactions, by token.
pub async fn counts(tx: &mut Tx, hashes: &[B256]) -> Result<Vec<(B256, OfferingId, i64)>> {
    let mut counts = Vec::new();
    for portion in portions(tx, hashes) {
        let some = sql("select tx_hash, offering_id, count(distinct log_index) from token_events where tx_hash in (")
            .list(portion.iter().copied().map(Hex))
            .push(") group by tx_hash, offering_id")
            .rows::<(Hex<B256>, OfferingId, i64)>(tx)
            .await?;
        counts.extend(some.into_iter().map(|(hash, offering_id, count)| (hash.0, offering_id, count)));
    }
    Ok(counts)
}

/// Stores events.
pub(crate) async fn insert(tx: &mut Tx, events: &[TokenEvent]) -> Result<()> {
    sql(
        "insert into token_events (chain_id, block_number, log_index, line, block_hash, block_at, tx_hash, offering_id,
             kind, partition_id, from_address, to_address, quantity, release_at)",
    )
    .values(events, |e| {
        (
            e.chain_id,
            e.block_number,
            e.log_index,
            e.line,
            e.block_hash,
            e.block_at,
            e.tx_hash,
            &e.offering_id,
            e.kind,
            e.partition_id,
            e.from_address,
            e.to_address,
            e.quantity,
            e.release_at,
        )
    })
    .write(tx)
    .await?;
    Ok(())
}

/// The balances of a partition at the end of a block that is read. Zero balances are left out.
pub async fn balances_at(
    tx: &mut Tx,
    offering_id: &OfferingId,
    partition_id: i64,
    block: i64,
) -> Result<Vec<(Address, u128)>> {
    let moved = sql("select from_address, to_address, quantity from token_events
        where offering_id = $1 and partition_id = $2 and kind = 'transfer' and block_number <= $3
        order by block_number, log_index, line")
    .bind((offering_id, partition_id, block))
    .rows::<(Option<Hex<Address>>, Option<Hex<Address>>, Dec<u128>)>(tx)
    .await?;
    let mut balances = BTreeMap::<Address, u128>::new();
    for (from, to, quantity) in moved {
        if let Some(from) = from {
            let balance = balances.entry(from.0).or_default();
            // A negative balance means that an event is missing.
            *balance = balance.checked_sub(quantity.0).ok_or_else(|| missing_event(offering_id, from.0))?;
        }
        if let Some(to) = to {
            *balances.entry(to.0).or_default() += quantity.0;
        }
    }
    Ok(balances.into_iter().filter(|(_, balance)| *balance > 0).collect())
}

/// The error for an impossible event: the chain's answers lack an event before it.
pub(crate) fn missing_event(offering_id: &OfferingId, account: Address) -> Error {
    let why = format!("{account} sent more units than it held; an earlier event is missing");
    Error::Unreadable { what: "the events of the token of", id: offering_id.to_string(), why }
}
