//! `/v1/offerings/{id}/documents`: the documents of an offering, each by its hash.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id::{DocumentId, OfferingId};
use muniment_domain::idempotency::Answer;
use muniment_domain::offering::document::{self, Document, Kind, New};
use muniment_domain::offering::terms::is_web_address;
use muniment_domain::offering::{Scope, find_visible};
use muniment_workflows::offering;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::write::unnamed;
use super::{checked, running, seeing};
use crate::access::principal::Principal;
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::field::cause::Digest;
use crate::field::id::location;
use crate::http::error::{Problem, Result, check_that};
use crate::http::instant::Instant;

const TITLE_CHARACTERS: std::ops::RangeInclusive<usize> = 1..=200;

/// A document of an offering.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingDocument)]
pub struct Item {
    id: DocumentId,
    kind: Kind,
    #[schema(example = "What may go wrong")]
    title: String,
    sha256: String,
    url: String,
    version: i64,
    created_at: Instant,
}

/// A document of an offering.
pub fn item(d: &Document) -> Item {
    Item {
        id: d.id.clone(),
        kind: d.kind,
        title: d.title.clone(),
        sha256: d.sha256.clone(),
        url: d.url.clone(),
        version: d.version,
        created_at: Instant(d.created_at),
    }
}

/// The documents of an offering, by kind, newest version first.
#[derive(Serialize, ToSchema)]
#[schema(as = OfferingDocuments)]
pub struct DocumentList {
    data: Vec<Item>,
}

/// List the documents of an offering.
///
/// Contains every document that the caller may see.
#[utoipa::path(
    get,
    path = "/v1/offerings/{id}/documents",
    responses((status = 200, body = DocumentList)),
)]
pub async fn list(
    State(app): State<App>,
    Path(id): Path<OfferingId>,
    principal: Option<Extension<Principal>>,
) -> Result<Json<DocumentList>> {
    let mut tx = app.db.read().await?;
    find_visible(&mut tx, &seeing(principal.as_deref()), &id).await?;
    let data = document::list(&mut tx, &id).await?.iter().map(item).collect();
    Ok(Json(DocumentList { data }))
}

/// The document to add.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewOfferingDocument)]
#[serde(deny_unknown_fields)]
pub struct NewDocument {
    kind: Kind,
    #[schema(min_length = 1, max_length = 200, example = "What may go wrong")]
    title: String,
    sha256: Digest,
    #[schema(max_length = 2000, pattern = "^https://")]
    url: String,
    #[serde(skip)]
    target: Option<(OfferingId, Scope)>,
}

/// Add a document to an offering.
///
/// Answers 201. The document becomes the next version of its kind.
#[utoipa::path(
    post,
    path = "/v1/offerings/{id}/documents",
    request_body = NewDocument,
    params(IdempotencyKey),
    responses((status = 201, body = Item)),
    extensions(("x-codes" = json!(["invalid_state"]))),
)]
pub async fn add(
    State(app): State<App>,
    id: Path<OfferingId>,
    principal: Principal,
    mut submission: Submission<NewDocument>,
) -> Result<Response> {
    submission.body.target = Some((checked(id)?, running(&principal)));
    idempotency::once(&app, &submission).await
}

impl Form for NewDocument {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        let title = &self.title;
        let is_title = TITLE_CHARACTERS.contains(&title.trim().chars().count()) && !title.chars().any(char::is_control);
        Problem::all([
            check_that(is_title, "/title", "length_out_of_range", "The title must have 1 to 200 characters."),
            check_that(is_web_address(&self.url), "/url", "url_forbidden", "The URL must begin with https://."),
        ])
    }
}

impl ChangeRequest for NewDocument {
    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((id, scope)) = &self.target else { return Err(unnamed()) };
        let sha256 = format!("{:x}", self.sha256.0);
        let new = New { kind: self.kind, title: self.title.trim(), sha256: &sha256, url: &self.url };
        let stored = offering::add_document(tx, scope, id, new, &by).await?;
        let location = Some(format!("{}/documents", location(id)));
        Ok(Answer { status: 201, location, body: json!(item(&stored)).to_string() })
    }
}
