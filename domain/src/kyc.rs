//! What was handed in about an investor's identity, and everything that was decided about it. Rows are only ever added.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::investor::{self, Investor, Level, Move, Screening, Status};
use crate::{Error, Result, on};

crate::words! {
    /// Why somebody is suspended.
    Cause {
        /// The name is on a sanctions list.
        SanctionsHit = "sanctions_hit",
        /// A politically exposed person was not declared.
        PepHit = "pep_hit",
        /// A court or an authority said so.
        CourtOrder = "court_order",
        /// What was shown is suspected to be false.
        Fraud = "fraud",
        /// An operator's own judgement.
        Operator = "operator",
    }
}

/// What somebody hands in: a provider's reference, or data that only the platform can open.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct NewCase<'a> {
    pub level: Level,
    pub provider_reference: Option<&'a str>,
    pub data_sealed: Option<&'a str>,
    pub submitted_by: &'a str,
}

/// Stores what was handed in.
pub async fn insert_case(tx: &mut Tx, investor_id: &str, new: &NewCase<'_>) -> Result<String> {
    let (id, now) = (tx.new_id("kyc"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into kyc_cases (id, investor_id, level, provider_reference, data_sealed, submitted_by, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7)")
        .bind(&id).bind(investor_id).bind(new.level).bind(new.provider_reference).bind(new.data_sealed).bind(new.submitted_by)
        .bind(now).execute(conn).await?.rows_affected());
    Ok(id)
}

/// That something was handed in; what it was stays sealed.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Case {
    pub id: String,
    pub level: Level,
    pub provider_reference: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// Everything that an investor handed in, oldest first.
pub async fn cases(tx: &mut Tx, investor_id: &str) -> Result<Vec<Case>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Case>(
        "select id, level, provider_reference, created_at from kyc_cases where investor_id = $1 order by id")
        .bind(investor_id).fetch_all(conn).await?))
}

/// The newest case of an investor.
async fn newest_case(tx: &mut Tx, investor_id: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select id from kyc_cases where investor_id = $1 order by id desc limit 1").bind(investor_id).fetch_optional(conn).await?))
}

/// Who moves an investor's standing, and on what ground.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Ground<'a> {
    pub decided_by: &'a str,
    pub reason_code: Option<&'a str>,
    pub evidence_sha256: Option<&'a str>,
    /// What a screening found, if there was one for this.
    pub screening: Option<Screening>,
}

/// One line of an investor's history.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Decision {
    pub id: String,
    pub case_id: Option<String>,
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

/// Moves an investor's standing, with its line of history and its event, if nobody moved it since it was read.
pub async fn transition(tx: &mut Tx, i: &mut Investor, by: Move, ground: &Ground<'_>) -> Result<()> {
    let from = i.kyc_status;
    i.kyc_status = from.next(by).ok_or_else(|| refused(i, by))?;
    i.kyc_reason_code = ground.reason_code.map(str::to_owned);
    if !matches!(by, Move::Submit | Move::StartReview) {
        i.kyc_decided_at = Some(tx.now());
    }
    if let Some(found) = ground.screening {
        i.sanctions_status = found;
        i.last_screened_at = Some(tx.now());
    }
    investor::update(tx, i, by.event()).await?;
    let (id, now, case) = (tx.new_id("kyd"), tx.now(), newest_case(tx, &i.id).await?);
    on!(tx, conn => sqlx::query(
        "insert into kyc_decisions (id, investor_id, case_id, version, decision, from_status, to_status, level, reason_code, \
         evidence_sha256, screening, expires_at, decided_by, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)")
        .bind(id).bind(&i.id).bind(case).bind(i.version).bind(by).bind(from).bind(i.kyc_status).bind(i.kyc_level)
        .bind(ground.reason_code).bind(ground.evidence_sha256).bind(ground.screening).bind(i.kyc_expires_at).bind(ground.decided_by).bind(now)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// The refusal of a move that the standing does not allow.
pub fn refused(i: &Investor, by: Move) -> Error {
    let detail = format!("The identity of {} is {}: {by} is not allowed there.", i.id, i.kyc_status);
    let moves = i.kyc_status.moves().into_iter().map(Move::as_str).collect();
    Error::illegal(detail, i.kyc_status.as_str(), moves)
}

/// Everything that was decided about an investor, oldest first.
pub async fn decisions(tx: &mut Tx, investor_id: &str) -> Result<Vec<Decision>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Decision>(
        "select id, case_id, decision, from_status, to_status, level, reason_code, evidence_sha256, screening, expires_at, decided_by, \
         created_at from kyc_decisions where investor_id = $1 order by version")
        .bind(investor_id).fetch_all(conn).await?))
}
