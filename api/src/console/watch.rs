//! What is held up besides operations: signers, webhook endpoints, and the differences of the last reconciliation.

use muniment_domain::id::OfferingId;
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::list::Listed;
use crate::console::{reconciliation, signers, silenced, webhooks, wording};
use crate::http::error::Result;

/// How many runs are read at once, and how often at most. Runs further back are of offerings that nobody compares any more.
const RUNS: usize = 100;
const READS: i64 = 5;

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
struct Run {
    id: String,
    offering_id: Option<OfferingId>,
    finding_count: i64,
}

/// Reads all of it.
pub async fn read(desk: &Desk) -> Result<Vec<Watched>> {
    let (mut found, runs, endpoints) =
        tokio::try_join!(signers::watched(desk), newest_runs(desk), silenced::endpoints(desk))?;
    found.extend(runs.into_iter().filter(|run| run.finding_count > 0).map(different));
    found.extend(endpoints.into_iter().map(silent));
    Ok(found)
}

/// The newest completed run of each scope, as far back as the newest run of everything, which covers what is older.
async fn newest_runs(desk: &Desk) -> Result<Vec<Run>> {
    let mut newest = Vec::<Run>::new();
    for page in 1..=READS {
        let path = format!("/blockchain/reconciliation-runs?status=completed&limit={RUNS}&page={page}");
        let runs = desk.read::<Listed<Run>>(&path).await?.data;
        let is_last = runs.len() < RUNS;
        for run in runs {
            let is_of_everything = run.offering_id.is_none();
            if newest.iter().all(|newer| newer.offering_id != run.offering_id) {
                newest.push(run);
            }
            if is_of_everything {
                return Ok(newest);
            }
        }
        if is_last {
            break;
        }
    }
    Ok(newest)
}

fn different(run: Run) -> Watched {
    let found = wording::count(run.finding_count, "difference", "differences");
    let scope = run.offering_id.map(|id| format!(" of {}", wording::short_id(&id))).unwrap_or_default();
    Watched {
        text: format!("The last reconciliation{scope} found {found} between our books and the chain"),
        detail: "Each finding says what to do.".to_owned(),
        at: format!("{}/{}", reconciliation::PATH, run.id),
        id: run.id,
        is_early: false,
    }
}

fn silent(endpoint: silenced::Endpoint) -> Watched {
    Watched {
        text: format!("The webhook endpoint {} gets no events", endpoint.url),
        detail: wording::word(&endpoint.disabled_reason.unwrap_or_default()),
        at: format!("{}/{}", webhooks::PATH, endpoint.id),
        id: endpoint.id,
        is_early: false,
    }
}
