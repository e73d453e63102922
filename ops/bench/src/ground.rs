//! A chain with the platform's contracts and funded signers.

use alloy::primitives::{B256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::contract::registry::Roles;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use world::{KEYS, Mining};

use crate::node::{Kind, Node};

/// How many signers the engine has at most; the bare loop has as many of its own.
pub const LANES: usize = 4;

/// The chain side of a run.
pub struct Ground {
    /// The node.
    pub node: Node,
    /// Where the contracts are.
    pub platform: Platform,
    /// The engine's keys.
    pub keys: Vec<B256>,
    /// The bare loop's keys.
    pub bare_keys: Vec<B256>,
}

impl Ground {
    /// A fresh chain, ready for operations.
    pub async fn new(kind: Kind, mining: Mining) -> Self {
        let node = Node::start(kind, mining).await;
        let keys = |name: &str| (0..LANES).map(|i| keccak256(format!("{name} {i}"))).collect::<Vec<_>>();
        let (keys, bare_keys) = (keys("engine"), keys("bare"));
        let mut agents = Vec::new();
        for key in keys.iter().chain(&bare_keys) {
            let address = PrivateKeySigner::from_bytes(key).expect("a hash is a key").address();
            node.fund(address).await;
            agents.push((address, Roles::ALL));
        }
        let config = ChainConfig { endpoints: vec![node.url.clone()], poll_milliseconds: 20, ..ChainConfig::default() };
        let chain = Chain::http(config).expect("the configuration is sound");
        let deployer = KEYS[0].parse().expect("a key of anvil");
        let deployer = Signer::raw(deployer, Profile::Development).expect("a key of anvil");
        let platform = Platform::deploy(&chain, &deployer, &agents).await.expect("the platform deploys");
        Self { node, platform, keys, bare_keys }
    }
}
