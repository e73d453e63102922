//! `POST /blockchain/unlock`, which another person has to allow.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::reason::Reason;
use muniment_workflows::approval::action::Action;
use muniment_workflows::compliance::{Request, UnlockRequest};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::address::Typed;
use crate::app::App;
use crate::approval::{self, Asked};
use crate::cause::{CaseReference, Digest, Partition, cause};
use crate::deploy::check_offering_id;
use crate::error::Result;
use crate::idempotency::{self, IdempotencyKey};
use crate::submission::{Intent, Submission};

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Unlock)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
    address: Typed,
    partition: Partition,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// Asks to take a holder's due locks off the books: 202, and the approval that it waits for.
#[utoipa::path(
    post,
    path = "/blockchain/unlock",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn unlock(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Body {
    fn request(&self) -> Request {
        Request::Unlock(UnlockRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            partition: self.partition.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
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
