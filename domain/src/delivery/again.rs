//! What a person asks for: a test event, a delivery once more, everything since a time.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;

use crate::db::Tx;
use crate::delivery::fan_out::{insert, wants};
use crate::delivery::{Delivery, KEPT_DAYS, Status};
use crate::event::Event;
use crate::event_scope;
use crate::id::{EndpointId, EventId};
use crate::sql::sql;
use crate::webhook::{self, Endpoint};
use crate::{Code, Error, Result, event, event_subject};

/// Sends a test event to one endpoint, whatever events it wants. Returns the delivery.
pub async fn test(tx: &mut Tx, endpoint: &Endpoint) -> Result<Delivery> {
    refuse_disabled(endpoint)?;
    let event_id =
        event::write_with_id(tx, "endpoint.test", "webhook_endpoint", &endpoint.id, endpoint.version, json!({}))
            .await?;
    let event = sql("select * from events where id = $1").bind(&event_id).row::<Event>(tx).await?;
    let subjects = event_subject::owners(tx, std::slice::from_ref(&event)).await?;
    insert(tx, &[(endpoint, &event)], &subjects).await?;
    sql("select * from webhook_deliveries where endpoint_id = $1 and event_id = $2")
        .bind((&endpoint.id, &event_id))
        .row(tx)
        .await
}

/// Sends a delivery once more now, with a new schedule. The event keeps its id and its bytes.
pub async fn redeliver(tx: &mut Tx, endpoint: &Endpoint, delivery: &Delivery) -> Result<Delivery> {
    refuse_disabled(endpoint)?;
    let now = tx.now();
    let rows = sql("update webhook_deliveries set status = 'pending', tries = 0, next_attempt_at = $2, updated_at = $2
         where id = $1 and status <> 'delivering'")
    .bind((&delivery.id, now))
    .execute(tx)
    .await?;
    if rows == 0 {
        return Err(Error::refused(
            Code::InvalidState,
            "The delivery is being sent at this moment. Wait for its answer.",
        ));
    }
    Ok(Delivery { status: Status::Pending, tries: 0, next_attempt_at: Some(now), updated_at: now, ..delivery.clone() })
}

/// Sends every failed delivery of an endpoint once more. Returns their number.
pub async fn redeliver_failed(tx: &mut Tx, endpoint: &Endpoint) -> Result<u64> {
    refuse_disabled(endpoint)?;
    let now = tx.now();
    sql("update webhook_deliveries set status = 'pending', tries = 0, next_attempt_at = $2, updated_at = $2
         where endpoint_id = $1 and status = 'failed'")
    .bind((&endpoint.id, now))
    .execute(tx)
    .await
}

/// Begins to send what an endpoint missed in a range of time: events without a delivery, and deliveries that failed or were skipped.
pub async fn begin_recovery(
    tx: &mut Tx,
    endpoint: &Endpoint,
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<()> {
    refuse_disabled(endpoint)?;
    // The row has one place. A second recovery would overwrite that of the first, whose rest would never be sent.
    match webhook::lock_enabled(tx, &endpoint.id).await? {
        Some(locked) if locked.recover_after.is_none() => {}
        Some(_) => {
            let detail = "Events are still being sent again. Recover again when they have been.";
            return Err(Error::refused(Code::InvalidState, detail));
        }
        None => return Err(disabled()),
    }
    let since = since.max(tx.now() - Duration::days(KEPT_DAYS));
    // The smallest id of that time, so that the first event after it is the first of that time.
    webhook::set_recovery(tx, &endpoint.id, Some((&EventId::first_of(since), until))).await
}

/// Does one page of a recovery. Returns whether more is left.
pub async fn recover_page(tx: &mut Tx, endpoint_id: &EndpointId, limit: i64) -> Result<bool> {
    let Some(endpoint) = webhook::lock_enabled(tx, endpoint_id).await? else { return Ok(false) };
    let (Some(after), Some(until), Some(owner)) = (&endpoint.recover_after, endpoint.recover_until, endpoint.owner())
    else {
        return Ok(false);
    };
    let events = event_scope::of_time(tx, &owner, after, until, limit).await?;
    let subjects = event_subject::owners(tx, &events).await?;
    let fits = |event: &&Event| wants(&endpoint, event, subjects.get(&event.subject_id));
    let wanted: Vec<_> = events.iter().filter(fits).map(|event| (&endpoint, event)).collect();
    let now = tx.now();
    for portion in crate::rows::portions(tx, &wanted) {
        sql("update webhook_deliveries set status = 'pending', tries = 0, next_attempt_at = ")
            .value(now)
            .with(" where endpoint_id = ", endpoint_id)
            .push(" and status in :missed and event_id in (")
            .words(":missed", &Status::MISSED)
            .list(portion.iter().map(|(_, event)| &event.id))
            .push(")")
            .execute(tx)
            .await?;
    }
    insert(tx, &wanted, &subjects).await?;
    let more = events.len() as i64 == limit;
    let last = events.last().map(|event| event.id.as_str());
    webhook::set_recovery(tx, endpoint_id, last.filter(|_| more).map(|id| (id, until))).await?;
    Ok(more)
}

fn refuse_disabled(endpoint: &Endpoint) -> Result<()> {
    match endpoint.status {
        webhook::Status::Enabled => Ok(()),
        _ => Err(disabled()),
    }
}

fn disabled() -> Error {
    Error::refused(Code::InvalidState, "The endpoint is disabled. Enable it first.")
}
