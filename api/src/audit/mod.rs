//! `/v1/audit-log`: who did what, and whether the log was changed since.

pub mod anchor;
pub mod proof;
mod routes;

pub use routes::routes;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_domain::audit::{self, ActorKind, ChainProblem, Entry, Filter, Mismatch, Verification};
use muniment_domain::id::{AuditId, SessionId, of};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

use anchor::View as AnchorShown;

use crate::anchor_file::{AnchorFile, Found};
use crate::app::App;
use crate::auth::access_token::AccessTokens;
use crate::code::Code;
use crate::config::{Config, database};
use crate::failure::Failure;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::{Between, Continued, Page, Paging, Parameters, Place};
use crate::secrets::Secrets;

/// How many positions one request verifies; the command line has no such bound.
const POSITIONS_MAX: i64 = 50_000;

const FILTERS: [&str; 6] = ["actor", "action", "object", "created_from", "created_to", "after"];

/// The filters of the audit log.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Filters {
    #[param(pattern = "^usr_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    actor: Option<String>,
    #[param(example = "user.disabled")]
    action: Option<String>,
    /// The id of the object.
    object: Option<String>,
    /// The id after which the page starts. `page` is then ignored.
    #[param(pattern = "^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
}

/// List audit entries, newest first.
///
/// Pages after an id stay fast for any number of entries. Numbered pages count the entries, up to a limit.
#[utoipa::path(
    get,
    path = "/v1/audit-log",
    params(Filters, Between, Paging),
    responses((status = 200, body = Listed)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Listed>> {
    let (page, parameters) = Page::read(&uri, &FILTERS)?;
    let filter = Filter {
        actor: parameters.id::<of::User>("actor")?.map(Into::into),
        action: parameters.text("action").map(str::to_owned),
        object_id: parameters.text("object").map(str::to_owned),
        created: parameters.created()?,
        after: parameters.id("after")?,
    };
    let page = Continued::of(page, filter.after.as_deref());
    let mut tx = app.db.read().await?;
    let mut lines = audit::list(&mut tx, &filter, page.limit(), page.offset()).await?;
    let next_after = page.cut(&mut lines, |line| &line.id);
    let data: Vec<_> = lines.iter().map(item).collect();
    let total = if page.counts() { Some(audit::count(&mut tx, &filter).await?) } else { None };
    Ok(Json(Listed { data, pagination: page.place(next_after, total) }))
}

/// Verify the hash chain of the audit log.
///
/// Computes the chain from one position to another, as far as one request allows.
#[utoipa::path(
    get,
    path = "/v1/audit-log/verify",
    params(("from" = Option<i64>, Query, minimum = 1), ("to" = Option<i64>, Query, minimum = 1)),
    responses((status = 200, body = View)),
)]
pub async fn verify(State(app): State<App>, uri: Uri) -> Result<Json<View>> {
    let parameters = Parameters::read(&uri, &["from", "to"])?;
    let from = parameters.integer("from", 1, i64::MAX)?;
    let to = parameters.text("to").map(|_| parameters.integer("to", 1, i64::MAX)).transpose()?;
    let verdict = audit::verify(&mut app.db.read().await?, from, to, POSITIONS_MAX).await?;
    let head = verdict.head.as_ref().map_or(0, |(position, _)| *position);
    if from > head.max(1) || to.is_some_and(|to| to < from) {
        let detail = format!("Nothing is there to verify: the chain has the positions 1 to {head}.");
        return Err(Problem::new(Code::InvalidParameter, detail));
    }
    let file = app.anchor_file.compare(&mut app.db.read().await?, Some(&app.auth.secrets)).await;
    Ok(Json(shown(&verdict, Some(&app.auth.tokens), file.map_err(Problem::internal)?)))
}

