//! The terms of a seed: how the chain and the engine are configured. Limits are small, so that a short life meets them.

use muniment_activities::config::{ChainConfig, Finality};
use muniment_domain::money;
use muniment_workflows::settings::Settings;
use world::Seed;

use crate::ledger::{FACTORY, REGISTRY};
use crate::stage::CHAIN;

/// The limits of the engine.
pub fn of_engine(seed: &mut Seed) -> Settings {
    Settings {
        mint_page_holders: 1 + seed.below(3) as usize,
        attempts_max: 3 + seed.below(8) as u32,
        settle_batch: 1 + seed.below(4) as usize,
        mint_dual_control_threshold: money::MAXIMUM,
        mint_platform_dual_control_threshold: money::MAXIMUM,
        ..Settings::default()
    }
}

/// The terms of the chain. Where the market becomes dear, patience is short, or the seed ends before it does.
pub fn of_chain(seed: &mut Seed, turns_dear: bool) -> ChainConfig {
    // Where a block is said to take a second, lanes sign ahead. A time is as many blocks on either.
    let block_seconds = if seed.chance(0.5) { 1 } else { 12 };
    let blocks = |seconds: u64| seconds.div_ceil(12) * block_seconds;
    let finality = if seed.chance(0.5) { Finality::Tag } else { Finality::Confirmations(2 + seed.below(3)) };
    ChainConfig {
        chain_id: CHAIN.cast_unsigned(),
        endpoints: vec!["memory:0".to_owned(), "memory:1".to_owned()],
        quorum: 1 + seed.below(2) as usize,
        broadcast_all: seed.chance(0.5),
        finality,
        max_fee_per_gas_gwei_cap: if seed.chance(0.4) { 4 } else { 30 },
        block_seconds,
        bump_after_seconds: blocks(if turns_dear { 12 } else { 20 + seed.below(30) }),
        bump_percent: 13 + seed.below(40),
        stuck_after_seconds: blocks(if turns_dear { 12 + seed.below(24) } else { 60 + seed.below(200) }),
        in_flight_max: 1 + seed.below(4) as u32,
        factory: Some(FACTORY),
        registry: Some(REGISTRY),
        ..ChainConfig::default()
    }
}
