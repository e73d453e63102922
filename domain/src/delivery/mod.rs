//! Deliveries: each event for each endpoint that wants it. `fan_out` makes them, `claim` takes those that are due, `record` stores the
//! answers, `again` sends what failed or was missed. `message` has the bytes and `schedule` the pauses.
//!
//! A delivery is sent at least once: a process that ends after the send and before the record leaves it claimed, and a claim expires.

pub mod again;
pub mod claim;
pub mod fan_out;
pub mod message;
pub mod record;
pub mod schedule;

use chrono::{DateTime, Duration, Utc};

use crate::db::Tx;
use crate::id::{DeliveryAttemptId, DeliveryId, EndpointId, EventId};
use crate::sql::{Sql, sql};
use crate::webhook::Owner;
use crate::{Code, Error, Result};

/// How long deliveries, their attempts and their bytes are kept.
const KEPT_DAYS: i64 = 30;

crate::words! {
    /// The status of a delivery.
    Status {
        /// It was not tried yet.
        Pending = "pending",
        /// A process is sending it.
        Delivering = "delivering",
        /// The endpoint accepted it.
        Delivered = "delivered",
        /// It failed and is tried again.
        Retrying = "retrying",
        /// Every attempt failed.
        Failed = "failed",
        /// The endpoint was disabled or deleted before it was sent.
        Skipped = "skipped",
    }
}

impl Status {
    /// The statuses in which something is left to do.
    pub const LIVE: [Self; 3] = [Self::Pending, Self::Delivering, Self::Retrying];
    /// The statuses that an answer can still turn into `delivered`.
    pub(crate) const ANSWERABLE: [Self; 3] = [Self::Delivering, Self::Retrying, Self::Failed];
    /// The statuses in which it is over.
    const OVER: [Self; 3] = [Self::Delivered, Self::Failed, Self::Skipped];
    /// Over, and never delivered.
    pub(crate) const MISSED: [Self; 2] = [Self::Failed, Self::Skipped];
}

/// One row of `webhook_deliveries`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Delivery {
    pub id: DeliveryId,
    pub endpoint_id: EndpointId,
    pub event_id: EventId,
    pub event_type: String,
    pub status: Status,
    /// The number of attempts, over all schedules.
    pub attempts: i64,
    /// The number of attempts since the schedule began.
    pub tries: i64,
    pub next_attempt_at: Option<DateTime<Utc>>,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
}

/// One row of `webhook_attempts`: a request that was sent, and its answer.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Attempt {
    pub id: DeliveryAttemptId,
    pub number: i64,
    pub status_code: Option<i64>,
    /// Why there is no answer.
    pub fault: Option<String>,
    pub latency_milliseconds: i64,
    /// The beginning of the answer's body.
    pub response: String,
    pub created_at: DateTime<Utc>,
}

