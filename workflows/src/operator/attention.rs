//! The operations that need a person.

use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Operation};
use muniment_domain::step::{self, Step};

use crate::engine::Engine;

/// Finds an operation that an operator can act on: failed or dead letter, and not resolved.
pub async fn load(engine: &Engine, operation_id: &OperationId) -> Result<(Operation, Vec<Step>)> {
    find(&mut engine.db.read().await?, operation_id).await
}

/// The same, in an open transaction.
pub async fn find(tx: &mut Tx, operation_id: &OperationId) -> Result<(Operation, Vec<Step>)> {
    let op = operation::find(tx, operation_id).await?;
    if !op.needs_attention() {
        let state = op.resolution.map_or_else(|| op.status.to_string(), |r| format!("{}, {r}", op.status));
        return Err(op.illegal(format!("The operation is {state}, so there is nothing to decide.")));
    }
    let steps = step::of_operation(tx, &op.id).await?;
    Ok((op, steps))
}
