//! The daily sum of an offering's actions that were requested without an approval.

use crate::Result;
use crate::clock::day;
use crate::db::Tx;
use crate::money::Money;
use crate::sql::sql;

/// Adds an amount to today's sum if it stays below the threshold for approvals; returns whether it did. Parallel requests are summed. A
/// repeated request counts again.
pub async fn add_within(tx: &mut Tx, offering_id: &str, action: &str, amount: i64, threshold: Money) -> Result<bool> {
    if amount >= threshold.minor() {
        return Ok(false);
    }
    let day = day(tx.now());
    let rows = sql("insert into unaided_days (offering_id, action, day, amount) values ($1, $2, $3, $4)
        on conflict (offering_id, action, day) do update set amount = unaided_days.amount + excluded.amount
        where unaided_days.amount + excluded.amount < $5")
    .bind((offering_id, action, day, amount, threshold.minor()))
    .execute(tx)
    .await?;
    Ok(rows == 1)
}
