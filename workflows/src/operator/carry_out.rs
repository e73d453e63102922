//! Carries out commands.

use chrono::Duration;
use muniment_domain::command::{self, Command, Kind};
use muniment_domain::id::BulkId;
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result};

use crate::engine::Engine;
use crate::engine::queue;
use crate::engine::rebroadcast::Stored;
use crate::operator::{cancel, retry, speed_up};

/// Carries out the command that a wake names, or the due commands of a bulk, one after the other.
pub async fn carry_out(engine: &Engine, id: &str) -> Result<()> {
    let mut tx = engine.db.read().await?;
    let now = tx.now();
    let wishes = if BulkId::is_kind_of(id) {
        command::due_of_bulk(&mut tx, &id.into(), now).await?
    } else {
        command::find(&mut tx, &id.into()).await?.into_iter().filter(|w| w.done_at.is_none()).collect()
    };
    drop(tx);
    for wish in wishes {
        one(engine, &wish).await?;
    }
    Ok(())
}

async fn one(engine: &Engine, wish: &Command) -> Result<()> {
    let (id, actor, reason) = (&wish.operation_id, wish.actor.as_str(), wish.reason.as_str());
    // A successful command is marked as done in the commit of its own effect.
    let waits = match wish.kind {
        Kind::Retry => retry::retry(engine, id, actor, reason).await.map(|_| None),
        Kind::Noop => cancel::cancel_nonce(engine, id, actor, reason).await.map(waiting),
        Kind::SpeedUp => speed_up::speed_up(engine, id, wish.bump_percent).await.map(waiting),
    };
    match waits {
        Ok(None) => settled(engine, wish).await,
        Ok(Some(why)) => postpone(engine, wish, &why).await,
        Err(Error::Refused { code: Code::ChainUnavailable | Code::UnknownChain, detail }) => {
            postpone(engine, wish, &detail).await
        }
        // The operation changed meanwhile, so the command is tried again.
        Err(Error::Stale { .. }) => postpone(engine, wish, "the operation changed meanwhile").await,
        Err(error) => {
            let Some((code, detail)) = error.refusal() else { return Err(error) };
            tracing::info!(operation.id = id.as_str(), wish.kind = %wish.kind, error.code = code, "a command was refused: {detail}");
            let mut tx = engine.db.begin().await?;
            command::reject(&mut tx, &wish.id, code, detail).await?;
            tx.commit(Point::Command).await
        }
    }
}

/// Marks a command as done if another move had the same effect just before the command was stored.
async fn settled(engine: &Engine, wish: &Command) -> Result<()> {
    let mut tx = engine.db.read().await?;
    if command::find(&mut tx, &wish.id).await?.is_none_or(|now| now.done_at.is_some()) {
        return Ok(());
    }
    drop(tx);
    let mut tx = engine.db.begin().await?;
    command::complete(&mut tx, &wish.operation_id, wish.kind, "done").await?;
    tx.commit(Point::Command).await
}

fn waiting(stored: Stored) -> Option<String> {
    match stored {
        Stored::Yes => None,
        Stored::No(why) => Some(why),
    }
}

async fn postpone(engine: &Engine, wish: &Command, why: &str) -> Result<()> {
    tracing::warn!(operation.id = %wish.operation_id, wish.kind = %wish.kind, "a command waits: {why}");
    let mut tx = engine.db.begin().await?;
    let at = tx.now() + Duration::seconds(engine.settings.outage_pause_seconds.cast_signed());
    command::postpone(&mut tx, &wish.id, at, Some(why)).await?;
    queue::wake_id(&mut tx, queue::DESK, &wish.id, at).await?;
    tx.commit(Point::Command).await
}
