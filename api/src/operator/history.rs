//! `POST /blockchain/chains/{chain_id}/accept-history`: an admin requests that the new history of a halted chain is accepted.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::point::Point;
use muniment_domain::{Code, Error};
use muniment_workflows::approval::action::Action;
use muniment_workflows::operator::chain_history::{self, Examined};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::approval;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{Change, check_reason};
use crate::http::error::Result;

/// The reason to accept the new history.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AcceptHistory)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[schema(max_length = 500)]
    reason: String,
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)
    }
}

/// Accept the new history of a halted chain.
///
/// For a chain that replaced a final block. The approval names the last block that both histories have. When another admin approves it, the
/// platform continues after that block: it sends later confirmed transactions again with the same nonces, and reads every token again.
#[utoipa::path(
    post,
    path = "/blockchain/chains/{chain_id}/accept-history",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = approval::Asked)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "operation_in_progress", "unknown_chain", "chain_unavailable"]))),
)]
pub async fn accept(State(app): State<App>, Path(id): Path<String>, submission: Submission<Body>) -> Result<Response> {
    // Each number has one spelling only.
    let chain_id = id.parse::<i64>().ok().filter(|number| number.to_string() == id);
    let chain_id = chain_id.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no chain {id}.")))?;
    idempotency::perform(&app, &submission, &Accept { chain_id, reason: &submission.body.reason }).await
}

struct Accept<'a> {
    chain_id: i64,
    reason: &'a str,
}

impl Change for Accept<'_> {
    type Decision = Examined;

    async fn decide(&self, app: &App) -> Result<Examined> {
        Ok(chain_history::examine(&app.desk, self.chain_id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        examined: Examined,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let request = examined.request(self.reason);
        Ok((approval::ask(app, tx, Action::AcceptHistory(request), &by).await?, Point::Accept))
    }
}
