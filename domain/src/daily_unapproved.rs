//! The daily sums of actions that were requested without an approval: of each offering, and of the platform.

use crate::Result;
use crate::clock::day;
use crate::db::Tx;
use crate::id::OfferingId;
use crate::money::Money;
use crate::sql::sql;

/// The amounts from which on a second person must approve. The platform's counts currencies at par, because it has no exchange rates.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// For the actions of one offering in one day.
    pub offering: Money,
    /// For the actions of all offerings in one day.
    pub platform: Money,
}

/// Adds an amount to today's sums if both stay below the thresholds for approvals; returns whether it did. Parallel requests are summed. A
/// repeated request counts again.
pub async fn add_within(
    tx: &mut Tx,
    offering_id: &OfferingId,
    action: &str,
    amount: i64,
    below: Thresholds,
) -> Result<bool> {
    if amount >= below.offering.minor() || amount >= below.platform.minor() {
        return Ok(false);
    }
    let day = day(tx.now());
    let rows = sql("insert into unaided_days (offering_id, action, day, amount) values ($1, $2, $3, $4)
        on conflict (offering_id, action, day) do update set amount = unaided_days.amount + excluded.amount
        where unaided_days.amount + excluded.amount < $5")
    .bind((offering_id, action, day, amount, below.offering.minor()))
    .execute(tx)
    .await?;
    if rows == 0 {
        return Ok(false);
    }
    let rows = sql("insert into unaided_platform_days (action, day, amount) values ($1, $2, $3)
        on conflict (action, day) do update set amount = unaided_platform_days.amount + excluded.amount
        where unaided_platform_days.amount + excluded.amount < $4")
    .bind((action, day, amount, below.platform.minor()))
    .execute(tx)
    .await?;
    if rows == 1 {
        return Ok(true);
    }
    // Nothing is done without an approval, so nothing counts.
    sql("update unaided_days set amount = amount - $4 where offering_id = $1 and action = $2 and day = $3")
        .bind((offering_id, action, day, amount))
        .execute(tx)
        .await?;
    Ok(false)
}
