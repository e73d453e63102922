//! `POST /blockchain/trigger-mint`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_workflows::mint::{self, Asked, Skipped};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::deploy::check_offering_id;
use crate::error::{Problem, Result};
use crate::submission::{Intent, Submission};
use crate::{approval, idempotency, operation};

const SUBSCRIPTIONS_MAX: usize = 1_000;

/// What is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
    /// Absent: every accepted one.
    subscription_ids: Option<Vec<String>>,
    lockup: Option<Lockup>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lockup {
    release_at: DateTime<Utc>,
}

/// Accepts the mint of subscriptions, cut into pages: 202, one operation a page, and why the others were skipped.
pub async fn trigger_mint(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Intent for Body {
    fn check(&self, now: DateTime<Utc>) -> Result<()> {
        check_offering_id(&self.offering_id)?;
        if self.lockup.as_ref().is_some_and(|lockup| lockup.release_at <= now) {
            return Err(Problem::field("/lockup/release_at", "below_minimum", "A lock must end in the future."));
        }
        let Some(ids) = &self.subscription_ids else { return Ok(()) };
        if ids.is_empty() {
            let detail = "Name at least one subscription, or leave the field out to mint every accepted one.";
            return Err(Problem::field("/subscription_ids", "below_minimum", detail));
        }
        if ids.len() > SUBSCRIPTIONS_MAX {
            let detail = format!("At most {SUBSCRIPTIONS_MAX} subscriptions can be named.");
            return Err(Problem::field("/subscription_ids", "above_maximum", detail));
        }
        let mut seen = std::collections::BTreeSet::new();
        for (index, text) in ids.iter().enumerate() {
            let pointer = format!("/subscription_ids/{index}");
            if id::check("sub", text).is_err() {
                return Err(Problem::field(pointer, "id_format", "A subscription's id looks like sub_01k…."));
            }
            if !seen.insert(text) {
                return Err(Problem::field(pointer, "duplicate", "This subscription is named twice."));
            }
        }
        Ok(())
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = mint::Request {
            offering_id: self.offering_id.clone(),
            subscription_ids: self.subscription_ids.clone(),
            lockup_release_at: self.lockup.as_ref().map(|lockup| lockup.release_at),
        };
        Ok(match mint::ask(tx, &app.settings, request, &by).await? {
            Asked::Accepted(accepted) => answer(&accepted),
            Asked::Approval(asked, left) => {
                let body = json!({ "approval": approval::short(&asked), "skipped": skipped(&left) });
                Answer { status: 202, location: Some(approval::path(&asked.id)), body: body.to_string() }
            }
        })
    }
}

fn answer(accepted: &mint::Accepted) -> Answer {
    let operations: Vec<_> = accepted
        .pages
        .iter()
        .map(|page| {
            let (id, status) = (&page.operation.id, page.operation.status);
            json!({ "id": id, "status": status, "subscription_ids": page.subscription_ids })
        })
        .collect();
    // One page is one operation to watch; several are found by their batch.
    let location = match accepted.pages.as_slice() {
        [page] => operation::path(&page.operation.id),
        _ => format!("/blockchain/operations?batch_id={}", accepted.batch_id),
    };
    let body =
        json!({ "batch_id": accepted.batch_id, "operations": operations, "skipped": skipped(&accepted.skipped) });
    Answer { status: 202, location: Some(location), body: body.to_string() }
}

fn skipped(skipped: &[Skipped]) -> Vec<Value> {
    skipped.iter().map(|s| json!({ "subscription_id": s.subscription_id, "code": s.code })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ids: &[&str]) -> Option<String> {
        let body = Body {
            offering_id: "off_01jc0000000000000000000000".to_owned(),
            subscription_ids: Some(ids.iter().map(|&id| id.to_owned()).collect()),
            lockup: None,
        };
        let problem = body.check(DateTime::UNIX_EPOCH).err()?.body("/", "req");
        problem["errors"][0]["pointer"].as_str().map(str::to_owned)
    }

    #[test]
    fn subscriptions_are_named_soundly_and_once() {
        let (one, other) = ("sub_01jc0000000000000000000000", "sub_01jc0000000000000000000001");
        assert_eq!(refused(&[one, other]), None);
        assert_eq!(refused(&[]).as_deref(), Some("/subscription_ids"));
        assert_eq!(refused(&[one, one]).as_deref(), Some("/subscription_ids/1"));
        assert_eq!(refused(&[one, "sub_7"]).as_deref(), Some("/subscription_ids/1"));
        assert_eq!(refused(&vec![one; 1_001]).as_deref(), Some("/subscription_ids"));
    }
}
