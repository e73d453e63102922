//! `POST /v1/investors/{id}/kyc/decision`: a reviewer, or the provider that was asked, decides on what was handed in.

use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::{Level, Move, Screening};
use muniment_workflows::kyc::{self, Decision};
use muniment_workflows::requester::Requester;
use serde::Deserialize;

use super::{path, record};
use crate::app::App;
use crate::cause::Digest;
use crate::error::{Problem, Result};
use crate::idempotency;
use crate::submission::{Intent, Submission};

const CODE_CHARACTERS_MAX: usize = 60;

/// What is decided.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    decision: Move,
    level: Option<Level>,
    reason_code: Option<String>,
    evidence_sha256: Option<Digest>,
    screening: Option<Screening>,
    expires_at: Option<DateTime<Utc>>,
    #[serde(default)]
    high_risk: bool,
    accreditation: Option<Accreditation>,
    #[serde(skip)]
    investor_id: String,
}

/// That the investor was shown to be accredited too.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Accreditation {
    basis: String,
    expires_at: Option<DateTime<Utc>>,
}

/// Decides, and answers with the investor.
pub async fn decide(
    State(app): State<App>,
    Path(investor_id): Path<String>,
    mut submission: Submission<Body>,
) -> Result<Response> {
    id::check("inv", &investor_id)?;
    submission.body.investor_id = investor_id;
    idempotency::once(&app, &submission).await
}

impl Intent for Body {
    const KEY_OPTIONAL: bool = true;

    fn check(&self, now: DateTime<Utc>) -> Result<()> {
        match self.decision {
            Move::Approve | Move::Renew if self.evidence_sha256.is_none() => {
                return Err(Problem::field("/evidence_sha256", "required", "Name the document that the yes rests on."));
            }
            Move::Reject | Move::NeedsInformation if self.reason_code.is_none() => {
                return Err(Problem::field("/reason_code", "required", "Say why, so that the investor knows."));
            }
            Move::Approve | Move::Renew | Move::Reject | Move::NeedsInformation | Move::StartReview | Move::Reset => {}
            Move::Submit | Move::Expire | Move::Suspend | Move::Reinstate => {
                return Err(Problem::field("/decision", "type_mismatch", "That is no decision of a reviewer."));
            }
        }
        check_screening(self.screening)?;
        let yes = matches!(self.decision, Move::Approve | Move::Renew);
        if yes && self.screening.is_none() {
            return Err(Problem::field(
                "/screening",
                "required",
                "Say what the screening against sanction lists found.",
            ));
        }
        if let Some(code) = &self.reason_code {
            check_code("/reason_code", code)?;
        }
        match &self.accreditation {
            Some(_) if !yes => {
                Err(Problem::field("/accreditation", "unexpected", "Only a yes can say that somebody is accredited."))
            }
            Some(a) if a.expires_at.is_some_and(|end| end <= now) => {
                Err(Problem::field("/accreditation/expires_at", "out_of_range", "It would be over already."))
            }
            Some(a) => check_code("/accreditation/basis", &a.basis),
            None => Ok(()),
        }
    }

    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let decision = Decision {
            word: self.decision,
            level: self.level,
            reason_code: self.reason_code.clone(),
            evidence_sha256: self.evidence_sha256.map(|digest| digest.0.to_string()),
            screening: self.screening,
            expires_at: self.expires_at,
            high_risk: self.high_risk,
            accreditation: self.accreditation.as_ref().map(|a| (a.basis.clone(), a.expires_at)),
        };
        let i = kyc::decide(tx, &self.investor_id, &decision, &by).await?;
        let body = record::for_staff(tx, &i, false).await?.to_string();
        Ok(Answer { status: 200, location: Some(path(&i.id)), body })
    }
}

/// A screening that was made found something or nothing.
pub fn check_screening(found: Option<Screening>) -> Result<()> {
    if found != Some(Screening::NotScreened) {
        return Ok(());
    }
    Err(Problem::field("/screening", "type_mismatch", "A screening is clear, or it is a hit."))
}

/// Refuses what is no code: one word in small letters.
pub fn check_code(pointer: &'static str, code: &str) -> Result<()> {
    let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if (1..=CODE_CHARACTERS_MAX).contains(&code.len()) && code.bytes().all(word) {
        return Ok(());
    }
    Err(Problem::field(pointer, "code_format", "One word of small letters, digits and underscores is expected."))
}
