//! Reconciliation: chain and database are compared at one final block, part by part. It reads, and changes nothing but its own report.

pub mod import;
mod payout;
mod signers;
mod token;

use chrono::{DateTime, Duration, Utc};
use muniment_activities::fault::Fault;
use muniment_domain::db::Tx;
use muniment_domain::offering::{self, Offering};
use muniment_domain::point::Point;
use muniment_domain::reconciliation::{self, Finding, PATIENCE_SECONDS, Part, Run, Status};
use muniment_domain::{Error, Result, chain};

use crate::engine::Engine;
use crate::engine::queue;

/// After so many seconds without progress a run is called off.
const GIVE_UP_SECONDS: i64 = 3_600;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Request {
    /// One offering, or everything.
    pub offering_id: Option<String>,
    /// A final block of the past; none for the newest that is read.
    pub at_block: Option<i64>,
}

/// What a part came to.
enum Compared {
    /// It was compared.
    Done(Part, Vec<Finding>),
    /// It cannot be, now.
    Later(String),
}

/// Accepts a run.
pub async fn request(tx: &mut Tx, r: &Request, actor: &str) -> Result<Run> {
    let offering = match &r.offering_id {
        Some(id) => Some(offering::find(tx, id).await?),
        None => None,
    };
    if let Some(block) = r.at_block {
        check_block(tx, offering.as_ref(), block).await?;
    }
    let run = reconciliation::insert(tx, r.offering_id.as_deref(), r.at_block, actor).await?;
    let now = tx.now();
    queue::wake_id(tx, queue::DESK, &run.id, now).await?;
    Ok(run)
}

/// A block is one of a chain, so an offering has to be named; it must be final, and not older than the token.
async fn check_block(tx: &mut Tx, offering: Option<&Offering>, block: i64) -> Result<()> {
    let Some(offering) = offering else {
        return Err(Error::field("/offering_id", "required", "A block is one of a chain: name the offering."));
    };
    let last = chain::find(tx, offering.chain_id).await?.map_or(0, |cursor| cursor.final_number);
    if block > last {
        return Err(Error::field("/at_block", "not_final", format!("The last final block is {last}.")));
    }
    match offering.token_block_number {
        Some(first) if block < first => {
            Err(Error::field("/at_block", "too_early", format!("The token is there since block {first}.")))
        }
        _ => Ok(()),
    }
}

/// Compares the next part of a run, with no transaction open, and writes what was found in one commit.
pub async fn advance(engine: &Engine, run_id: &str) -> Result<()> {
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
            go_on(&mut tx, &mut run, now, now + Duration::seconds(PATIENCE_SECONDS)).await?;
        }
        Some(Compared::Later(why)) => {
            tracing::info!(run.id = %run.id, "a comparison waits: {why}");
            let since = parts.iter().filter_map(|part| part.done_at).max().unwrap_or(run.created_at);
            run.error = Some(why);
            if now - since > Duration::seconds(GIVE_UP_SECONDS) {
                run.status = Status::Failed;
            } else {
                let later = now + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
                go_on(&mut tx, &mut run, later, later + Duration::seconds(PATIENCE_SECONDS)).await?;
            }
        }
        None => {
            run.status = Status::Completed;
            run.error = None;
        }
    }
    match reconciliation::save(&mut tx, &mut run).await {
        // Another worker had the same wake, and was first.
        Err(Error::Stale { .. }) => Ok(()),
        Err(error) => Err(error),
        Ok(()) => tx.commit(Point::Reconcile).await,
    }
}

async fn go_on(tx: &mut Tx, run: &mut Run, at: DateTime<Utc>, swept_at: DateTime<Utc>) -> Result<()> {
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
        Err(fault) => Compared::Later(format!("The chain cannot be asked now: {fault}")),
    })
}

type Asked = Result<Result<Compared, Fault>>;

/// Wakes what is overdue, in the sweep's commit: the wake that it had may be lost.
pub async fn sweep(tx: &mut Tx, now: DateTime<Utc>) -> Result<usize> {
    let overdue = reconciliation::overdue(tx, now).await?;
    let mut woken = 0;
    for mut run in overdue {
        go_on(tx, &mut run, now, now + Duration::seconds(PATIENCE_SECONDS)).await?;
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
