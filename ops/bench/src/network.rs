//! A chain with the platform's contracts and funded signers.

use alloy::primitives::{B256, keccak256};
use alloy::signers::local::PrivateKeySigner;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::contract::registry::Roles;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use world::{KEYS, Mining};

use crate::installation::Link;
use crate::node::{Node, NodeKind};

/// The highest number of signers of the engine. The baseline has as many of its own.
pub const LANES: usize = 4;

/// A node with the deployed contracts and the keys of a run.
pub struct Network {
    /// The node.
    pub node: Node,
    /// The deployed contracts.
    pub platform: Platform,
    /// The engine's keys.
    pub keys: Vec<B256>,
    /// The keys of the baseline.
    pub bare_keys: Vec<B256>,
}

impl Network {
    /// Starts a node and deploys the contracts.
    pub async fn new(kind: NodeKind, mining: Mining) -> Self {
        Self::on(Node::start(kind, mining).await).await
    }

    /// Deploys the contracts on this node.
    pub async fn on(node: Node) -> Self {
        let keys = |name: &str| (0..LANES).map(|i| keccak256(format!("{name} {i}"))).collect::<Vec<_>>();
        let (keys, bare_keys) = (keys("engine"), keys("bare"));
        let mut agents = Vec::new();
        for key in keys.iter().chain(&bare_keys) {
            let address = PrivateKeySigner::from_bytes(key).expect("a hash is a key").address();
            node.fund(address).await;
            agents.push((address, Roles::ALL));
        }
        let config = ChainConfig { endpoints: vec![node.url.clone()], poll_milliseconds: 20, ..ChainConfig::default() };
        let chain = Chain::http(config).expect("the configuration is valid");
        let deployer = KEYS[0].parse().expect("a key of anvil");
        let deployer = Signer::raw(deployer, Profile::Development).expect("a key of anvil");
        let platform = Platform::deploy(&chain, &deployer, &agents).await.expect("the platform deploys");
        Self { node, platform, keys, bare_keys }
    }

    /// The chain for the configuration, with this number of signers.
    pub fn link(&self, signers: usize) -> Link<'_> {
        let (url, keys) = (self.node.url.as_str(), &self.keys[..signers]);
        Link { url, platform: self.platform, keys, poll_milliseconds: 250, block_seconds: 1 }
    }
}
