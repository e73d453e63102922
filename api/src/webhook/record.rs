//! A webhook endpoint as its owner sees it.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::delivery::{self, Backlog};
use muniment_domain::id::EndpointId;
use muniment_domain::webhook::{Endpoint, Status};
use serde::Serialize;
use utoipa::ToSchema;

use super::signature;
use crate::app::App;
use crate::http::instant::Instant;

/// The extra headers by name.
pub type Headers = BTreeMap<String, String>;

/// A webhook endpoint.
#[derive(Serialize, ToSchema)]
#[schema(as = Endpoint)]
pub struct View {
    id: EndpointId,
    #[schema(example = "https://hooks.portal.example/in")]
    url: String,
    #[schema(example = "The portal")]
    description: String,
    #[schema(example = json!(["subscription.*", "wallet.frozen"]))]
    event_types: Vec<String>,
    #[schema(example = json!(["off_01jc8yq3k5e9v8w2m4n6p7r9st"]))]
    offering_ids: Option<Vec<String>>,
    /// The names of the extra headers. Their values are secret and not shown.
    #[schema(example = json!({ "x-portal": "•••" }))]
    headers: BTreeMap<String, String>,
    status: Status,
    rate_limit_per_minute: Option<i64>,
    #[schema(example = "disabled by its owner")]
    disabled_reason: Option<String>,
    /// The version of the event format.
    #[schema(example = "2026-11-01")]
    api_version: String,
    failure: Failing,
    /// The deliveries that wait to be sent to it.
    backlog: Waiting,
    created_at: Instant,
    updated_at: Instant,
    version: i64,
}

/// The failures since the last successful delivery.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointFailure)]
struct Failing {
    /// The time of the first of these failures.
    first_failed_at: Option<Instant>,
    /// The number of failures in a row.
    consecutive_failures: i64,
}

/// What waits to be sent.
#[derive(Serialize, ToSchema)]
#[schema(as = EndpointBacklog)]
struct Waiting {
    /// The number of deliveries that the endpoint has not received yet.
    #[schema(example = 0)]
    deliveries: i64,
    /// When the oldest of them was made. Null if nothing waits.
    oldest_at: Option<Instant>,
    /// Until when nothing is sent, because the endpoint asked for a pause (`Retry-After`). Null without a pause.
    paused_until: Option<Instant>,
}

/// A new webhook endpoint with its signing secret.
#[derive(Serialize, ToSchema)]
#[schema(as = NewEndpoint)]
pub struct Made {
    #[serde(flatten)]
    endpoint: View,
    /// The signing secret. It is shown only here.
    #[schema(example = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDaa2fYpJhZHs=")]
    secret: String,
}

impl Made {
    /// The answer to the request that created it.
    pub const fn of(endpoint: View, secret: String) -> Self {
        Self { endpoint, secret }
    }
}

/// Endpoints with what waits for them.
pub async fn items(app: &App, tx: &mut Tx, endpoints: Vec<Endpoint>) -> muniment_domain::Result<Vec<View>> {
    let ids: Vec<_> = endpoints.iter().map(|endpoint| &endpoint.id).collect();
    let backlogs = if ids.is_empty() { Vec::new() } else { delivery::backlogs(tx, Some(&ids)).await? };
    let item = |endpoint: Endpoint| {
        let backlog = backlogs.iter().find(|of| of.endpoint_id == endpoint.id);
        item(app, endpoint, backlog, tx.now())
    };
    Ok(endpoints.into_iter().map(item).collect())
}

/// One endpoint.
pub fn item(app: &App, e: Endpoint, backlog: Option<&Backlog>, now: DateTime<Utc>) -> View {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    // Their values may be secrets, so only the names are shown.
    let headers = signature::headers(&app.auth.secrets, &e).unwrap_or_default();
    View {
        event_types: words(&e.event_types),
        offering_ids: e.offering_ids.as_deref().map(words),
        headers: headers.into_keys().map(|name| (name, "•••".to_owned())).collect(),
        id: e.id,
        url: e.url,
        description: e.description,
        status: e.status,
        rate_limit_per_minute: e.rate_limit_per_minute,
        disabled_reason: e.disabled_reason,
        api_version: e.api_version,
        failure: Failing {
            first_failed_at: e.first_failed_at.map(Instant),
            consecutive_failures: e.consecutive_failures,
        },
        backlog: Waiting {
            deliveries: backlog.map_or(0, |of| of.deliveries),
            oldest_at: backlog.map(|of| Instant(of.oldest_at)),
            paused_until: e.throttled_until.filter(|until| *until > now).map(Instant),
        },
        created_at: Instant(e.created_at),
        updated_at: Instant(e.updated_at),
        version: e.version,
    }
}
