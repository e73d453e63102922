//! What the payouts that were signed in one day come to, for each asset.

use alloy_primitives::{Address, U256};

use crate::column::{Dec, Hex};
use crate::db::{Tx, touched};
use crate::{Result, on};

/// The sums of a day, counted in days from 1970.
pub async fn of(tx: &mut Tx, chain_id: i64, day: i64) -> Result<Vec<(Hex<Address>, Dec<U256>)>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (Hex<Address>, Dec<U256>)>(
        "select asset, signed from payout_days where chain_id = $1 and day = $2").bind(chain_id).bind(day).fetch_all(conn).await?))
}

/// Moves the sum of an asset from what was read. Whoever finds it moved reads again.
pub async fn raise(tx: &mut Tx, chain_id: i64, asset: Address, day: i64, read: Option<U256>, sum: U256) -> Result<()> {
    let rows = match read {
        None => on!(tx, conn => sqlx::query(
            "insert into payout_days (chain_id, asset, day, signed) values ($1, $2, $3, $4) on conflict do nothing")
            .bind(chain_id).bind(Hex(asset)).bind(day).bind(Dec(sum)).execute(conn).await?.rows_affected()),
        Some(read) => on!(tx, conn => sqlx::query(
            "update payout_days set signed = $4 where chain_id = $1 and asset = $2 and day = $3 and signed = $5")
            .bind(chain_id).bind(Hex(asset)).bind(day).bind(Dec(sum)).bind(Dec(read)).execute(conn).await?.rows_affected()),
    };
    touched(rows, "payouts of the day in", &asset.to_string())
}
