//! The receipts of included transactions: attempts and steps get their block, in the commit that follows the chain.

use std::collections::HashMap;

use alloy_primitives::B256;
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::attempt::{self, InBlock, Kind, SendAnswer};
use muniment_domain::column::Hex;
use muniment_domain::db::Tx;
use muniment_domain::operation::{self, Status};
use muniment_domain::step::{self, Sent, State, Step};
use muniment_domain::{Error, Result};

use crate::engine::queue;

/// Marks the transactions with a receipt as included, and wakes the steps that waited for them. The answers are those to their sends, as
/// far as nothing has stored them.
pub async fn include(tx: &mut Tx, sent: &[Sent], receipts: &[Receipt], answers: &[SendAnswer]) -> Result<()> {
    let mut by_hash: HashMap<B256, Vec<&Sent>> = HashMap::new();
    for one in sent {
        by_hash.entry(one.sent_hash.0).or_default().push(one);
    }
    let (mut blocks, mut included, mut next) = (Vec::new(), Vec::new(), Vec::new());
    for receipt in receipts {
        let Some(all) = by_hash.get(&receipt.tx_hash) else { continue };
        let block = in_block(all[0], receipt, answers)?;
        let own = all.iter().find(|one| one.is_awaited());
        if let Some(Sent { step, sent_kind, .. }) = own {
            let waits = |one: &&Sent| one.step.position > step.position && one.step.state == State::Unsigned;
            if receipt.success && *sent_kind != Kind::Cancel && all.iter().any(waits) {
                next.push(step.operation_id.clone());
            }
            included.push(Step {
                state: State::Included,
                tx_hash: Some(block.tx_hash),
                block_number: Some(block.block_number),
                block_hash: Some(block.block_hash),
                ..step.clone()
            });
        }
        blocks.push(block);
    }
    attempt::record_blocks(tx, &blocks).await?;
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

fn in_block(sent: &Sent, receipt: &Receipt, answers: &[SendAnswer]) -> Result<InBlock> {
    let unreadable = |e: serde_json::Error| Error::Unreadable {
        what: "receipt",
        id: receipt.tx_hash.to_string(),
        why: e.to_string(),
    };
    Ok(InBlock {
        chain_id: sent.step.chain_id,
        tx_hash: sent.sent_hash,
        block_number: receipt.block_number.cast_signed(),
        block_hash: Hex(receipt.block_hash),
        receipt: serde_json::to_string(receipt).map_err(unreadable)?,
        answer: answers.iter().find(|answer| answer.tx_hash == receipt.tx_hash).cloned(),
    })
}
