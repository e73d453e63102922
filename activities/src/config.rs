//! The configuration of a chain and its signers.
use std::{fmt, path::PathBuf};

use alloy::primitives::{Address, U256};
use serde::{Deserialize, Serialize};

/// One chain: its endpoints, its finality and the engine's limits on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChainConfig {
    /// Short name of the chain in operations and URLs, for example `sepolia`.
    pub key: String,
    /// Name of the chain in the console.
    pub name: String,
    /// The chain id that every endpoint must answer with; an endpoint with another id is never used.
    pub chain_id: u64,
    /// URLs of the JSON-RPC endpoints, the preferred one first.
    pub endpoints: Vec<String>,
    /// Endpoints that must agree on a final block and on the receipt in it before an operation is final.
    pub quorum: usize,
    /// Whether a signed transaction is sent to all endpoints instead of the preferred one.
    pub broadcast_all: bool,
    /// The rule by which a block becomes final.
    pub finality: Finality,
    /// The interval of polls for a new head while it is late, in milliseconds; on chains that mine at once, always.
    pub poll_milliseconds: u64,
    /// The usual time between two blocks, in seconds.
    pub block_seconds: u64,
    /// The gas limit of one transaction; mainnet's own limit is 16,777,216 (EIP-7825).
    pub gas_cap: u64,
    /// The highest fee per unit of gas, in gwei.
    pub max_fee_per_gas_gwei_cap: u64,
    /// The symbol of the coin in which gas is paid.
    pub coin: String,
    /// By how many percent a fee bump raises both fee fields; at least 13, because nodes ask for 10 to 12.5.
    pub bump_percent: u64,
    /// After how many seconds' worth of blocks without inclusion the lowest nonce of a lane is bumped.
    pub bump_after_seconds: u64,
    /// After how many seconds' worth of blocks at the fee cap a transaction counts as stuck.
    pub stuck_after_seconds: u64,
    /// Daily limit (UTC) of payouts of each asset, in its smallest units; none for no limit.
    pub payout_ceiling_daily: Option<U256>,
    /// Transactions of one lane that the node may have and no block includes.
    pub in_flight_max: u32,
    /// Below this balance, in gwei, a signer is reported as low on funds.
    pub low_balance_gwei: u64,
    /// Timeout of one request to an endpoint, in seconds.
    pub request_timeout_seconds: u64,
    /// Block explorer for links to transactions; `/tx/<hash>` is appended.
    pub explorer_url: Option<String>,
    /// The address of the platform's `TokenFactory`.
    pub factory: Option<Address>,
    /// The address of the platform's `AgentRegistry`.
    pub registry: Option<Address>,
    /// The address of the platform's `PlatformYieldDistributor`.
    pub distributor: Option<Address>,
    /// The coins of payouts.
    pub payout_tokens: Vec<PayoutTokenConfig>,
    /// The signing keys of this chain; each has its own lane.
    pub signers: Vec<SignerConfig>,
}

impl Default for ChainConfig {
    fn default() -> Self {
        ChainConfig {
            key: "dev".into(),
            name: "Development".into(),
            chain_id: 31337,
            endpoints: Vec::new(),
            quorum: 1,
            broadcast_all: false,
            finality: Finality::Tag,
            poll_milliseconds: 1_000,
            block_seconds: 12,
            gas_cap: 16_000_000,
            max_fee_per_gas_gwei_cap: 300,
            coin: "ETH".into(),
            bump_percent: 15,
            bump_after_seconds: 60,
            stuck_after_seconds: 21_600,
            payout_ceiling_daily: None,
            in_flight_max: 16,
            low_balance_gwei: 100_000_000,
            request_timeout_seconds: 10,
            explorer_url: None,
            factory: None,
            registry: None,
            distributor: None,
            payout_tokens: Vec::new(),
            signers: Vec::new(),
        }
    }
}

