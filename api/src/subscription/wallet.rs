//! `PATCH /v1/subscriptions/{id}`: changes the wallet, as long as nothing was fixed for the old one.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::idempotency::Answer;
use muniment_domain::subscription::Scope;
use muniment_domain::user::Role;
use muniment_workflows::requester::Requester;
use muniment_workflows::subscription;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::{View, acting_as, shown};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::address::Typed;
use crate::http::error::Result;

/// The fields to change.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ChangeOfSubscription)]
#[serde(deny_unknown_fields)]
pub struct Body {
    wallet_address: Typed,
    #[serde(skip)]
    asked: Option<(Scope, SubscriptionId)>,
}

/// Change the wallet of a subscription.
#[utoipa::path(
    patch,
    path = "/v1/subscriptions/{id}",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
    extensions(("x-codes" = json!(["invalid_state", "wallet_in_use"]))),
)]
pub async fn change_wallet(
    State(app): State<App>,
    Path(id): Path<SubscriptionId>,
    Principal(principal): Principal,
    submission: Submission<Body>,
) -> Result<Response> {
    let scope = acting_as(&principal, Role::Investor);
    idempotency::once_for(&app, id, submission, |body, id| body.asked = Some((scope, id))).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((scope, id)) = &self.asked else {
            return Err(muniment_domain::Error::refused(
                muniment_domain::Code::NotFound,
                "The subscription id is missing.",
            ));
        };
        subscription::change_wallet(tx, scope, id, self.wallet_address.0, &by).await?;
        let (_, body) = shown(tx, scope, id).await?;
        Ok(Answer { status: 200, location: None, body: json!(body).to_string() })
    }
}
