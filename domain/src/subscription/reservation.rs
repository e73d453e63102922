//! What the subscriptions of an offering have reserved of its hard cap: one sum, which every move keeps in its own commit.

use crate::db::{Tx, touched};
use crate::money::Money;
use crate::offering::Offering;
use crate::{Error, Result, on, timer};

/// Reserves an amount, if the offering is open and has room for it.
pub async fn reserve(tx: &mut Tx, offering: &Offering, amount: i64) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query(
        "update offerings set committed_total = committed_total + $2 where id = $1 and status = 'open' \
         and committed_total + $2 <= hard_cap").bind(&offering.id).bind(amount).execute(conn).await?.rows_affected());
    if rows != 1 {
        return Err(exceeded(offering));
    }
    if offering.committed_total + amount == offering.hard_cap {
        // Full: it ends as soon as nobody can withdraw any more, and is looked at until then.
        timer::hasten(tx, &offering.id).await?;
    }
    Ok(())
}

/// The refusal of an amount that has no room.
pub fn exceeded(offering: &Offering) -> Error {
    let room = Money::from_minor((offering.hard_cap - offering.committed_total).max(0)).to_string();
    let detail = format!("The offering has room for {room} {} more.", offering.currency);
    Error::field("/amount", "hard_cap_exceeded", detail).with_params(serde_json::json!({ "available": room }))
}

/// Counts an amount that was agreed on elsewhere, whatever the cap.
pub async fn enter(tx: &mut Tx, offering_id: &str, amount: i64) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query("update offerings set committed_total = committed_total + $2 where id = $1")
        .bind(offering_id).bind(amount).execute(conn).await?.rows_affected());
    touched(rows, "offering", offering_id)
}

/// Gives back what a subscription had reserved.
pub async fn release(tx: &mut Tx, offering_id: &str, amount: i64) -> Result<()> {
    let rows = on!(tx, conn => sqlx::query(
        "update offerings set committed_total = committed_total - $2 where id = $1 and committed_total >= $2")
        .bind(offering_id).bind(amount).execute(conn).await?.rows_affected());
    touched(rows, "offering", offering_id)
}
