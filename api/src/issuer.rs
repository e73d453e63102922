//! `/v1/issuers`: the organisations that offer something, and an operator's yes to each.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::Uri;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::issuer::{self, Issuer};
use muniment_domain::{Error, id};
use muniment_workflows::requester::Requester;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::Result;
use crate::pages::{Page, Parameters};
use crate::submission::{Intent, Submission};
use crate::{idempotency, instant};

fn item(issuer: &Issuer) -> Value {
    json!({
        "id": issuer.id, "name": issuer.name, "status": issuer.status, "version": issuer.version,
        "created_at": instant::text(issuer.created_at), "updated_at": instant::text(issuer.updated_at),
    })
}

/// `GET /v1/issuers`: newest first.
pub async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Value>> {
    let parameters = Parameters::read(&uri, &["status", "page", "limit"])?;
    let (page, status) = (Page::of(&parameters)?, parameters.word("status")?);
    let (rows, total) = issuer::page(&mut app.db.read().await?, status, page.limit, page.offset()).await?;
    Ok(Json(page.answer(rows.iter().map(item).collect(), total)))
}

/// The body of a yes: its path says it all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Yes {
    #[serde(skip)]
    issuer_id: String,
}

/// `POST /v1/issuers/{id}/approve`: its people may offer from now on.
pub async fn approve(
    State(app): State<App>,
    Path(issuer_id): Path<String>,
    mut submission: Submission<Yes>,
) -> Result<Response> {
    id::check("iss", &issuer_id)?;
    submission.body.issuer_id = issuer_id;
    idempotency::once(&app, &submission).await
}

impl Intent for Yes {
    const KEY_OPTIONAL: bool = true;

    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        Ok(())
    }

    async fn accept(&self, _: &App, tx: &mut Tx, by: Requester) -> Result<Answer, Error> {
        let approved = issuer::approve(tx, &self.issuer_id, &by.actor).await?;
        Ok(Answer { status: 200, location: None, body: item(&approved).to_string() })
    }
}
