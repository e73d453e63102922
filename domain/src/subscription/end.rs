//! What an offering does to all of its subscriptions at once: it ends them, or asks for a new yes. A page at a time, oldest first.

use chrono::{DateTime, Utc};

use super::{Move, Status, Subscription, transition};
use crate::db::Tx;
use crate::offering::Offering;
use crate::{Result, on, timer};

/// What one page came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// How many subscriptions were moved.
    pub moved: usize,
    /// Whether some are left for the next page.
    pub more: bool,
}

/// Ends the open subscriptions of an offering that failed or was called off, at most `limit` of them. The caller holds the offering and
/// comes again while there are more. One that is in a live mint is left out: what is on its way to the chain is ended by a person.
pub async fn end_all_of(tx: &mut Tx, offering: &Offering, actor: &str, reason: &str, limit: i64) -> Result<Ended> {
    let page =
        some(tx, &offering.id, "s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted')", limit)
            .await?;
    let ended = Ended { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        transition(tx, offering, &mut s, Move::End, actor, reason).await?;
    }
    Ok(ended)
}

/// Asks those who subscribed under older terms for a new yes until the deadline, at most `limit` of them.
pub async fn reconfirm_all_of(
    tx: &mut Tx,
    offering: &Offering,
    actor: &str,
    deadline: DateTime<Utc>,
    limit: i64,
) -> Result<Ended> {
    let older = format!("s.status in ('committed', 'binding') and s.terms_version < {}", offering.terms_version);
    let page = some(tx, &offering.id, &older, limit).await?;
    let asked = Ended { moved: page.len(), more: page.len() as i64 == limit };
    for mut s in page {
        s.reconfirm_by = Some(deadline);
        transition(tx, offering, &mut s, Move::ChangeTerms, actor, "the terms changed").await?;
        // Without a wake: the sweep looks at what is due.
        timer::set(tx, &s.id, Some(deadline)).await?;
    }
    Ok(asked)
}

pub(super) async fn some(tx: &mut Tx, offering_id: &str, condition: &str, limit: i64) -> Result<Vec<Subscription>> {
    let sql = format!(
        "select s.* from subscriptions s where s.offering_id = $1 and {condition} and not exists (select 1 from operation_items m \
         where m.subject_type = 'subscription' and m.subject_id = s.id and m.live) order by s.id limit $2"
    );
    Ok(on!(tx, conn => sqlx::query_as::<_, Subscription>(sqlx::AssertSqlSafe(sql)).bind(offering_id).bind(limit)
        .fetch_all(conn).await?))
}

/// How many subscriptions of an offering are not final: while there is one, it is not settled.
pub async fn unfinished(tx: &mut Tx, offering_id: &str) -> Result<i64> {
    let words: Vec<_> = Status::ALL.iter().filter(|s| !s.is_final()).map(|s| format!("'{s}'")).collect();
    let sql = format!("select count(*) from subscriptions where offering_id = $1 and status in ({})", words.join(", "));
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).bind(offering_id).fetch_one(conn).await?))
}
