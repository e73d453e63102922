//! `/v1/policies`: every limit that the platform has, and other business limits, which take two admins.

mod fixed;

use axum::Json;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use muniment_domain::approval;
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::policy::{self as domain, BOUNDS, Policy};
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use muniment_workflows::staff::policy::Change;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::act::check_reason;
use crate::amount::Amount;
use crate::app::App;
use crate::approval::Asked;
use crate::error::Result;
use crate::idempotency::{self, IdempotencyKey};
use crate::instant::Instant;
use crate::pages::Parameters;
use crate::submission::{Intent, Submission};
use crate::version::{self, IfMatch, etag};

/// The business limits, which two admins can change while the platform runs.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = BusinessLimits)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// From which amount on a mint takes two people, in the currency of its offering: of one offering, in one day.
    mint_dual_control_threshold: Amount,
    /// From which total on the execution of a payout takes two people.
    payout_dual_control_threshold: Amount,
    /// What an investor must at least get to be paid now; less is held.
    payout_dust_threshold: Amount,
    /// How long a subscription may stay unpaid after its cooling-off time.
    #[schema(minimum = 1, maximum = 90)]
    payment_due_days: u32,
    /// How long an approval waits for a second person.
    #[schema(minimum = 25, maximum = 336)]
    approval_hours: u32,
    /// How long the approval of an identity holds.
    #[schema(minimum = 1, maximum = 36)]
    kyc_months: u32,
    /// The same for somebody of high risk.
    #[schema(minimum = 1, maximum = 12)]
    kyc_months_at_high_risk: u32,
}

impl Limits {
    fn of(limits: &domain::Limits) -> Self {
        Self {
            mint_dual_control_threshold: Amount(limits.mint_dual_control_threshold),
            payout_dual_control_threshold: Amount(limits.payout_dual_control_threshold),
            payout_dust_threshold: Amount(limits.payout_dust_threshold),
            payment_due_days: limits.payment_due_days,
            approval_hours: limits.approval_hours,
            kyc_months: limits.kyc_months,
            kyc_months_at_high_risk: limits.kyc_months_at_high_risk,
        }
    }

    fn wanted(&self) -> domain::Limits {
        domain::Limits {
            mint_dual_control_threshold: self.mint_dual_control_threshold.0,
            payout_dual_control_threshold: self.payout_dual_control_threshold.0,
            payout_dust_threshold: self.payout_dust_threshold.0,
            payment_due_days: self.payment_due_days,
            approval_hours: self.approval_hours,
            kyc_months: self.kyc_months,
            kyc_months_at_high_risk: self.kyc_months_at_high_risk,
        }
    }
}

/// Between what a limit can be chosen.
#[derive(Serialize, ToSchema)]
pub struct Bound {
    #[schema(example = "approval_hours")]
    name: &'static str,
    minimum: Plain,
    maximum: Plain,
}

/// A number; or money or a word, as a text.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub enum Plain {
    /// Money, or a word.
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

/// Every limit that there is.
#[derive(Serialize, ToSchema)]
pub struct Policies {
    /// Of the business limits; 0 where the configuration's hold.
    version: i64,
    limits: Limits,
    bounds: Vec<Bound>,
    /// Since when they hold, and why; null for those of the configuration.
    since: Option<Instant>,
    reason: Option<String>,
    /// Who asked for them, who allowed it, and by which approval.
    maker: Option<String>,
    checker: Option<String>,
    approval_id: Option<String>,
    /// What the configuration, or the program itself, says: it is changed by whoever runs the platform.
    fixed: fixed::Fixed,
}

/// `GET /v1/policies`: every limit that the platform has, with its value; which of them can be changed here, and between what.
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

/// Other business limits: all of them.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WantedPolicies)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    limits: Limits,
    #[schema(max_length = 500)]
    reason: String,
    #[serde(skip)]
    base_version: i64,
}

/// `PUT /v1/policies`: 202, another admin has to allow it. What was asked for under the old limits goes on by them; what is asked for afterwards
/// is judged by the new ones, in every process at once.
#[utoipa::path(
    put,
    path = "/v1/policies",
    request_body = Wanted,
    params(IdempotencyKey, version::Seen),
    responses((status = 202, body = Asked)),
    extensions(("x-codes" = json!(["invalid_state", "operation_in_progress", "version_conflict"]))),
)]
pub async fn change(
    State(app): State<App>,
    IfMatch(base_version): IfMatch,
    mut submission: Submission<Wanted>,
) -> Result<Response> {
    submission.body.base_version = base_version;
    idempotency::once(&app, &submission).await
}

impl Intent for Wanted {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_reason(&self.reason)?;
        Ok(self.limits.wanted().check()?)
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let (base_version, limits, reason) = (self.base_version, self.limits.wanted(), self.reason.trim().to_owned());
        let action = Action::ChangePolicies(Change { base_version, limits, reason });
        crate::approval::ask(app, tx, action, &by).await
    }
}
