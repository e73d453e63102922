//! The actions on a subscription, each a `POST` on its path: cancel, reconfirm, accept, reject.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_domain::reason::RejectionReason;
use muniment_domain::subscription::Scope;
use muniment_domain::user::Role;
use muniment_workflows::requester::Requester;
use muniment_workflows::subscription as moves;
use muniment_workflows::subscription::EndedBy;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{View, acting_as, shown};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, check_reason};
use crate::http::error::{Problem, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    Cancel,
    Reconfirm,
    Accept,
    Reject,
}

/// The request body of an action on a subscription. A field of another action is refused.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = MoveOfSubscription)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The reason. Only to cancel; required for staff.
    #[schema(max_length = 500)]
    reason: Option<String>,
    /// The version of the offering that the investor confirms. Only to reconfirm.
    offering_version: Option<i64>,
    /// The quantity to accept, if only a part is accepted. Only to accept.
    quantity: Option<String>,
    /// The reason. Only to reject.
    reason_code: Option<RejectionReason>,
    #[serde(skip)]
    asked: Option<(Act, EndedBy, Scope, String)>,
}

impl Body {
    /// Refuses what belongs to another move, or lacks what this one needs.
    fn check_for(&self, act: Act, by: EndedBy) -> Result<()> {
        let given = [
            ("/reason", self.reason.is_some(), act == Act::Cancel),
            ("/offering_version", self.offering_version.is_some(), act == Act::Reconfirm),
            ("/quantity", self.quantity.is_some(), act == Act::Accept),
            ("/reason_code", self.reason_code.is_some(), act == Act::Reject),
        ];
        if let Some((pointer, ..)) = given.iter().find(|(_, is_given, belongs)| *is_given && !belongs) {
            return Err(Problem::field(*pointer, "unknown_field", "This action does not accept the field."));
        }
        let required = |pointer, detail: &str| Err(Problem::field(pointer, "required", detail));
        match act {
            Act::Cancel if by == EndedBy::Staff && self.reason.is_none() => {
                required("/reason", "A reason is required.")
            }
            Act::Reconfirm if self.offering_version.is_none() => {
                required("/offering_version", "The version of the offering is required.")
            }
            Act::Reject if self.reason_code.is_none() => required("/reason_code", "A reason code is required."),
            _ => Ok(()),
        }
    }
}

async fn act(
    app: &App,
    act: Act,
    Path(id): Path<String>,
    principal: &Principal,
    mut submission: Submission<Body>,
) -> Result<Response> {
    id::check("sub", &id)?;
    let by = if principal.is_staff() { EndedBy::Staff } else { EndedBy::Investor };
    submission.body.check_for(act, by)?;
    let role = if matches!(act, Act::Cancel | Act::Reconfirm) { Role::Investor } else { Role::Issuer };
    submission.body.asked = Some((act, by, acting_as(&principal.0, role), id));
    idempotency::once(app, &submission).await
}

/// Cancel a subscription.
///
/// The investor can cancel during the cooling-off period. Staff can cancel with a reason until it is minted.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/cancel",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "cooling_off_elapsed", "operation_in_progress"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Cancel, id, &principal, submission).await
}

/// Confirm changed terms.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/reconfirm",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "version_conflict"]))),
)]
pub async fn reconfirm(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Reconfirm, id, &principal, submission).await
}

/// Accept a subscription.
///
/// Every condition (`gates`) must be met.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/accept",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn accept(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Accept, id, &principal, submission).await
}

/// Reject a subscription.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/reject",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn reject(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    act(&app, Act::Reject, id, &principal, submission).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        self.reason.as_deref().map_or(Ok(()), check_reason)
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((act, part, scope, id)) = &self.asked else {
            return Err(muniment_domain::Error::refused(
                muniment_domain::Code::NotFound,
                "The subscription id is missing.",
            ));
        };
        match act {
            Act::Cancel => {
                let reason = self.reason.as_deref().unwrap_or_default().trim();
                moves::cancel(tx, scope, id, *part, reason, &by).await?
            }
            Act::Reconfirm => {
                let seen = self.offering_version.unwrap_or_default();
                moves::reconfirm(tx, &app.settings, scope, id, seen, &by).await?
            }
            Act::Accept => moves::accept(tx, scope, id, self.quantity.as_deref(), &by).await?,
            Act::Reject => {
                moves::reject(tx, scope, id, self.reason_code.map_or("", RejectionReason::as_str), &by).await?
            }
        };
        let (_, body) = shown(tx, scope, id).await?;
        Ok(Answer { status: 200, location: None, body: json!(body).to_string() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn refused(act: Act, by: EndedBy, body: Value) -> Option<(String, String)> {
        let read = crate::http::body::parse::<Body>(body.to_string().as_bytes());
        let problem = read.and_then(|body| body.check_for(act, by)).err()?.body("/", "req");
        let of = |key: &str| problem["errors"][0][key].as_str().unwrap_or_default().to_owned();
        Some((of("pointer"), of("code")))
    }

    #[test]
    fn each_action_accepts_only_its_own_fields() {
        for (act, by, body) in [
            (Act::Cancel, EndedBy::Investor, json!({})),
            (Act::Cancel, EndedBy::Investor, json!({ "reason": "changed my mind" })),
            (Act::Cancel, EndedBy::Staff, json!({ "reason": "sanctions" })),
            (Act::Reconfirm, EndedBy::Investor, json!({ "offering_version": 3 })),
            (Act::Accept, EndedBy::Investor, json!({})),
            (Act::Accept, EndedBy::Investor, json!({ "quantity": "15.00" })),
            (Act::Reject, EndedBy::Investor, json!({ "reason_code": "source_of_funds" })),
        ] {
            assert_eq!(refused(act, by, body.clone()), None, "{body}");
        }
        for (act, by, body, pointer, code) in [
            (Act::Cancel, EndedBy::Staff, json!({}), "/reason", "required"),
            (Act::Accept, EndedBy::Investor, json!({ "reason": "good" }), "/reason", "unknown_field"),
            (Act::Reconfirm, EndedBy::Investor, json!({}), "/offering_version", "required"),
            (Act::Reject, EndedBy::Investor, json!({}), "/reason_code", "required"),
            (Act::Reject, EndedBy::Investor, json!({ "reason_code": "Not good" }), "/reason_code", "type_mismatch"),
            (Act::Reject, EndedBy::Investor, json!({ "amount": "1.00" }), "/amount", "unknown_field"),
        ] {
            assert_eq!(refused(act, by, body.clone()), Some((pointer.to_owned(), code.to_owned())), "{body}");
        }
    }
}
