//! The webhook endpoints of a caller: create, read, change and delete. The answer that creates a secret is the only one that shows it.

use std::collections::BTreeMap;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::delivery;
use muniment_domain::id::{EndpointId, OfferingId, SecretId, of};
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::webhook::{self, Endpoint, Filter, New, Owner, Status, secret};
use muniment_domain::{Code as Refusal, Error};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::record::{Headers, Made, View, item, items};
use super::{owner, wanted};
use crate::access::principal::Principal;
use crate::api_key::{OVERLAP_HOURS_DEFAULT, check_overlap};
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::id::location;
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Between, List, Page, Paging};
use crate::http::version::{IfMatch, OptionalSeen, etag};

/// The webhook endpoint to create.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WantedEndpoint)]
#[serde(deny_unknown_fields)]
pub struct NewEndpointRequest {
    /// A public HTTPS URL.
    #[schema(max_length = 2048, example = "https://hooks.portal.example/in")]
    url: String,
    #[serde(default)]
    #[schema(max_length = 500, example = "The portal")]
    description: String,
    /// The events to send: types of `GET /v1/webhooks/event-types`, patterns such as `subscription.*`, or `*` for all.
    #[schema(min_items = 1, max_items = 100, example = json!(["subscription.*", "wallet.frozen"]))]
    event_types: Vec<String>,
    /// The offerings whose events are sent. Null means all.
    #[schema(min_items = 1, max_items = 100, example = json!(["off_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    offering_ids: Option<Vec<OfferingId>>,
    /// At most five extra headers to send. Their values are not shown again.
    #[serde(default)]
    #[schema(example = json!({ "x-portal": "its own secret" }))]
    headers: BTreeMap<String, String>,
    /// The maximum number of requests per minute.
    #[schema(minimum = 1, maximum = 6000, example = 60)]
    rate_limit_per_minute: Option<i64>,
    // The owner, and the event types as they are stored.
    #[serde(skip)]
    whose: Option<(Owner, String)>,
}

/// The fields to change. Null clears a field that an endpoint can be without; a missing field stays unchanged.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeOfEndpoint)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, max_length = 2048, example = "https://hooks.portal.example/in")]
    url: Option<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, max_length = 500, example = "The portal")]
    description: Option<Option<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false, min_items = 1, max_items = 100, example = json!(["*"]))]
    event_types: Option<Vec<String>>,
    /// The offerings whose events are sent. Null means all.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>, min_items = 1, max_items = 100, example = json!(null))]
    offering_ids: Option<Option<Vec<OfferingId>>>,
    /// Extra headers to send.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<BTreeMap<String, String>>, example = json!({ "x-portal": "its own secret" }))]
    headers: Option<Option<Headers>>,
    /// The maximum number of requests per minute. Null means no limit.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i64>, minimum = 1, maximum = 6000, example = 60)]
    rate_limit_per_minute: Option<Option<i64>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(nullable = false)]
    status: Option<Switch>,
}

/// The status that the owner can set.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[schema(as = EndpointSwitch)]
#[serde(rename_all = "snake_case")]
enum Switch {
    Enabled,
    Disabled,
}

/// Distinguishes null from a missing field.
fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Option<T>, D::Error> {
    T::deserialize(field).map(Some)
}

/// Create a webhook endpoint.
///
/// Answers 201 with its secret. The owner is the investor, the issuer, or the platform for staff.
#[utoipa::path(
    post,
    path = "/v1/webhooks/endpoints",
    request_body = NewEndpointRequest,
    params(IdempotencyKey),
    responses((status = 201, body = Made, headers(("ETag" = String), ("Location" = String)))),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn create(
    State(app): State<App>,
    principal: Principal,
    mut submission: Submission<NewEndpointRequest>,
) -> Result<Response> {
    let owner = owner(&mut app.db.read().await?, &principal).await?;
    let body = &submission.body;
    let checked = Problem::all([
        wanted::check_url(&app, &body.url).await,
        wanted::check_types(&owner, &body.event_types).map(|_| ()),
        wanted::check_description(&body.description),
        wanted::check_headers(&body.headers),
        wanted::check_rate(body.rate_limit_per_minute),
        wanted::check_offerings(body.offering_ids.as_deref()).map(|_| ()),
    ]);
    let event_types = body.event_types.join(" ");
    submission.body.whose = Some((owner, event_types));
    idempotency::once_checked(&app, &submission, checked).await
}

