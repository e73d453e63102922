//! `POST /blockchain/trigger-mint`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{BatchId, OfferingId, OperationId, SubscriptionId};
use muniment_domain::idempotency::Answer;
use muniment_domain::operation::Status;
use muniment_workflows::requester::Requester;
use muniment_workflows::token::mint::{self, Requested};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::approval;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::code::eligibility::Skip;
use crate::field::id::{check_offering_id, location};
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;

const SUBSCRIPTIONS_MAX: usize = 1_000;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TriggerMint)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: OfferingId,
    /// The subscriptions to mint. All accepted ones, by default.
    #[schema(min_items = 1, max_items = 1000)]
    subscription_ids: Option<Vec<SubscriptionId>>,
    lockup: Option<Lockup>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Lockup {
    release_at: Instant,
}

/// Mint accepted subscriptions.
///
/// Answers 202 with one operation for each page, and the reasons why other subscriptions are skipped.
#[utoipa::path(
    post,
    path = "/blockchain/trigger-mint",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 202, body = Minting)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "nothing_to_mint", "operation_in_progress", "unknown_chain", "contract_missing"]))),
)]
pub async fn trigger_mint(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Form for Body {
    fn check(&self, now: DateTime<Utc>) -> Result<()> {
        let is_ahead = self.lockup.as_ref().is_none_or(|lockup| lockup.release_at.0 > now);
        Problem::all([
            check_offering_id(&self.offering_id),
            check_that(is_ahead, "/lockup/release_at", "below_minimum", "The lock must end in the future."),
            self.subscription_ids.as_deref().map_or(Ok(()), check_subscription_ids),
        ])
    }
}

fn check_subscription_ids(ids: &[SubscriptionId]) -> Result<()> {
    if ids.is_empty() {
        let detail = "Name at least one subscription, or leave the field out to mint every accepted one.";
        return Err(Problem::field("/subscription_ids", "below_minimum", detail));
    }
    if ids.len() > SUBSCRIPTIONS_MAX {
        let detail = format!("At most {SUBSCRIPTIONS_MAX} subscriptions can be named.");
        return Err(Problem::field("/subscription_ids", "above_maximum", detail));
    }
    let mut seen = std::collections::BTreeSet::new();
    Problem::all(ids.iter().enumerate().map(|(index, text)| {
        let pointer = format!("/subscription_ids/{index}");
        let is_id = text.check().is_ok();
        check_that(is_id, pointer.as_str(), "id_format", "The id of a subscription looks like sub_01k….")?;
        check_that(seen.insert(text), pointer, "duplicate", "The subscription is named twice.")
    }))
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = mint::Request {
            offering_id: self.offering_id.clone(),
            subscription_ids: self.subscription_ids.clone(),
            lockup_release_at: self.lockup.as_ref().map(|lockup| lockup.release_at.0),
        };
        Ok(match mint::ask(tx, &app.settings, request, &by).await? {
            Requested::Accepted(accepted) => answer(&accepted),
            Requested::Approval(asked, left) => {
                let waiting = ApprovalAsked { approval: approval::short(&asked), skipped: skipped(&left) };
                let body = json!(Minting::Asked(Box::new(waiting)));
                Answer { status: 202, location: Some(location(&asked.id)), body: body.to_string() }
            }
        })
    }
}

/// The accepted mint.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Minting {
    /// One operation for each page.
    Accepted(Accepted),
    /// Another person must approve it.
    Asked(Box<ApprovalAsked>),
}

/// The operations of a mint.
#[derive(Serialize, ToSchema)]
#[schema(as = MintAccepted)]
pub struct Accepted {
    batch_id: BatchId,
    operations: Vec<Page>,
    skipped: Vec<Skipped>,
}

/// A mint that waits for a second person.
#[derive(Serialize, ToSchema)]
#[schema(as = MintAsked)]
pub struct ApprovalAsked {
    approval: approval::Short,
    skipped: Vec<Skipped>,
}

/// An operation of a mint.
#[derive(Serialize, ToSchema)]
#[schema(as = MintPage)]
struct Page {
    id: OperationId,
    status: Status,
    /// The ids of the subscriptions.
    subscription_ids: Vec<SubscriptionId>,
}

/// A subscription that is not minted, with the reason.
#[derive(Serialize, ToSchema)]
#[schema(as = SkippedSubscription)]
pub struct Skipped {
    subscription_id: SubscriptionId,
    /// Why it is not minted.
    code: Skip,
}

fn answer(accepted: &mint::Accepted) -> Answer {
    let page = |page: &mint::Page| Page {
        id: page.operation.id.clone(),
        status: page.operation.status,
        subscription_ids: page.subscription_ids.clone(),
    };
    let operations = accepted.pages.iter().map(page).collect();
    // One page is one operation to watch; several are found by their batch.
    let location = match accepted.pages.as_slice() {
        [page] => location(&page.operation.id),
        _ => format!("/blockchain/operations?batch_id={}", accepted.batch_id),
    };
    let (batch_id, skipped) = (accepted.batch_id.clone(), skipped(&accepted.skipped));
    let body = json!(Minting::Accepted(Accepted { batch_id, operations, skipped }));
    Answer { status: 202, location: Some(location), body: body.to_string() }
}

/// The subscriptions that are not minted, with the reasons.
pub fn skipped(skipped: &[mint::Skipped]) -> Vec<Skipped> {
    skipped.iter().map(|s| Skipped { subscription_id: s.subscription_id.clone(), code: Skip::of(s.code) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(ids: &[&str]) -> Option<String> {
        let body = Body {
            offering_id: "off_01jc0000000000000000000000".into(),
            subscription_ids: Some(ids.iter().map(|&id| id.into()).collect()),
            lockup: None,
        };
        let problem = body.check(DateTime::UNIX_EPOCH).err()?.body("", "/", "req");
        problem["errors"][0]["pointer"].as_str().map(str::to_owned)
    }

    #[test]
    fn subscription_ids_are_valid_and_unique() {
        let (one, other) = ("sub_01jc0000000000000000000000", "sub_01jc0000000000000000000001");
        assert_eq!(refused(&[one, other]), None);
        assert_eq!(refused(&[]).as_deref(), Some("/subscription_ids"));
        assert_eq!(refused(&[one, one]).as_deref(), Some("/subscription_ids/1"));
        assert_eq!(refused(&[one, "sub_7"]).as_deref(), Some("/subscription_ids/1"));
        assert_eq!(refused(&vec![one; 1_001]).as_deref(), Some("/subscription_ids"));
    }
}
