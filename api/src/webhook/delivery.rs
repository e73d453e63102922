//! The deliveries of an endpoint: read them with their attempts, send one or all failed ones once more, send what was missed, and test.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::delivery::{self, Attempt, Delivery, Status, again};
use muniment_domain::id::{DeliveryId, EndpointId, EventId, Id, IdKind};
use muniment_domain::idempotency::Answer;
use muniment_domain::webhook::{self, Endpoint, Owner};
use muniment_domain::{Code as Refusal, Error};
use muniment_workflows::engine::queue;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::owner;
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{List, Page, Paging};

/// An event for one endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Delivery)]
pub struct View {
    id: DeliveryId,
    /// The webhook endpoint.
    endpoint_id: EndpointId,
    /// The event. Every attempt sends its id as `webhook-id`.
    event_id: EventId,
    /// The type of the event.
    #[schema(example = "subscription.minted")]
    event_type: String,
    status: Status,
    /// The number of attempts so far.
    #[schema(example = 1)]
    attempts: i64,
    /// When it is tried next. Null after the end.
    next_attempt_at: Option<Instant>,
    created_at: Instant,
    updated_at: Instant,
}

/// A delivery with its attempts.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryWithAttempts)]
pub struct Detail {
    #[serde(flatten)]
    delivery: View,
    /// The requests that were sent, oldest first.
    tried: Vec<AttemptView>,
}

/// A request to an endpoint, and its answer.
#[derive(Serialize, ToSchema)]
#[schema(as = DeliveryAttempt)]
struct AttemptView {
    /// The number of the attempt, sent as `webhook-attempt`.
    #[schema(example = 1)]
    number: i64,
    /// When the request was sent.
    sent_at: Instant,
    /// The HTTP status of the answer. Null without an answer.
    #[schema(example = 200)]
    status_code: Option<i64>,
    /// Why there is no answer: `timeout`, `connect`, `protocol`, `forbidden_address`, `forbidden_url`, `header` or `secret`.
    #[schema(example = "timeout")]
    fault: Option<String>,
    /// How long the endpoint took, in milliseconds.
    #[schema(example = 48)]
    latency_milliseconds: i64,
    /// The first 4 KiB of the answer.
    #[schema(example = "ok")]
    response: String,
}

fn shown(d: Delivery) -> View {
    View {
        id: d.id,
        endpoint_id: d.endpoint_id,
        event_id: d.event_id,
        event_type: d.event_type,
        status: d.status,
        attempts: d.attempts,
        next_attempt_at: d.next_attempt_at.map(Instant),
        created_at: Instant(d.created_at),
        updated_at: Instant(d.updated_at),
    }
}

fn tried(a: Attempt) -> AttemptView {
    AttemptView {
        number: a.number,
        sent_at: Instant(a.created_at),
        status_code: a.status_code,
        fault: a.fault,
        latency_milliseconds: a.latency_milliseconds,
        response: a.response,
    }
}

/// List the deliveries to a webhook endpoint, newest first.
#[utoipa::path(
    get,
    path = "/v1/webhooks/endpoints/{id}/deliveries",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "failed"), Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["status"])?;
    let statuses: Vec<Status> = parameters.words("status")?;
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let endpoint = webhook::find(&mut tx, &id, &owner).await?;
    let (rows, total) = delivery::page(&mut tx, &endpoint.id, &statuses, page.limit, page.offset()).await?;
    Ok(Json(page.list(rows.into_iter().map(shown), total)))
}

/// Read a delivery with its attempts.
#[utoipa::path(
    get,
    path = "/v1/webhooks/deliveries/{id}",
    responses((status = 200, body = Detail)),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<DeliveryId>, principal: Principal) -> Result<Json<Detail>> {
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let found = delivery::find(&mut tx, &id, &owner).await?;
    let attempts = delivery::attempts(&mut tx, &found.id).await?;
    Ok(Json(Detail { delivery: shown(found), tried: attempts.into_iter().map(tried).collect() }))
}

fn asked<T>(asked: &Option<T>) -> muniment_domain::Result<&T> {
    asked.as_ref().ok_or_else(|| Error::refused(Refusal::NotFound, "The id is missing."))
}

/// The endpoint of a request, woken because something is due for it.
async fn woken(tx: &mut Tx, owner: &Owner, id: &EndpointId) -> muniment_domain::Result<Endpoint> {
    let endpoint = webhook::find(tx, id, owner).await?;
    queue::wake_ids(tx, queue::DELIVERY, &[&endpoint.id]).await?;
    Ok(endpoint)
}

fn accepted(body: Value) -> Answer {
    Answer { status: 202, location: None, body: body.to_string() }
}

/// What is asked for by a request without fields, and the id in its path.
#[derive(Debug)]
enum Order {
    Test(EndpointId),
    Redeliver(DeliveryId),
    RedeliverFailed(EndpointId),
}

