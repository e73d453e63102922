//! The papers of an investor, each by its hash: what somebody signed stays where it is, and is proved by what is kept here.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::find;
use crate::db::Tx;
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// What a paper is.
    PaperKind {
        /// The investor lets an operator subscribe.
        SubscriptionConsent = "subscription_consent",
        /// The investor lets somebody act.
        PowerOfAttorney = "power_of_attorney",
        /// Anything else.
        Other = "other",
    }
}

/// A paper.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Document {
    pub id: String,
    pub investor_id: String,
    pub kind: PaperKind,
    pub sha256: String,
    pub created_by: String,
    pub created_at: DateTime<Utc>,
}

/// Keeps a paper; the same one is kept once.
pub async fn add(tx: &mut Tx, investor_id: &str, kind: PaperKind, sha256: &str, actor: &str) -> Result<Document> {
    let i = find(tx, investor_id).await?;
    let (id, now) = (tx.new_id("doc"), tx.now());
    let stored = on!(tx, conn => sqlx::query_as::<_, Document>(
        "insert into investor_documents (id, investor_id, kind, sha256, created_by, created_at) values ($1, $2, $3, $4, $5, $6) \
         on conflict (investor_id, sha256, kind) do nothing returning *")
        .bind(id).bind(&i.id).bind(kind).bind(sha256).bind(actor).bind(now).fetch_optional(conn).await?);
    if let Some(stored) = stored {
        let data = json!({ "document_id": stored.id, "kind": kind, "sha256": sha256, "actor": actor });
        event::write(tx, "investor.document_added", "investor", &i.id, i.version, data).await?;
        return Ok(stored);
    }
    Ok(on!(tx, conn => sqlx::query_as::<_, Document>(
        "select * from investor_documents where investor_id = $1 and sha256 = $2 and kind = $3")
        .bind(&i.id).bind(sha256).bind(kind).fetch_one(conn).await?))
}

/// The papers of an investor, oldest first.
pub async fn list(tx: &mut Tx, investor_id: &str) -> Result<Vec<Document>> {
    find(tx, investor_id).await?;
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Document>("select * from investor_documents where investor_id = $1 order by id")
        .bind(investor_id).fetch_all(conn).await?),
    )
}

/// Refuses a paper by which this investor lets nobody subscribe.
pub async fn must_consent(tx: &mut Tx, investor_id: &str, document_id: &str) -> Result<()> {
    let kind = on!(tx, conn => sqlx::query_scalar::<_, PaperKind>("select kind from investor_documents where id = $1 and investor_id = $2")
        .bind(document_id).bind(investor_id).fetch_optional(conn).await?);
    match kind {
        Some(PaperKind::SubscriptionConsent | PaperKind::PowerOfAttorney) => Ok(()),
        _ => {
            let detail = format!("The investor has no consent or power of attorney {document_id}.");
            Err(Error::field("/consent_document_id", Code::NotFound.as_str(), detail))
        }
    }
}
