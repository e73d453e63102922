//! Tax withholding of investors. A new rate does not change distributions that are already calculated.

use chrono::{DateTime, Utc};

use super::{Investor, find, update};
use crate::Result;
use crate::db::Tx;
use crate::id::{InvestorId, TaxRateId, of};
use crate::sql::{insert_into, sql};

/// A decision on a withholding rate.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Rate<'a> {
    /// The rate in hundredths of a percent.
    pub basis_points: i64,
    pub basis: &'a str,
    pub evidence_sha256: &'a str,
    pub decided_by: &'a str,
}

/// Sets the rate from now on, stores the decision and writes its event.
pub async fn withhold(tx: &mut Tx, investor_id: &InvestorId, r: &Rate<'_>) -> Result<Investor> {
    let mut i = find(tx, investor_id).await?;
    update(tx, &mut i, "investor.tax_changed").await?;
    let (id, now) = (tx.new_id::<of::TaxRate>(), tx.now());
    insert_into("tax_decisions")
        .set("id", id)
        .set("investor_id", &i.id)
        .set("version", i.version)
        .set("rate_basis_points", r.basis_points)
        .set("basis", r.basis)
        .set("evidence_sha256", r.evidence_sha256)
        .set("decided_by", r.decided_by)
        .set("created_at", now)
        .execute(tx)
        .await?;
    sql("insert into tax_profiles (investor_id, rate_basis_points, basis, updated_at)
         values ($1, $2, $3, $4)
         on conflict (investor_id) do update set rate_basis_points = excluded.rate_basis_points,
             basis = excluded.basis, updated_at = excluded.updated_at")
    .bind((&i.id, r.basis_points, r.basis, now))
    .execute(tx)
    .await?;
    Ok(i)
}

/// The withholding rate of an investor, in hundredths of a percent.
pub async fn withholding(tx: &mut Tx, investor_id: &InvestorId) -> Result<i64> {
    let rate = sql("select rate_basis_points from tax_profiles where investor_id = $1")
        .bind(investor_id)
        .optional_scalar::<i64>(tx)
        .await?;
    Ok(rate.unwrap_or(0))
}

/// One stored decision.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct StoredTaxRate {
    pub id: TaxRateId,
    pub rate_basis_points: i64,
    pub basis: String,
    pub evidence_sha256: String,
    pub decided_by: String,
    pub created_at: DateTime<Utc>,
}

/// All decisions, oldest first.
pub async fn tax_decisions(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<StoredTaxRate>> {
    sql("select id, rate_basis_points, basis, evidence_sha256, decided_by, created_at
         from tax_decisions where investor_id = $1 order by version")
    .bind(investor_id)
    .rows(tx)
    .await
}
