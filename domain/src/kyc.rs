//! Identity checks: submissions of an investor and decisions about them. Rows are only added, never changed.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::id::{InvestorId, KycCaseId, KycDecisionId, of};
use crate::investor::{self, Investor, Level, Move, Screening, Status};
use crate::sql::{insert_into, sql};
use crate::{Error, Result};

crate::words! {
    /// The cause of a suspension.
    Cause {
        /// A match on a sanctions list.
        SanctionsHit = "sanctions_hit",
        /// An undeclared politically exposed person.
        PepHit = "pep_hit",
        /// An order of a court or an authority.
        CourtOrder = "court_order",
        /// Suspected fraud.
        Fraud = "fraud",
        /// The judgement of an operator.
        Operator = "operator",
    }
}

/// A submission: a provider's reference, or data encrypted by the platform.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewCase<'a> {
    pub level: Level,
    pub provider_reference: Option<&'a str>,
    pub data_sealed: Option<&'a str>,
    pub submitted_by: &'a str,
}

/// Stores a submission.
pub async fn insert_case(tx: &mut Tx, investor_id: &InvestorId, new: &NewCase<'_>) -> Result<KycCaseId> {
    let (id, now) = (tx.new_id(), tx.now());
    insert_into("kyc_cases")
        .set("id", &id)
        .set("investor_id", investor_id)
        .set("level", new.level)
        .set("provider_reference", new.provider_reference)
        .set("data_sealed", new.data_sealed)
        .set("submitted_by", new.submitted_by)
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(id)
}

/// A submission without its encrypted data.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Case {
    pub id: KycCaseId,
    pub level: Level,
    pub provider_reference: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// All submissions of an investor, oldest first.
pub async fn cases(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Case>> {
    sql("select id, level, provider_reference, created_at from kyc_cases where investor_id = $1 order by id")
        .bind(investor_id)
        .rows(tx)
        .await
}

/// A submission with its encrypted data. The data is empty if the investor is erased, and none if a provider has it.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct SealedCase {
    #[sqlx(flatten)]
    pub case: Case,
    pub data_sealed: Option<String>,
}

/// All submissions of an investor with their encrypted data, newest first, for the reviewer.
pub async fn sealed_cases(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<SealedCase>> {
    sql("select id, level, provider_reference, created_at, data_sealed from kyc_cases
         where investor_id = $1 order by id desc")
    .bind(investor_id)
    .rows(tx)
    .await
}

/// The newest submission of an investor.
async fn newest_case(tx: &mut Tx, investor_id: &InvestorId) -> Result<Option<KycCaseId>> {
    sql("select id from kyc_cases where investor_id = $1 order by id desc limit 1")
        .bind(investor_id)
        .optional_scalar(tx)
        .await
}

/// The person who decides on a move, and the reason.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct DecisionReason<'a> {
    pub decided_by: &'a str,
    pub reason_code: Option<&'a str>,
    pub evidence_sha256: Option<&'a str>,
    /// The result of a screening made for this move.
    pub screening: Option<Screening>,
}

/// One entry of an investor's history.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Decision {
    pub id: KycDecisionId,
    pub case_id: Option<KycCaseId>,
    pub decision: Move,
    pub from_status: Status,
    pub to_status: Status,
    pub level: Option<Level>,
    pub reason_code: Option<String>,
    pub evidence_sha256: Option<String>,
    pub screening: Option<Screening>,
    pub expires_at: Option<DateTime<Utc>>,
    pub decided_by: String,
    pub created_at: DateTime<Utc>,
}

/// Moves an investor's status and writes history and event, unless the row has changed since it was read.
pub async fn transition(tx: &mut Tx, i: &mut Investor, by: Move, ground: &DecisionReason<'_>) -> Result<()> {
    let from = i.kyc_status;
    i.kyc_status = from.next(by).ok_or_else(|| illegal_move(i, by))?;
    i.kyc_reason_code = ground.reason_code.map(str::to_owned);
    // These two moves are not decisions.
    if !matches!(by, Move::Submit | Move::StartReview) {
        i.kyc_decided_at = Some(tx.now());
    }
    if let Some(found) = ground.screening {
        i.sanctions_status = found;
        i.last_screened_at = Some(tx.now());
    }
    // First, because the decision stores the new version of the investor.
    investor::update(tx, i, by.event()).await?;
    let (id, now, case) = (tx.new_id::<of::KycDecision>(), tx.now(), newest_case(tx, &i.id).await?);
    insert_into("kyc_decisions")
        .set("id", id)
        .set("investor_id", &i.id)
        .set("case_id", case)
        .set("version", i.version)
        .set("decision", by)
        .set("from_status", from)
        .set("to_status", i.kyc_status)
        .set("level", i.kyc_level)
        .set("reason_code", ground.reason_code)
        .set("evidence_sha256", ground.evidence_sha256)
        .set("screening", ground.screening)
        .set("expires_at", i.kyc_expires_at)
        .set("decided_by", ground.decided_by)
        .set("created_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// The error for a move that the status does not allow.
pub fn illegal_move(i: &Investor, by: Move) -> Error {
    let detail = format!("The identity of {} is {}; the move {by} is not allowed.", i.id, i.kyc_status);
    let moves = i.kyc_status.moves().into_iter().map(Move::as_str).collect();
    Error::illegal(detail, i.kyc_status.as_str(), moves)
}

/// All decisions about an investor, oldest first.
pub async fn decisions(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Decision>> {
    sql("select id, case_id, decision, from_status, to_status, level, reason_code, evidence_sha256, screening,
             expires_at, decided_by, created_at
         from kyc_decisions where investor_id = $1 order by version")
    .bind(investor_id)
    .rows(tx)
    .await
}
