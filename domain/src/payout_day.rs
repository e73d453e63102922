//! The sum of signed payouts of each day and asset.

use alloy_primitives::{Address, U256};

use crate::Result;
use crate::column::{Dec, Hex};
use crate::db::Tx;
use crate::sql::sql;

/// The sums of a day, by asset. Days count from 1970.
pub async fn of(tx: &mut Tx, chain_id: i64, day: i64) -> Result<Vec<(Hex<Address>, Dec<U256>)>> {
    sql("select asset, signed from payout_days where chain_id = $1 and day = $2").bind((chain_id, day)).rows(tx).await
}

/// Raises the sum of an asset from the value that was read. If it has changed, the caller must read again.
pub async fn set_sum(
    tx: &mut Tx,
    chain_id: i64,
    asset: Address,
    day: i64,
    read: Option<U256>,
    sum: U256,
) -> Result<()> {
    let write = match read {
        None => {
            sql("insert into payout_days (chain_id, asset, day, signed) values ($1, $2, $3, $4) on conflict do nothing")
                .bind((chain_id, Hex(asset), day, Dec(sum)))
        }
        Some(read) => sql("update payout_days set signed = $4
            where chain_id = $1 and asset = $2 and day = $3 and signed = $5")
        .bind((chain_id, Hex(asset), day, Dec(sum), Dec(read))),
    };
    write.write_exactly(tx, 1, "payouts of the day in", &asset.to_string()).await
}
