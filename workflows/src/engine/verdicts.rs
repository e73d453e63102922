//! The commit of verdicts, with the events of the newest final blocks: a confirmed mint is always in the balances.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Operation};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};

use crate::engine::commits::{self, Patience, Writes};
use crate::engine::conclude::{self, Settled};
use crate::engine::ledger::{self, Answer, Told};
use crate::engine::{Engine, Network};

/// Attempts to write a verdict before its rows count as damaged.
const WRITES: usize = 2;

/// Operations that cannot be settled because their own rows are damaged. The others do not wait for them.
pub type Damaged = Vec<(Operation, Error)>;

/// What one commit writes: the events of the newest final blocks, and verdicts.
struct Turn {
    told: Option<Arc<Told>>,
    settled: Vec<Settled>,
}

impl Writes for Turn {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        let write = async move {
            if let Some(told) = &self.told {
                told.write(tx).await?;
                tx.end_part(Point::Index).await?;
            }
            conclude::settle_all(tx, &self.settled).await
        };
        write.boxed()
    }
}

/// Writes events and verdicts together or, if one of them cannot be written, each by itself. Returns the number of settled steps, and the
/// operations that could not be written.
pub async fn write(
    engine: &Engine,
    network: &Network,
    told: Option<Arc<Told>>,
    settled: Vec<Settled>,
) -> Result<(usize, Damaged)> {
    let count = settled.len();
    let turn = Arc::new(Turn { told, settled });
    if count > 0 {
        match engine.commit(network.id(), Point::Finalise, Patience::NONE, turn.clone()).await {
            Ok(()) => return Ok((count, Damaged::new())),
            Err(error) if error.is_row_error() || matches!(error, Error::Stale { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    // A verdict may count on these events.
    if let Some(told) = &turn.told
        && ledger::store(engine, told.clone()).await? != Answer::Stored
    {
        return Ok((0, Damaged::new()));
    }
    let mut unwritten = Damaged::new();
    for one in &turn.settled {
        // The steps of an operation are settled in order.
        if unwritten.iter().any(|(op, _)| op.id == one.op.id) {
            continue;
        }
        if let Some(error) = write_alone(engine, one).await? {
            unwritten.push((one.op.clone(), error));
        }
    }
    Ok((count - unwritten.len(), unwritten))
}

/// Writes one verdict, and returns the error if its own rows prevent it.
async fn write_alone(engine: &Engine, one: &Settled) -> Result<Option<Error>> {
    let mut stale = None;
    // Another move may change a row of this commit at the same moment. A repetition then succeeds.
    for _ in 0..WRITES {
        match commits::alone(&engine.db, Point::Finalise, &Turn { told: None, settled: vec![one.clone()] }).await {
            Ok(()) => return Ok(None),
            Err(error) if error.is_row_error() => return Ok(Some(error)),
            Err(error @ Error::Stale { .. }) => stale = Some(error),
            Err(error) => return Err(error),
        }
        if operation::find(&mut engine.db.read().await?, &one.op.id).await?.version != one.op.version {
            return Ok(None);
        }
    }
    // Nothing else changed the operation, so one of its own rows is damaged.
    Ok(stale)
}
