//! `/v1/audit-log`: who did what, and whether anybody changed it since.

mod act;
pub mod anchor;
pub mod proof;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_domain::audit::{self, ActorKind, Bad, Filter, Flaw, Line, Verdict};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::{IntoParams, ToSchema};

pub use act::{of as act_of, refusal};

use anchor::Shown as AnchorShown;

use crate::access_token::AccessTokens;
use crate::app::App;
use crate::config::Config;
use crate::database;
use crate::error::Result;
use crate::failure::Failure;
use crate::instant::Instant;
use crate::pages::{Between, Page, Paging, Parameters, Place};
use crate::secrets::Secrets;

/// How many positions one request verifies; the command line has no such bound.
const POSITIONS_MAX: i64 = 50_000;

const PARAMETERS: [&str; 8] = ["actor", "action", "object", "created_from", "created_to", "page", "limit", "after"];

/// What the log takes besides its page.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[allow(dead_code, reason = "the document reads it; requests are read by `Parameters`")]
pub struct Wanted {
    #[param(pattern = "^usr_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    actor: Option<String>,
    #[param(example = "user.disabled")]
    action: Option<String>,
    /// The id of what was acted on.
    object: Option<String>,
    /// The id after which the page begins; `page` is ignored then.
    #[param(pattern = "^aud_[0-7][0-9a-hjkmnp-tv-z]{25}$")]
    after: Option<String>,
}

/// `GET /v1/audit-log`: newest first. After an id, a page costs what it holds; a numbered one counts, up to a bound.
#[utoipa::path(
    get,
    path = "/v1/audit-log",
    params(Wanted, Between, Paging),
    responses((status = 200, body = Listed)),
)]
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Listed>> {
    let parameters = Parameters::read(&uri, &PARAMETERS)?;
    let filter = Filter {
        actor: parameters.id("actor", "usr")?,
        action: parameters.text("action").map(str::to_owned),
        object_id: parameters.text("object").map(str::to_owned),
        created: parameters.created()?,
        after: parameters.id("after", "aud")?,
    };
    let page = Page::of(&parameters)?;
    let page = if filter.after.is_none() { page } else { Page { number: 1, ..page } };
    let mut tx = app.db.read().await?;
    // One more than asked tells whether there is a next page.
    let mut lines = audit::list(&mut tx, &filter, page.limit + 1, page.offset()).await?;
    let more = usize::try_from(page.limit).is_ok_and(|limit| lines.len() > limit);
    if more {
        lines.pop();
    }
    let next_after = lines.last().filter(|_| more).map(|line| line.id.clone());
    let data: Vec<_> = lines.iter().map(item).collect();
    if filter.after.is_some() {
        return Ok(Json(Listed { data, pagination: Place::after(page, next_after) }));
    }
    let total = audit::count(&mut tx, &filter).await?;
    let pagination = Place::counted(page, total, total < audit::COUNTED_MAX, next_after);
    Ok(Json(Listed { data, pagination }))
}

/// `GET /v1/audit-log/verify`: the chain computed again, from a position up to another or as far as one request goes.
#[utoipa::path(
    get,
    path = "/v1/audit-log/verify",
    params(("from" = Option<i64>, Query, minimum = 1), ("to" = Option<i64>, Query, minimum = 1)),
    responses((status = 200, body = Shown)),
)]
pub async fn verify(State(app): State<App>, uri: Uri) -> Result<Json<Shown>> {
    let parameters = Parameters::read(&uri, &["from", "to"])?;
    let from = parameters.integer("from", 1, i64::MAX)?;
    let to = parameters.text("to").map(|_| parameters.integer("to", 1, i64::MAX)).transpose()?;
    let verdict = audit::verify(&mut app.db.read().await?, from, to, POSITIONS_MAX).await?;
    Ok(Json(shown(&verdict, Some(&app.auth.tokens))))
}

/// `muniment audit verify`: all of it. Fails if anything is wrong.
pub async fn verify_all(config: &Config) -> Result<(), Failure> {
    let db = database::open_current(config).await?;
    // On a machine without the secrets no signature can be checked, and none is made up.
    let tokens = match config.auth.key_file.exists() {
        true => {
            let secrets = Secrets::open(&config.auth.key_file, db.clock(), || db.ids().bytes())?;
            Some(AccessTokens::new(secrets.into(), &config.auth.issuer, config.auth.access_seconds))
        }
        false => None,
    };
    let verdict = shown(&audit::verify(&mut db.read().await?, 1, None, i64::MAX).await?, tokens.as_ref());
    println!("{:#}", json!(verdict));
    if verdict.ok {
        return Ok(());
    }
    Err(Failure::new(
        "The audit log is not what was written: see first_bad, unaccounted and the anchors above, and keep the database as it is.",
    ))
}

/// Whether the chain is what was written.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditVerdict)]
pub struct Shown {
    #[schema(example = true)]
    ok: bool,
    from: i64,
    to: i64,
    hash: String,
    first_bad: Option<Spoilt>,
    head_position: Option<i64>,
    head_hash: Option<String>,
    /// Lines that no position holds yet.
    unsealed: i64,
    /// Lines that should have a position and have none.
    unaccounted: i64,
    /// What the chain had come to at the end of each day, the newest first. One that was noted elsewhere and is missing here was taken away.
    anchors: Vec<AnchorShown>,
}

/// The first position that is not what was written.
#[derive(Serialize, ToSchema)]
#[schema(as = FlawOfAuditLog)]
struct Spoilt {
    position: i64,
    #[schema(example = "aud_01jc8yq3k5e9v8w2m4n6p7r9st")]
    id: Option<String>,
    reason: Flaw,
}

fn shown(verdict: &Verdict, tokens: Option<&AccessTokens>) -> Shown {
    let anchors: Vec<_> =
        verdict.anchors.iter().map(|weighed| AnchorShown::of(&weighed.anchor, weighed.flaw, tokens)).collect();
    let spoilt = |bad: &Bad| Spoilt { position: bad.position, id: bad.audit_id.clone(), reason: bad.flaw };
    Shown {
        ok: verdict.is_ok() && anchors.iter().all(AnchorShown::is_sound),
        from: verdict.from,
        to: verdict.to,
        hash: verdict.hash.clone(),
        first_bad: verdict.first_bad.as_ref().map(spoilt),
        head_position: verdict.head.as_ref().map(|(position, _)| *position),
        head_hash: verdict.head.as_ref().map(|(_, hash)| hash.clone()),
        unsealed: verdict.unsealed,
        unaccounted: verdict.unaccounted,
        anchors,
    }
}

/// A line of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditLine)]
pub struct Told {
    #[schema(example = "aud_01jc8yq3k5e9v8w2m4n6p7r9st")]
    id: String,
    at: Instant,
    actor: Option<String>,
    actor_kind: ActorKind,
    session_id: Option<String>,
    ip: Option<String>,
    #[schema(example = "user.disabled")]
    action: String,
    #[schema(example = "user")]
    object_type: Option<String>,
    #[schema(example = "usr_01jc8yq3k5e9v8w2m4n6p7r9st")]
    object_id: Option<String>,
    #[schema(value_type = Option<Object>, example = json!({ "status": "disabled" }))]
    detail: Option<Value>,
    request_id: Option<String>,
}

/// A page of the log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditLog)]
pub struct Listed {
    data: Vec<Told>,
    pagination: Place,
}

fn item(line: &Line) -> Told {
    Told {
        id: line.id.clone(),
        at: Instant(line.at),
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
