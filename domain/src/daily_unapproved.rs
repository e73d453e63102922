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

/// An amount that is added to the sums of a day.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Addition<'a> {
    pub offering_id: &'a OfferingId,
    pub action: &'a str,
    pub amount: i64,
    pub below: Thresholds,
}

/// Whether today's sums stay below the thresholds for approvals with this amount.
pub async fn stays_below(tx: &mut Tx, more: Addition<'_>) -> Result<bool> {
    let (of_offering, of_platform) = sql("select
            (select amount from unaided_days where offering_id = $1 and action = $2 and day = $3),
            (select amount from unaided_platform_days where action = $2 and day = $3)")
    .bind((more.offering_id, more.action, day(tx.now())))
    .row::<(Option<i64>, Option<i64>)>(tx)
    .await?;
    let stays = |sum: Option<i64>, below: Money| sum.unwrap_or_default().saturating_add(more.amount) < below.minor();
    Ok(stays(of_offering, more.below.offering) && stays(of_platform, more.below.platform))
}

/// Adds an amount to today's sums. Of two parallel requests that reach a threshold together one is stale, and finds out when it is made
/// again. A repeated request counts again.
pub async fn add(tx: &mut Tx, more: Addition<'_>) -> Result<()> {
    let day = day(tx.now());
    sql("insert into unaided_days (offering_id, action, day, amount) values ($1, $2, $3, $4)
        on conflict (offering_id, action, day) do update set amount = unaided_days.amount + excluded.amount
        where unaided_days.amount + excluded.amount < $5")
    .bind((more.offering_id, more.action, day, more.amount, more.below.offering.minor()))
    .write_exactly(tx, 1, "daily sum of", more.offering_id)
    .await?;
    sql("insert into unaided_platform_days (action, day, amount) values ($1, $2, $3)
        on conflict (action, day) do update set amount = unaided_platform_days.amount + excluded.amount
        where unaided_platform_days.amount + excluded.amount < $4")
    .bind((more.action, day, more.amount, more.below.platform.minor()))
    .write_exactly(tx, 1, "daily sum of all", more.action)
    .await
}
