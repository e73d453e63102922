//! `POST /v1/distributions`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Datelike, NaiveDate, Utc};
use muniment_domain::date_or_time::DateOrTime;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{Kind, Method, Scope};
use muniment_domain::id::OfferingId;
use muniment_domain::idempotency::Answer;
use muniment_domain::offering;
use muniment_workflows::payout::distribution::{self, Draft};
use muniment_workflows::requester::Requester;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use utoipa::ToSchema;

use super::{View, running, shown, unnamed};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::field::cause::Partition;
use crate::field::id::{check_offering_id, location};
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant;

const MEMO_CHARACTERS_MAX: usize = 500;
const EXCLUDED_MAX: usize = 32;
/// The token has so many partitions at most.
const PARTITIONS_MAX: u32 = 32;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewDistribution)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: OfferingId,
    #[serde(rename = "type")]
    kind: Kind,
    method: Method,
    /// The total amount to pay. Give either this or `per_unit_amount`.
    total_amount: Option<Amount>,
    per_unit_amount: Option<Amount>,
    /// The record date: a date, which ends at midnight in the offering's time zone (`utc_offset_minutes`), or a time.
    #[serde(deserialize_with = "moment")]
    #[schema(value_type = String, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$", example = "2026-12-31")]
    record_date: DateOrTime,
    /// The payment date: a date, which means its first second in the offering's time zone, or a time.
    #[serde(deserialize_with = "moment")]
    #[schema(value_type = String, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$", example = "2027-01-15")]
    payment_date: DateOrTime,
    payout_token: Option<Typed>,
    partition: Option<Partition>,
    #[schema(max_length = 500)]
    memo: Option<String>,
    /// Wallets that are not paid, such as the issuer's own.
    #[schema(max_items = 32)]
    excluded_addresses: Option<Vec<Typed>>,
    #[serde(skip)]
    scopes: Option<CallerScopes>,
}

/// The offerings and distributions that the caller may see.
#[derive(Debug)]
struct CallerScopes {
    offerings: offering::Scope,
    distributions: Scope,
}

fn moment<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<DateOrTime, D::Error> {
    let text = String::deserialize(deserializer)?;
    let day = text.parse().ok().filter(|day: &NaiveDate| instant::has_four_digits(day.year()));
    let wrong = "date_format: Use a date such as 2026-12-31 or a time such as 2026-12-31T12:00:00Z.";
    let moment = day.map(DateOrTime::Day).or_else(|| instant::read(&text).map(DateOrTime::Exact));
    moment.ok_or_else(|| D::Error::custom(wrong))
}

/// Create a draft distribution.
///
/// Answers 201 with its location.
#[utoipa::path(
    post,
    path = "/v1/distributions",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 201, body = View)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "payout_token_unknown", "unknown_chain"]))),
)]
pub async fn create(
    State(app): State<App>,
    principal: Principal,
    mut submission: Submission<Body>,
) -> Result<Response> {
    let scopes = CallerScopes { offerings: crate::offering::running(&principal), distributions: running(&principal) };
    submission.body.scopes = Some(scopes);
    idempotency::once(&app, &submission).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let is_partition = self.partition.is_none_or(|p| (1..=PARTITIONS_MAX).contains(&p.0));
        let is_list = self.excluded_addresses.as_ref().is_none_or(|wallets| wallets.len() <= EXCLUDED_MAX);
        let is_memo = self.memo.as_ref().is_none_or(|memo| memo.chars().count() <= MEMO_CHARACTERS_MAX);
        let most = format!("At most {EXCLUDED_MAX} wallets can be excluded.");
        let longest = format!("The memo can have at most {MEMO_CHARACTERS_MAX} characters.");
        Problem::all([
            check_offering_id(&self.offering_id),
            self.check_amounts(),
            check_that(is_partition, "/partition", "partition_unknown", "The partition must be from 1 to 32."),
            check_that(is_list, "/excluded_addresses", "count_out_of_range", most),
            check_that(is_memo, "/memo", "above_maximum", longest),
        ])
    }
}

impl Body {
    fn check_amounts(&self) -> Result<()> {
        match (self.total_amount, self.per_unit_amount) {
            (Some(_), Some(_)) => {
                let detail = "Give either total_amount or per_unit_amount, not both.";
                Err(Problem::field("/per_unit_amount", "conflict", detail))
            }
            (None, None) => {
                let detail = "Give either total_amount or per_unit_amount.";
                Err(Problem::field("/total_amount", "required", detail))
            }
            (total, each) => {
                let pointer = if total.is_some() { "/total_amount" } else { "/per_unit_amount" };
                let is_above = total.or(each).is_none_or(|amount| amount.0.minor() > 0);
                check_that(is_above, pointer, "below_minimum", "The amount must be greater than zero.")
            }
        }
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some(scopes) = &self.scopes else { return Err(unnamed()) };
        let draft = Draft {
            offering_id: self.offering_id.clone(),
            kind: self.kind,
            method: self.method,
            total_amount: self.total_amount.map(|amount| amount.0.minor()),
            per_unit_amount: self.per_unit_amount.map(|amount| amount.0.minor()),
            partition_id: self.partition.map(|p| i64::from(p.0)),
            payout_token: self.payout_token.map(|address| address.0),
            record_date: self.record_date,
            payment_date: self.payment_date,
            memo: self.memo.clone(),
            excluded_addresses: self.excluded_addresses.iter().flatten().map(|wallet| wallet.0).collect(),
        };
        let d = distribution::create(tx, &scopes.offerings, &draft, &by).await?;
        let body = json!(shown(tx, &scopes.distributions, &d).await?).to_string();
        Ok(Answer { status: 201, location: Some(location(&d.id)), body })
    }
}

#[cfg(test)]
mod tests;
