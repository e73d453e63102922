//! The receipts of included transactions: attempts and steps get their block, in the commit that follows the chain.

use std::collections::HashMap;

use alloy_primitives::B256;
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::id::OperationId;
use muniment_domain::operation::{self, Status};
use muniment_domain::step::{self, State, Step};
use muniment_domain::{Error, Result, attempt};
use sqlx::types::Json;

use crate::engine::queue;

/// Marks attempts as included, and wakes the steps that waited for them.
pub async fn include(tx: &mut Tx, chain_id: i64, receipts: &[&Receipt]) -> Result<()> {
    let hashes: Vec<B256> = receipts.iter().map(|receipt| receipt.tx_hash).collect();
    let mut found = attempt::find_all(tx, chain_id, &hashes).await?;
    let by_hash: HashMap<B256, &Receipt> = receipts.iter().map(|receipt| (receipt.tx_hash, *receipt)).collect();
    for attempt in &mut found {
        let Some(receipt) = by_hash.get(&attempt.tx_hash.0) else { continue };
        attempt.block_number = Some(receipt.block_number.cast_signed());
        attempt.block_hash = Some(Hex(receipt.block_hash));
        attempt.receipt = Some(Json(serde_json::to_value(receipt).map_err(|e| Error::Unreadable {
            what: "receipt",
            id: receipt.tx_hash.to_string(),
            why: e.to_string(),
        })?));
    }
    attempt::record_blocks(tx, &found).await?;
    let mut ids: Vec<&OperationId> = found.iter().map(|attempt| &attempt.operation_id).collect();
    ids.sort_unstable();
    ids.dedup();
    let steps = step::of_operations(tx, &ids).await?;
    let (mut included, mut next) = (Vec::with_capacity(found.len()), Vec::new());
    for attempt in &found {
        let own = steps.iter().find(|s| s.operation_id == attempt.operation_id && s.position == attempt.position);
        // An attempt of an earlier cycle cannot be here: its nonce was final before the new cycle started.
        let current = |s: &&Step| {
            s.state == State::Signed && s.nonce == Some(attempt.nonce) && s.lane_id.as_ref() == Some(&attempt.lane_id)
        };
        let Some(mut step) = own.filter(current).cloned() else { continue };
        step.state = State::Included;
        step.tx_hash = Some(attempt.tx_hash);
        step.block_number = attempt.block_number;
        step.block_hash = attempt.block_hash;
        let waits =
            |s: &Step| s.operation_id == step.operation_id && s.position > step.position && s.state == State::Unsigned;
        let success = by_hash.get(&attempt.tx_hash.0).is_some_and(|receipt| receipt.success);
        if success && attempt.kind != attempt::Kind::Cancel && steps.iter().any(waits) {
            next.push(step.operation_id.clone());
        }
        included.push(step);
    }
    step::save_all(tx, &included, State::Signed).await?;
    for id in next {
        let mut op = operation::find(tx, &id).await?;
        if op.status == Status::Submitted {
            op.next_action_at = Some(tx.now());
            operation::save(tx, &mut op).await?;
            queue::wake(tx, &op).await?;
        }
    }
    Ok(())
}
