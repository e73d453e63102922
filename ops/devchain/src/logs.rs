//! `eth_getLogs`: blocks are passed over by their bloom, then logs are matched one by one.

use alloy::eips::BlockNumberOrTag;
use alloy::rpc::types::{Filter, FilterBlockOption, Log};
use serde_json::json;

use crate::block::Block;
use crate::chain::Chain;
use crate::fault::Fault;
use crate::rpc::{Params, numbered, placed};
use crate::writer::Answer;

/// A query with more results is refused and must be narrowed.
const LOGS_MAX: usize = 100_000;

/// Logs of a block, or of a range of blocks, that a filter matches.
pub(crate) fn get(chain: &Chain, params: &Params<'_>) -> Answer {
    let filter: Filter = params.get(0)?;
    let mut logs = Vec::new();
    match filter.block_option {
        FilterBlockOption::AtBlockHash(hash) => {
            let block = chain.block_by_hash(&hash).ok_or_else(|| Fault::server("unknown block"))?;
            collect(block, &filter, &mut logs);
        }
        FilterBlockOption::Range { from_block, to_block } => {
            let head = chain.head().header.number;
            let number = |tag: Option<BlockNumberOrTag>| match tag {
                Some(BlockNumberOrTag::Number(number)) => number,
                tag => numbered(chain, tag.unwrap_or_default()).map_or(head, |block| block.header.number),
            };
            let (from, to) = (number(from_block), number(to_block));
            if from > to {
                return Err(Fault::params("invalid block range params"));
            }
            if from > head {
                return Err(Fault::beyond(head, from));
            }
            for number in from..=to.min(head) {
                if let Some(block) = chain.block(number) {
                    collect(block, &filter, &mut logs);
                }
                if logs.len() > LOGS_MAX {
                    return Err(Fault::params(format!("query returned more than {LOGS_MAX} results")));
                }
            }
        }
    }
    Ok(json!(logs))
}

fn collect(block: &Block, filter: &Filter, logs: &mut Vec<Log>) {
    if !filter.matches_bloom(block.header.logs_bloom) {
        return;
    }
    let mut log_index = 0;
    for (index, receipt) in block.receipts.iter().enumerate() {
        for log in receipt.logs() {
            if filter.matches(log) {
                logs.push(placed(block, index, log_index, log.clone()));
            }
            log_index += 1;
        }
    }
}
