//! Carrying out what people wished for. The wish is a row; its wake carries the row's id, and a lost one is pushed again by the sweep.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::wish::{self, Kind, NewWish, Wish};
use muniment_domain::{Code, Error, Result};

use crate::engine::Engine;
use crate::engine::queue;
use crate::engine::rebroadcast::Stored;
use crate::operator::{cancel, retry, speed_up};

/// How many wishes one pass of the sweep wakes.
const WAKES_PER_PASS: i64 = 500;
/// How long a woken wish has to be carried out before the sweep wakes it again, in seconds.
const PATIENCE_SECONDS: i64 = 20;

/// Stores a wish that is due now, with its wake.
pub async fn ask(
    tx: &mut Tx,
    operation_id: &str,
    kind: Kind,
    bump_percent: Option<i64>,
    actor: &str,
    reason: &str,
) -> Result<Wish> {
    let due_at = tx.now();
    let new = NewWish { operation_id, kind, bulk: None, bump_percent, actor, reason, due_at };
    let asked = wish::insert(tx, &new).await?;
    queue::wake_id(tx, queue::DESK, &asked.id, due_at).await?;
    Ok(asked)
}

/// Carries out what a wake names: one wish, or those of a bulk whose turn has come, one after the other.
pub async fn carry_out(engine: &Engine, id: &str) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let wishes = if id.starts_with("blk_") {
        wish::due_of_bulk(&mut tx, id, now).await?
    } else {
        wish::find(&mut tx, id).await?.into_iter().filter(|w| w.done_at.is_none()).collect()
    };
    drop(tx);
    for wish in wishes {
        one(engine, &wish).await?;
    }
    Ok(())
}

async fn one(engine: &Engine, wish: &Wish) -> Result<()> {
    let (id, actor, reason) = (wish.operation_id.as_str(), wish.actor.as_str(), wish.reason.as_str());
    // What is done notes itself, in the commit of the act.
    let waits = match wish.kind {
        Kind::Retry => retry::retry(engine, id, actor, reason).await.map(|_| None),
        Kind::Noop => cancel::noop(engine, id, actor, reason).await.map(waiting),
        Kind::SpeedUp => speed_up::speed_up(engine, id, wish.bump_percent).await.map(waiting),
    };
    match waits {
        Ok(None) => settled(engine, wish).await,
        Ok(Some(why)) => postpone(engine, wish, &why).await,
        Err(Error::Refused { code: Code::ChainUnavailable | Code::UnknownChain, detail }) => {
            postpone(engine, wish, &detail).await
        }
        Err(Error::Refused { code, detail }) => {
            tracing::info!(operation.id = id, wish.kind = %wish.kind, error.code = %code, "a wish was refused: {detail}");
            let mut tx = engine.db.begin().await?;
            wish::refuse(&mut tx, &wish.id, code.as_str(), &detail).await?;
            tx.commit(Point::Wish).await
        }
        // Somebody moved the operation meanwhile: it is looked at anew.
        Err(Error::Stale { .. }) => postpone(engine, wish, "the operation moved meanwhile").await,
        Err(error) => Err(error),
    }
}

/// A wish that came just after somebody else had done the same was not there to be noted with it.
async fn settled(engine: &Engine, wish: &Wish) -> Result<()> {
    let mut tx = engine.db.read().await?;
    if wish::find(&mut tx, &wish.id).await?.is_none_or(|now| now.done_at.is_some()) {
        return Ok(());
    }
    drop(tx);
    let mut tx = engine.db.begin().await?;
    wish::fulfil(&mut tx, &wish.operation_id, wish.kind, "done").await?;
    tx.commit(Point::Wish).await
}

fn waiting(stored: Stored) -> Option<String> {
    match stored {
        Stored::Yes => None,
        Stored::No(why) => Some(why),
    }
}

async fn postpone(engine: &Engine, wish: &Wish, why: &str) -> Result<()> {
    tracing::warn!(operation.id = %wish.operation_id, wish.kind = %wish.kind, "a wish waits: {why}");
    let mut tx = engine.db.begin().await?;
    let at = tx.now() + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
    wish::postpone(&mut tx, &wish.id, at, Some(why)).await?;
    queue::wake_id(&mut tx, queue::DESK, &wish.id, at).await?;
    tx.commit(Point::Wish).await
}

/// Wakes what is overdue, in the sweep's commit: the wake that it had may be lost.
pub async fn sweep(tx: &mut Tx, now: DateTime<Utc>) -> Result<usize> {
    let overdue = wish::due(tx, now - Duration::seconds(PATIENCE_SECONDS), WAKES_PER_PASS).await?;
    for wish in &overdue {
        wish::postpone(tx, &wish.id, now, None).await?;
        queue::wake_id(tx, queue::DESK, &wish.id, now).await?;
    }
    Ok(overdue.len())
}
