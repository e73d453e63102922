//! The chain of an installation.

use alloy::primitives::{Address, B256};
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::contract::registry::Roles;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use serde_json::json;
use world::{Anvil, KEYS, Mining};

pub const CHAIN_ID: i64 = 31337;

/// The address of a known key.
pub fn signer_of(key: &str) -> Address {
    open(key).address()
}

fn open(key: &str) -> Signer {
    Signer::raw(key.parse::<B256>().unwrap(), Profile::Development).unwrap()
}

/// Deploys the platform's contracts on a fresh node, with these keys as agents.
pub async fn deploy(anvil: &Anvil, mining: Mining, keys: &[&str]) -> Platform {
    let config =
        ChainConfig { endpoints: vec![anvil.url().to_owned()], poll_milliseconds: 10, ..ChainConfig::default() };
    let chain = Chain::http(config).unwrap();
    let agents: Vec<_> = keys.iter().map(|key| (signer_of(key), Roles::ALL)).collect();
    // Called only where the test mines by hand, because the call ends every other mining mode.
    if matches!(mining, Mining::Manual | Mining::Every(_)) {
        anvil.rpc().call("evm_setAutomine", json!([true])).await;
    }
    let platform = Platform::deploy(&chain, &open(KEYS[0]), &agents).await.unwrap();
    anvil.mine(4).await;
    match mining {
        Mining::Manual => _ = anvil.rpc().call("evm_setAutomine", json!([false])).await,
        Mining::Every(seconds) => _ = anvil.rpc().call("evm_setIntervalMining", json!([seconds])).await,
        Mining::Instant | Mining::Mixed | Mining::Quick => {}
    }
    platform
}
