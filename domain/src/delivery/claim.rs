//! Takes the deliveries of an endpoint that are due, for the process that sends them.

use std::collections::HashMap;

use chrono::{DateTime, Duration, Utc};

use crate::Result;
use crate::db::Tx;
use crate::delivery::{Delivery, Status};
use crate::id::{EndpointId, EventId};
use crate::sql::sql;
use crate::webhook::secret::{self, Secret};
use crate::webhook::{self, Endpoint};

/// After so long without an answer a claim counts as lost with its process. Longer than any batch takes to send.
const CLAIM_SECONDS: i64 = 60;
/// The window of an endpoint's limit of requests.
const WINDOW_SECONDS: i64 = 60;

/// What was found for an endpoint.
#[derive(Debug)]
pub enum Claim {
    /// It takes nothing now: nothing is due, it asked for a pause, or its limit of requests is reached. The sweep looks again.
    Nothing,
    /// A recovery is in progress: its next page comes first.
    Recovery,
    /// To send.
    Batch(Box<Batch>),
}

/// Deliveries to send, with their bytes, and the endpoint with its signing secrets.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Batch {
    pub endpoint: Endpoint,
    pub secrets: Vec<Secret>,
    pub deliveries: Vec<(Delivery, String)>,
}

/// Takes the due deliveries of an endpoint: at most `most`, and at most `most_failing` while it fails.
pub async fn take(tx: &mut Tx, endpoint_id: &EndpointId, most: i64, most_failing: i64) -> Result<Claim> {
    let Some(endpoint) = webhook::lock_enabled(tx, endpoint_id).await? else { return Ok(Claim::Nothing) };
    if endpoint.recover_after.is_some() {
        return Ok(Claim::Recovery);
    }
    let now = tx.now();
    if endpoint.throttled_until.is_some_and(|until| until > now) {
        return Ok(Claim::Nothing);
    }
    let mut room = if endpoint.consecutive_failures > 0 { most_failing } else { most };
    if let Some(per_minute) = endpoint.rate_limit_per_minute {
        room = room.min(per_minute - sent_lately(tx, endpoint_id, now).await?);
        if room <= 0 {
            return Ok(Claim::Nothing);
        }
    }
    let mut taken = sql("update webhook_deliveries
         set status = 'delivering', attempts = attempts + 1, tries = tries + 1, next_attempt_at = $4, updated_at = $2
         where id in (select id from webhook_deliveries where endpoint_id = $1 and status in :live and next_attempt_at <= $2
             order by next_attempt_at, id limit $3)
         returning id, endpoint_id, event_id, event_type, status, attempts, tries, next_attempt_at, created_at, updated_at")
    .words(":live", &Status::LIVE)
    .bind((endpoint_id, now, room, now + Duration::seconds(CLAIM_SECONDS)))
    .rows::<Delivery>(tx)
    .await?;
    if taken.is_empty() {
        return Ok(Claim::Nothing);
    }
    taken.sort_by(|a, b| a.event_id.cmp(&b.event_id));
    let bodies = bodies(tx, &taken).await?;
    let with_body = |delivery: Delivery| bodies.get(&delivery.event_id).cloned().map(|body| (delivery, body));
    let deliveries = taken.into_iter().filter_map(with_body).collect();
    Ok(Claim::Batch(Box::new(Batch { secrets: secret::live(tx, endpoint_id).await?, endpoint, deliveries })))
}

/// Requests of the last minute, with those under way.
async fn sent_lately(tx: &mut Tx, endpoint_id: &EndpointId, now: DateTime<Utc>) -> Result<i64> {
    let since = now - Duration::seconds(WINDOW_SECONDS);
    let sent = sql("select count(*) from webhook_attempts where endpoint_id = $1 and created_at > $2");
    let under_way = sql("select count(*) from webhook_deliveries
        where endpoint_id = $1 and status = 'delivering' and next_attempt_at > $2");
    let sent: i64 = sent.bind((endpoint_id, since)).scalar(tx).await?;
    Ok(sent + under_way.bind((endpoint_id, now)).scalar::<i64>(tx).await?)
}

async fn bodies(tx: &mut Tx, deliveries: &[Delivery]) -> Result<HashMap<EventId, String>> {
    let mut bodies = HashMap::new();
    for portion in crate::rows::portions(tx, deliveries) {
        let found = sql("select event_id, body from webhook_messages where event_id in (");
        let found = found.list(portion.iter().map(|delivery| &delivery.event_id)).push(")");
        bodies.extend(found.rows::<(EventId, String)>(tx).await?);
    }
    Ok(bodies)
}
