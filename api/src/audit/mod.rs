//! `/v1/audit-log`: who did what, and whether anybody changed it since.

mod act;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use muniment_domain::audit::{self, Filter, Line, Verdict};
use serde_json::{Value, json};

pub use act::of as act_of;

use crate::app::App;
use crate::config::Config;
use crate::error::Result;
use crate::failure::Failure;
use crate::pages::{Page, Parameters};
use crate::{database, instant};

/// How many positions one request verifies; the command line has no such bound.
const POSITIONS_MAX: i64 = 50_000;

const PARAMETERS: [&str; 8] = ["actor", "action", "object", "created_from", "created_to", "page", "limit", "after"];

/// `GET /v1/audit-log`: newest first. After an id, a page costs what it holds; a numbered one counts, up to a bound.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &PARAMETERS)?;
    let filter = Filter {
        actor: parameters.id("actor", "usr")?,
        action: parameters.text("action").map(str::to_owned),
        object_id: parameters.text("object").map(str::to_owned),
        created_from: parameters.time("created_from")?,
        created_to: parameters.time("created_to")?,
        after: parameters.id("after", "aud")?,
    };
    let page =
        if filter.after.is_none() { Page::of(&parameters)? } else { Page { number: 1, limit: parameters.limit()? } };
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
        return Ok(Json(json!({ "data": data, "pagination": { "limit": page.limit, "next_after": next_after } })));
    }
    let total = audit::count(&mut tx, &filter).await?;
    let mut body = page.answer(data, total);
    body["pagination"]["total_is_exact"] = json!(total < audit::COUNTED_MAX);
    body["pagination"]["next_after"] = json!(next_after);
    Ok(Json(body))
}

/// `GET /v1/audit-log/verify`: the chain computed again, from a position up to another or as far as one request goes.
pub async fn verify(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["from", "to"])?;
    let from = parameters.integer("from", 1, i64::MAX)?;
    let to = parameters.text("to").map(|_| parameters.integer("to", 1, i64::MAX)).transpose()?;
    let verdict = audit::verify(&mut app.db.read().await?, from, to, POSITIONS_MAX).await?;
    Ok(Json(shown(&verdict)))
}

/// `muniment audit verify`: all of it. Fails if anything is wrong.
pub async fn verify_all(config: &Config) -> Result<(), Failure> {
    let db = database::open_current(config).await?;
    let verdict = audit::verify(&mut db.read().await?, 1, None, i64::MAX).await?;
    println!("{:#}", shown(&verdict));
    if verdict.is_ok() {
        return Ok(());
    }
    Err(Failure::new(
        "The audit log is not what was written: see first_bad and unaccounted above, and keep the database as it is.",
    ))
}

fn shown(verdict: &Verdict) -> Value {
    let bad = verdict.first_bad.as_ref();
    json!({
        "ok": verdict.is_ok(), "from": verdict.from, "to": verdict.to, "hash": verdict.hash,
        "first_bad": bad.map(|bad| json!({ "position": bad.position, "id": bad.audit_id, "reason": bad.flaw })),
        "head_position": verdict.head.as_ref().map(|(position, _)| position),
        "head_hash": verdict.head.as_ref().map(|(_, hash)| hash),
        "unsealed": verdict.unsealed, "unaccounted": verdict.unaccounted,
    })
}

fn item(line: &Line) -> Value {
    json!({
        "id": line.id, "at": instant::text(line.at), "actor": line.actor, "actor_kind": line.actor_kind,
        "session_id": line.session_id, "ip": line.ip, "action": line.action, "object_type": line.object_type,
        "object_id": line.object_id, "detail": serde_json::from_str::<Value>(&line.detail).ok(), "request_id": line.request_id,
    })
}
