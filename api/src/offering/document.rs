//! `/v1/offerings/{id}/documents`: the papers of an offering, each by its hash.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Extension, Json};
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::offering::document::{self, Document, Kind, New};
use muniment_domain::offering::terms::is_web_address;
use muniment_domain::offering::{Scope, see};
use muniment_workflows::offering;
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::{Value, json};

use super::write::unnamed;
use super::{checked, path, running, seeing};
use crate::app::App;
use crate::cause::Digest;
use crate::error::{Problem, Result};
use crate::principal::Principal;
use crate::submission::{Intent, Submission};
use crate::{idempotency, instant};

const TITLE_CHARACTERS: std::ops::RangeInclusive<usize> = 1..=200;

/// A paper as answers show it.
pub fn item(d: &Document) -> Value {
    json!({
        "id": d.id, "kind": d.kind, "title": d.title, "sha256": d.sha256, "url": d.url, "version": d.version,
        "created_at": instant::text(d.created_at),
    })
}

/// The papers of an offering that the caller sees; they are few, and come all at once.
pub async fn list(
    State(app): State<App>,
    Path(id): Path<String>,
    principal: Option<Extension<Principal>>,
) -> Result<Json<Value>> {
    let mut tx = app.db.read().await?;
    see(&mut tx, &seeing(principal.as_deref()), &id).await?;
    let papers: Vec<_> = document::list(&mut tx, &id).await?.iter().map(item).collect();
    Ok(Json(json!({ "data": papers })))
}

/// A paper to be added.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    kind: Kind,
    title: String,
    sha256: Digest,
    url: String,
    #[serde(skip)]
    asked: Option<(String, Scope)>,
}

/// Adds a paper as the next version of its kind: 201.
pub async fn add(
    State(app): State<App>,
    id: Path<String>,
    principal: Principal,
    mut submission: Submission<Paper>,
) -> Result<Response> {
    submission.body.asked = Some((checked(id)?, running(&principal)));
    idempotency::once(&app, &submission).await
}

impl Intent for Paper {
    const KEY_OPTIONAL: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if !TITLE_CHARACTERS.contains(&self.title.trim().chars().count()) || self.title.chars().any(char::is_control) {
            return Err(Problem::field("/title", "length_out_of_range", "A title has 1 to 200 characters."));
        }
        if !is_web_address(&self.url) {
            return Err(Problem::field("/url", "url_forbidden", "An address that begins with https:// is expected."));
        }
        Ok(())
    }

    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let Some((id, scope)) = &self.asked else { return Err(unnamed()) };
        let sha256 = format!("{:x}", self.sha256.0);
        let new = New { kind: self.kind, title: self.title.trim(), sha256: &sha256, url: &self.url };
        let stored = offering::add_document(tx, scope, id, new, &by).await?;
        let location = Some(format!("{}/documents", path(id)));
        Ok(Answer { status: 201, location, body: item(&stored).to_string() })
    }
}
