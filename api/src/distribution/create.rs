//! `POST /v1/distributions`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Datelike, NaiveDate, NaiveTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{Kind, Method, Scope};
use muniment_domain::idempotency::Answer;
use muniment_domain::offering;
use muniment_workflows::distribution::{self, Draft};
use muniment_workflows::requester::Requester;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::json;
use utoipa::ToSchema;

use super::{Shown, path, running, shown, unnamed};
use crate::address::Typed;
use crate::amount::Amount;
use crate::app::App;
use crate::cause::Partition;
use crate::deploy::check_offering_id;
use crate::error::{Problem, Result};
use crate::idempotency::{self, IdempotencyKey};
use crate::instant;
use crate::principal::Principal;
use crate::submission::{Intent, Submission};

const MEMO_CHARACTERS_MAX: usize = 500;
const EXCLUDED_MAX: usize = 32;
/// The token has so many partitions at most.
const PARTITIONS_MAX: u32 = 32;

/// What is wanted.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewDistribution)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
    #[serde(rename = "type")]
    kind: Kind,
    method: Method,
    /// What is paid in all; or say `per_unit_amount`.
    total_amount: Option<Amount>,
    per_unit_amount: Option<Amount>,
    /// A day, which counts to its last second, or a moment.
    #[schema(value_type = String, example = "2026-12-31")]
    record_date: Moment,
    #[schema(value_type = String, example = "2027-01-15")]
    payment_date: Moment,
    payout_token: Option<Typed>,
    partition: Option<Partition>,
    #[schema(max_length = 500)]
    memo: Option<String>,
    /// Wallets that get nothing, such as the issuer's own.
    #[schema(max_items = 32)]
    excluded_addresses: Option<Vec<Typed>>,
    #[serde(skip)]
    whose: Option<Whose>,
}

/// Whose offerings the caller may write one for, and as whom he is answered.
#[derive(Debug)]
struct Whose {
    offerings: offering::Scope,
    distributions: Scope,
}

/// A day, or a moment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Day(NaiveDate),
    Exact(DateTime<Utc>),
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let day = text.parse().ok().filter(|day: &NaiveDate| instant::has_four_digits(day.year()));
        let wrong = "date_format: A date is written like 2026-12-31, a moment like 2026-12-31T12:00:00Z.";
        let moment = day.map(Self::Day).or_else(|| instant::read(&text).map(Self::Exact));
        moment.ok_or_else(|| D::Error::custom(wrong))
    }
}

impl Moment {
    /// A record date is over at the last second of its day.
    fn last(self) -> DateTime<Utc> {
        match self {
            Self::Day(day) => day.and_time(NaiveTime::from_hms_opt(23, 59, 59).unwrap_or_default()).and_utc(),
            Self::Exact(at) => at,
        }
    }

    /// A payment may be made from the first second of its day on.
    fn first(self) -> DateTime<Utc> {
        match self {
            Self::Day(day) => day.and_time(NaiveTime::MIN).and_utc(),
            Self::Exact(at) => at,
        }
    }
}