impl Form for NewEndpointRequest {
    // The checks need the owner, so `create` makes them all at once.
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for NewEndpointRequest {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let unnamed = || Error::refused(Refusal::NotFound, "The owner is missing.");
        let (owner, event_types) = self.whose.as_ref().ok_or_else(unnamed)?;
        let id = tx.new_id::<of::Endpoint>();
        let offering_ids = self.offering_ids.as_ref().map(|ids| ids.join(" "));
        let headers_sealed = sealed_headers(app, &id, &self.headers)?;
        let new = New {
            id: &id,
            owner,
            url: &self.url,
            description: &self.description,
            event_types,
            offering_ids: offering_ids.as_deref(),
            headers_sealed: headers_sealed.as_deref(),
            rate_limit_per_minute: self.rate_limit_per_minute,
            created_by: &by.actor,
        };
        let made = webhook::insert(tx, &new).await?;
        let (secret_id, shown, sealed) = new_secret(app)?;
        secret::insert(tx, &secret_id, &id, &sealed).await?;
        let body = json!(Made::of(item(app, made, None, tx.now()), shown));
        Ok(Answer { status: 201, location: Some(location(&id)), body: body.to_string() })
    }

    fn etag(answer: &Answer) -> Option<String> {
        (answer.status == 201).then(|| etag(1))
    }
}

/// List your webhook endpoints.
#[utoipa::path(
    get,
    path = "/v1/webhooks/endpoints",
    params(("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "enabled"), Between, Paging),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["status", "created_from", "created_to"])?;
    let filter = Filter { statuses: parameters.words("status")?, created: parameters.created()? };
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let (rows, total) = webhook::page(&mut tx, &owner, &filter, page.limit, page.offset()).await?;
    let items = items(&app, &mut tx, rows).await?;
    Ok(Json(page.list(items, total)))
}

/// Read a webhook endpoint.
#[utoipa::path(
    get,
    path = "/v1/webhooks/endpoints/{id}",
    responses((status = 200, body = View, headers(("ETag" = String)))),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<EndpointId>, principal: Principal) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let owner = owner(&mut tx, &principal).await?;
    let endpoint = webhook::find(&mut tx, &id, &owner).await?;
    Ok(tagged(&app, &mut tx, endpoint).await?)
}

/// Change a webhook endpoint.
///
/// With `If-Match`, only if it has not changed since it was read.
#[utoipa::path(
    patch,
    path = "/v1/webhooks/endpoints/{id}",
    request_body = Change,
    params(OptionalSeen),
    responses((status = 200, body = View, headers(("ETag" = String)))),
)]
pub async fn change(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    headers: HeaderMap,
    Input(body): Input<Change>,
) -> Result<Response> {
    let seen = IfMatch::optional(&headers)?;
    // The host is looked up while no transaction is open.
    let url = match &body.url {
        Some(url) => wanted::check_url(&app, url).await,
        None => Ok(()),
    };
    let mut tx = app.db.begin().await?;
    let owner = owner(&mut tx, &principal).await?;
    let mut endpoint = webhook::find(&mut tx, &id, &owner).await?;
    let (description, own_headers) =
        (body.description.map(Option::unwrap_or_default), body.headers.map(Option::unwrap_or_default));
    check_version(&endpoint, seen)?;
    Problem::all([
        url,
        description.as_deref().map_or(Ok(()), wanted::check_description),
        body.event_types.as_ref().map_or(Ok(()), |types| wanted::check_types(&owner, types).map(|_| ())),
        body.offering_ids.as_ref().map_or(Ok(()), |ids| wanted::check_offerings(ids.as_deref()).map(|_| ())),
        own_headers.as_ref().map_or(Ok(()), wanted::check_headers),
        body.rate_limit_per_minute.map_or(Ok(()), wanted::check_rate),
    ])?;
    endpoint.url = body.url.unwrap_or(endpoint.url);
    endpoint.description = description.unwrap_or(endpoint.description);
    if let Some(types) = &body.event_types {
        endpoint.event_types = wanted::check_types(&owner, types)?;
    }
    if let Some(offerings) = &body.offering_ids {
        endpoint.offering_ids = wanted::check_offerings(offerings.as_deref())?;
    }
    if let Some(headers) = &own_headers {
        endpoint.headers_sealed = sealed_headers(&app, &endpoint.id, headers)?;
    }
    if let Some(rate) = body.rate_limit_per_minute {
        endpoint.rate_limit_per_minute = rate;
    }
    match body.status {
        // Enabling it again means that the cause of the failures is repaired.
        Some(Switch::Enabled) => {
            (endpoint.status, endpoint.disabled_reason) = (Status::Enabled, None);
            (endpoint.first_failed_at, endpoint.consecutive_failures, endpoint.throttled_until) = (None, 0, None);
            webhook::set_health(&mut tx, &endpoint).await?;
        }
        Some(Switch::Disabled) => {
            (endpoint.status, endpoint.disabled_reason) =
                (Status::Disabled, Some(webhook::DISABLED_BY_OWNER.to_owned()));
        }
        None => {}
    }
    let endpoint = webhook::update(&mut tx, &endpoint).await?;
    if endpoint.status == Status::Disabled {
        webhook::set_recovery(&mut tx, &endpoint.id, None).await?;
        // After the endpoint, as its lane locks them.
        delivery::skip_all(&mut tx, &endpoint.id).await?;
    }
    let answer = tagged(&app, &mut tx, endpoint).await?;
    tx.commit(Point::Account).await?;
    Ok(answer)
}

