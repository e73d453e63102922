//! `POST /blockchain/recover`, which another person has to allow.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_workflows::approval::action::Action;
use muniment_workflows::compliance::{ALL_OFFERINGS, RecoverRequest, Request};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::address::Typed;
use crate::app::App;
use crate::approval::{self, Asked};
use crate::cause::{CaseReference, Digest};
use crate::deploy::check_offering_id;
use crate::error::{Problem, Result};
use crate::idempotency::{self, IdempotencyKey};
use crate::submission::{Intent, Submission};

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Recover)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// An offering, or `all`.
    offering_id: String,
    investor_id: String,
    lost_address: Typed,
    new_address: Typed,
    case_reference: Option<CaseReference>,
    evidence_document_sha256: Digest,
}

/// Asks for the recovery of a lost wallet: 202, and the approval that it waits for.
#[utoipa::path(
    post,
    path = "/blockchain/recover",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "wallet_in_use", "wallet_required", "unknown_chain", "contract_missing"]))),
)]
pub async fn recover(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Body {
    fn request(&self) -> Request {
        Request::Recover(RecoverRequest {
            offering_id: self.offering_id.clone(),
            investor_id: self.investor_id.clone(),
            lost_address: self.lost_address.0,
            new_address: self.new_address.0,
            case_reference: self.case_reference.as_ref().map(|case| case.0.clone()),
            evidence_document_sha256: self.evidence_document_sha256.0,
        })
    }
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if self.offering_id != ALL_OFFERINGS {
            check_offering_id(&self.offering_id)?;
        }
        id::check("inv", &self.investor_id)
            .map_err(|_| Problem::field("/investor_id", "id_format", "An investor's id looks like inv_01k…."))
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        approval::ask(app, tx, Action::Compliance(self.request()), &by).await
    }
}
