//! Gas prices: suggestions and history.

use alloy::consensus::Transaction;
use alloy::eips::BlockNumberOrTag;
use alloy::rpc::types::FeeHistory;
use serde_json::{Value, json};

use crate::block::Block;
use crate::chain::Chain;
use crate::fault::Fault;
use crate::rpc::{Params, numbered, quantity};
use crate::writer::Answer;

/// The suggested tip. Any tip is enough on a chain without competition.
const TIP_WEI: u64 = 1_000_000_000;

/// The maximum number of blocks in one answer.
const HISTORY_BLOCKS_MAX: u64 = 1024;

/// `eth_gasPrice`: the next base fee and the suggested tip.
pub(crate) fn gas_price(chain: &Chain) -> Value {
    quantity(chain.next_base_fee(chain.head()).saturating_add(TIP_WEI))
}

/// `eth_maxPriorityFeePerGas`.
pub(crate) fn tip() -> Value {
    quantity(TIP_WEI)
}

/// `eth_feeHistory`.
pub(crate) fn history(chain: &Chain, params: &Params<'_>) -> Answer {
    let (count, newest): (_, BlockNumberOrTag) = (params.number(0)?, params.get(1)?);
    let percentiles: Vec<f64> = params.find(2)?.unwrap_or_default();
    if !percentiles.is_sorted() || percentiles.iter().any(|percent| !(0.0..=100.0).contains(percent)) {
        return Err(Fault::params("invalid reward percentile: they must rise from 0 to 100"));
    }
    let newest = numbered(chain, newest).ok_or_else(|| Fault::server("request beyond head block"))?.header.number;
    let count = count.clamp(1, HISTORY_BLOCKS_MAX).min(newest + 1);
    let oldest = newest + 1 - count;
    let mut history = FeeHistory { oldest_block: oldest, ..Default::default() };
    let mut rewards = Vec::new();
    for block in (oldest..=newest).filter_map(|number| chain.block(number)) {
        history.base_fee_per_gas.push(block.base_fee().into());
        history.base_fee_per_blob_gas.push(1);
        history.gas_used_ratio.push(block.header.gas_used as f64 / block.header.gas_limit as f64);
        history.blob_gas_used_ratio.push(0.0);
        if !percentiles.is_empty() {
            rewards.push(tips(block, &percentiles));
        }
        if block.header.number == newest {
            history.base_fee_per_gas.push(chain.next_base_fee(block).into());
            history.base_fee_per_blob_gas.push(1);
        }
    }
    history.reward = Some(rewards);
    Ok(json!(history))
}

/// The tips paid at the given percentiles of a block's gas.
fn tips(block: &Block, percentiles: &[f64]) -> Vec<u128> {
    let mut paid: Vec<(u128, u64)> = block
        .transactions
        .iter()
        .enumerate()
        .map(|(index, signed)| (signed.effective_tip_per_gas(block.base_fee()).unwrap_or(0), block.gas_used(index)))
        .collect();
    paid.sort_unstable();
    let at = |percent: &f64| {
        let threshold = block.header.gas_used as f64 * percent / 100.0;
        let mut gas = 0;
        let reached = paid.iter().find(|(_, used)| {
            gas += used;
            gas as f64 >= threshold
        });
        reached.or(paid.last()).map_or(0, |(tip, _)| *tip)
    };
    percentiles.iter().map(at).collect()
}
