//! `POST /blockchain/force-transfer`, which another person has to allow.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::reason::Force;
use muniment_workflows::approval::action::Action;
use muniment_workflows::compliance::{ForceTransferRequest, Request};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::address::Typed;
use crate::app::App;
use crate::approval::{self, Asked};
use crate::cause::{CaseReference, Digest, Partition};
use crate::deploy::check_offering_id;
use crate::error::Result;
use crate::idempotency::{self, IdempotencyKey};
use crate::submission::{Intent, Submission};

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ForceTransfer)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
    from: Typed,
    to: Typed,
    partition: Partition,
    #[schema(example = "250.00")]
    quantity: String,
    reason_code: Force,
    case_reference: Option<CaseReference>,
    document_sha256: Digest,
}

/// Asks for a forced transfer: 202, and the approval that it waits for.
#[utoipa::path(
    post,
    path = "/blockchain/force-transfer",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "wallet_required", "unknown_chain", "contract_missing"]))),
)]
pub async fn force_transfer(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Body {
    fn request(&self) -> Request {
        Request::ForceTransfer(ForceTransferRequest {
            offering_id: self.offering_id.clone(),
            from: self.from.0,
            to: self.to.0,
            partition: self.partition.0,
            quantity: self.quantity.clone(),
            reason_code: self.reason_code,
            case_reference: self.case_reference.as_ref().map(|case| case.0.clone()),
            document_sha256: self.document_sha256.0,
        })
    }
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        approval::ask(app, tx, Action::Compliance(self.request()), &by).await
    }
}
