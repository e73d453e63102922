//! The actions on a subscription, each a `POST` on its path: cancel, reconfirm, accept, reject.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
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
use crate::change::{Change, check_reason};
use crate::http::error::{Problem, Result};

/// A move of a subscription with what its body says.
#[derive(Debug)]
enum Move {
    Cancel { by: EndedBy, reason: String },
    Reconfirm { offering_version: i64 },
    Accept { quantity: Option<String> },
    Reject { reason: RejectionReason },
}

/// A move of one subscription by one caller.
struct SubscriptionMove {
    id: SubscriptionId,
    scope: Scope,
    kind: Move,
}

/// The request body that cancels a subscription.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubscriptionCancel)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The reason. Required for staff.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// The request body that confirms changed terms.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubscriptionReconfirm)]
#[serde(deny_unknown_fields)]
pub struct Reconfirm {
    /// The version of the offering that the investor confirms.
    #[schema(required = true, value_type = i64)]
    offering_version: Option<i64>,
}

/// The request body that accepts a subscription.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubscriptionAccept)]
#[serde(deny_unknown_fields)]
pub struct Accept {
    /// The quantity that the caller expects. It must be what the amount buys; a part cannot be accepted.
    quantity: Option<String>,
}

/// The request body that rejects a subscription.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = SubscriptionReject)]
#[serde(deny_unknown_fields)]
pub struct Reject {
    /// The reason.
    #[schema(required = true, value_type = RejectionReason)]
    reason_code: Option<RejectionReason>,
}

/// A body that describes a move.
trait Describes {
    /// The move, or the field that it lacks.
    fn to_move(&self, by: EndedBy) -> Result<Move>;
}

fn required(pointer: &str, detail: &str) -> Problem {
    Problem::field(pointer, "required", detail)
}

impl Describes for Cancel {
    fn to_move(&self, by: EndedBy) -> Result<Move> {
        if by == EndedBy::Staff && self.reason.is_none() {
            return Err(required("/reason", "A reason is required."));
        }
        Ok(Move::Cancel { by, reason: self.reason.as_deref().unwrap_or_default().trim().to_owned() })
    }
}

impl Describes for Reconfirm {
    fn to_move(&self, _: EndedBy) -> Result<Move> {
        let version = self.offering_version;
        let lacking = || required("/offering_version", "The version of the offering is required.");
        Ok(Move::Reconfirm { offering_version: version.ok_or_else(lacking)? })
    }
}

impl Describes for Accept {
    fn to_move(&self, _: EndedBy) -> Result<Move> {
        Ok(Move::Accept { quantity: self.quantity.clone() })
    }
}

impl Describes for Reject {
    fn to_move(&self, _: EndedBy) -> Result<Move> {
        let lacking = || required("/reason_code", "A reason code is required.");
        Ok(Move::Reject { reason: self.reason_code.ok_or_else(lacking)? })
    }
}

async fn act<T: Describes + Sync>(
    app: &App,
    Path(id): Path<SubscriptionId>,
    principal: &Principal,
    submission: &Submission<T>,
) -> Result<Response> {
    id.check()?;
    let by = if principal.is_staff() { EndedBy::Staff } else { EndedBy::Investor };
    let kind = submission.body.to_move(by)?;
    let role = match kind {
        Move::Cancel { .. } | Move::Reconfirm { .. } => Role::Investor,
        Move::Accept { .. } | Move::Reject { .. } => Role::Issuer,
    };
    let change = SubscriptionMove { id, scope: acting_as(&principal.0, role), kind };
    idempotency::perform(app, submission, &change).await
}

/// Cancel a subscription.
///
/// The investor can cancel during the cooling-off period. Staff can cancel with a reason until it is minted.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/cancel",
    request_body = Cancel,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "cooling_off_elapsed", "operation_in_progress", "self_approval_forbidden"]))),
)]
pub async fn cancel(
    State(app): State<App>,
    id: Path<SubscriptionId>,
    principal: Principal,
    submission: Submission<Cancel>,
) -> Result<Response> {
    act(&app, id, &principal, &submission).await
}

/// Confirm changed terms.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/reconfirm",
    request_body = Reconfirm,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "version_conflict"]))),
)]
pub async fn reconfirm(
    State(app): State<App>,
    id: Path<SubscriptionId>,
    principal: Principal,
    submission: Submission<Reconfirm>,
) -> Result<Response> {
    act(&app, id, &principal, &submission).await
}

