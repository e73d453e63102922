//! `/v1/policies`: every limit of the platform, and changes of the business limits, which need two admins.

mod fixed;

use axum::Json;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::approval;
use muniment_domain::db::Tx;
use muniment_domain::id::ApprovalId;
use muniment_domain::idempotency::Answer;
use muniment_domain::policy::{self as domain, BOUNDS, Policy};
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use muniment_workflows::staff::policy::Change;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::access::permission::{ADMIN, STAFF};
use crate::access::route::{Route, route};
use crate::app::App;
use crate::approval::Asked;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::change::{ChangeRequest, check_reason};
use crate::field::amount::Amount;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;
use crate::http::pages::Parameters;
use crate::http::version::{self, IfMatch, etag};

/// The endpoints of policies.
pub fn routes() -> Vec<Route> {
    vec![route!(read, STAFF), route!(change, ADMIN).step_up()]
}

/// The business limits. Two admins can change them while the platform runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = BusinessLimits)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Mints of one offering in one day that reach this amount need two people, in the currency of the offering.
    mint_dual_control_threshold: Amount,
    /// Payouts with at least this total need two people.
    payout_dual_control_threshold: Amount,
    /// All mints of one day that reach this amount need two people, whatever their offerings. Currencies count at par.
    mint_platform_dual_control_threshold: Amount,
    /// All payouts of one day that reach this total need two people, whatever their offerings. Currencies count at par.
    payout_platform_dual_control_threshold: Amount,
    /// Days after which an investor may declare a higher income or net worth again. 0 means at any time.
    #[schema(minimum = 0, maximum = 365)]
    means_raise_days: u32,
    /// The smallest net amount that is paid. Smaller amounts are held.
    payout_dust_threshold: Amount,
    /// Days after the cooling-off period until a subscription must be paid.
    #[schema(minimum = 1, maximum = 90)]
    payment_due_days: u32,
    /// Hours until a pending approval expires.
    #[schema(minimum = 25, maximum = 336)]
    approval_hours: u32,
    /// Months until an identity approval expires.
    #[schema(minimum = 1, maximum = 36)]
    kyc_months: u32,
    /// Months until an identity approval expires for a high-risk investor.
    #[schema(minimum = 1, maximum = 12)]
    kyc_months_at_high_risk: u32,
    /// Members that an issuer may invite in one day.
    #[schema(minimum = 1, maximum = 100)]
    issuer_invitations_per_day: u32,
    /// Share of the hard cap that one investor may reserve before a payment, in percent.
    #[schema(minimum = 1, maximum = 100)]
    unpaid_investor_percent: u32,
    /// Share of the hard cap that one investor may reserve before the identity is approved, in percent.
    #[schema(minimum = 1, maximum = 100)]
    unverified_investor_percent: u32,
    /// Share of the hard cap that all these investors may reserve together, in percent.
    #[schema(minimum = 1, maximum = 100)]
    unverified_total_percent: u32,
    /// Hours after which their subscriptions expire, unless the identity is approved or the amount is paid.
    #[schema(minimum = 1, maximum = 720)]
    unverified_hours: u32,
}

impl Limits {
    fn of(limits: &domain::Limits) -> Self {
        Self {
            mint_dual_control_threshold: Amount(limits.mint_dual_control_threshold),
            payout_dual_control_threshold: Amount(limits.payout_dual_control_threshold),
            mint_platform_dual_control_threshold: Amount(limits.mint_platform_dual_control_threshold),
            payout_platform_dual_control_threshold: Amount(limits.payout_platform_dual_control_threshold),
            means_raise_days: limits.means_raise_days,
            payout_dust_threshold: Amount(limits.payout_dust_threshold),
            payment_due_days: limits.payment_due_days,
            approval_hours: limits.approval_hours,
            kyc_months: limits.kyc_months,
            kyc_months_at_high_risk: limits.kyc_months_at_high_risk,
            issuer_invitations_per_day: limits.issuer_invitations_per_day,
            unpaid_investor_percent: limits.unpaid_investor_percent,
            unverified_investor_percent: limits.unverified_investor_percent,
            unverified_total_percent: limits.unverified_total_percent,
            unverified_hours: limits.unverified_hours,
        }
    }

    fn wanted(&self) -> domain::Limits {
        domain::Limits {
            mint_dual_control_threshold: self.mint_dual_control_threshold.0,
            payout_dual_control_threshold: self.payout_dual_control_threshold.0,
            mint_platform_dual_control_threshold: self.mint_platform_dual_control_threshold.0,
            payout_platform_dual_control_threshold: self.payout_platform_dual_control_threshold.0,
            means_raise_days: self.means_raise_days,
            payout_dust_threshold: self.payout_dust_threshold.0,
            payment_due_days: self.payment_due_days,
            approval_hours: self.approval_hours,
            kyc_months: self.kyc_months,
            kyc_months_at_high_risk: self.kyc_months_at_high_risk,
            issuer_invitations_per_day: self.issuer_invitations_per_day,
            unpaid_investor_percent: self.unpaid_investor_percent,
            unverified_investor_percent: self.unverified_investor_percent,
            unverified_total_percent: self.unverified_total_percent,
            unverified_hours: self.unverified_hours,
        }
    }
}

