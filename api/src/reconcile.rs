//! `POST /blockchain/operations/{id}/reconcile`: a person decides what the engine may not.

use alloy_primitives::B256;
use axum::extract::{Path, State};
use axum::response::Response;
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::Operation;
use muniment_domain::point::Point;
use muniment_domain::{id, operation as operations};
use muniment_workflows::action::Action;
use muniment_workflows::mark_confirmed::{self, Examined};
use muniment_workflows::requester::Requester;
use muniment_workflows::{abandon, approval as approvals};
use serde::Deserialize;
use serde_json::json;

use crate::act::{self, Act, Form, Written};
use crate::app::App;
use crate::code::Code;
use crate::error::{Problem, Result};
use crate::retry::Retry;
use crate::{approval, operation};

/// What is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    resolution: Resolution,
    /// The proof, for mark_confirmed.
    tx_hash: Option<String>,
    reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Resolution {
    MarkConfirmed,
    Retry,
    Abandon,
}

impl Form for Body {
    fn check(&self) -> Result<()> {
        act::check_reason(&self.reason)?;
        match (self.resolution, &self.tx_hash) {
            (Resolution::MarkConfirmed, None) => {
                Err(Problem::field("/tx_hash", "required", "Name the transaction that had the effect."))
            }
            (Resolution::MarkConfirmed, Some(text)) if hash(text).is_none() => {
                Err(Problem::field("/tx_hash", "hash_format", "A transaction's hash is 0x and 64 hexadecimal digits."))
            }
            (Resolution::Retry | Resolution::Abandon, Some(_)) => {
                Err(Problem::field("/tx_hash", "unknown_field", "Only mark_confirmed takes a transaction."))
            }
            _ => Ok(()),
        }
    }
}

fn hash(text: &str) -> Option<B256> {
    text.strip_prefix("0x").filter(|digits| digits.len() == 64)?.parse().ok()
}

/// Confirms with proof (200), retries (202 or 200) or gives up: 200, or 202 with an approval where it takes two people.
pub async fn handle(
    State(app): State<App>,
    Path(id): Path<String>,
    Written(submission): Written<Body>,
) -> Result<Response> {
    id::check("op", &id)?;
    let (id, body) = (id.as_str(), &submission.body);
    let reason = body.reason.as_str();
    match body.resolution {
        Resolution::Retry => act::perform(&app, &submission, &Retry { id, reason }).await,
        Resolution::Abandon => act::perform(&app, &submission, &Abandon { id, reason }).await,
        Resolution::MarkConfirmed => {
            let tx_hash = body.tx_hash.as_deref().and_then(hash).unwrap_or_default();
            act::perform(&app, &submission, &MarkConfirmed { id, reason, tx_hash }).await
        }
    }
}

struct MarkConfirmed<'a> {
    id: &'a str,
    reason: &'a str,
    tx_hash: B256,
}

impl Act for MarkConfirmed<'_> {
    type Decision = Examined;

    async fn decide(&self, app: &App) -> Result<Examined> {
        let examined = mark_confirmed::examine(&app.desk, self.id, self.tx_hash).await?;
        if examined.is_proof() {
            return Ok(examined);
        }
        let failed: Vec<_> = examined.checks.iter().filter(|check| !check.passed).map(|check| check.name).collect();
        let detail = format!("The transaction does not prove the effect: {}.", failed.join(", "));
        Err(Problem::new(Code::ReconcileVerificationFailed, detail).with_checks(json!(examined.checks)))
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        examined: Examined,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        let checks = json!(examined.checks);
        mark_confirmed::apply(tx, examined, &by.actor, self.reason).await?;
        let mut body = operation::short(app, &operations::find(tx, self.id).await?);
        body["checks"] = checks;
        let location = Some(operation::path(self.id));
        Ok((Answer { status: 200, location, body: body.to_string() }, Point::MarkConfirmed))
    }
}

struct Abandon<'a> {
    id: &'a str,
    reason: &'a str,
}

impl Act for Abandon<'_> {
    type Decision = Operation;

    // Asked before the second person is, too: what cannot be given up now is not asked for.
    async fn decide(&self, app: &App) -> Result<Operation> {
        Ok(abandon::examine(&app.desk, self.id).await?)
    }

    async fn apply(
        &self,
        app: &App,
        tx: &mut Tx,
        mut op: Operation,
        by: Requester,
    ) -> muniment_domain::Result<(Answer, Point)> {
        if abandon::takes_two(op.kind) {
            let request = abandon::Request { operation_id: self.id.to_owned(), reason: self.reason.to_owned() };
            let asked = approvals::ask(tx, &app.settings, Action::Abandon(request), &by).await?;
            let body = json!({ "approval": approval::short(&asked) });
            let location = Some(approval::path(&asked.id));
            return Ok((Answer { status: 202, location, body: body.to_string() }, Point::Accept));
        }
        abandon::write(tx, &mut op, &by.actor, self.reason).await?;
        Ok((operation::answer(app, &op, 200), Point::Abandon))
    }
}
