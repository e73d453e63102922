//! Texts that the holder of a wallet's key is asked to sign, each once and not for long.

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Utc};

use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::rows::delete_older;
use crate::{Result, on};

/// How long a text is kept after its end. What was proved by one is on the wallet.
const KEPT_DAYS: i64 = 30;

/// One row of `wallet_challenges`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0015_wallet.sql explains those that need it.
pub struct WalletChallenge {
    pub id: String,
    pub wallet_id: String,
    pub investor_id: String,
    pub address: Hex<Address>,
    pub label: Option<String>,
    pub chain_id: i64,
    pub nonce: String,
    pub message: String,
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Stores a text. The newest one of a wallet is the one that counts.
pub async fn insert(tx: &mut Tx, c: &WalletChallenge) -> Result<()> {
    on!(tx, conn => sqlx::query(
        "insert into wallet_challenges (id, wallet_id, investor_id, address, label, chain_id, nonce, message, expires_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)")
        .bind(&c.id).bind(&c.wallet_id).bind(&c.investor_id).bind(c.address).bind(&c.label).bind(c.chain_id).bind(&c.nonce)
        .bind(&c.message).bind(c.expires_at).bind(c.created_at).execute(conn).await?.rows_affected());
    Ok(())
}

/// The newest text of an investor's wallet.
pub async fn newest(tx: &mut Tx, investor_id: &str, wallet_id: &str) -> Result<Option<WalletChallenge>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, WalletChallenge>(
        "select * from wallet_challenges where wallet_id = $1 and investor_id = $2 order by id desc limit 1")
        .bind(wallet_id).bind(investor_id).fetch_optional(conn).await?))
}

/// Uses a text up. Of two that show one signature at once, one has it.
pub async fn take(tx: &mut Tx, c: &WalletChallenge) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update wallet_challenges set used_at = $2 where id = $1 and used_at is null and expires_at > $2")
        .bind(&c.id).bind(now).execute(conn).await?.rows_affected());
    touched(rows, "wallet challenge", &c.id)
}

/// Forgets the texts of a wallet that is no more.
pub async fn forget(tx: &mut Tx, wallet_id: &str) -> Result<()> {
    on!(tx, conn => sqlx::query("delete from wallet_challenges where wallet_id = $1").bind(wallet_id).execute(conn).await?.rows_affected());
    Ok(())
}

/// Forgets so many of the texts that ended long ago.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    let delete = "delete from wallet_challenges where id in \
        (select id from wallet_challenges where expires_at < $1 order by expires_at limit $2)";
    delete_older(tx, delete, oldest, limit).await
}
