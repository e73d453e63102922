//! Stores the answers of an endpoint: the attempts, what becomes of each delivery, and the health of the endpoint.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;

use crate::db::Tx;
use crate::delivery::{Delivery, Status, schedule, skip_all};
use crate::id::{DeliveryAttemptId, EndpointId};
use crate::rows::portions;
use crate::sql::sql;
use crate::webhook::{self, Endpoint};
use crate::{Result, event};

/// An endpoint at which every attempt fails for so long is disabled.
const FAILING_DAYS_MAX: i64 = 5;

/// What an endpoint answered to one request.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Outcome {
    pub delivery: Delivery,
    /// When the request was sent.
    pub at: DateTime<Utc>,
    pub status_code: Option<i64>,
    pub fault: Option<&'static str>,
    pub latency_milliseconds: i64,
    /// The beginning of the answer's body.
    pub response: String,
    pub verdict: Verdict,
}

/// What an answer means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The endpoint accepted the event.
    Delivered,
    /// It did not. Perhaps it asked for a pause, in seconds.
    Failed(Option<u64>),
    /// The endpoint wants no more events.
    Gone,
}

/// Stores the answers. Returns the next time at which one of these deliveries is due.
pub async fn store(tx: &mut Tx, endpoint_id: &EndpointId, outcomes: &[Outcome]) -> Result<Option<DateTime<Utc>>> {
    let endpoint = webhook::lock_enabled(tx, endpoint_id).await?;
    insert_attempts(tx, outcomes).await?;
    let (delivered, failed): (Vec<_>, Vec<_>) = outcomes.iter().partition(|o| o.verdict == Verdict::Delivered);
    set_delivered(tx, &delivered).await?;
    let mut next = None;
    for outcome in &failed {
        let due = fail(tx, outcome).await?;
        next = [next, due].into_iter().flatten().min();
    }
    // Another process may have disabled it meanwhile, and then nothing is due any more.
    let Some(endpoint) = endpoint else {
        skip_all(tx, endpoint_id).await?;
        return Ok(None);
    };
    let disabled = judge(tx, &endpoint, outcomes, !delivered.is_empty()).await?;
    Ok(next.filter(|_| !disabled))
}

async fn insert_attempts(tx: &mut Tx, outcomes: &[Outcome]) -> Result<()> {
    for portion in portions(tx, outcomes) {
        let ids: Vec<DeliveryAttemptId> = portion.iter().map(|_| tx.new_id()).collect();
        sql("insert into webhook_attempts (id, delivery_id, endpoint_id, number, status_code, fault, latency_milliseconds, response,
             created_at)")
        .values(portion.iter().zip(&ids), |(o, id)| {
            let d = &o.delivery;
            (id, &d.id, &d.endpoint_id, d.attempts, o.status_code, o.fault, o.latency_milliseconds, &o.response, o.at)
        })
        .execute(tx)
        .await?;
    }
    Ok(())
}

/// What was accepted is accepted, also if the claim expired meanwhile and another process sends it again.
async fn set_delivered(tx: &mut Tx, delivered: &[&Outcome]) -> Result<()> {
    let now = tx.now();
    for portion in portions(tx, delivered) {
        sql("update webhook_deliveries set status = 'delivered', next_attempt_at = null, updated_at = ")
            .value(now)
            .push(" where status in :answerable and id in (")
            .words(":answerable", &Status::ANSWERABLE)
            .list(portion.iter().map(|outcome| &outcome.delivery.id))
            .push(")")
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// Sets the next attempt, or ends the delivery. Only while the claim is still this one.
async fn fail(tx: &mut Tx, outcome: &Outcome) -> Result<Option<DateTime<Utc>>> {
    let (now, delivery) = (tx.now(), &outcome.delivery);
    let asked = match outcome.verdict {
        Verdict::Failed(Some(seconds)) => schedule::asked(seconds),
        _ => Duration::zero(),
    };
    let pause = schedule::pause(&delivery.id, delivery.tries).map(|pause| pause.max(asked));
    let (status, next) = match pause {
        Some(pause) => (Status::Retrying, Some(now + pause)),
        None => (Status::Failed, None),
    };
    sql("update webhook_deliveries set status = $3, next_attempt_at = $4, updated_at = $5
         where id = $1 and attempts = $2 and status = 'delivering'")
    .bind((&delivery.id, delivery.attempts, status, next, now))
    .execute(tx)
    .await?;
    Ok(next)
}

/// Counts the failures of the endpoint, and disables it if it is gone or has failed for days. Returns whether it did.
async fn judge(tx: &mut Tx, endpoint: &Endpoint, outcomes: &[Outcome], any_delivered: bool) -> Result<bool> {
    let now = tx.now();
    let failures = outcomes.iter().filter(|outcome| outcome.verdict != Verdict::Delivered).count() as i64;
    let mut after = endpoint.clone();
    if any_delivered {
        (after.first_failed_at, after.consecutive_failures) = (None, 0);
    } else {
        after.first_failed_at = endpoint.first_failed_at.or(Some(now));
        after.consecutive_failures += failures;
    }
    let asked = outcomes.iter().filter_map(|outcome| match outcome.verdict {
        Verdict::Failed(seconds) => seconds,
        _ => None,
    });
    after.throttled_until = asked.max().map(|seconds| now + schedule::asked(seconds)).or(endpoint.throttled_until);
    let healthy_as_before = any_delivered && endpoint.consecutive_failures == 0 && endpoint.first_failed_at.is_none();
    if !healthy_as_before || after.throttled_until != endpoint.throttled_until {
        webhook::set_health(tx, &after).await?;
    }
    let too_long = after.first_failed_at.is_some_and(|first| now - first >= Duration::days(FAILING_DAYS_MAX));
    let reason = match outcomes.iter().any(|outcome| outcome.verdict == Verdict::Gone) {
        true => "the endpoint answered 410 Gone",
        false if too_long => "every attempt failed for five days",
        false => return Ok(false),
    };
    webhook::disable(tx, &after, reason).await?;
    skip_all(tx, &endpoint.id).await?;
    let data = json!({ "status": "disabled", "reason": reason });
    event::write(tx, "endpoint.disabled", "webhook_endpoint", &endpoint.id, endpoint.version + 1, data).await?;
    Ok(true)
}
