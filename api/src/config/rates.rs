//! The `[rates]` section of the configuration.

use serde::{Deserialize, Serialize};

/// The `[rates]` section of the configuration: how many requests a minute. Zero is no limit.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rates {
    /// Without a token, for each address.
    pub anonymous_per_minute: u32,
    /// Logins, registrations and forgotten passwords, for each address.
    pub login_per_minute: u32,
    /// Reads of a person.
    pub read_per_minute: u32,
    /// Writes of a person.
    pub write_per_minute: u32,
    /// Writes of a person on /blockchain.
    pub operator_write_per_minute: u32,
    /// Reads of a person that ask a chain.
    pub token_read_per_minute: u32,
    /// How often this process asks chains for such reads, in a second and not a minute.
    pub token_read_per_second: u32,
    /// Subscriptions of a person.
    pub subscribe_per_minute: u32,
    /// Retries of many operations at once, of a person.
    pub bulk_retry_per_minute: u32,
    /// Requests of an API key that has no limit of its own.
    pub key_per_minute: u32,
}

impl Default for Rates {
    fn default() -> Self {
        Self {
            anonymous_per_minute: 60,
            login_per_minute: 20,
            read_per_minute: 600,
            write_per_minute: 120,
            operator_write_per_minute: 120,
            token_read_per_minute: 60,
            token_read_per_second: 50,
            subscribe_per_minute: 10,
            bulk_retry_per_minute: 2,
            key_per_minute: 1_200,
        }
    }
}
