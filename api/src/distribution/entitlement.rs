//! `/v1/distributions/{id}/entitlements`: the entitlements of the holders, and decisions about one of them.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DistributionId, EntitlementId};
use muniment_domain::idempotency::Answer;
use muniment_domain::{entitlement as rows, offering};
use muniment_workflows::approval::action::Action;
use muniment_workflows::payout::entitlement::{self, Request};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::act::require_reason;
use super::{find, record, running};
use crate::access::principal::Principal;
use crate::app::App;
use crate::approval::{self, Asked};
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::http::error::Result;
use crate::http::pages::{List, Page, Paging};
use crate::operation;

/// An entitlement with the fields that the caller may see.
#[derive(Serialize, ToSchema)]
#[schema(as = EntitlementShown)]
#[serde(untagged)]
pub enum View {
    /// The fields for staff.
    Full(Box<record::Line>),
    /// The fields for the issuer.
    Org(Box<record::OrgLine>),
}

/// List the entitlements, ordered by wallet.
#[utoipa::path(
    get,
    path = "/v1/distributions/{id}/entitlements",
    params(Paging, ("entitlement_id" = Option<String>, Query, description = "Only this entitlement.", pattern = "^ent_[0-7][0-9a-hjkmnp-tv-z]{25}$", example = "ent_01jc8yq3k5e9v8w2m4n6p7r9st"), ("status" = Option<String>, Query, description = "One status, or several separated by commas.", example = "held")),
    responses((status = 200, body = List<View>)),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<DistributionId>,
    principal: Principal,
    uri: Uri,
) -> Result<Json<List<View>>> {
    let (page, parameters) = Page::read(&uri, &["entitlement_id", "status"])?;
    let filter = rows::Filter { id: parameters.id("entitlement_id")?, statuses: parameters.words("status")? };
    let mut tx = app.db.read().await?;
    let d = find(&mut tx, &running(&principal), &id).await?;
    let decimals = offering::find(&mut tx, &d.offering_id).await?.token_decimals;
    let (found, total) = rows::list(&mut tx, &id, &filter, page.limit, page.offset()).await?;
    let item = |row: &rows::Listed| match principal.is_staff() {
        true => View::Full(Box::new(record::line(&row.entitlement, decimals))),
        false => View::Org(Box::new(record::org_line(row, decimals))),
    };
    Ok(Json(page.list(found.iter().map(item), total)))
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Hold,
    Release,
    Exclude,
    Reissue,
}

/// The reason.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = MoveOfEntitlement)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 2000)]
    reason: String,
    #[serde(skip)]
    asked: Option<(Act, DistributionId, EntitlementId)>,
}

type Named = Path<(DistributionId, EntitlementId)>;

async fn act(
    app: &App,
    act: Act,
    ids: (DistributionId, EntitlementId),
    mut submission: Submission<Body>,
) -> Result<Response> {
    ids.0.check()?;
    ids.1.check()?;
    submission.body.asked = Some((act, ids.0, ids.1));
    idempotency::once(app, &submission).await
}

/// Hold an entitlement.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/entitlements/{entitlement_id}/hold",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = record::Line)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn hold(State(app): State<App>, Path(ids): Named, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Hold, ids, submission).await
}

/// Release a held entitlement.
///
/// Answers 202 if the distributor contract holds the money; it is then claimed.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/entitlements/{entitlement_id}/release",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = record::Line), (status = 202, body = operation::Short)),
    extensions(("x-codes" = json!([
        "invalid_state", "self_approval_forbidden", "wallet_required", "operation_in_progress", "partial_effect"
    ]))),
)]
pub async fn release(State(app): State<App>, Path(ids): Named, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Release, ids, submission).await
}

/// Request the exclusion of an entitlement.
///
/// A second person decides. An excluded entitlement is never paid.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/entitlements/{entitlement_id}/exclude",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress"]))),
)]
pub async fn exclude(State(app): State<App>, Path(ids): Named, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Exclude, ids, submission).await
}

/// Request a new payment of an entitlement.
///
/// A second person decides.
#[utoipa::path(
    post,
    path = "/v1/distributions/{id}/entitlements/{entitlement_id}/reissue",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "wallet_required", "partial_effect"]))),
)]
pub async fn reissue(State(app): State<App>, Path(ids): Named, submission: Submission<Body>) -> Result<Response> {
    act(&app, Act::Reissue, ids, submission).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        require_reason(&self.reason)
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((act, distribution_id, entitlement_id)) = self.asked.clone() else {
            return Err(muniment_domain::Error::refused(
                muniment_domain::Code::NotFound,
                "The entitlement id is missing.",
            ));
        };
        let request = Request { distribution_id, entitlement_id, reason: self.reason.clone() };
        match act {
            Act::Hold => {
                let e = entitlement::hold(tx, &request, &by).await?;
                shown(tx, &e).await
            }
            Act::Release => match entitlement::release(tx, &request, &by).await? {
                (_, Some(op)) => Ok(operation::accepted(app, &op)),
                (e, None) => shown(tx, &e).await,
            },
            Act::Exclude => approval::ask(app, tx, Action::ExcludeEntitlement(request), &by).await,
            Act::Reissue => approval::ask(app, tx, Action::ReissueEntitlement(request), &by).await,
        }
    }
}

async fn shown(tx: &mut Tx, e: &rows::Entitlement) -> muniment_domain::Result<Answer> {
    let decimals = offering::find(tx, &e.offering_id).await?.token_decimals;
    Ok(Answer { status: 200, location: None, body: json!(record::line(e, decimals)).to_string() })
}
