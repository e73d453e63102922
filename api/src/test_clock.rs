//! `POST /v1/test-clock/advance`: moves the clock of a development installation forward, so that periods can be tried without waiting for them.

use axum::extract::State;
use axum::response::Response;
use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::idempotency::Answer;
use muniment_domain::test_clock;
use muniment_workflows::requester::Requester;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use crate::access::permission::PERSON;
use crate::access::route::{Route, route};
use crate::app::App;
use crate::change::ChangeRequest;
use crate::change::idempotency::{self, IdempotencyKey};
use crate::change::submission::{Form, Submission};
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::instant::Instant;

/// Ten years.
const SECONDS_MAX: i64 = 315_360_000;

/// The endpoints of the test clock.
pub fn routes() -> Vec<Route> {
    vec![route!(advance, PERSON)]
}

/// How far to move the clock forward.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = TestClockMove)]
#[serde(deny_unknown_fields)]
pub struct Body {
    /// The seconds to add. Zero only reads the clock.
    #[schema(minimum = 0, maximum = 315_360_000, example = 86400)]
    advance_seconds: i64,
}

/// The clock of a development installation.
#[derive(Serialize, ToSchema)]
#[schema(as = TestClock)]
pub struct View {
    /// The time of the platform now.
    now: Instant,
    /// How far it is ahead of the machine's clock, in seconds.
    ahead_seconds: i64,
}

/// Move the clock of a development installation forward.
///
/// Periods that end by then end at once: cooling-off, payment due, expiry, record and payment dates. So do access tokens: log in again. The
/// clock never goes back. Another process of the same installation follows at its next start. In production the answer is 404.
#[utoipa::path(
    post,
    path = "/v1/test-clock/advance",
    request_body = Body,
    params(IdempotencyKey),
    responses((status = 200, body = View)),
)]
pub async fn advance(State(app): State<App>, submission: Submission<Body>) -> Result<Response> {
    if !app.db.clock().is_for_tests() {
        return Err(Problem::new(Code::NotFound, "Only the development profile has a test clock."));
    }
    let answer = idempotency::once(&app, &submission).await?;
    let ahead = test_clock::ahead(&mut app.db.read().await?).await?;
    app.db.clock().set_ahead(ahead);
    Ok(answer)
}

impl Form for Body {
    fn check(&self, _: DateTime<Utc>) -> Result<()> {
        if (0..=SECONDS_MAX).contains(&self.advance_seconds) {
            return Ok(());
        }
        let detail = format!("The clock can be moved forward by at most {SECONDS_MAX} seconds at once.");
        Err(Problem::field("/advance_seconds", "out_of_range", detail))
    }
}

impl ChangeRequest for Body {
    async fn accept(&self, _: &App, tx: &mut Tx, _: Requester) -> muniment_domain::Result<Answer> {
        let added = Duration::seconds(self.advance_seconds);
        let ahead = test_clock::advance(tx, added.num_microseconds().unwrap_or(0)).await?;
        let body = json!(View { now: Instant(tx.now() + added), ahead_seconds: ahead / 1_000_000 });
        Ok(Answer { status: 200, location: None, body: body.to_string() })
    }
}
