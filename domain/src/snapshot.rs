//! Snapshots: the balances of all holders at the last final block of a record date, checked against the supply on the chain.

use std::fmt::Write;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use sha2::{Digest, Sha256};

use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::id::{DistributionId, InvestorId};
use crate::sql::{insert_into, sql};
use crate::{Error, Result};

const ROWS_PER_STATEMENT: usize = 500;

/// One row of `snapshots`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Snapshot {
    pub distribution_id: DistributionId,
    pub block_number: i64,
    pub block_hash: Hex<B256>,
    pub block_time: DateTime<Utc>,
    pub total_supply: Dec<u128>,
    pub holder_count: i64,
    pub sha256: String,
    pub taken_at: DateTime<Utc>,
}

/// The block of a snapshot.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct SnapshotBlock {
    pub number: i64,
    pub hash: B256,
    pub time: DateTime<Utc>,
}

/// The wallets of this list that hold units in the snapshot of a distribution.
pub async fn holders_among(tx: &mut Tx, distribution_id: &DistributionId, wallets: &[String]) -> Result<Vec<String>> {
    let held = sql("select wallet_address from snapshot_balances where distribution_id = $1 and balance <> '0' order by wallet_address")
        .bind(distribution_id)
        .scalars::<Hex<Address>>(tx)
        .await?;
    let named = |held: &Address| wallets.iter().any(|wallet| wallet.parse() == Ok(*held));
    Ok(held.into_iter().map(|held| held.0).filter(named).map(|held| held.to_checksum(None)).collect())
}

/// Stores a snapshot with its balances in the order of wallets. A distribution has one snapshot only.
pub async fn insert(
    tx: &mut Tx,
    distribution_id: &DistributionId,
    at: SnapshotBlock,
    balances: &[(Address, u128)],
) -> Result<Snapshot> {
    let now = tx.now();
    let total =
        balances.iter().try_fold(0u128, |sum, (_, b)| sum.checked_add(*b)).ok_or_else(|| Error::Unreadable {
            what: "snapshot",
            id: distribution_id.to_string(),
            why: "the sum of its balances exceeds 128 bits".to_owned(),
        })?;
    let stored = insert_into("snapshots")
        .set("distribution_id", distribution_id)
        .set("block_number", at.number)
        .set("block_hash", Hex(at.hash))
        .set("block_time", at.time)
        .set("total_supply", Dec(total))
        .set("holder_count", i64::try_from(balances.len()).unwrap_or(i64::MAX))
        .set("sha256", digest(at, balances))
        .set("taken_at", now)
        .push(" on conflict do nothing returning *")
        .optional::<Snapshot>(tx)
        .await?;
    // A parallel worker stored the snapshot first.
    let Some(stored) = stored else {
        return Err(Error::Stale { what: "snapshot of", id: distribution_id.to_string() });
    };
    for chunk in balances.chunks(ROWS_PER_STATEMENT) {
        sql("insert into snapshot_balances (distribution_id, wallet_address, balance)")
            .values(chunk, |(wallet, balance)| (distribution_id, Hex(*wallet), Dec(*balance)))
            .execute(tx)
            .await?;
    }
    Ok(stored)
}

/// One hash over the block and all balances; the approver agrees to it.
fn digest(at: SnapshotBlock, balances: &[(Address, u128)]) -> String {
    let mut text = format!("{} {:#x}\n", at.number, at.hash);
    for (wallet, balance) in balances {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{wallet:#x} {balance}");
    }
    format!("{:x}", Sha256::digest(text))
}

/// The snapshot of a distribution.
pub async fn find(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Option<Snapshot>> {
    sql("select * from snapshots where distribution_id = $1").bind(distribution_id).optional(tx).await
}

/// A holder of a snapshot with the investor of the wallet.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Holder {
    pub wallet_address: Hex<Address>,
    pub balance: Dec<u128>,
    pub investor_id: Option<InvestorId>,
    pub kyc_status: Option<String>,
    pub rate_basis_points: Option<i64>,
    /// The wallet that replaced it, if it was recovered since.
    pub successor: Option<Hex<Address>>,
}

/// The holders in the order of wallets.
pub async fn holders(tx: &mut Tx, distribution_id: &DistributionId) -> Result<Vec<Holder>> {
    sql("select b.wallet_address, b.balance, w.investor_id, i.kyc_status, t.rate_basis_points, w.successor
         from snapshot_balances b left join wallets w on w.address = b.wallet_address and w.verified_at is not null
             left join investors i on i.id = w.investor_id left join tax_profiles t on t.investor_id = i.id
         where b.distribution_id = $1 order by b.wallet_address")
    .bind(distribution_id)
    .rows(tx)
    .await
}
