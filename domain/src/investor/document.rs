//! Documents of an investor, stored as hashes. The document itself stays elsewhere; the hash proves it.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::find;
use crate::db::Tx;
use crate::id::{DocumentId, InvestorId, SubscriptionId, of};
use crate::sql::{insert_into, sql};
use crate::{Code, Error, Result, event};

crate::words! {
    /// The kind of a document.
    DocumentKind {
        /// Consent that an operator subscribes for the investor.
        SubscriptionConsent = "subscription_consent",
        /// Power of attorney.
        PowerOfAttorney = "power_of_attorney",
        /// Another document.
        Other = "other",
    }
}

/// One document.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Document {
    pub id: DocumentId,
    pub investor_id: InvestorId,
    pub kind: DocumentKind,
    pub sha256: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// Stores a document. The same document is stored once.
pub async fn add(
    tx: &mut Tx,
    investor_id: &InvestorId,
    kind: DocumentKind,
    sha256: &str,
    actor: &str,
) -> Result<Document> {
    let i = find(tx, investor_id).await?;
    let (id, now) = (tx.new_id::<of::Document>(), tx.now());
    let stored = insert_into("investor_documents")
        .set("id", id)
        .set("investor_id", &i.id)
        .set("kind", kind)
        .set("sha256", sha256)
        .set("created_by", actor)
        .set("created_at", now)
        .push(" on conflict (investor_id, sha256, kind) do nothing returning *")
        .optional::<Document>(tx)
        .await?;
    if let Some(stored) = stored {
        let data = json!({ "document_id": stored.id, "kind": kind, "sha256": sha256, "actor": actor });
        event::write(tx, "investor.document_added", "investor", &i.id, i.version, data).await?;
        return Ok(stored);
    }
    sql("select * from investor_documents where investor_id = $1 and sha256 = $2 and kind = $3")
        .bind((&i.id, sha256, kind))
        .row(tx)
        .await
}

/// The documents of an investor, oldest first.
pub async fn list(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<Document>> {
    find(tx, investor_id).await?;
    sql("select * from investor_documents where investor_id = $1 order by id").bind(investor_id).rows(tx).await
}

/// A signed consent is valid for one subscription only. After a withdrawal the investor must sign a new one.
async fn check_unused(tx: &mut Tx, document_id: &DocumentId) -> Result<()> {
    let used = sql("select id from subscriptions where consent_document_id = $1 order by id limit 1")
        .bind(document_id)
        .optional_scalar::<SubscriptionId>(tx)
        .await?;
    match used {
        None => Ok(()),
        Some(used) => {
            let detail = format!("The consent {document_id} is already used for {used}. File a new one.");
            Err(Error::field("/consent_document_id", "already_used", detail))
        }
    }
}

/// Checks that a document is the investor's consent or power of attorney.
pub async fn check_consent(tx: &mut Tx, investor_id: &InvestorId, document_id: &DocumentId) -> Result<()> {
    let kind = sql("select kind from investor_documents where id = $1 and investor_id = $2")
        .bind((document_id, investor_id))
        .optional_scalar::<DocumentKind>(tx)
        .await?;
    match kind {
        Some(DocumentKind::PowerOfAttorney) => Ok(()),
        Some(DocumentKind::SubscriptionConsent) => check_unused(tx, document_id).await,
        _ => {
            let detail = format!("The investor has no consent or power of attorney {document_id}.");
            Err(Error::field("/consent_document_id", Code::NotFound.as_str(), detail))
        }
    }
}
