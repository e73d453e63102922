//! `POST /v1/investors/{id}/kyc/decision`: a reviewer, or the identity provider, decides on submitted identity data.

use axum::extract::{Path, State};
use axum::http::HeaderMap;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::InvestorId;
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{Level, Move, Screening};
use muniment_workflows::investor::kyc::{self, Decision};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::json;
use utoipa::ToSchema;

use super::record::{self, ForStaff};
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;
use crate::http::version::{IfMatch, OptionalSeen};

const CODE_CHARACTERS_MAX: usize = 60;

/// The decision of the reviewer.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = KycVerdict)]
#[serde(deny_unknown_fields)]
pub struct Body {
    decision: Word,
    level: Option<Level>,
    /// The reason. Required to reject or to ask for more documents.
    #[schema(pattern = "^[a-z0-9_]{1,60}$", example = "documents_match")]
    reason_code: Option<String>,
    /// The SHA-256 of the evidence. Required to approve.
    evidence_sha256: Option<Digest>,
    /// The result of the sanctions screening. Required to approve.
    screening: Option<Screening>,
    /// When the approval expires, if earlier than the default.
    #[schema(example = json!(null))]
    expires_at: Option<Instant>,
    /// Whether the investor is high risk.
    #[serde(default)]
    high_risk: bool,
    accreditation: Option<Accreditation>,
    #[serde(skip)]
    investor_id: InvestorId,
    /// The version of `If-Match`.
    #[serde(skip)]
    seen: Option<i64>,
}

/// A decision of a reviewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[schema(as = KycWord)]
#[serde(rename_all = "snake_case")]
enum Word {
    Approve,
    Renew,
    Reject,
    NeedsInformation,
    StartReview,
    Reset,
}

impl From<Word> for Move {
    fn from(word: Word) -> Self {
        match word {
            Word::Approve => Self::Approve,
            Word::Renew => Self::Renew,
            Word::Reject => Self::Reject,
            Word::NeedsInformation => Self::NeedsInformation,
            Word::StartReview => Self::StartReview,
            Word::Reset => Self::Reset,
        }
    }
}

/// An accreditation recorded together with the identity decision.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AccreditationVerdict)]
#[serde(deny_unknown_fields)]
struct Accreditation {
    #[schema(pattern = "^[a-z0-9_]{1,60}$", example = "net_worth")]
    basis: String,
    expires_at: Option<Instant>,
}

/// Record an identity (KYC) decision.
///
/// Answers with the investor. With `If-Match`, only if nothing about the investor has changed since it was read, such as new documents.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/kyc/decision",
    request_body = Body,
    params(IdempotencyKey, OptionalSeen),
    responses((status = 200, body = ForStaff, headers(("Location" = String)))),
    extensions(("x-codes" = json!(["invalid_state", "self_approval_forbidden"]))),
)]
pub async fn decide(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    headers: HeaderMap,
    mut submission: Submission<Body>,
) -> Result<Response> {
    submission.body.seen = IfMatch::optional(&headers)?.map(|IfMatch(version)| version);
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Body {
    fn check(&self, now: DateTime<Utc>) -> Result<()> {
        let yes = matches!(self.decision, Word::Approve | Word::Renew);
        let no = matches!(self.decision, Word::Reject | Word::NeedsInformation);
        let (evidence, screening) = (!yes || self.evidence_sha256.is_some(), !yes || self.screening.is_some());
        let reason = !no || self.reason_code.is_some();
        let is_required = "required";
        Problem::all([
            check_that(evidence, "/evidence_sha256", is_required, "The evidence document is required for an approval."),
            check_that(reason, "/reason_code", is_required, "A reason is required. The investor sees it."),
            check_screening(self.screening),
            check_that(screening, "/screening", is_required, "The result of the sanctions screening is required."),
            self.reason_code.as_deref().map_or(Ok(()), |code| check_code("/reason_code", code)),
            self.check_accreditation(yes, now),
        ])
    }
}

impl Body {
    fn check_accreditation(&self, yes: bool, now: DateTime<Utc>) -> Result<()> {
        match &self.accreditation {
            Some(_) if !yes => Err(Problem::field(
                "/accreditation",
                "unexpected",
                "An accreditation can be recorded only with an approval.",
            )),
            Some(a) if a.expires_at.is_some_and(|end| end.0 <= now) => {
                Err(Problem::field("/accreditation/expires_at", "out_of_range", "The time must be in the future."))
            }
            Some(a) => check_code("/accreditation/basis", &a.basis),
            None => Ok(()),
        }
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let decision = Decision {
            word: self.decision.into(),
            level: self.level,
            reason_code: self.reason_code.clone(),
            evidence_sha256: self.evidence_sha256.map(|digest| format!("{:x}", digest.0)),
            screening: self.screening,
            expires_at: self.expires_at.map(|end| end.0),
            high_risk: self.high_risk,
            accreditation: self.accreditation.as_ref().map(|a| (a.basis.clone(), a.expires_at.map(|end| end.0))),
            seen: self.seen,
        };
        let i = kyc::decide(tx, &app.settings, &self.investor_id, &decision, &by).await?;
        let body = json!(record::for_staff(tx, &i, false).await?).to_string();
        Ok(Answer { status: 200, location: Some(location(&i.id)), body })
    }
}

/// A screening that was made found something or nothing.
pub fn check_screening(found: Option<Screening>) -> Result<()> {
    if found != Some(Screening::NotScreened) {
        return Ok(());
    }
    Err(Problem::field("/screening", "type_mismatch", "The screening must be clear or hit."))
}

/// Refuses a code that is not one word in lower case.
pub fn check_code(pointer: &'static str, code: &str) -> Result<()> {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if (1..=CODE_CHARACTERS_MAX).contains(&code.len()) && code.bytes().all(word) {
        return Ok(());
    }
    Err(Problem::field(pointer, "code_format", "Use lower-case letters, digits and underscores."))
}
