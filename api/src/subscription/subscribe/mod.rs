//! `POST /v1/offerings/{id}/subscribe`. The field names are those of the specification; `?dry_run=true` only shows the result.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::Error;
use muniment_domain::db::Tx;
use muniment_domain::id::{DocumentId, Id, IdKind, InvestorId, OfferingId, SubscriptionId};
use muniment_domain::idempotency::Answer;
use muniment_domain::money::{self, Money};
use muniment_domain::offering::Offering;
use muniment_domain::offering::choice::PaymentMethod;
use muniment_domain::point::Point;
use muniment_domain::subscription::{Status, Subscription, eligibility};
use muniment_workflows::requester::Requester;
use muniment_workflows::subscription;
use muniment_workflows::subscription::{Preview, SubscribeRequest};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::code::Code;
use crate::code::eligibility::{Refusal, Rule};
use crate::field::address::Typed;
use crate::field::amount::Amount;
use crate::field::id::location;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::{self, Instant};
use crate::http::pages::Parameters;

const REFERENCE_CHARACTERS_MAX: usize = 140;
const ACKNOWLEDGEMENTS_MAX: usize = 20;
const ACKNOWLEDGEMENT_CHARACTERS_MAX: usize = 200;

/// The request body.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Subscribe)]
#[serde(deny_unknown_fields)]
pub struct Body {
    amount: Amount,
    wallet_address: Option<Typed>,
    #[schema(max_length = 140, example = "my first one")]
    reference: Option<String>,
    /// The statements that the investor confirmed.
    #[serde(default)]
    #[schema(max_items = 20, example = json!(["risk"]))]
    acknowledgements: Vec<String>,
    investor_id: Option<InvestorId>,
    /// The id of the investor's signed consent. Required if an operator subscribes.
    consent_document_id: Option<DocumentId>,
    #[serde(skip)]
    offering_id: OfferingId,
}

/// Subscribe to an offering.
///
/// Answers 201 with the location of the subscription.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/subscribe",
    request_body = Body,
    params(IdempotencyKey, ("dry_run" = Option<bool>, Query, description = "Whether to only show the result and store nothing.")),
    responses((status = 200, body = Previewed), (status = 201, body = Created<'static>)),
    extensions(("x-codes" = json!(["offering_not_open", "cooling_off_active", "duplicate_subscription", "wallet_in_use", "invalid_state", "self_approval_forbidden"]))),
)]
pub async fn subscribe(
    State(app): State<App>,
    Path(offering_id): Path<OfferingId>,
    uri: Uri,
    mut submission: Submission<Body>,
) -> Result<Response> {
    offering_id.check()?;
    let parameters = Parameters::read(&uri, &["dry_run"])?;
    let dry_run: Option<bool> = parameters.word("dry_run")?;
    submission.body.offering_id = offering_id;
    if dry_run == Some(true) {
        let mut tx = app.db.read().await?;
        let asked = submission.body.asked();
        let preview = subscription::preview(&mut tx, &app.settings, &asked, &submission.sent.requester()).await?;
        return Ok(Json(shown(&asked, &preview)).into_response());
    }
    let answer = idempotency::once(&app, &submission).await;
    if answer.as_ref().is_err_and(|problem| problem.code == Code::CoolingOffActive) {
        // The refusal carries the risk warning; nothing else of the request is stored.
        let mut tx = app.db.begin().await?;
        subscription::warn(&mut tx, &submission.body.asked(), &submission.sent.requester()).await?;
        tx.commit(Point::Account).await?;
    }
    answer
}

impl Body {
    fn asked(&self) -> SubscribeRequest {
        SubscribeRequest {
            offering_id: self.offering_id.clone(),
            amount: self.amount.0,
            wallet_address: self.wallet_address.map(|address| address.0),
            reference: self.reference.clone(),
            acknowledgements: self.acknowledgements.clone(),
            investor_id: self.investor_id.clone(),
            consent_document_id: self.consent_document_id.clone(),
        }
    }
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let fits = |text: &String, most| text.chars().count() <= most;
        let is_reference = self.reference.as_ref().is_none_or(|text| fits(text, REFERENCE_CHARACTERS_MAX));
        let longest = format!("The reference can have at most {REFERENCE_CHARACTERS_MAX} characters.");
        let said = &self.acknowledgements;
        let are_said =
            said.len() <= ACKNOWLEDGEMENTS_MAX && said.iter().all(|text| fits(text, ACKNOWLEDGEMENT_CHARACTERS_MAX));
        let most = format!(
            "At most {ACKNOWLEDGEMENTS_MAX} acknowledgements of {ACKNOWLEDGEMENT_CHARACTERS_MAX} characters each are allowed."
        );
        Problem::all([
            check_that(is_reference, "/reference", "above_maximum", longest),
            check_that(are_said, "/acknowledgements", "above_maximum", most),
            named("/investor_id", &self.investor_id),
            named("/consent_document_id", &self.consent_document_id),
        ])
    }
}