/// The request body. It has no fields.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = DeliveryOrder)]
#[serde(deny_unknown_fields)]
pub struct Ordered {
    #[serde(skip)]
    #[schema(ignore)]
    asked: Option<(Owner, Order)>,
}

impl Form for Ordered {
    const MAY_BE_EMPTY: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Ordered {
    async fn accept(&self, _: &App, tx: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let (owner, order) = asked(&self.asked)?;
        Ok(accepted(match order {
            Order::Test(id) => {
                let endpoint = woken(tx, owner, id).await?;
                json!(shown(again::test(tx, &endpoint).await?))
            }
            Order::Redeliver(id) => {
                let found = delivery::find(tx, id, owner).await?;
                let endpoint = woken(tx, owner, &found.endpoint_id).await?;
                json!(shown(again::redeliver(tx, &endpoint, &found).await?))
            }
            Order::RedeliverFailed(id) => {
                let endpoint = woken(tx, owner, id).await?;
                json!(Redelivered { redelivered: again::redeliver_failed(tx, &endpoint).await? })
            }
        }))
    }
}

async fn carry_out<K: IdKind>(
    app: App,
    id: Id<K>,
    principal: Principal,
    submission: Submission<Ordered>,
    order: fn(Id<K>) -> Order,
) -> Result<Response> {
    let owner = owner(&mut app.db.read().await?, &principal).await?;
    idempotency::once_for(&app, id, submission, |body, id| body.asked = Some((owner, order(id)))).await
}

/// Send a test event.
///
/// Sends `endpoint.test` to this endpoint alone, whatever events it wants.
#[utoipa::path(
    post,
    path = "/v1/webhooks/endpoints/{id}/test",
    request_body = Option<Ordered>,
    params(IdempotencyKey),
    responses((status = 202, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn test(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    submission: Submission<Ordered>,
) -> Result<Response> {
    carry_out(app, id, principal, submission, Order::Test).await
}

/// Send an event once more.
///
/// The event keeps its id and its bytes. A new schedule of attempts begins.
#[utoipa::path(
    post,
    path = "/v1/webhooks/deliveries/{id}/redeliver",
    request_body = Option<Ordered>,
    params(IdempotencyKey),
    responses((status = 202, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn redeliver(
    State(app): State<App>,
    Path(id): Path<DeliveryId>,
    principal: Principal,
    submission: Submission<Ordered>,
) -> Result<Response> {
    carry_out(app, id, principal, submission, Order::Redeliver).await
}

/// How many deliveries are sent once more.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedRedelivered)]
pub struct Redelivered {
    /// The number of deliveries.
    #[schema(example = 3)]
    redelivered: u64,
}

/// Send every failed delivery of an endpoint once more.
#[utoipa::path(
    post,
    path = "/v1/webhooks/endpoints/{id}/redeliver-failed",
    request_body = Option<Ordered>,
    params(IdempotencyKey),
    responses((status = 202, body = Redelivered)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn redeliver_failed(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    submission: Submission<Ordered>,
) -> Result<Response> {
    carry_out(app, id, principal, submission, Order::RedeliverFailed).await
}

/// The range of time in which an endpoint missed events.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Recovery)]
#[serde(deny_unknown_fields)]
pub struct Recovery {
    /// The events from this time on, at most 30 days back.
    since: Instant,
    /// The events up to this time. The default is now.
    until: Option<Instant>,
    #[serde(skip)]
    #[schema(ignore)]
    asked: Option<(Owner, EndpointId)>,
}

/// The range of time that is sent again.
#[derive(Serialize, ToSchema)]
#[schema(as = Recovered)]
pub struct Recovering {
    /// The beginning of the range.
    since: Instant,
    /// The end of the range.
    until: Instant,
}

/// Send what an endpoint missed.
///
/// Sends the events of a range of time that were never sent to this endpoint, failed or were skipped. Those it has accepted are not
/// sent again.
#[utoipa::path(
    post,
    path = "/v1/webhooks/endpoints/{id}/recover",
    request_body = Recovery,
    params(IdempotencyKey),
    responses((status = 202, body = Recovering)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn recover(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    submission: Submission<Recovery>,
) -> Result<Response> {
    let owner = owner(&mut app.db.read().await?, &principal).await?;
    idempotency::once_for(&app, id, submission, |body, id| body.asked = Some((owner, id))).await
}

impl Form for Recovery {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        match &self.until {
            Some(until) if until.0 < self.since.0 => {
                Err(Problem::field("/until", "out_of_range", "The end must not be before the beginning."))
            }
            _ => Ok(()),
        }
    }
}

impl ChangeRequest for Recovery {
    async fn accept(&self, _: &App, tx: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let (owner, id) = asked(&self.asked)?;
        let endpoint = woken(tx, owner, id).await?;
        let until = self.until.unwrap_or(Instant(tx.now()));
        again::begin_recovery(tx, &endpoint, self.since.0, until.0).await?;
        Ok(accepted(json!(Recovering { since: self.since, until })))
    }
}
