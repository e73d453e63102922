//! `/v1/investors/{id}/documents`: documents that an investor signed, each by its hash.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DocumentId, InvestorId};
use muniment_domain::idempotency::Answer;
use muniment_domain::investor::document::{self, Document, DocumentKind};
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::Result;
use crate::http::instant::Instant;

/// A document of an investor.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorDocument)]
pub struct View {
    id: DocumentId,
    investor_id: InvestorId,
    kind: DocumentKind,
    #[schema(example = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")]
    sha256: String,
    created_by: String,
    created_at: Instant,
}

/// All documents of an investor.
#[derive(Serialize, ToSchema)]
#[schema(as = InvestorDocuments)]
pub struct Listed {
    data: Vec<View>,
}

impl From<Document> for View {
    fn from(d: Document) -> Self {
        let Document { id, investor_id, kind, sha256, created_by, created_at } = d;
        Self { id, investor_id, kind, sha256, created_by, created_at: Instant(created_at) }
    }
}

/// List the documents of an investor.
#[utoipa::path(get, path = "/v1/investors/{id}/documents", responses((status = 200, body = Listed)))]
pub async fn list(State(app): State<App>, Path(id): Path<InvestorId>) -> Result<Json<Listed>> {
    let mut tx = app.db.read().await?;
    let data = document::list(&mut tx, &id).await?.into_iter().map(View::from).collect();
    Ok(Json(Listed { data }))
}

/// The document to record.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewInvestorDocument)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    kind: DocumentKind,
    sha256: Digest,
    #[serde(skip)]
    investor_id: InvestorId,
}

/// Record a document of an investor.
///
/// Answers 201. With a signed consent, an operator can subscribe for the investor.
#[utoipa::path(
    post,
    path = "/v1/investors/{id}/documents",
    request_body = Paper,
    params(IdempotencyKey),
    responses((status = 201, body = View)),
    extensions(("x-codes" = json!([]))),
)]
pub async fn add(
    State(app): State<App>,
    Path(investor_id): Path<InvestorId>,
    submission: Submission<Paper>,
) -> Result<Response> {
    idempotency::once_for(&app, investor_id, submission, |body, id| body.investor_id = id).await
}

impl Form for Paper {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }
}

impl ChangeRequest for Paper {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let sha256 = format!("{:x}", self.sha256.0);
        let stored = document::add(tx, &self.investor_id, self.kind, &sha256, &by.actor).await?;
        let location = Some(format!("{}/documents", location(&stored.investor_id)));
        Ok(Answer { status: 201, location, body: json!(View::from(stored)).to_string() })
    }
}
