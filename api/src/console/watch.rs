//! What is held up besides operations: signers, webhook endpoints, and the differences of the last reconciliation.

use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::list::Listed;
use crate::console::nav::DISABLED_ENDPOINTS;
use crate::console::{reconciliation, signers, webhooks, wording};
use crate::http::error::Result;

/// One thing, with the page that shows it.
pub struct Watched {
    pub id: String,
    pub text: String,
    pub detail: String,
    pub at: String,
    /// Whether it is only a warning: nothing is held up yet.
    pub is_early: bool,
}

#[derive(Deserialize)]
struct Endpoint {
    id: String,
    url: String,
    disabled_reason: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    id: String,
    finding_count: i64,
}

/// Reads all of it.
pub async fn read(desk: &Desk) -> Result<Vec<Watched>> {
    let (mut found, runs, endpoints) = tokio::try_join!(
        signers::watched(desk),
        desk.read::<Listed<Run>>("/blockchain/reconciliation-runs?status=completed&limit=1"),
        desk.read::<Listed<Endpoint>>(DISABLED_ENDPOINTS),
    )?;
    found.extend(runs.data.into_iter().filter(|run| run.finding_count > 0).map(different));
    found.extend(endpoints.data.into_iter().filter_map(silent));
    Ok(found)
}

fn different(run: Run) -> Watched {
    let found = wording::count(run.finding_count, "difference", "differences");
    Watched {
        text: format!("The last reconciliation found {found} between our books and the chain"),
        detail: "Each finding says what to do.".to_owned(),
        at: format!("{}/{}", reconciliation::PATH, run.id),
        id: run.id,
        is_early: false,
    }
}

/// An endpoint that the platform disabled. An endpoint that its owner disabled needs no attention.
fn silent(endpoint: Endpoint) -> Option<Watched> {
    Some(Watched {
        text: format!("The webhook endpoint {} gets no events", endpoint.url),
        detail: wording::word(&endpoint.disabled_reason?),
        at: format!("{}/{}", webhooks::PATH, endpoint.id),
        id: endpoint.id,
        is_early: false,
    })
}