/// Accept a subscription.
///
/// Every condition (`gates`) must be met.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/accept",
    request_body = Accept,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn accept(
    State(app): State<App>,
    id: Path<SubscriptionId>,
    principal: Principal,
    submission: Submission<Accept>,
) -> Result<Response> {
    act(&app, id, &principal, &submission).await
}

/// Reject a subscription.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/reject",
    request_body = Reject,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn reject(
    State(app): State<App>,
    id: Path<SubscriptionId>,
    principal: Principal,
    submission: Submission<Reject>,
) -> Result<Response> {
    act(&app, id, &principal, &submission).await
}

impl Form for Cancel {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        self.reason.as_deref().map_or(Ok(()), check_reason)
    }
}

impl Form for Reconfirm {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl Form for Accept {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl Form for Reject {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl Change for SubscriptionMove {
    type Decision = ();
    const DECIDES: bool = false;

    async fn decide(&self, _: &App) -> Result<()> {
        Ok(())
    }

    async fn apply(&self, app: &App, tx: &mut Tx, (): (), by: Requester) -> muniment_domain::Result<(Answer, Point)> {
        let (id, scope) = (&self.id, &self.scope);
        match &self.kind {
            Move::Cancel { by: ended_by, reason } => moves::cancel(tx, scope, id, *ended_by, reason, &by).await?,
            Move::Reconfirm { offering_version } => {
                moves::reconfirm(tx, &app.settings, scope, id, *offering_version, &by).await?
            }
            Move::Accept { quantity } => moves::accept(tx, scope, id, quantity.as_deref(), &by).await?,
            Move::Reject { reason } => moves::reject(tx, scope, id, reason.as_str(), &by).await?,
        };
        let (_, body) = shown(tx, scope, id).await?;
        Ok((Answer { status: 200, location: None, body: json!(body).to_string() }, Point::Accept))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn refused<T: Form + Describes>(by: EndedBy, body: &Value) -> Option<(String, String)> {
        let read = crate::http::body::parse::<T>(body.to_string().as_bytes());
        let problem = read.and_then(|body| body.to_move(by)).err()?.body("", "/", "req");
        let of = |key: &str| problem["errors"][0][key].as_str().unwrap_or_default().to_owned();
        Some((of("pointer"), of("code")))
    }

    #[test]
    fn each_action_accepts_only_its_own_fields() {
        type Read = fn(EndedBy, &Value) -> Option<(String, String)>;
        let (cancel, reconfirm): (Read, Read) = (refused::<Cancel>, refused::<Reconfirm>);
        let (accept, reject): (Read, Read) = (refused::<Accept>, refused::<Reject>);
        for (read, by, body) in [
            (cancel, EndedBy::Investor, json!({})),
            (cancel, EndedBy::Investor, json!({ "reason": "changed my mind" })),
            (cancel, EndedBy::Investor, json!({ "reason": null })),
            (cancel, EndedBy::Staff, json!({ "reason": "sanctions" })),
            (reconfirm, EndedBy::Investor, json!({ "offering_version": 3 })),
            (accept, EndedBy::Investor, json!({})),
            (accept, EndedBy::Investor, json!({ "quantity": "15.00" })),
            (reject, EndedBy::Investor, json!({ "reason_code": "source_of_funds" })),
        ] {
            assert_eq!(read(by, &body), None, "{body}");
        }
        for (read, by, body, pointer, code) in [
            (cancel, EndedBy::Staff, json!({}), "/reason", "required"),
            (accept, EndedBy::Investor, json!({ "reason": "good" }), "/reason", "unknown_field"),
            (reconfirm, EndedBy::Investor, json!({}), "/offering_version", "required"),
            (reconfirm, EndedBy::Investor, json!({ "offering_version": null }), "/offering_version", "required"),
            (reject, EndedBy::Investor, json!({}), "/reason_code", "required"),
            (reject, EndedBy::Investor, json!({ "reason_code": "Not good" }), "/reason_code", "type_mismatch"),
            (reject, EndedBy::Investor, json!({ "amount": "1.00" }), "/amount", "unknown_field"),
        ] {
            assert_eq!(read(by, &body), Some((pointer.to_owned(), code.to_owned())), "{body}");
        }
    }
}
