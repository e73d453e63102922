//! Documents of an offering. A new version of a document does not replace the old one.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::Offering;
use crate::db::Tx;
use crate::id::{DocumentId, OfferingId, of};
use crate::sql::sql;
use crate::{Result, event};

crate::words! {
    /// The kind of a document.
    Kind {
        /// Offering memorandum.
        Memorandum = "memorandum",
        /// Terms of the subscription.
        Terms = "terms",
        /// Risk factors.
        RiskFactors = "risk_factors",
        /// Financial statements.
        Financials = "financials",
        /// Legal opinion.
        LegalOpinion = "legal_opinion",
        /// Valuation of the asset.
        Valuation = "valuation",
        /// Another document.
        Other = "other",
    }
}

/// One document.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Document {
    pub id: DocumentId,
    pub offering_id: OfferingId,
    pub kind: Kind,
    pub title: String,
    pub sha256: String,
    pub url: String,
    pub version: i64,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// A document to add.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct New<'a> {
    pub kind: Kind,
    pub title: &'a str,
    pub sha256: &'a str,
    pub url: &'a str,
}

/// Adds a document as the next version of its kind, and writes the event.
pub async fn add(tx: &mut Tx, o: &Offering, new: New<'_>, actor: &str) -> Result<Document> {
    let (id, now) = (tx.new_id::<of::Document>(), tx.now());
    let stored = sql("insert into offering_documents
            (id, offering_id, kind, title, sha256, url, version, created_by, created_at)
        values ($1, $2, $3, $4, $5, $6,
            (select coalesce(max(version), 0) + 1 from offering_documents where offering_id = $2 and kind = $3), $7, $8)
        returning *")
    .bind((id, &o.id, new.kind, new.title, new.sha256, new.url, actor, now))
    .row::<Document>(tx)
    .await?;
    let data = json!({ "status": o.status, "version": o.version, "document_id": stored.id, "kind": new.kind, "actor": actor,
        "sha256": new.sha256 });
    event::write(tx, "offering.updated", "offering", &o.id, o.version, data).await?;
    Ok(stored)
}

/// The documents of an offering, by kind and newest version first.
pub async fn list(tx: &mut Tx, offering_id: &OfferingId) -> Result<Vec<Document>> {
    sql("select * from offering_documents where offering_id = $1 order by kind, version desc")
        .bind(offering_id)
        .rows(tx)
        .await
}
