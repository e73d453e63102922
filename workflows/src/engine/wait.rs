//! Shows on a sent operation what its transaction waits for.

use muniment_domain::lane::{self, Stuck};
use muniment_domain::operation::{self, Operation, Status};
use muniment_domain::point::Point;
use muniment_domain::{Error, Result};

use crate::engine::Engine;

/// The code of an operation whose nonce is used by nothing that was found. Two people can close the nonce.
pub const NONCE_UNEXPLAINED: &str = "nonce_unexplained";

/// Shows on an operation why its sent transaction waits, or that it no longer waits for that.
pub async fn show(engine: &Engine, op: Operation, reason: Option<String>) -> Result<()> {
    note(engine, op, reason, None).await
}

/// Shows on an operation what its sent transaction waits for, and tells that its lane waits for a person.
pub async fn show_stuck(engine: &Engine, op: Operation, reason: String, stuck: &Stuck<'_>) -> Result<()> {
    note(engine, op, Some(reason), Some(stuck)).await
}

async fn note(engine: &Engine, mut op: Operation, reason: Option<String>, stuck: Option<&Stuck<'_>>) -> Result<()> {
    let code = |reason: &Option<String>| reason.as_deref().and_then(|text| text.split(':').next().map(str::to_owned));
    // The amounts in the text change with each block. Only another cause is news.
    if op.status != Status::Submitted || op.next_action_at.is_some() || code(&op.blocked_reason) == code(&reason) {
        return Ok(());
    }
    if let Some(reason) = &reason {
        tracing::warn!(operation.id = %op.id, "a sent transaction waits: {reason}");
    }
    let mut tx = engine.db.begin().await?;
    op.blocked_reason = reason;
    match operation::save(&mut tx, &mut op).await {
        Err(Error::Stale { .. }) => return Ok(()),
        saved => saved?,
    }
    if let Some(stuck) = stuck {
        lane::report_stuck(&mut tx, stuck).await?;
    }
    tx.commit(Point::Fault).await
}