fn named<K: IdKind>(pointer: &str, named: &Option<Id<K>>) -> Result<()> {
    let detail = format!("Use an id such as {}_01k….", K::PREFIX);
    check_that(named.as_ref().is_none_or(Id::is_sound), pointer, "id_format", detail)
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let (offering, s) = subscription::subscribe(tx, &app.settings, &self.asked(), &by).await?;
        let body = serde_json::to_string(&Created::of(&offering, &s)).unwrap_or_default();
        Ok(Answer { status: 201, location: Some(location(&s.id)), body })
    }
}

/// The new subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = Subscribed)]
pub struct Created<'a> {
    subscription_id: &'a SubscriptionId,
    status: Status,
    #[schema(format = DateTime)]
    cooling_off_expires_at: String,
    #[schema(example = "sub_01jc8yq3k5e9v8w2m4n6p7r9st")]
    id: &'a SubscriptionId,
    offering_id: &'a OfferingId,
    #[schema(value_type = Amount)]
    amount: String,
    currency: &'a str,
    #[schema(value_type = Option<Typed>)]
    wallet_address: Option<String>,
    /// Where to pay, and with which reference.
    payment_instructions: PaymentInstructions<'a>,
    #[schema(format = DateTime)]
    created_at: String,
}

/// How to pay.
#[derive(Serialize, ToSchema)]
struct PaymentInstructions<'a> {
    method: Option<PaymentMethod>,
    #[schema(example = "sub_01jc8yq3k5e9v8w2m4n6p7r9st")]
    reference: &'a str,
    #[schema(value_type = Amount)]
    amount: String,
    currency: &'a str,
    #[schema(value_type = Option<Instant>)]
    due_at: Option<String>,
}

impl<'a> Created<'a> {
    fn of(offering: &'a Offering, s: &'a Subscription) -> Self {
        let amount = Money::from_minor(s.amount).to_string();
        let payment_instructions = PaymentInstructions {
            method: s.payment_method,
            reference: &s.id,
            amount: amount.clone(),
            currency: &offering.currency,
            due_at: instant::optional(s.payment_due_at),
        };
        Self {
            subscription_id: &s.id,
            status: s.status,
            cooling_off_expires_at: instant::text(s.cooling_off_expires_at),
            id: &s.id,
            offering_id: &s.offering_id,
            amount,
            currency: &offering.currency,
            wallet_address: s.wallet_address.map(|a| a.0.to_checksum(None)),
            payment_instructions,
            created_at: instant::text(s.created_at),
        }
    }
}

/// The subscription that would be created. Nothing was stored.
#[derive(Serialize, ToSchema)]
#[schema(as = SubscriptionPreview)]
pub struct Previewed {
    #[schema(example = true)]
    dry_run: bool,
    /// Whether the investor may subscribe.
    eligible: bool,
    /// The rules, each with its result.
    checks: Vec<Checked>,
    offering_id: OfferingId,
    amount: Amount,
    currency: String,
    quantity: Option<String>,
    wallet_address: Option<Typed>,
    cooling_off_expires_at: Instant,
    /// When the payment is due.
    payment_due_at: Instant,
}

/// A rule with its result.
#[derive(Serialize, ToSchema)]
#[schema(as = EligibilityCheck)]
struct Checked {
    /// The rule.
    #[schema(example = "identity")]
    rule: Rule,
    /// Whether the rule is met.
    passed: bool,
    /// The code with which a request would be refused. Null if the rule is met.
    #[schema(example = "kyc_required")]
    code: Option<Refusal>,
    /// Why it is not met, and what to do. Null if it is.
    detail: Option<String>,
}

impl Checked {
    fn of(check: &eligibility::Check) -> Self {
        let why = check.refused.as_ref().and_then(Error::refusal);
        Self {
            rule: Rule::of(check.rule),
            passed: check.refused.is_none(),
            code: why.map(|(code, _)| Refusal::of(code)),
            detail: why.map(|(_, detail)| detail.to_owned()),
        }
    }
}

fn shown(asked: &SubscribeRequest, preview: &Preview) -> Previewed {
    let offering = &preview.offering;
    let decimals = offering.decimals();
    let units = asked.amount.base_units(Money::from_minor(offering.unit_price), decimals);
    Previewed {
        dry_run: true,
        eligible: preview.checks.iter().all(|check| check.refused.is_none()),
        checks: preview.checks.iter().map(Checked::of).collect(),
        offering_id: offering.id.clone(),
        amount: Amount(asked.amount),
        currency: offering.currency.clone(),
        quantity: units.map(|units| money::quantity(units, decimals)),
        wallet_address: preview.wallet_address.map(Typed),
        cooling_off_expires_at: Instant(preview.cooling_off_expires_at),
        payment_due_at: Instant(preview.payment_due_at),
    }
}

#[cfg(test)]
mod tests;