/// One delivery to an endpoint of this owner.
pub async fn find(tx: &mut Tx, delivery_id: &DeliveryId, owner: &Owner) -> Result<Delivery> {
    delivery_id.check()?;
    sql("select * from webhook_deliveries where id = $1
         and endpoint_id in (select id from webhook_endpoints where owner = $2 and slot is not null)")
    .bind((delivery_id, owner.key()))
    .optional::<Delivery>(tx)
    .await?
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no delivery {delivery_id}.")))
}

/// The attempts of a delivery, oldest first.
pub async fn attempts(tx: &mut Tx, delivery_id: &DeliveryId) -> Result<Vec<Attempt>> {
    sql("select * from webhook_attempts where delivery_id = $1 order by number, id").bind(delivery_id).rows(tx).await
}

/// A page of the deliveries to an endpoint, newest first, and their number.
pub async fn page(
    tx: &mut Tx,
    endpoint_id: &EndpointId,
    statuses: &[Status],
    limit: i64,
    offset: i64,
) -> Result<(Vec<Delivery>, i64)> {
    let matching = |select: Sql| {
        select.with(" from webhook_deliveries where endpoint_id = ", endpoint_id).one_of("status", statuses)
    };
    let total = matching(sql("select count(*)")).scalar(tx).await?;
    let rows = matching(sql("select *")).push(" order by id desc").page(limit, offset).rows(tx).await?;
    Ok((rows, total))
}

/// Ends the deliveries that wait for an endpoint, because it takes none any more.
pub async fn skip_all(tx: &mut Tx, endpoint_id: &EndpointId) -> Result<u64> {
    let now = tx.now();
    sql("update webhook_deliveries set status = 'skipped', next_attempt_at = null, updated_at = $2
         where endpoint_id = $1 and status in :live")
    .words(":live", &Status::LIVE)
    .bind((endpoint_id, now))
    .execute(tx)
    .await
}

/// Ends the deliveries to endpoints that take none any more: an endpoint may end while a delivery to it is made.
pub async fn skip_ended(tx: &mut Tx) -> Result<u64> {
    let now = tx.now();
    sql("update webhook_deliveries set status = 'skipped', next_attempt_at = null, updated_at = $1
         where status in :live and endpoint_id in (select id from webhook_endpoints where status <> 'enabled')")
    .words(":live", &Status::LIVE)
    .bind(now)
    .execute(tx)
    .await
}

/// Endpoints with deliveries that are overdue by a few seconds, or with a recovery in progress.
pub async fn overdue(tx: &mut Tx, seconds: i64, limit: i64) -> Result<Vec<EndpointId>> {
    let (now, late) = (tx.now(), tx.now() - Duration::seconds(seconds));
    sql("select id from webhook_endpoints e where status = 'enabled' and (throttled_until is null or throttled_until <= $1)
         and (recover_after is not null or exists (select 1 from webhook_deliveries d
             where d.endpoint_id = e.id and d.status in :live and d.next_attempt_at < $2)) limit $3")
    .words(":live", &Status::LIVE)
    .bind((now, late, limit))
    .scalars(tx)
    .await
}

/// What an endpoint has not received yet.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Backlog {
    pub endpoint_id: EndpointId,
    pub deliveries: i64,
    /// When the oldest of them was made.
    pub oldest_at: DateTime<Utc>,
}

/// The backlog of each endpoint that has one: of these endpoints, or of all.
pub async fn backlogs(tx: &mut Tx, endpoint_ids: Option<&[&EndpointId]>) -> Result<Vec<Backlog>> {
    let mut found = sql("select endpoint_id, count(*) as deliveries, min(created_at) as oldest_at
        from webhook_deliveries where status in :live")
    .words(":live", &Status::LIVE);
    if let Some(ids) = endpoint_ids {
        found = found.push(" and endpoint_id in (").list(ids.iter().copied()).push(")");
    }
    found.push(" group by endpoint_id order by endpoint_id").rows(tx).await
}

/// Makes every claim end now. A process that has the database for itself does so when it starts.
pub async fn release_claims(tx: &mut Tx) -> Result<u64> {
    let now = tx.now();
    sql("update webhook_deliveries set next_attempt_at = $1 where status = 'delivering'").bind(now).execute(tx).await
}

/// Deletes old deliveries that have ended, with their attempts and bytes, up to a limit. Returns the number of deliveries and messages.
pub async fn prune(tx: &mut Tx, limit: i64) -> Result<u64> {
    let oldest = tx.now() - Duration::days(KEPT_DAYS);
    let ids = sql("select id from webhook_deliveries where created_at < $1 and status in :over order by id limit $2")
        .words(":over", &Status::OVER)
        .bind((oldest, limit))
        .scalars::<String>(tx)
        .await?;
    for portion in crate::rows::portions(tx, &ids) {
        sql("delete from webhook_attempts where delivery_id in (").list(portion).push(")").execute(tx).await?;
        sql("delete from webhook_deliveries where id in (").list(portion).push(")").execute(tx).await?;
    }
    let messages = sql("delete from webhook_messages where event_id in (select event_id from webhook_messages m
         where m.created_at < $1 and not exists (select 1 from webhook_deliveries d where d.event_id = m.event_id)
         order by event_id limit $2)")
    .bind((oldest, limit))
    .execute(tx)
    .await?;
    Ok(ids.len() as u64 + messages)
}