/// The allowed range of a limit.
#[derive(Serialize, ToSchema)]
pub struct Bound {
    #[schema(example = "approval_hours")]
    name: &'static str,
    /// The smallest allowed value.
    minimum: Plain,
    /// The largest allowed value.
    maximum: Plain,
}

/// A number, or a string for money and words.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Plain {
    /// A string for money or a word.
    Text(String),
    /// A number.
    Number(i64),
}

impl Plain {
    fn of(value: Value) -> Self {
        match value {
            Value::String(text) => Self::Text(text),
            other => Self::Number(other.as_i64().unwrap_or_default()),
        }
    }
}

/// All limits of the platform.
#[derive(Serialize, ToSchema)]
pub struct Policies {
    /// The version of the business limits. 0 means those of the configuration.
    version: i64,
    limits: Limits,
    /// The allowed ranges of the limits.
    bounds: Vec<Bound>,
    /// Since when the limits apply. Null for the limits of the configuration.
    since: Option<Instant>,
    reason: Option<String>,
    /// The person who requested the limits. See also `checker` and `approval_id`.
    maker: Option<String>,
    /// The person who approved the limits.
    checker: Option<String>,
    approval_id: Option<ApprovalId>,
    /// The limits that the configuration or the program sets.
    fixed: fixed::Fixed,
}

/// List all limits of the platform.
///
/// Shows which limits can be changed here, and their allowed range.
#[utoipa::path(
    get,
    path = "/v1/policies",
    params(("version" = Option<i64>, Query, minimum = 0, description = "The business limits as they were at this version.", example = 0)),
    responses((status = 200, body = Policies, headers(("ETag")))),
    extensions(("x-codes" = json!(["not_found"]))),
)]
pub async fn read(State(app): State<App>, uri: Uri) -> Result<Response> {
    let parameters = Parameters::read(&uri, &["version"])?;
    let mut tx = app.db.read().await?;
    let found = match parameters.word::<u32>("version")? {
        Some(0) => None,
        Some(version) => Some(domain::find(&mut tx, version.into()).await?),
        None => domain::newest(&mut tx).await?,
    };
    let shown = shown(&app, &mut tx, found).await?;
    Ok(([(header::ETAG, etag(shown.version))], Json(shown)).into_response())
}

async fn shown(app: &App, tx: &mut Tx, found: Option<Policy>) -> Result<Policies> {
    let bounds = BOUNDS.iter().map(|bound| {
        let (minimum, maximum) = (bound.shown(bound.minimum), bound.shown(bound.maximum));
        Bound { name: bound.name, minimum: Plain::of(minimum), maximum: Plain::of(maximum) }
    });
    let allowed = match &found {
        Some(found) => approval::executed(tx, "change_policies", &found.version.to_string()).await?,
        None => None,
    };
    let (checker, approval_id) = allowed.map(|a| (a.checker, a.id)).unzip();
    let limits = found.as_ref().map_or_else(|| app.settings.limits(), |found| found.limits.0.clone());
    Ok(Policies {
        version: found.as_ref().map_or(0, |found| found.version),
        limits: Limits::of(&limits),
        bounds: bounds.collect(),
        since: found.as_ref().map(|found| Instant(found.created_at)),
        reason: found.as_ref().map(|found| found.reason.clone()),
        maker: found.map(|found| found.created_by),
        checker: checker.flatten(),
        approval_id,
        fixed: fixed::Fixed::of(app),
    })
}

/// The new business limits, complete.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WantedPolicies)]
#[serde(deny_unknown_fields)]
pub struct LimitsRequest {
    limits: Limits,
    #[schema(min_length = 1, max_length = 500)]
    reason: String,
    #[serde(skip)]
    base_version: i64,
}

/// Request a change of the business limits.
///
/// Answers 202. Another admin decides. Requests made before the change keep the old limits.
#[utoipa::path(
    put,
    path = "/v1/policies",
    request_body = LimitsRequest,
    params(IdempotencyKey, version::Seen),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "version_conflict"]))),
)]
pub async fn change(
    State(app): State<App>,
    IfMatch(base_version): IfMatch,
    mut submission: Submission<LimitsRequest>,
) -> Result<Response> {
    submission.body.base_version = base_version;
    idempotency::once(&app, &submission).await
}

impl Form for LimitsRequest {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let limits = self.limits.wanted().check().map_err(Problem::from);
        Problem::all([check_reason(&self.reason), limits])
    }
}

impl ChangeRequest for LimitsRequest {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let (base_version, limits, reason) = (self.base_version, self.limits.wanted(), self.reason.trim().to_owned());
        let action = Action::ChangePolicies(Change { base_version, limits, reason });
        crate::approval::ask(app, tx, action, &by).await
    }
}
