//! The configuration file of an installation, which a test may change.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use alloy::primitives::Address;
use muniment_activities::platform::Platform;

/// Keys with their values in TOML.
#[derive(Clone)]
pub struct Config {
    root: BTreeMap<String, String>,
    engine: BTreeMap<String, String>,
    chain: BTreeMap<String, String>,
    auth: BTreeMap<String, String>,
    rates: BTreeMap<String, String>,
    database: String,
    second_chain: Option<BTreeMap<String, String>>,
}

fn quoted(text: &str) -> String {
    format!("{text:?}")
}

impl Config {
    /// One chain at this node, with short intervals wherever a test would wait.
    pub fn new(database: &str, node: &str, platform: &Platform, keys: &[&str], secrets: &Path) -> Self {
        let map =
            |pairs: &[(&str, String)]| pairs.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        let signers: Vec<_> =
            keys.iter().map(|key| format!("{{ kind = \"raw\", private_key = {} }}", quoted(key))).collect();
        let root = [
            ("profile", quoted("development")),
            ("listen", quoted("127.0.0.1:0")),
            ("log", quoted("info,muniment::answer=warn,sqlx::postgres::notice=warn")),
        ];
        let engine = [
            ("sweep_seconds", "1".to_owned()),
            ("outage_pause_seconds", "1".to_owned()),
            ("backoff_base_seconds", "1".to_owned()),
            ("backoff_cap_seconds", "2".to_owned()),
        ];
        let chain = [
            ("endpoints", format!("[{}]", quoted(node))),
            ("poll_milliseconds", "100".to_owned()),
            ("block_seconds", "1".to_owned()),
            ("request_timeout_seconds", "3".to_owned()),
            ("factory", quoted(&platform.factory.to_string())),
            ("registry", quoted(&platform.registry.to_string())),
            ("signers", format!("[{}]", signers.join(", "))),
        ];
        // Password hashing is cheap and rate limits are off.
        let auth = [
            ("key_file", format!("{secrets:?}")),
            ("password_memory_kib", "64".to_owned()),
            ("staff_second_factor", "false".to_owned()),
            // A busy test may take longer than the normal step-up period.
            ("step_up_seconds", "3600".to_owned()),
        ];
        let rates =
            ["anonymous", "login", "read", "write", "operator_write", "token_read", "subscribe", "bulk_retry", "key"];
        let rates = rates.iter().map(|name| (format!("{name}_per_minute"), "0".to_owned())).collect();
        let (root, engine, chain, auth) = (map(&root), map(&engine), map(&chain), map(&auth));
        Self { root, engine, chain, auth, rates, database: quoted(database), second_chain: None }
    }

    /// Sets the database.
    pub fn database(&mut self, url: &str) {
        self.database = quoted(url);
    }

    /// Sets a key of the engine.
    pub fn engine(&mut self, key: &str, value: u64) {
        self.engine.insert(key.to_owned(), value.to_string());
    }

    /// Sets a rate limit.
    pub fn rate(&mut self, key: &str, value: u64) {
        self.rates.insert(key.to_owned(), value.to_string());
    }

    /// Sets the amount from which a mint needs an approval.
    pub fn mint_threshold(&mut self, amount: &str) {
        self.engine.insert("mint_dual_control_threshold".to_owned(), quoted(amount));
    }

    /// Pays holders in the platform's coin, from this signer's balance.
    pub fn pays_in(&mut self, platform: &Platform, payer: Address) {
        let coin =
            format!("[{{ address = \"{}\", symbol = \"DUSD\", decimals = 6, payer = \"{payer}\" }}]", platform.coin);
        self.chain("payout_tokens", &coin);
        self.chain("distributor", &quoted(&platform.distributor.to_string()));
    }

    /// Sets the total from which a payout needs an approval.
    pub fn payout_threshold(&mut self, amount: &str) {
        self.engine.insert("payout_dual_control_threshold".to_owned(), quoted(amount));
    }

    /// Sets the total from which the payouts of one day need an approval, whatever their offerings.
    pub fn platform_payout_threshold(&mut self, amount: &str) {
        self.engine.insert("payout_platform_dual_control_threshold".to_owned(), quoted(amount));
    }

    /// Sets a key of the chain; the value is written as TOML.
    pub fn chain(&mut self, key: &str, value: &str) {
        self.chain.insert(key.to_owned(), value.to_owned());
    }

    /// Adds a second chain like the first one, with another id at another node.
    pub fn second_chain(&mut self, chain_id: u64, node: &str) {
        let mut chain = self.chain.clone();
        chain.insert("key".to_owned(), quoted("second"));
        chain.insert("chain_id".to_owned(), chain_id.to_string());
        chain.insert("endpoints".to_owned(), format!("[{}]", quoted(node)));
        self.second_chain = Some(chain);
    }

    /// Sets the node's URL, or the URL of a proxy before it.
    pub fn node(&mut self, url: &str) {
        self.chain("endpoints", &format!("[{}]", quoted(url)));
    }

    /// Renders the file.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let mut section = |head: &str, keys: &BTreeMap<String, String>| {
            _ = writeln!(text, "{head}");
            for (key, value) in keys {
                _ = writeln!(text, "{key} = {value}");
            }
        };
        section("", &self.root);
        section("[database]", &BTreeMap::from([("url".to_owned(), self.database.clone())]));
        section("[engine]", &self.engine);
        section("[auth]", &self.auth);
        section("[rates]", &self.rates);
        section("[[chains]]", &self.chain);
        if let Some(second) = &self.second_chain {
            section("[[chains]]", second);
        }
        text
    }
}
