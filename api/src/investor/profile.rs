//! `GET` and `PATCH /v1/investor/profile`: the caller's investor profile.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use muniment_domain::db::Tx;
use muniment_domain::investment_limit::Finances;
use muniment_domain::investor::{self, Investor, Kind, Move, TaxForm};
use muniment_domain::point::Point;
use muniment_domain::{Code as Refusal, Error};
use muniment_workflows::limits;
use serde::Deserialize;
use utoipa::ToSchema;

use super::record::{self, Full};
use crate::access::principal::Principal;
use crate::app::App;
use crate::field::amount::Amount;
use crate::field::name::{check_country, check_name};
use crate::http::body::Input;
use crate::http::error::{Problem, Result};
use crate::http::version::{IfMatch, OptionalSeen, etag};

/// Read your investor profile.
#[utoipa::path(
    get,
    path = "/v1/investor/profile",
    responses((status = 200, body = Full, headers(("ETag" = String)))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, principal: Principal) -> Result<Response> {
    let mut tx = app.db.read().await?;
    let i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    shown(&mut tx, &i).await
}

async fn shown(tx: &mut Tx, i: &Investor) -> Result<Response> {
    let body = record::full(tx, i, false).await?;
    Ok(([(header::ETAG, etag(i.version))], Json(body)).into_response())
}

/// The fields to change. Missing and null fields stay unchanged.
#[derive(Deserialize, ToSchema)]
#[schema(as = ChangeOfInvestor)]
#[serde(deny_unknown_fields)]
pub struct Change {
    #[serde(rename = "type")]
    kind: Option<Kind>,
    #[schema(min_length = 1, max_length = 120)]
    legal_name: Option<String>,
    #[schema(pattern = "^[A-Z]{2}$")]
    country: Option<String>,
    #[schema(pattern = "^[A-Z]{2}$", example = "PT")]
    tax_residency: Option<String>,
    tax_form: Option<TaxForm>,
    #[schema(pattern = "^[A-Z]{2}$", example = "PT")]
    treaty_country: Option<String>,
    /// The annual income, or the revenue of a company. Laws use it to limit investments. It can be raised once in `means_raise_days` of
    /// the policies, like the net worth.
    annual_income: Option<Amount>,
    /// The net worth without the primary residence, or the net assets of a company.
    net_worth: Option<Amount>,
}

/// Change your investor profile.
///
/// Identity fields can change until the review starts. Tax fields can change at any time.
#[utoipa::path(
    patch,
    path = "/v1/investor/profile",
    request_body = Change,
    params(OptionalSeen),
    responses((status = 200, body = Full, headers(("ETag" = String)))),
    extensions(("x-codes" = json!(["not_found", "invalid_state"]))),
)]
pub async fn change(
    State(app): State<App>,
    principal: Principal,
    headers: HeaderMap,
    Input(body): Input<Change>,
) -> Result<Response> {
    Problem::all([
        body.legal_name.as_deref().map_or(Ok(()), |name| check_name("/legal_name", name)),
        check_country("/country", body.country.as_deref()),
        check_country("/tax_residency", body.tax_residency.as_deref()),
        check_country("/treaty_country", body.treaty_country.as_deref()),
    ])?;
    let seen = IfMatch::optional(&headers)?;
    let mut tx = app.db.begin().await?;
    let mut i = investor::of_user(&mut tx, &principal.0.user_id).await?;
    if seen.is_some_and(|IfMatch(version)| version != i.version) {
        return Err(Error::refused(
            Refusal::VersionConflict,
            "The profile has changed since you read it. Read it again.",
        )
        .into());
    }
    let identity = body.kind.is_some() || body.legal_name.is_some() || body.country.is_some();
    if identity && i.kyc_status.next(Move::Submit).is_none() {
        let detail = format!("Your identity is {} and cannot be changed.", i.kyc_status);
        return Err(Error::refused(Refusal::InvalidState, detail).into());
    }
    i.kind = body.kind.unwrap_or(i.kind);
    i.legal_name = body.legal_name.map_or(i.legal_name, |name| name.trim().to_owned());
    i.country = body.country.unwrap_or(i.country);
    i.tax_residency = body.tax_residency.or(i.tax_residency);
    i.tax_form = body.tax_form.unwrap_or(i.tax_form);
    i.treaty_country = body.treaty_country.or(i.treaty_country);
    let means = Finances {
        annual_income: body.annual_income.map(|amount| amount.0.minor()).or(i.means.annual_income),
        net_worth: body.net_worth.map(|amount| amount.0.minor()).or(i.means.net_worth),
    };
    let raise_days = limits::current(&mut tx, &app.settings).await?.1.means_raise_days;
    i.declare(means, raise_days, tx.now())?;
    investor::update(&mut tx, &mut i, "investor.updated").await?;
    let answer = shown(&mut tx, &i).await?;
    tx.commit(Point::Account).await?;
    Ok(answer)
}