impl ChainConfig {
    /// Rejects a configuration that cannot work, before the first request.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key: &'static str, why: String| Err(ConfigError { chain: self.key.clone(), key, why });
        if self.endpoints.is_empty() {
            return refuse("endpoints", "set at least one URL".into());
        }
        // A quorum that can never be reached would leave every operation unconfirmed.
        if self.quorum == 0 || self.quorum > self.endpoints.len() {
            let have = self.endpoints.len();
            return refuse("quorum", format!("must be between 1 and the number of endpoints ({have})"));
        }
        if self.bump_percent < 13 {
            let bump = self.bump_percent;
            return refuse(
                "bump_percent",
                format!("{bump} is too low: nodes refuse a fee bump below 12.5 percent; set 13 or more"),
            );
        }
        if self.request_timeout_seconds == 0 || self.poll_milliseconds == 0 || self.in_flight_max == 0 {
            return refuse("request_timeout_seconds, poll_milliseconds, in_flight_max", "must be above zero".into());
        }
        if let Some(coin) = self.payout_tokens.iter().find(|coin| !(2..=18).contains(&coin.decimals)) {
            let (symbol, decimals) = (&coin.symbol, coin.decimals);
            return refuse(
                "payout_tokens",
                format!("{symbol} has {decimals} decimals; a payout token must have 2 to 18"),
            );
        }
        if self.finality == Finality::Confirmations(0) {
            return refuse(
                "finality",
                "zero confirmations make every block final; use `tag` on a chain without reorganisations".into(),
            );
        }
        Ok(())
    }

    /// The balance in wei below which a signer is low on funds.
    pub fn low_balance(&self) -> U256 {
        U256::from(self.low_balance_gwei) * U256::from(1_000_000_000u64)
    }

    /// The fee cap in wei.
    pub fn max_fee_per_gas_cap(&self) -> u128 {
        u128::from(self.max_fee_per_gas_gwei_cap) * 1_000_000_000
    }
}

/// A coin of payouts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayoutTokenConfig {
    /// Address of its contract.
    pub address: Address,
    /// Its symbol.
    pub symbol: String,
    /// Its decimals: at least 2, because amounts are in cents. Checked against the contract at start.
    pub decimals: u8,
    /// The signer that pays from its own balance; needed only with several signers.
    pub payer: Option<Address>,
}

/// The rule by which a block counts as final.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finality {
    /// The `finalized` tag of the chain.
    Tag,
    /// A number of blocks on top of it, for chains without a meaningful tag.
    Confirmations(u64),
}

/// The kind of installation. Some shortcuts work in development only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A development machine with a chain without value.
    Development,
    /// Everything else.
    #[default]
    Production,
}

/// One signing key.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum SignerConfig {
    /// An encrypted keystore file (JSON v3).
    Keystore {
        /// Path of the keystore file.
        path: PathBuf,
        /// Path of a file with the password; a final newline is ignored.
        #[serde(default)]
        password_file: Option<PathBuf>,
        /// Name of an environment variable with the password.
        #[serde(default)]
        password_env: Option<String>,
    },
    /// A private key in the clear, for the development profile only.
    Raw {
        /// The key: 32 bytes in hexadecimal.
        private_key: Secret,
    },
}

/// A secret text. Its `Debug` and JSON forms are redacted.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Secret(pub(crate) String);

impl Secret {
    /// Wraps the text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("[redacted]")
    }
}

/// An invalid configuration and what to change.
#[derive(Clone, Debug, thiserror::Error)]
#[error("configuration of chain {chain}, key {key}: {why}")]
pub struct ConfigError {
    /// The key of the chain.
    pub chain: String,
    /// The key in the configuration file.
    pub key: &'static str,
    /// The error, and the correct value.
    pub why: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_table_gives_the_defaults_and_an_unknown_key_is_rejected() {
        let parsed: ChainConfig = serde_json::from_value(json!({})).unwrap();
        assert_eq!(format!("{parsed:?}"), format!("{:?}", ChainConfig::default()));
        let unknown = serde_json::from_value::<ChainConfig>(json!({ "gascap": 1 })).unwrap_err();
        assert!(unknown.to_string().contains("gascap"), "{unknown}");
    }

    #[test]
    fn finality_and_signers_parse_in_each_form() {
        let parsed: ChainConfig = serde_json::from_value(json!({
            "finality": { "confirmations": 12 },
            "signers": [
                { "kind": "keystore", "path": "keys/operator.json", "password_env": "PASSWORD" },
                { "kind": "raw", "private_key": "0x01" },
            ],
        }))
        .unwrap();
        assert_eq!(parsed.finality, Finality::Confirmations(12));
        assert!(matches!(&parsed.signers[0], SignerConfig::Keystore { password_file: None, .. }));
        let wrong = json!({ "signers": [{ "kind": "raw", "key": "0x01" }] });
        assert!(serde_json::from_value::<ChainConfig>(wrong).is_err());
        assert_eq!(serde_json::from_value::<Finality>(json!("tag")).unwrap(), Finality::Tag);
    }
}