/// `muniment audit verify`: all of it. Fails if anything is wrong.
pub async fn verify_all(config: &Config) -> Result<(), Failure> {
    let db = database::open_current(config).await?;
    // Without the secrets, signatures are neither checked nor created.
    let secrets = match config.auth.key_file.exists() {
        true => Some(Arc::new(Secrets::open(&config.auth.key_file, &db).await?)),
        false => None,
    };
    let tokens =
        secrets.clone().map(|secrets| AccessTokens::new(secrets, &config.auth.issuer, config.auth.access_seconds));
    let file = AnchorFile::of(config).compare(&mut db.read().await?, secrets.as_deref()).await?;
    let verdict = shown(&audit::verify(&mut db.read().await?, 1, None, i64::MAX).await?, tokens.as_ref(), file);
    println!("{:#}", json!(verdict));
    if verdict.ok {
        return Ok(());
    }
    Err(Failure::new(
        "The audit log was changed. See first_bad, unaccounted, anchors and anchor_file above, and preserve the database.",
    ))
}

/// The result of verifying the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditVerdict)]
pub struct View {
    #[schema(example = true)]
    ok: bool,
    from: i64,
    to: i64,
    hash: String,
    /// The first position that does not match. Null if all match.
    first_bad: Option<Spoilt>,
    /// The position of the last entry.
    head_position: Option<i64>,
    /// The hash of the last entry.
    head_hash: Option<String>,
    /// The number of entries that have no position yet.
    unsealed: i64,
    /// The number of entries that should have a position and have none.
    unaccounted: i64,
    /// The anchors, newest first. An anchor that you stored elsewhere and that is missing here was removed.
    anchors: Vec<AnchorShown>,
    /// What differs from the anchor file of this host, which no database administrator reaches.
    anchor_file: Vec<Found>,
}

/// The first position whose entry does not match the hash chain.
#[derive(Serialize, ToSchema)]
#[schema(as = FlawOfAuditLog)]
struct Spoilt {
    position: i64,
    id: Option<AuditId>,
    reason: ChainProblem,
}

fn shown(verdict: &Verification, tokens: Option<&AccessTokens>, file: Vec<Found>) -> View {
    let anchors: Vec<_> =
        verdict.anchors.iter().map(|weighed| AnchorShown::of(&weighed.anchor, weighed.flaw, tokens)).collect();
    let spoilt = |bad: &Mismatch| Spoilt { position: bad.position, id: bad.audit_id.clone(), reason: bad.flaw };
    View {
        ok: verdict.is_ok() && anchors.iter().all(AnchorShown::is_sound) && file.is_empty(),
        from: verdict.from,
        to: verdict.to,
        hash: verdict.hash.clone(),
        first_bad: verdict.first_bad.as_ref().map(spoilt),
        head_position: verdict.head.as_ref().map(|(position, _)| *position),
        head_hash: verdict.head.as_ref().map(|(_, hash)| hash.clone()),
        unsealed: verdict.unsealed,
        unaccounted: verdict.unaccounted,
        anchors,
        anchor_file: file,
    }
}

/// An audit entry.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditLine)]
pub struct EntryView {
    id: AuditId,
    created_at: Instant,
    actor: Option<String>,
    /// The kind of the actor.
    actor_kind: ActorKind,
    session_id: Option<SessionId>,
    ip: Option<String>,
    #[schema(example = "user.disabled")]
    action: String,
    /// The kind of the object.
    #[schema(example = "user")]
    object_type: Option<String>,
    /// The id of the object. Null if there is none.
    #[schema(example = "usr_01jc8yq3k5e9v8w2m4n6p7r9st")]
    object_id: Option<String>,
    #[schema(value_type = Option<Object>, example = json!({ "status": "disabled" }))]
    detail: Option<Value>,
    request_id: Option<String>,
}

/// A page of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditLog)]
pub struct Listed {
    data: Vec<EntryView>,
    pagination: Place,
}

fn item(line: &Entry) -> EntryView {
    EntryView {
        id: line.id.clone(),
        created_at: Instant(line.at),
        actor: line.actor.clone(),
        actor_kind: line.actor_kind,
        session_id: line.session_id.clone(),
        ip: line.ip.clone(),
        action: line.action.clone(),
        object_type: line.object_type.clone(),
        object_id: line.object_id.clone(),
        detail: serde_json::from_str(&line.detail).ok(),
        request_id: line.request_id.clone(),
    }
}
