//! `POST /blockchain/lock`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::reason::Reason;
use muniment_workflows::compliance::{self, LockRequest, Request};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::address::Typed;
use crate::app::App;
use crate::cause::{CaseReference, Digest, Partition, cause};
use crate::deploy::check_offering_id;
use crate::error::Result;
use crate::idempotency::{self, IdempotencyKey};
use crate::instant::Instant;
use crate::operation;
use crate::submission::{Intent, Submission};

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Lock)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
    address: Typed,
    partition: Partition,
    #[schema(example = "250.00")]
    quantity: String,
    release_at: Instant,
    reason_code: Reason,
    case_reference: Option<CaseReference>,
    document_sha256: Option<Digest>,
}

/// Accepts a lock of a holder's units: 202, and the operation to watch.
#[utoipa::path(
    post,
    path = "/blockchain/lock",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = operation::Short)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn lock(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Body {
    fn request(&self) -> Request {
        Request::Lock(LockRequest {
            offering_id: self.offering_id.clone(),
            address: self.address.0,
            partition: self.partition.0,
            quantity: self.quantity.clone(),
            release_at: self.release_at.0,
            cause: cause(self.reason_code, self.case_reference.as_ref(), self.document_sha256),
        })
    }
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let accepted = compliance::request(tx, &self.request(), &by).await?;
        Ok(operation::accepted(app, &accepted))
    }
}
