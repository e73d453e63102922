//! Commands: accepted instructions of operators that a worker carries out later. A command is a row. Its wake carries the row's id, and the
//! sweep repeats a lost wake.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::Result;
use muniment_domain::command::{self, Command, Kind, NewCommand};
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;

use crate::engine::queue;

/// Commands that one pass of the sweep wakes.
const WAKES_PER_PASS: i64 = 500;
/// Seconds before the sweep wakes a command again.
const PATIENCE_SECONDS: i64 = 20;

/// Stores a command that is due now, with its wake.
pub async fn ask(
    tx: &mut Tx,
    operation_id: &OperationId,
    kind: Kind,
    bump_percent: Option<i64>,
    actor: &str,
    reason: &str,
) -> Result<Command> {
    let due_at = tx.now();
    let new = NewCommand { operation_id, kind, bulk: None, bump_percent, actor, reason, due_at };
    let asked = command::insert(tx, &new).await?;
    queue::wake_id(tx, queue::DESK, &asked.id, due_at).await?;
    Ok(asked)
}

/// Wakes overdue commands in the sweep's commit, because their own wakes may be lost.
pub async fn sweep(tx: &mut Tx, now: DateTime<Utc>) -> Result<usize> {
    let overdue = command::due(tx, now - Duration::seconds(PATIENCE_SECONDS), WAKES_PER_PASS).await?;
    for wish in &overdue {
        command::postpone(tx, &wish.id, now, None).await?;
        queue::wake_id(tx, queue::DESK, &wish.id, now).await?;
    }
    Ok(overdue.len())
}
