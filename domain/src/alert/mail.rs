//! The mails that wait, and how a try ends.

use std::collections::BTreeMap;

use chrono::Duration;
use sqlx::types::Json;

use super::queue::{Waiting, is_digest, next_digest};
use crate::Result;
use crate::db::Tx;
use crate::id::{AlertMailId, EventId};
use crate::sql::{sql, update_table};

/// The pause between two mails of one cause.
const PAUSE: Duration = Duration::hours(1);
/// How many times the pause after a refused mail doubles: from one minute to about an hour.
const TRIES_DOUBLE: i64 = 6;

/// A mail to send.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Due {
    pub id: AlertMailId,
    pub cause: String,
    /// The number of events of each type.
    pub waiting: Json<BTreeMap<String, i64>>,
    /// The last of them.
    pub event_id: EventId,
    pub tries: i64,
    pub version: i64,
    pub email: String,
}

impl Due {
    /// Whether it sums up a day.
    pub fn is_digest(&self) -> bool {
        is_digest(&self.cause)
    }
}

/// How a try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The mail is out.
    Sent,
    /// The mail was refused.
    Refused,
}

/// The due mails, oldest first.
pub async fn due(tx: &mut Tx, limit: i64) -> Result<Vec<Due>> {
    let now = tx.now();
    sql("select m.id, m.cause, m.waiting, m.event_id, m.tries, m.version, u.email
         from alert_mails m join users u on u.id = m.user_id
         where m.try_at <= $1 and u.status = 'active' and u.email_verified_at is not null
         order by m.try_at limit $2")
    .bind((now, limit))
    .rows(tx)
    .await
}

/// Takes a mail for one try. Until the end is noted it counts as sent, so no other mail of its cause follows within the hour. False if
/// another process took it, or events were added.
pub async fn begin_try(tx: &mut Tx, mail: &Due) -> Result<bool> {
    let now = tx.now();
    let rows = sql("update alert_mails
        set try_at = $3, free_at = $3, tries = tries + 1, version = version + 1, updated_at = $4
        where id = $1 and version = $2")
    .bind((&mail.id, mail.version, now + PAUSE, now))
    .execute(tx)
    .await?;
    Ok(rows == 1)
}

/// Notes the end of a try. What was added meanwhile waits for the next mail.
pub async fn finish(tx: &mut Tx, mail: &Due, outcome: Outcome) -> Result<()> {
    let now = tx.now();
    let row = sql("update alert_mails set version = version + 1, updated_at = $2 where id = $1
        returning id, waiting, try_at, free_at")
    .bind((&mail.id, now))
    .row::<Waiting>(tx)
    .await?;
    let changed = update_table("alert_mails");
    let changed = match outcome {
        Outcome::Sent => {
            let left = subtract(row.waiting.0, &mail.waiting);
            let next = if is_digest(&mail.cause) { next_digest(now) } else { row.free_at };
            changed.set("try_at", (!left.is_empty()).then_some(next)).set("waiting", Json(left)).set("tries", 0)
        }
        Outcome::Refused => {
            let pause = Duration::minutes(1 << mail.tries.clamp(0, TRIES_DOUBLE));
            changed.set("try_at", Some(now + pause)).set("free_at", now)
        }
    };
    changed.with(" where id = ", &row.id).execute(tx).await?;
    Ok(())
}

fn subtract(mut waiting: BTreeMap<String, i64>, sent: &BTreeMap<String, i64>) -> BTreeMap<String, i64> {
    for (name, count) in sent {
        if let Some(left) = waiting.get_mut(name) {
            *left -= count;
        }
    }
    waiting.retain(|_, count| *count > 0);
    waiting
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_during_a_try_still_waits() {
        let counts = |rows: &[(&str, i64)]| rows.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect();
        assert_eq!(subtract(counts(&[("a", 3), ("b", 1)]), &counts(&[("a", 2), ("b", 1)])), counts(&[("a", 1)]));
    }
}
