//! Whether an investor is accredited, as somebody whose office it is found, on what evidence and until when. Lines are only ever added.

use chrono::{DateTime, Utc};

use super::{Accreditation, Investor, find, update};
use crate::db::Tx;
use crate::{Result, on};

/// What was found.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Finding<'a> {
    pub status: Accreditation,
    pub basis: &'a str,
    pub evidence_sha256: &'a str,
    pub expires_at: Option<DateTime<Utc>>,
    pub decided_by: &'a str,
}

/// Writes down what was found, at any time: an accreditation runs out sooner than an identity.
pub async fn accredit(tx: &mut Tx, investor_id: &str, f: &Finding<'_>) -> Result<Investor> {
    let mut i = find(tx, investor_id).await?;
    f.apply(&mut i);
    update(tx, &mut i, "investor.accreditation_changed").await?;
    f.keep(tx, &i).await?;
    Ok(i)
}

impl Finding<'_> {
    /// Lets the row say so.
    pub fn apply(&self, i: &mut Investor) {
        i.accreditation_status = self.status;
        i.accreditation_basis = Some(self.basis.to_owned());
        i.accreditation_expires_at = self.expires_at;
    }

    /// Keeps the line, for the version that says so.
    pub async fn keep(&self, tx: &mut Tx, i: &Investor) -> Result<()> {
        let (id, now) = (tx.new_id("acr"), tx.now());
        on!(tx, conn => sqlx::query(
            "insert into accreditations (id, investor_id, version, status, basis, evidence_sha256, expires_at, decided_by, created_at) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
            .bind(id).bind(&i.id).bind(i.version).bind(self.status).bind(self.basis).bind(self.evidence_sha256).bind(self.expires_at)
            .bind(self.decided_by).bind(now).execute(conn).await?.rows_affected());
        Ok(())
    }
}

/// One line.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Found {
    pub id: String,
    pub status: Accreditation,
    pub basis: String,
    pub evidence_sha256: String,
    pub expires_at: Option<DateTime<Utc>>,
    pub decided_by: String,
    pub created_at: DateTime<Utc>,
}

/// Everything that was found, oldest first.
pub async fn accreditations(tx: &mut Tx, investor_id: &str) -> Result<Vec<Found>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Found>(
        "select id, status, basis, evidence_sha256, expires_at, decided_by, created_at from accreditations where investor_id = $1 \
         order by version").bind(investor_id).fetch_all(conn).await?))
}
