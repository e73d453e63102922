//! The papers of an offering. A new version of a paper stands beside the old one, which stays.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::Offering;
use crate::db::Tx;
use crate::{Result, event, on};

crate::words! {
    /// What a paper is.
    Kind {
        /// What is offered, at length.
        Memorandum = "memorandum",
        /// What a subscriber agrees to.
        Terms = "terms",
        /// What may go wrong.
        RiskFactors = "risk_factors",
        /// The issuer's figures.
        Financials = "financials",
        /// What a lawyer says.
        LegalOpinion = "legal_opinion",
        /// What the asset is worth.
        Valuation = "valuation",
        /// Anything else.
        Other = "other",
    }
}

/// A paper.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Document {
    pub id: String,
    pub offering_id: String,
    pub kind: Kind,
    pub title: String,
    pub sha256: String,
    pub url: String,
    pub version: i64,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// A paper that is added.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub kind: Kind,
    pub title: &'a str,
    pub sha256: &'a str,
    pub url: &'a str,
}

/// Adds a paper, as the next version of its kind, with its event.
pub async fn add(tx: &mut Tx, o: &Offering, new: New<'_>, actor: &str) -> Result<Document> {
    let (id, now) = (tx.new_id("doc"), tx.now());
    let stored = on!(tx, conn => sqlx::query_as::<_, Document>(
        "insert into offering_documents (id, offering_id, kind, title, sha256, url, version, created_by, created_at) \
         values ($1, $2, $3, $4, $5, $6, (select coalesce(max(version), 0) + 1 from offering_documents where offering_id = $2 and kind = $3), \
         $7, $8) returning *")
        .bind(id).bind(&o.id).bind(new.kind).bind(new.title).bind(new.sha256).bind(new.url).bind(actor).bind(now)
        .fetch_one(conn).await?);
    let data = json!({ "status": o.status, "version": o.version, "document_id": stored.id, "kind": new.kind, "actor": actor,
        "sha256": new.sha256 });
    event::write(tx, "offering.updated", "offering", &o.id, o.version, data).await?;
    Ok(stored)
}

/// The papers of an offering, each kind with its newest version first.
pub async fn list(tx: &mut Tx, offering_id: &str) -> Result<Vec<Document>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Document>(
        "select * from offering_documents where offering_id = $1 order by kind, version desc")
        .bind(offering_id).fetch_all(conn).await?))
}
