//! Reconciliation: compares chain and database at one final block, part by part. It changes nothing but its own report.
//!
//! A run is a row with a part for each token. A worker compares one part at a time, at one final block by its hash, and commits its
//! findings. Payouts are compared with the coin's transfers: each receipt must have its transfer.

mod executed;
pub mod import;
mod payout;
mod signers;
mod token;

use chrono::{DateTime, Duration, Utc};
use muniment_activities::fault::Fault;
use muniment_domain::db::Tx;
use muniment_domain::id::{OfferingId, RunId};
use muniment_domain::offering::{self, Offering};
use muniment_domain::point::Point;
use muniment_domain::reconciliation::{self, Finding, PATIENCE_SECONDS, Part, Run, Status};
use muniment_domain::{Error, Result, chain};

use crate::engine::Engine;
use crate::engine::queue;

/// A run without progress for this time fails.
const GIVE_UP_SECONDS: i64 = 3_600;

/// A request for a run.
#[derive(Clone, Debug)]
pub struct Request {
    /// One offering, or all of them.
    pub offering_id: Option<OfferingId>,
    /// A final block of the past. Without it, the newest block that is read.
    pub at_block: Option<i64>,
}

/// The result of comparing a part.
enum Compared {
    /// The part is compared.
    Done(Part, Vec<Finding>),
    /// The part cannot be compared now, with the reason.
    Later(String),
}

/// Accepts a run.
pub async fn request(tx: &mut Tx, r: &Request, actor: &str) -> Result<Run> {
    let offering = match &r.offering_id {
        Some(id) => Some(offering::find(tx, id).await?),
        None => None,
    };
    if let Some(block) = r.at_block {
        validate_block(tx, offering.as_ref(), block).await?;
    }
    let run = reconciliation::insert(tx, r.offering_id.as_ref(), r.at_block, actor).await?;
    let now = tx.now();
    queue::wake_id(tx, queue::DESK, &run.id, now).await?;
    Ok(run)
}

/// Refuses a block that is not final or is older than the token. A block belongs to one chain, so an offering must be named.
async fn validate_block(tx: &mut Tx, offering: Option<&Offering>, block: i64) -> Result<()> {
    let Some(offering) = offering else {
        return Err(Error::field(
            "/offering_id",
            "required",
            "A block belongs to one chain, so at_block needs an offering.",
        ));
    };
    let last = chain::find(tx, offering.chain_id).await?.map_or(0, |cursor| cursor.final_number);
    if block > last {
        return Err(Error::field("/at_block", "not_final", format!("The last final block is {last}.")));
    }
    match offering.token_block_number {
        Some(first) if block < first => {
            Err(Error::field("/at_block", "too_early", format!("The token was deployed in block {first}.")))
        }
        _ => Ok(()),
    }
}

/// Compares the next part of a run, with no database transaction open, and writes the findings in one commit.
pub async fn advance(engine: &Engine, run_id: &RunId) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let mut run = reconciliation::find(&mut tx, run_id).await?;
    let parts = reconciliation::parts(&mut tx, run_id).await?;
    drop(tx);
    if run.status != Status::Running {
        return Ok(());
    }
    let next = parts.iter().find(|part| part.done_at.is_none()).cloned();
    let compared = match next {
        Some(part) => Some(compare(engine, part, run.at_block).await?),
        None => None,
    };
    let mut tx = engine.db.begin().await?;
    let now = tx.now();
    match compared {
        Some(Compared::Done(part, findings)) => {
            reconciliation::finish_part(&mut tx, &mut run, &part, &findings).await?;
            wake_again(&mut tx, &mut run, now, now + Duration::seconds(PATIENCE_SECONDS)).await?;
        }
        Some(Compared::Later(why)) => {
            tracing::info!(run.id = %run.id, "a comparison waits: {why}");
            let since = parts.iter().filter_map(|part| part.done_at).max().unwrap_or(run.created_at);
            run.error = Some(why);
            if now - since > Duration::seconds(GIVE_UP_SECONDS) {
                run.status = Status::Failed;
            } else {
                let later = now + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
                wake_again(&mut tx, &mut run, later, later + Duration::seconds(PATIENCE_SECONDS)).await?;
            }
        }
        None => {
            run.status = Status::Completed;
            run.error = None;
        }
    }
    match reconciliation::save(&mut tx, &mut run).await {
        // Another worker had the same wake and was faster.
        Err(Error::Stale { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => tx.commit(Point::Reconcile).await,
    }
}

/// Wakes the run at `at`. The sweep wakes it at `swept_at`, if that wake is lost.
async fn wake_again(tx: &mut Tx, run: &mut Run, at: DateTime<Utc>, swept_at: DateTime<Utc>) -> Result<()> {
    run.next_action_at = Some(swept_at);
    queue::wake_id(tx, queue::DESK, &run.id, at).await
}

async fn compare(engine: &Engine, part: Part, at: Option<i64>) -> Result<Compared> {
    let Some(network) = engine.network(part.chain_id) else {
        return Ok(Compared::Later(format!("Chain {} is not configured in this worker.", part.chain_id)));
    };
    let compared = match part.subject_type.as_str() {
        "offering" => token::compare(engine, network, part, at).await?,
        _ => signers::compare(engine, network, part).await?,
    };
    Ok(match compared {
        Ok(compared) => compared,
        Err(fault) => Compared::Later(format!("The chain is not available: {fault}")),
    })
}

/// The result of comparing a part, or the chain's fault.
type Comparison = Result<Result<Compared, Fault>>;

/// Wakes overdue runs in the sweep's commit, because their own wakes may be lost.
pub async fn sweep(tx: &mut Tx, now: DateTime<Utc>) -> Result<usize> {
    let overdue = reconciliation::overdue(tx, now).await?;
    let mut woken = 0;
    for mut run in overdue {
        wake_again(tx, &mut run, now, now + Duration::seconds(PATIENCE_SECONDS)).await?;
        match reconciliation::save(tx, &mut run).await {
            Err(Error::Stale { .. }) => {}
            saved => {
                saved?;
                woken += 1;
            }
        }
    }
    Ok(woken)
}
