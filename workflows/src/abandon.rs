//! Guard A: an operation is given up only when it is certain that it will never take effect, and that none of its value has moved.

use muniment_domain::operation::{self, Resolution};
use muniment_domain::point::Point;
use muniment_domain::step::{Outcome, State};
use muniment_domain::{Code, Error, Result, event, item};
use serde_json::json;

use crate::engine::Engine;
use crate::retry::{self, load};

/// Gives an operation up. Its status stays, so that the log tells what happened; what it was about is free for others.
pub async fn abandon(engine: &Engine, operation_id: &str, actor: &str, reason: &str) -> Result<()> {
    let (mut op, steps) = load(engine, operation_id).await?;
    if steps.iter().any(|s| s.outcome == Some(Outcome::Success)) {
        return Err(Error::refused(
            Code::PartialEffect,
            "A step of it took effect, finally. It can be finished (retry) or confirmed with proof, but not given up.",
        ));
    }
    if let Some(step) = steps.iter().find(|s| matches!(s.state, State::Signed | State::Included)) {
        let detail = format!(
            "Nonce {} is still open: what was signed may yet be mined. Cancel it, and abandon when the cancel is final.",
            step.nonce.unwrap_or_default()
        );
        return Err(Error::refused(Code::NonceStillOpen, detail));
    }
    let network = retry::network_of(engine, &op)?;
    for step in &steps {
        // A restored database may have forgotten the transaction that did it: the chain has the last word.
        if retry::is_executed(engine, network, &op, step).await? {
            return Err(Error::refused(
                Code::PartialEffect,
                format!(
                    "The chain says that step {} was executed. Retry: it will be found and confirmed.",
                    step.position
                ),
            ));
        }
    }
    let mut tx = engine.db.begin().await?;
    op.resolution = Some(Resolution::Abandoned);
    op.live_key = None;
    op.suggested_action = None;
    operation::resolve(&mut tx, &mut op, actor, reason).await?;
    item::release(&mut tx, &op.id).await?;
    event::write(&mut tx, "operation.resolved", "operation", &op.id, op.version, json!({ "resolution": "abandoned" }))
        .await?;
    tx.commit(Point::Abandon).await
}