/// Writes a draft: 201 with where it is.
#[utoipa::path(
    post,
    path = "/v1/distributions",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 201, body = Shown)),
    extensions(("x-codes" = json!(["not_found", "invalid_state", "payout_token_unknown", "unknown_chain"]))),
)]
pub async fn create(
    State(app): State<App>,
    principal: Principal,
    mut submission: Submission<Body>,
) -> Result<Response> {
    let whose = Whose { offerings: crate::offering::running(&principal), distributions: running(&principal) };
    submission.body.whose = Some(whose);
    idempotency::once(&app, &submission).await
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_offering_id(&self.offering_id)?;
        match (self.total_amount, self.per_unit_amount) {
            (Some(_), Some(_)) => {
                let detail = "Say what is paid in all, or for each unit, and not both.";
                return Err(Problem::field("/per_unit_amount", "conflict", detail));
            }
            (None, None) => {
                let detail = "Say what is paid in all (total_amount), or for each unit (per_unit_amount).";
                return Err(Problem::field("/total_amount", "required", detail));
            }
            (total, each) => {
                let pointer = if total.is_some() { "/total_amount" } else { "/per_unit_amount" };
                if total.or(each).is_some_and(|amount| amount.0.minor() == 0) {
                    return Err(Problem::field(pointer, "below_minimum", "The amount must be above zero."));
                }
            }
        }
        if self.payment_date.last() < self.record_date.first() {
            let detail = "Nobody is paid before it is known who held what: it must not lie before the record date.";
            return Err(Problem::field("/payment_date", "below_minimum", detail));
        }
        if self.partition.is_some_and(|p| !(1..=PARTITIONS_MAX).contains(&p.0)) {
            return Err(Problem::field(
                "/partition",
                "partition_unknown",
                "A token has the partitions 1 to 32 at most.",
            ));
        }
        if self.excluded_addresses.as_ref().is_some_and(|wallets| wallets.len() > EXCLUDED_MAX) {
            let detail = format!("At most {EXCLUDED_MAX} wallets are left out.");
            return Err(Problem::field("/excluded_addresses", "count_out_of_range", detail));
        }
        if self.memo.as_ref().is_some_and(|memo| memo.chars().count() > MEMO_CHARACTERS_MAX) {
            let detail = format!("A memo may have {MEMO_CHARACTERS_MAX} characters.");
            return Err(Problem::field("/memo", "above_maximum", detail));
        }
        Ok(())
    }

    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some(whose) = &self.whose else { return Err(unnamed()) };
        let draft = Draft {
            offering_id: self.offering_id.clone(),
            kind: self.kind,
            method: self.method,
            total_amount: self.total_amount.map(|amount| amount.0.minor()),
            per_unit_amount: self.per_unit_amount.map(|amount| amount.0.minor()),
            partition_id: self.partition.map(|p| i64::from(p.0)),
            payout_token: self.payout_token.map(|address| address.0),
            record_date: self.record_date.last(),
            payment_date: self.payment_date.first(),
            memo: self.memo.clone(),
            excluded_addresses: self.excluded_addresses.iter().flatten().map(|wallet| wallet.0).collect(),
        };
        let d = distribution::create(tx, &whose.offerings, &draft, &by).await?;
        let body = json!(shown(tx, &whose.distributions, &d).await?).to_string();
        Ok(Answer { status: 201, location: Some(path(&d.id)), body })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(change: Value) -> Option<(String, String)> {
        let mut body = json!({ "offering_id": "off_01jc0000000000000000000000", "type": "dividend", "method": "direct_payout",
            "total_amount": "10.00", "record_date": "2026-12-01", "payment_date": "2026-12-01" });
        for (key, value) in change.as_object().unwrap() {
            if value.is_null() {
                body.as_object_mut().unwrap().remove(key);
            } else {
                body[key] = value.clone();
            }
        }
        let read = crate::body::parse::<Body>(body.to_string().as_bytes());
        let problem = read.and_then(|body| body.check(DateTime::UNIX_EPOCH)).err()?.body("/", "req");
        let of = |key: &str| problem["errors"][0][key].as_str().unwrap_or_default().to_owned();
        Some((of("pointer"), of("code")))
    }

    #[test]
    fn a_draft_that_cannot_be_right_is_told_where() {
        assert_eq!(refused(json!({})), None);
        assert_eq!(refused(json!({ "total_amount": null, "per_unit_amount": "0.01" })), None);
        for (change, pointer, code) in [
            (json!({ "total_amount": null }), "/total_amount", "required"),
            (json!({ "per_unit_amount": "1.00" }), "/per_unit_amount", "conflict"),
            (json!({ "total_amount": "0.00" }), "/total_amount", "below_minimum"),
            (json!({ "total_amount": "1" }), "/total_amount", "amount_format"),
            (json!({ "total_amount": 1 }), "/total_amount", "type_mismatch"),
            (json!({ "record_date": "1.12.2026" }), "/record_date", "date_format"),
            (json!({ "payment_date": "2026-11-30" }), "/payment_date", "below_minimum"),
            (json!({ "type": "gift" }), "/type", "type_mismatch"),
            (json!({ "partition": "33" }), "/partition", "partition_unknown"),
            (json!({ "payout_token": "0x1" }), "/payout_token", "address_format"),
            (json!({ "memo": "x".repeat(501) }), "/memo", "above_maximum"),
            (
                json!({ "excluded_addresses": vec!["0x00000000000000000000000000000000000000b1"; 33] }),
                "/excluded_addresses",
                "count_out_of_range",
            ),
            (json!({ "more": 1 }), "/more", "unknown_field"),
        ] {
            assert_eq!(refused(change.clone()), Some((pointer.to_owned(), code.to_owned())), "{change}");
        }
    }

    #[test]
    fn a_day_begins_for_payments_and_ends_for_records() {
        let day: Moment = serde_json::from_value(json!("2026-12-31")).unwrap();
        assert_eq!(day.last().to_rfc3339(), "2026-12-31T23:59:59+00:00");
        assert_eq!(day.first().to_rfc3339(), "2026-12-31T00:00:00+00:00");
        let exact: Moment = serde_json::from_value(json!("2026-12-31T12:00:00+01:00")).unwrap();
        assert_eq!((exact.first(), exact.last().to_rfc3339()), (exact.last(), "2026-12-31T11:00:00+00:00".to_owned()));
    }
}
