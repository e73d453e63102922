//! Fee offers: from the market, below the cap, raised for a replacement.
use alloy::primitives::U256;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    chain::{Chain, Tag, block::Header},
    fault::Fault,
    rpc::{Request, first},
};

const HISTORY: &str = "eth_feeHistory";
/// Number of blocks from which the market fee is read.
const HISTORY_BLOCKS: u64 = 20;
/// The tip if blocks are empty or the node has no fee history: 1 gwei, low on mainnet and enough elsewhere.
const PRIORITY_FALLBACK_WEI: u128 = 1_000_000_000;

/// Nodes refuse a replacement whose fees are raised by less than this.
pub const BUMP_PERCENT_MIN: u128 = 13;

/// The two fee fields of a transaction (EIP-1559), in wei.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Maximum fee per unit of gas, tip included.
    pub max_fee_per_gas: u128,
    /// Tip per unit of gas.
    pub max_priority_fee_per_gas: u128,
}

/// What the market asks for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Market {
    /// The base fee, per unit of gas.
    pub base_fee: u128,
    /// The usual tip, per unit of gas.
    pub tip: u128,
    /// The fees to offer, below the configured cap.
    pub offer: Fees,
}

impl Market {
    fn new(base_fee: u128, tip: u128, cap: u128) -> Self {
        Self { base_fee, tip, offer: offer(base_fee, tip, cap) }
    }

    /// What a unit of gas costs in the next block, in wei: its base fee and the tip.
    pub const fn price(&self) -> u128 {
        self.base_fee.saturating_add(self.offer.max_priority_fee_per_gas)
    }
}

/// The result of a fee bump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bump {
    /// The raised fees, high enough for every mempool to accept the replacement.
    Raised(Fees),
    /// The cap is too low for a replacement that mempools accept; the present transaction stays.
    AtCap,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct History {
    base_fee_per_gas: Vec<U256>,
    #[serde(default)]
    reward: Option<Vec<Vec<U256>>>,
}

/// Fees of a first attempt: enough for the base fee to double, never above the cap.
pub fn offer(base_fee: u128, tip: u128, cap: u128) -> Fees {
    let max_fee_per_gas = base_fee.saturating_mul(2).saturating_add(tip).min(cap);
    Fees { max_fee_per_gas, max_priority_fee_per_gas: tip.min(max_fee_per_gas) }
}

/// Fees of a replacement: both fields raised by the percentage, or to the market if that is higher.
pub fn bump(old: Fees, percent: u64, market: Fees, cap: u128) -> Bump {
    // Round up and add at least one wei: mempools require strictly more.
    let raised = |fee: u128| (fee.saturating_mul(100 + u128::from(percent)).div_ceil(100)).max(fee.saturating_add(1));
    let max_fee_per_gas = raised(old.max_fee_per_gas).max(market.max_fee_per_gas.min(cap));
    let tip = raised(old.max_priority_fee_per_gas).max(market.max_priority_fee_per_gas.min(cap));
    match max_fee_per_gas <= cap && tip <= max_fee_per_gas {
        true => Bump::Raised(Fees { max_fee_per_gas, max_priority_fee_per_gas: tip }),
        false => Bump::AtCap,
    }
}

impl Chain {
    /// The present market fees, below the configured cap.
    pub async fn fees(&self) -> Result<Fees, Fault> {
        Ok(self.market().await?.offer)
    }

    /// The same market at another base fee.
    pub fn market_at(&self, base_fee: u128, market: &Market) -> Market {
        Market::new(base_fee, market.tip, self.config.max_fee_per_gas_cap())
    }

    /// The present base fee and tip, and the fees to offer below the configured cap.
    pub async fn market(&self) -> Result<Market, Fault> {
        let cap = self.config.max_fee_per_gas_cap();
        let request = Request::new(HISTORY, json!([format!("{HISTORY_BLOCKS:#x}"), "latest", [50]]));
        let history: Result<History, Fault> = self.ask(vec![request], |answers| first(HISTORY, answers)).await;
        match history {
            Ok(history) => {
                // The entry after the last block is the base fee of the next block.
                let base = history.base_fee_per_gas.last().map_or(0, |fee| fee.saturating_to());
                Ok(Market::new(base, median_tip(&history), cap))
            }
            // Some nodes lack fee history; the base fee of the head and a fixed tip are good enough.
            Err(Fault::NoMethod(_)) => {
                let latest = Request::new("eth_getBlockByNumber", json!([Tag::Latest.param(), false]));
                let header: Header = self.ask(vec![latest], |answers| first("eth_getBlockByNumber", answers)).await?;
                Ok(Market::new(header.base_fee_per_gas, PRIORITY_FALLBACK_WEI, cap))
            }
            Err(fault) => Err(fault),
        }
    }
}

fn median_tip(history: &History) -> u128 {
    let rewards = history.reward.iter().flatten().filter_map(|block| block.first());
    // An empty block reports zero, which says nothing about the tip that a full block requires.
    let mut tips: Vec<u128> = rewards.map(|tip| tip.saturating_to()).filter(|tip| *tip > 0).collect();
    tips.sort_unstable();
    tips.get(tips.len() / 2).copied().unwrap_or(PRIORITY_FALLBACK_WEI)
}

#[cfg(test)]
mod tests;
