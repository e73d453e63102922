//! Snapshots: who held how much at the last final block of a record date, proved by the chain's own supply.

use std::fmt::Write;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::{Error, Result, on};

const ROWS_PER_STATEMENT: usize = 500;

/// One row of `snapshots`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Snapshot {
    pub distribution_id: String,
    pub block_number: i64,
    pub block_hash: Hex<B256>,
    pub block_time: DateTime<Utc>,
    pub total_supply: Dec<u128>,
    pub holder_count: i64,
    pub sha256: String,
    pub taken_at: DateTime<Utc>,
}

/// The block that a snapshot is of.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct At {
    pub number: i64,
    pub hash: B256,
    pub time: DateTime<Utc>,
}

/// Stores a snapshot; the balances are in the order of their wallets. A second one of the same distribution is refused.
pub async fn insert(tx: &mut Tx, distribution_id: &str, at: At, balances: &[(Address, u128)]) -> Result<Snapshot> {
    let now = tx.now();
    let total =
        balances.iter().try_fold(0u128, |sum, (_, b)| sum.checked_add(*b)).ok_or_else(|| Error::Unreadable {
            what: "snapshot",
            id: distribution_id.to_owned(),
            why: "its sum is over 128 bits".to_owned(),
        })?;
    let stored = on!(tx, conn => sqlx::query_as::<_, Snapshot>(
        "insert into snapshots (distribution_id, block_number, block_hash, block_time, total_supply, holder_count, sha256, taken_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning *")
        .bind(distribution_id).bind(at.number).bind(Hex(at.hash)).bind(at.time).bind(Dec(total))
        .bind(i64::try_from(balances.len()).unwrap_or(i64::MAX)).bind(digest(at, balances)).bind(now)
        .fetch_optional(conn).await?);
    let Some(stored) = stored else {
        return Err(Error::Stale { what: "snapshot of", id: distribution_id.to_owned() });
    };
    for chunk in balances.chunks(ROWS_PER_STATEMENT) {
        on!(tx, conn => {
            let mut query =
                sqlx::QueryBuilder::new("insert into snapshot_balances (distribution_id, wallet_address, balance) ");
            query.push_values(chunk, |mut row, (wallet, balance)| {
                row.push_bind(distribution_id).push_bind(Hex(*wallet)).push_bind(Dec(*balance));
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    Ok(stored)
}

/// One hash over the block and every balance: what a second person says yes to.
fn digest(at: At, balances: &[(Address, u128)]) -> String {
    let mut text = format!("{} {:#x}\n", at.number, at.hash);
    for (wallet, balance) in balances {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{wallet:#x} {balance}");
    }
    format!("{:x}", Sha256::digest(text))
}

/// The snapshot of a distribution.
pub async fn find(tx: &mut Tx, distribution_id: &str) -> Result<Option<Snapshot>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Snapshot>("select * from snapshots where distribution_id = $1")
        .bind(distribution_id).fetch_optional(conn).await?))
}

/// A holder of the snapshot with whom the wallet belongs to, and what the platform knows of that person.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holder {
    pub wallet_address: Hex<Address>,
    pub balance: Dec<u128>,
    pub investor_id: Option<String>,
    pub kyc_status: Option<String>,
    pub rate_basis_points: Option<i64>,
    /// The wallet that followed it since, if it was lost.
    pub successor: Option<Hex<Address>>,
}

/// The holders, in the order of their wallets.
pub async fn holders(tx: &mut Tx, distribution_id: &str) -> Result<Vec<Holder>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Holder>(
        "select b.wallet_address, b.balance, w.investor_id, i.kyc_status, t.rate_basis_points, w.successor from snapshot_balances b \
         left join wallets w on w.address = b.wallet_address and w.verified_at is not null left join investors i on i.id = w.investor_id \
         left join tax_profiles t on t.investor_id = i.id where b.distribution_id = $1 order by b.wallet_address")
        .bind(distribution_id).fetch_all(conn).await?))
}