fn check_version(endpoint: &Endpoint, seen: Option<IfMatch>) -> muniment_domain::Result<()> {
    if seen.is_none_or(|IfMatch(version)| version == endpoint.version) {
        return Ok(());
    }
    Err(Error::refused(Refusal::VersionConflict, format!("The current version is {}.", endpoint.version)))
}

/// Delete a webhook endpoint.
///
/// Nothing more is sent to it.
#[utoipa::path(
    delete,
    path = "/v1/webhooks/endpoints/{id}",
    responses((status = 204)),
)]
pub async fn remove(State(app): State<App>, Path(id): Path<EndpointId>, principal: Principal) -> Result<StatusCode> {
    let mut tx = app.db.begin().await?;
    let owner = owner(&mut tx, &principal).await?;
    let endpoint = webhook::find(&mut tx, &id, &owner).await?;
    webhook::delete(&mut tx, &endpoint).await?;
    delivery::skip_all(&mut tx, &endpoint.id).await?;
    tx.commit(Point::Account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The replacement of a signing secret.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SecretRotation)]
#[serde(deny_unknown_fields)]
pub struct Rotation {
    /// How many hours the old secret also signs.
    #[schema(minimum = 0, maximum = 72, default = 24)]
    overlap_hours: Option<i64>,
    /// The owner, the id and the version, from the caller, the path and `If-Match`.
    #[serde(skip)]
    #[schema(ignore)]
    asked: Option<(Owner, EndpointId, Option<IfMatch>)>,
}

/// The new signing secret of a webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = RotatedSecret)]
pub struct Rotated {
    id: EndpointId,
    /// The signing secret. It is shown only here.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDaa2fYpJhZHs=")]
    secret: String,
    /// When the old secret stops signing.
    old_secret_expires_at: Instant,
}

/// Replace the secret of a webhook endpoint.
///
/// Both secrets sign until the overlap ends. Another rotation before that ends the older secret at once: `If-Match` refuses it if the
/// endpoint has changed since it was read. A repeated request with the same Idempotency-Key returns the same new secret.
#[utoipa::path(
    post,
    path = "/v1/webhooks/endpoints/{id}/rotate-secret",
    request_body = Option<Rotation>,
    params(IdempotencyKey, OptionalSeen),
    responses((status = 200, body = Rotated)),
)]
pub async fn rotate(
    State(app): State<App>,
    Path(id): Path<EndpointId>,
    principal: Principal,
    headers: HeaderMap,
    submission: Submission<Rotation>,
) -> Result<Response> {
    let seen = IfMatch::optional(&headers)?;
    let owner = owner(&mut app.db.read().await?, &principal).await?;
    idempotency::once_for(&app, id, submission, |body, id| body.asked = Some((owner, id, seen))).await
}

impl Form for Rotation {
    const MAY_BE_EMPTY: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_overlap(self.overlap_hours)
    }
}

impl ChangeRequest for Rotation {
    async fn accept(&self, app: &App, tx: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let unnamed = || Error::refused(Refusal::NotFound, "The endpoint id is missing.");
        let (owner, id, seen) = self.asked.as_ref().ok_or_else(unnamed)?;
        let endpoint = webhook::find(tx, id, owner).await?;
        check_version(&endpoint, *seen)?;
        let (secret_id, shown, sealed) = new_secret(app)?;
        let until = tx.now() + Duration::hours(self.overlap_hours.unwrap_or(OVERLAP_HOURS_DEFAULT));
        secret::rotate(tx, &endpoint, &secret_id, &sealed, until).await?;
        let rotated = Rotated { id: id.clone(), secret: shown, old_secret_expires_at: Instant(until) };
        Ok(Answer { status: 200, location: None, body: json!(rotated).to_string() })
    }
}

/// A secret: its id, its text, and its encrypted form.
fn new_secret(app: &App) -> muniment_domain::Result<(SecretId, String, String)> {
    let ids = app.db.ids();
    let id = ids.new_id::<of::Secret>(app.db.clock().now());
    let text = format!("whsec_{}", BASE64.encode([ids.bytes(), ids.bytes()].concat()));
    let sealed = app.seal(&id, text.as_bytes())?;
    Ok((id, text, sealed))
}

fn sealed_headers(app: &App, id: &EndpointId, headers: &Headers) -> muniment_domain::Result<Option<String>> {
    let text = (!headers.is_empty()).then(|| json!(headers).to_string());
    text.map(|text| app.seal(id, text.as_bytes())).transpose()
}

async fn tagged(app: &App, tx: &mut Tx, endpoint: Endpoint) -> muniment_domain::Result<Response> {
    let tag = etag(endpoint.version);
    let shown = items(app, tx, vec![endpoint]).await?.pop();
    Ok(([(header::ETAG, tag)], Json(shown)).into_response())
}
