//! `/v1/approvals`: actions that wait for a second person, and their decisions.

pub mod decide;
pub mod record;
mod routes;
pub mod simulation;

pub use routes::routes;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::approval::{self, Approval, Filter};
use muniment_domain::db::Tx;
use muniment_domain::id::ApprovalId;
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

pub use record::{Short, short};

use crate::access::principal::Principal;
use crate::app::App;
use crate::field::id::location;
use crate::http::error::Result;
use crate::http::pages::{Between, List, Page, Paging};
use crate::http::version::etag;

/// The approval that another person must decide.
#[derive(Serialize, ToSchema)]
pub struct Asked {
    /// The approval to follow.
    approval: Short,
}

/// Asks for an action that another person has to allow: 202, and the approval to watch.
pub async fn ask(app: &App, tx: &mut Tx, action: Action, by: &Requester) -> muniment_domain::Result<Answer> {
    Ok(waiting(&muniment_workflows::approval::request(tx, &app.settings, action, by).await?))
}

/// The answer to what waits for another person: 202, and the approval to watch.
pub fn waiting(asked: &Approval) -> Answer {
    let body = json!(Asked { approval: short(asked) });
    Answer { status: 202, location: Some(location(&asked.id)), body: body.to_string() }
}

/// Whose approvals a caller sees: staff everybody's, an issuer those that he asked for himself.
fn maker(principal: &Principal) -> Option<&str> {
    (!principal.is_staff()).then_some(principal.0.user_id.as_str())
}

/// List approvals, newest first.
#[utoipa::path(
    get,
    path = "/v1/approvals",
    params(Paging, Between, ("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "pending"), ("action" = Option<String>, Query, example = "force_transfer")),
    responses((status = 200, body = List<Short>)),
)]
pub async fn list(State(app): State<App>, principal: Principal, uri: Uri) -> Result<Json<List<Short>>> {
    let (page, parameters) = Page::read(&uri, &["status", "action", "created_from", "created_to"])?;
    let filter = Filter {
        statuses: parameters.words("status")?,
        action: parameters.text("action").map(str::to_owned),
        maker: maker(&principal).map(str::to_owned),
        created: parameters.created()?,
    };
    let mut tx = app.db.read().await?;
    let (rows, total) = approval::list(&mut tx, &filter, page.limit, page.offset()).await?;
    let item = if principal.is_staff() { short } else { record::for_maker };
    Ok(Json(page.list(rows.iter().map(item), total)))
}

/// Read an approval with its payload, hash and version.
///
/// An auditor sees a masked name of an invited person. An issuer sees the outcome of its own requests, without internal details.
#[utoipa::path(
    get,
    path = "/v1/approvals/{id}",
    responses((status = 200, body = record::Full, headers(("ETag")))),
)]
pub async fn detail(State(app): State<App>, Path(id): Path<ApprovalId>, principal: Principal) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let found = approval::find_visible(&mut tx, maker(&principal), &id).await?;
    let history = approval::history(&mut tx, &id).await?;
    let shown = match principal.is_staff() {
        true => {
            let outlook = record::outlook(&mut tx, &app.settings, &found).await?;
            let operations = record::carried(&mut tx, &found).await?;
            record::full(&found, &history, operations, outlook, principal.0.is_masked())
        }
        false => record::full_for_maker(&found, &history),
    };
    Ok(([(header::ETAG, etag(found.version))], Json(shown)).into_response())
}
