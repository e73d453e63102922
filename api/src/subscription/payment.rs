//! `/v1/subscriptions/{id}/payments` and `/refund`: payments, recorded once for each bank reference.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{PaymentId, SubscriptionId};
use muniment_domain::idempotency::Answer;
use muniment_domain::money::Money;
use muniment_domain::offering::choice::PaymentMethod;
use muniment_domain::subscription::{self as domain, Payment, PaymentKind, Scope};
use muniment_workflows::requester::Requester;
use muniment_workflows::subscription;
use muniment_workflows::subscription::Receipt;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::{View, scope, shown};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::amount::Amount;
use crate::field::id::location;
use crate::field::name::is_hidden;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;
use crate::http::pages::Parameters;

const REFERENCE_CHARACTERS_MAX: usize = 140;

/// The payment or the refund.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewPayment)]
#[serde(deny_unknown_fields)]
pub struct Body {
    #[serde(rename = "type")]
    kind: PaymentKind,
    amount: Amount,
    method: PaymentMethod,
    /// The reference of the bank, without spaces around it.
    #[schema(max_length = 140)]
    external_reference: String,
    received_at: Option<Instant>,
    #[serde(skip)]
    id: SubscriptionId,
}

/// The full refund.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Refund {
    /// The amount that was returned. It is refused unless it is all that was received. Without it, it is taken to be.
    amount: Option<Amount>,
    method: PaymentMethod,
    #[schema(max_length = 140)]
    external_reference: String,
    /// When the money was refunded.
    refunded_at: Option<Instant>,
    #[serde(skip)]
    id: SubscriptionId,
}

/// Record a payment or a refund.
///
/// Answers 201 with the payment and the subscription.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/payments",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 201, body = RecordedPayment)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn payments(
    State(app): State<App>,
    Path(id): Path<SubscriptionId>,
    submission: Submission<Body>,
) -> Result<Response> {
    idempotency::once_for(&app, id, submission, |body, id| body.id = id).await
}

/// Record the full refund of a subscription that ended.
#[utoipa::path(
    post,
    path = "/v1/subscriptions/{id}/refund",
    request_body = Refund,
    params(IdempotencyKey),
    responses((status = 200, body = RecordedPayment)),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn refund(
    State(app): State<App>,
    Path(id): Path<SubscriptionId>,
    submission: Submission<Refund>,
) -> Result<Response> {
    idempotency::once_for(&app, id, submission, |body, id| body.id = id).await
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let is_above = self.amount.0.minor() > 0;
        Problem::all([
            check_that(is_above, "/amount", "below_minimum", "The amount must be greater than zero."),
            check_reference(&self.external_reference),
        ])
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let receipt = Receipt {
            kind: self.kind,
            amount: Some(self.amount.0),
            method: self.method,
            external_reference: self.external_reference.trim().to_owned(),
            received_at: self.received_at.map(|at| at.0),
        };
        let (.., payment) = subscription::record(tx, &self.id, &receipt, &by).await?;
        answer(tx, 201, &payment).await
    }
}

impl Form for Refund {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reference(&self.external_reference)
    }
}

impl ChangeRequest for Refund {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let receipt = Receipt {
            kind: PaymentKind::Refunded,
            amount: self.amount.map(|amount| amount.0),
            method: self.method,
            external_reference: self.external_reference.trim().to_owned(),
            received_at: self.refunded_at.map(|at| at.0),
        };
        let (.., payment) = subscription::refund(tx, &self.id, &receipt, &by).await?;
        answer(tx, 200, &payment).await
    }
}

/// The same line of a bank must be the same text: what cannot be seen in it would make it another one.
fn check_reference(text: &str) -> Result<()> {
    let pointer = "/external_reference";
    let length = text.trim().chars().count();
    if length == 0 {
        return Err(Problem::field(pointer, "required", "The field must not be empty."));
    }
    if length > REFERENCE_CHARACTERS_MAX {
        let detail = format!("The reference can have at most {REFERENCE_CHARACTERS_MAX} characters.");
        return Err(Problem::field(pointer, "above_maximum", detail));
    }
    if text.trim().chars().any(|character| character.is_control() || is_hidden(character)) {
        return Err(Problem::field(pointer, "text_format", "Use one line."));
    }
    Ok(())
}

async fn answer(tx: &mut Tx, status: i64, payment: &Payment) -> muniment_domain::Result<Answer> {
    let (_, subscription) = shown(tx, &Scope::All, &payment.subscription_id).await?;
    let body = json!(RecordedPayment {
        id: payment.id.clone(),
        subscription_id: payment.subscription_id.clone(),
        kind: payment.kind,
        amount: Amount(Money::from_minor(payment.amount)),
        method: payment.method,
        external_reference: payment.external_reference.clone(),
        received_at: Instant(payment.received_at),
        created_at: Instant(payment.created_at),
        subscription,
    });
    let location = (status == 201).then(|| location(&payment.subscription_id));
    Ok(Answer { status, location, body: body.to_string() })
}

/// List the payments and refunds of a subscription, oldest first.
#[utoipa::path(
    get,
    path = "/v1/subscriptions/{id}/payments",
    responses((status = 200, body = Payments)),
    extensions(("x-codes" = json!(["unknown_parameter"]))),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<SubscriptionId>,
    Principal(principal): Principal,
    uri: Uri,
) -> Result<Json<Payments>> {
    Parameters::read(&uri, &[])?;
    let mut tx = app.db.read().await?;
    id.check()?;
    domain::listed(&mut tx, &scope(&principal), &id).await?;
    let data = domain::payments(&mut tx, &id).await?.iter().map(line).collect();
    Ok(Json(Payments { data }))
}

/// All payments of a subscription.
#[derive(Serialize, ToSchema)]
pub struct Payments {
    data: Vec<Line>,
}

/// A payment or a refund.
#[derive(Serialize, ToSchema)]
#[schema(as = Payment)]
pub struct Line {
    id: PaymentId,
    subscription_id: SubscriptionId,
    #[serde(rename = "type")]
    kind: PaymentKind,
    amount: Amount,
    method: PaymentMethod,
    external_reference: String,
    received_at: Instant,
    created_at: Instant,
}

/// Shows a payment or a refund.
pub fn line(p: &Payment) -> Line {
    Line {
        id: p.id.clone(),
        subscription_id: p.subscription_id.clone(),
        kind: p.kind,
        amount: Amount(Money::from_minor(p.amount)),
        method: p.method,
        external_reference: p.external_reference.clone(),
        received_at: Instant(p.received_at),
        created_at: Instant(p.created_at),
    }
}

/// The recorded payment with the subscription.
#[derive(Serialize, ToSchema)]
#[schema(as = PaymentEntered)]
pub struct RecordedPayment {
    id: PaymentId,
    subscription_id: SubscriptionId,
    #[serde(rename = "type")]
    kind: PaymentKind,
    amount: Amount,
    method: PaymentMethod,
    #[schema(max_length = 140)]
    external_reference: String,
    received_at: Instant,
    created_at: Instant,
    /// The subscription.
    subscription: View,
}
