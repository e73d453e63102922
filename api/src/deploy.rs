//! `POST /blockchain/deploy-token`.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Utc};
use muniment_domain::db::Tx;
use muniment_domain::id;
use muniment_domain::idempotency::Answer;
use muniment_workflows::deploy;
use muniment_workflows::requester::Requester;
use serde::Deserialize;

use crate::app::App;
use crate::error::{Problem, Result};
use crate::submission::{Intent, Submission};
use crate::{idempotency, operation};

/// What is wanted.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Body {
    offering_id: String,
}

/// Accepts the deployment of an offering's token: 202, and the operation to watch.
pub async fn deploy_token(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    idempotency::once(&app, &submission).await
}

impl Intent for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        check_offering_id(&self.offering_id)
    }

    async fn accept(&self, app: &App, tx: &mut Tx, by: Requester) -> muniment_domain::Result<Answer> {
        let request = deploy::Request { offering_id: self.offering_id.clone() };
        let operation = deploy::request(tx, &app.settings, request, &by).await?;
        Ok(operation::accepted(app, &operation))
    }
}

/// An id that cannot be one is a misfit of the body, not a missing thing.
pub fn check_offering_id(text: &str) -> Result<()> {
    id::check("off", text)
        .map_err(|_| Problem::field("/offering_id", "id_format", "An offering's id looks like off_01k…."))
}
