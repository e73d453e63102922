//! Accreditation of investors: who decided, on what evidence and until when. Decisions are only added, never changed.

use chrono::{DateTime, Utc};

use super::{Accreditation, Investor, find, update};
use crate::Result;
use crate::db::Tx;
use crate::id::{AccreditationId, InvestorId, of};
use crate::sql::{insert_into, sql};

/// A decision on an accreditation.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct AccreditationDecision<'a> {
    pub status: Accreditation,
    pub basis: &'a str,
    pub evidence_sha256: &'a str,
    pub expires_at: Option<DateTime<Utc>>,
    pub decided_by: &'a str,
}

/// Records a decision and applies it to the investor. An accreditation expires independently of the identity.
pub async fn accredit(tx: &mut Tx, investor_id: &InvestorId, f: &AccreditationDecision<'_>) -> Result<Investor> {
    let mut i = find(tx, investor_id).await?;
    f.apply(&mut i);
    update(tx, &mut i, "investor.accreditation_changed").await?;
    f.keep(tx, &i).await?;
    Ok(i)
}

impl AccreditationDecision<'_> {
    /// Applies the decision to the row.
    pub fn apply(&self, i: &mut Investor) {
        i.accreditation_status = self.status;
        i.accreditation_basis = Some(self.basis.to_owned());
        i.accreditation_expires_at = self.expires_at;
    }

    /// Stores the decision with the version of the investor.
    pub async fn keep(&self, tx: &mut Tx, i: &Investor) -> Result<()> {
        let (id, now) = (tx.new_id::<of::Accreditation>(), tx.now());
        insert_into("accreditations")
            .set("id", id)
            .set("investor_id", &i.id)
            .set("version", i.version)
            .set("status", self.status)
            .set("basis", self.basis)
            .set("evidence_sha256", self.evidence_sha256)
            .set("expires_at", self.expires_at)
            .set("decided_by", self.decided_by)
            .set("created_at", now)
            .execute(tx)
            .await?;
        Ok(())
    }
}

/// One stored decision.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct StoredAccreditation {
    pub id: AccreditationId,
    pub status: Accreditation,
    pub basis: String,
    pub evidence_sha256: String,
    pub expires_at: Option<DateTime<Utc>>,
    pub decided_by: String,
    pub created_at: DateTime<Utc>,
}

/// All decisions, oldest first.
pub async fn accreditations(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<StoredAccreditation>> {
    sql("select id, status, basis, evidence_sha256, expires_at, decided_by, created_at
         from accreditations where investor_id = $1 order by version")
    .bind(investor_id)
    .rows(tx)
    .await
}
