//! The accounts of the demo's chain. Their keys are public: they come from the mnemonic of development nodes.

use alloy_primitives::{Address, B256, b256};
use muniment_devchain::DEV_ACCOUNTS;

/// The mnemonic of all keys.
pub const MNEMONIC: &str = "test test test test test test test test test test test junk";

/// The key that deploys the platform's contracts and owns the registry.
pub const DEPLOYER_KEY: B256 = b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");

/// The key that the engine signs with.
pub const SIGNER_KEY: B256 = b256!("59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d");

/// The wallets of the investors.
pub fn wallets() -> &'static [Address] {
    &DEV_ACCOUNTS[2..]
}

/// An account outside the platform, for a foreign transaction.
pub fn stranger() -> Address {
    DEV_ACCOUNTS[9]
}
