//! What is withheld of an investor's payments. What a distribution has calculated stays as it was.

use chrono::{DateTime, Utc};

use super::{Investor, find, update};
use crate::db::Tx;
use crate::{Result, on};

/// What was decided.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Rate<'a> {
    /// In hundredths of a percent.
    pub basis_points: i64,
    pub basis: &'a str,
    pub evidence_sha256: &'a str,
    pub decided_by: &'a str,
}

/// Sets the rate from now on, with its line and its event.
pub async fn withhold(tx: &mut Tx, investor_id: &str, r: &Rate<'_>) -> Result<Investor> {
    let mut i = find(tx, investor_id).await?;
    update(tx, &mut i, "investor.tax_changed").await?;
    let (id, now) = (tx.new_id("txd"), tx.now());
    on!(tx, conn => sqlx::query(
        "insert into tax_decisions (id, investor_id, version, rate_basis_points, basis, evidence_sha256, decided_by, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8)")
        .bind(id).bind(&i.id).bind(i.version).bind(r.basis_points).bind(r.basis).bind(r.evidence_sha256).bind(r.decided_by).bind(now)
        .execute(conn).await?.rows_affected());
    on!(tx, conn => sqlx::query(
        "insert into tax_profiles (investor_id, rate_basis_points, basis, updated_at) values ($1, $2, $3, $4) on conflict (investor_id) \
         do update set rate_basis_points = excluded.rate_basis_points, basis = excluded.basis, updated_at = excluded.updated_at")
        .bind(&i.id).bind(r.basis_points).bind(r.basis).bind(now).execute(conn).await?.rows_affected());
    Ok(i)
}

/// What is withheld of an investor's payments, in hundredths of a percent.
pub async fn withholding(tx: &mut Tx, investor_id: &str) -> Result<i64> {
    let rate = on!(tx, conn => sqlx::query_scalar::<_, i64>("select rate_basis_points from tax_profiles where investor_id = $1")
        .bind(investor_id).fetch_optional(conn).await?);
    Ok(rate.unwrap_or(0))
}

/// One line.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Decided {
    pub id: String,
    pub rate_basis_points: i64,
    pub basis: String,
    pub evidence_sha256: String,
    pub decided_by: String,
    pub created_at: DateTime<Utc>,
}

/// Everything that was decided, oldest first.
pub async fn tax_decisions(tx: &mut Tx, investor_id: &str) -> Result<Vec<Decided>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Decided>(
        "select id, rate_basis_points, basis, evidence_sha256, decided_by, created_at from tax_decisions where investor_id = $1 \
         order by version").bind(investor_id).fetch_all(conn).await?))
}
