//! Sends the deliveries of a batch, several at once, and judges the answers.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use futures::stream::iter;
use futures::{FutureExt, StreamExt};
use muniment_activities::delivery::Answer;
use muniment_domain::delivery::Delivery;
use muniment_domain::delivery::claim::Batch;
use muniment_domain::delivery::record::{Outcome, Verdict};
use muniment_domain::webhook::url;

use crate::delivery::courier::Courier;
use crate::delivery::retry_after;

/// Requests to one endpoint at once.
const AT_ONCE: usize = 32;
const GONE: u16 = 410;
/// Statuses whose `Retry-After` is honoured.
const PAUSING: [u16; 4] = [429, 502, 503, 504];

/// Sends every delivery of a batch.
pub async fn all(courier: &Courier, batch: &Batch) -> Vec<Outcome> {
    let headers = (courier.vault.headers)(&batch.endpoint);
    let headers = headers.as_deref();
    let mut each: Vec<BoxFuture<'_, Outcome>> = Vec::new();
    for (delivery, body) in &batch.deliveries {
        each.push(one(courier, batch, headers, delivery, body).boxed());
    }
    iter(each).buffer_unordered(AT_ONCE).collect().await
}

async fn one(
    courier: &Courier,
    batch: &Batch,
    headers: Option<&[(String, String)]>,
    delivery: &Delivery,
    body: &str,
) -> Outcome {
    let at = courier.db.clock().now();
    let signature = (courier.vault.sign)(&batch.secrets, (&delivery.event_id, at.timestamp(), body));
    // What was allowed when it was saved is checked again: the rules and the row may have changed.
    let allowed = url::check(&batch.endpoint.url, courier.allow_insecure).is_ok();
    let answer = match (allowed, signature, headers) {
        (false, _, _) => fault("forbidden_url"),
        (_, None, _) | (_, _, None) => fault("secret"),
        (true, Some(signature), Some(extra)) => {
            let own = [
                ("webhook-id", delivery.event_id.to_string()),
                ("webhook-timestamp", at.timestamp().to_string()),
                ("webhook-signature", signature),
                ("webhook-attempt", delivery.attempts.to_string()),
            ];
            let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
            let headers: Vec<_> = extra.iter().cloned().chain(own).collect();
            courier.poster.post(&batch.endpoint.url, &headers, body.to_owned()).await
        }
    };
    Outcome {
        delivery: delivery.clone(),
        at,
        verdict: verdict(&answer, courier.db.clock().now()),
        status_code: answer.status.map(i64::from),
        fault: answer.fault,
        latency_milliseconds: i64::try_from(answer.latency.as_millis()).unwrap_or(i64::MAX),
        response: answer.response,
    }
}

fn fault(fault: &'static str) -> Answer {
    Answer { fault: Some(fault), ..Answer::default() }
}

fn verdict(answer: &Answer, now: DateTime<Utc>) -> Verdict {
    match answer.status {
        Some(200..=299) => Verdict::Delivered,
        Some(GONE) => Verdict::Gone,
        Some(status) if PAUSING.contains(&status) => {
            Verdict::Failed(answer.retry_after.as_deref().and_then(|text| retry_after::seconds(text, now)))
        }
        _ => Verdict::Failed(None),
    }
}
