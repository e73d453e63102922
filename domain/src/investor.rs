//! Investors and their wallets.

use alloy_primitives::Address;

use crate::column::Hex;
use crate::db::Tx;
use crate::{Result, on};

/// Stores an investor whose identity was approved.
pub async fn insert(tx: &mut Tx, id: &str, user_id: Option<&str>, legal_name: &str, country: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into investors (id, user_id, legal_name, country, kyc_status, version, created_at, updated_at) \
         values ($1, $2, $3, $4, 'approved', 1, $5, $5)")
        .bind(id).bind(user_id).bind(legal_name).bind(country).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Stores an investor who has registered and shown nothing yet.
pub async fn register(tx: &mut Tx, id: &str, user_id: &str, legal_name: &str, country: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into investors (id, user_id, legal_name, country, kyc_status, version, created_at, updated_at) \
         values ($1, $2, $3, $4, 'not_started', 1, $5, $5)")
        .bind(id).bind(user_id).bind(legal_name).bind(country).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The investor of a wallet, and whether that person's identity is approved now.
pub async fn of_wallet(tx: &mut Tx, address: Address) -> Result<Option<(String, bool)>> {
    let found = on!(tx, conn => sqlx::query_as::<_, (String, String)>(
        "select i.id, i.kyc_status from wallets w join investors i on i.id = w.investor_id where w.address = $1 \
         and w.verified_at is not null")
        .bind(Hex(address)).fetch_optional(conn).await?);
    Ok(found.map(|(id, kyc)| (id, kyc == "approved")))
}

/// Stores a wallet whose control was proved.
pub async fn insert_wallet(tx: &mut Tx, investor_id: &str, address: Address) -> Result<()> {
    let (id, now) = (tx.new_id("wal"), tx.now());
    on!(tx, conn => sqlx::query("insert into wallets (id, investor_id, address, verified_at, created_at) values ($1, $2, $3, $4, $4)")
        .bind(id).bind(investor_id).bind(Hex(address)).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}
