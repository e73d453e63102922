//! Challenges: texts that the holder of a wallet signs. Each is used once and expires soon.

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Utc};

use crate::Result;
use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::{InvestorId, WalletChallengeId, WalletId};
use crate::sql::{insert_into, sql};

/// How long a challenge is kept after its expiry. The proof itself is stored on the wallet.
const KEPT_DAYS: i64 = 30;

/// One row of `wallet_challenges`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)] // Each field is its column; 0015_wallet.sql explains those that need it.
pub struct WalletChallenge {
    pub id: WalletChallengeId,
    pub wallet_id: WalletId,
    pub investor_id: InvestorId,
    pub address: Hex<Address>,
    pub label: Option<String>,
    pub chain_id: i64,
    pub nonce: String,
    pub message: String,
    pub expires_at: DateTime<Utc>,
    pub used_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
}

/// Stores a challenge. Only the newest one of a wallet counts.
pub async fn insert(tx: &mut Tx, c: &WalletChallenge) -> Result<()> {
    insert_into("wallet_challenges")
        .set("id", &c.id)
        .set("wallet_id", &c.wallet_id)
        .set("investor_id", &c.investor_id)
        .set("address", c.address)
        .set("label", &c.label)
        .set("chain_id", c.chain_id)
        .set("nonce", &c.nonce)
        .set("message", &c.message)
        .set("expires_at", c.expires_at)
        .set("created_at", c.created_at)
        .execute(tx)
        .await?;
    Ok(())
}

/// The newest challenge of an investor's wallet.
pub async fn newest(tx: &mut Tx, investor_id: &InvestorId, wallet_id: &WalletId) -> Result<Option<WalletChallenge>> {
    sql("select * from wallet_challenges where wallet_id = $1 and investor_id = $2 order by id desc limit 1")
        .bind((wallet_id, investor_id))
        .optional(tx)
        .await
}

/// Uses a challenge. Of two parallel uses of a signature one succeeds.
pub async fn use_challenge(tx: &mut Tx, c: &WalletChallenge) -> Result<()> {
    let now = tx.now();
    let rows = sql("update wallet_challenges set used_at = $2 where id = $1 and used_at is null and expires_at > $2")
        .bind((&c.id, now))
        .execute(tx)
        .await?;
    expect_updated(rows, "wallet challenge", &c.id)
}

/// Deletes the challenges of a removed wallet.
pub async fn delete_of_wallet(tx: &mut Tx, wallet_id: &WalletId) -> Result<()> {
    sql("delete from wallet_challenges where wallet_id = $1").bind(wallet_id).execute(tx).await?;
    Ok(())
}

/// Deletes up to `limit` challenges that expired long ago.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    sql("delete from wallet_challenges where id in
         (select id from wallet_challenges where expires_at < $1 order by expires_at limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await
}
