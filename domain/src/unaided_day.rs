//! What of an offering was asked for in one day without a second person.

use crate::clock::day;
use crate::db::Tx;
use crate::money::Money;
use crate::{Result, on};

/// Adds an amount to today's sum, if that stays below the threshold from which on it takes two people; whether it did. Of two at once
/// the second sees what the first has added. What is asked for again counts again.
pub async fn add(tx: &mut Tx, offering_id: &str, action: &str, amount: i64, threshold: Money) -> Result<bool> {
    if amount >= threshold.minor() {
        return Ok(false);
    }
    let day = day(tx.now());
    let rows = on!(tx, conn => sqlx::query(
        "insert into unaided_days (offering_id, action, day, amount) values ($1, $2, $3, $4) \
         on conflict (offering_id, action, day) do update set amount = unaided_days.amount + excluded.amount \
         where unaided_days.amount + excluded.amount < $5")
        .bind(offering_id).bind(action).bind(day).bind(amount).bind(threshold.minor())
        .execute(conn).await?.rows_affected());
    Ok(rows == 1)
}
