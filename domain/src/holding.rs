//! Holdings: who holds how much, as of a final block.

use alloy_primitives::Address;
use chrono::{DateTime, Utc};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::{Error, Result, on};

/// One row of `holdings`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holding {
    pub offering_id: String,
    pub wallet_address: Hex<Address>,
    pub partition_id: i64,
    pub balance: Dec<u128>,
    pub locked: Dec<u128>,
    pub synced_block: i64,
    pub version: i64,
    pub updated_at: DateTime<Utc>,
}

/// What a final mint adds to a holder.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Credit<'a> {
    pub offering_id: &'a str,
    pub wallet: Address,
    pub partition_id: i64,
    pub quantity: u128,
    pub locked: u128,
    pub block_number: i64,
}

/// The holdings of an offering, largest wallets in no special order.
pub async fn of_offering(tx: &mut Tx, offering_id: &str) -> Result<Vec<Holding>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Holding>("select * from holdings where offering_id = $1 order by wallet_address, partition_id")
        .bind(offering_id).fetch_all(conn).await?),
    )
}

/// The holding of a wallet in a partition.
pub async fn find(tx: &mut Tx, offering_id: &str, wallet: Address, partition_id: i64) -> Result<Option<Holding>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Holding>(
        "select * from holdings where offering_id = $1 and wallet_address = $2 and partition_id = $3")
        .bind(offering_id).bind(Hex(wallet)).bind(partition_id).fetch_optional(conn).await?))
}

/// A holding with whom it belongs to; a wallet that we do not know has nobody.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holder {
    #[sqlx(flatten)]
    pub holding: Holding,
    pub investor_id: Option<String>,
    pub legal_name: Option<String>,
    pub country: Option<String>,
}

/// A page of an offering's holders in the order of their wallets, and how many there are.
pub async fn page(tx: &mut Tx, offering_id: &str, limit: i64, offset: i64) -> Result<(Vec<Holder>, i64)> {
    let rows = on!(tx, conn => sqlx::query_as::<_, Holder>(
        "select h.*, i.id as investor_id, i.legal_name, i.country from holdings h left join wallets w on w.address = h.wallet_address \
         left join investors i on i.id = w.investor_id where h.offering_id = $1 order by h.wallet_address, h.partition_id \
         limit $2 offset $3")
        .bind(offering_id).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from holdings where offering_id = $1")
        .bind(offering_id).fetch_one(conn).await?);
    Ok((rows, total))
}

/// Adds minted tokens. Sums are made here, not in SQL, because no database type holds them exactly on both engines.
pub async fn credit(tx: &mut Tx, c: &Credit<'_>) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into holdings (offering_id, wallet_address, partition_id, balance, locked, synced_block, version, updated_at) \
         values ($1, $2, $3, '0', '0', $4, 1, $5) on conflict do nothing")
        .bind(c.offering_id).bind(Hex(c.wallet)).bind(c.partition_id).bind(c.block_number).bind(now).execute(conn).await?.rows_affected());
    // The update locks the row before it is read, so that two pages that credit one holder cannot lose a sum.
    let held = on!(tx, conn => sqlx::query_as::<_, Holding>(
        "update holdings set version = version + 1 where offering_id = $1 and wallet_address = $2 and partition_id = $3 returning *")
        .bind(c.offering_id).bind(Hex(c.wallet)).bind(c.partition_id).fetch_one(conn).await?);
    let overflow =
        || Error::Unreadable { what: "holding", id: c.wallet.to_string(), why: "its sum is over 128 bits".to_owned() };
    let balance = held.balance.checked_add(c.quantity).ok_or_else(overflow)?;
    let locked = held.locked.checked_add(c.locked).ok_or_else(overflow)?;
    on!(tx, conn => sqlx::query(
        "update holdings set balance = $4, locked = $5, synced_block = $6, updated_at = $7 \
         where offering_id = $1 and wallet_address = $2 and partition_id = $3")
        .bind(c.offering_id).bind(Hex(c.wallet)).bind(c.partition_id).bind(Dec(balance)).bind(Dec(locked))
        .bind(held.synced_block.max(c.block_number)).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}
