//! The configuration: one file with a default for every key; environment variables override it. `ops/muniment.toml` shows all keys.

pub mod auth;
pub mod database;
mod environment;
pub mod log;
pub mod mail;
pub mod rates;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use muniment_activities::config::{ChainConfig, Profile, SignerConfig};
use muniment_workflows::settings::Settings;
use serde::{Deserialize, Serialize};

use self::auth::Auth;
use self::environment::overridden;
use self::mail::Mail;
use self::rates::Rates;
use crate::failure::Failure;

/// Everything that can be set.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Development allows what production refuses: keys in the clear and keys that everybody knows.
    pub profile: Profile,
    /// Where the REST interface listens.
    pub listen: SocketAddr,
    /// Where `GET /metrics` listens, such as `127.0.0.1:9464`. Empty: nowhere. Keep it off the internet.
    pub metrics_listen: String,
    /// Where callers reach this interface, such as `https://api.portal.example`. The types of problems begin with it. Empty: `auth.public_url`.
    pub api_url: String,
    /// The log filter: a level, or a list such as `info,muniment_workflows=debug`.
    pub log: String,
    /// How a log line looks.
    pub log_format: LogFormat,
    /// Whether the list of offerings is public. Otherwise it needs a login, because some exemptions forbid solicitation.
    pub public_offering_list: bool,
    /// Where the state is kept.
    pub database: Database,
    /// The limits of the REST API.
    pub limits: Limits,
    /// How often callers may ask.
    pub rates: Rates,
    /// How people log in.
    pub auth: Auth,
    /// How mails are sent.
    pub mail: Mail,
    /// Where webhooks may lead.
    pub webhooks: Webhooks,
    /// The audit log.
    pub audit: Audit,
    /// The engine's own limits.
    pub engine: Settings,
    /// The chains that are worked on.
    pub chains: Vec<ChainConfig>,
}

/// How a log line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogFormat {
    /// For people.
    Text,
    /// For collectors: one object a line, dotted names.
    Json,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Database {
    /// `sqlite:path` or `postgres://user:password@host/name`.
    pub url: String,
    /// How many connections each role of this process opens at most.
    pub connections_max: u32,
}

/// The limits of the REST API.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// The largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// How many connections are served at once; further callers wait.
    pub connections_max: usize,
    /// How many connections one address has at once; further ones are closed. Trusted proxies have no such limit.
    pub connections_per_address_max: usize,
    /// How many bodies one network sends at once; further ones are turned away.
    pub bodies_per_network_max: usize,
    /// How long a caller may take to send the body, in seconds.
    pub body_seconds_max: u64,
    /// How many requests are in work at once; further ones are turned away.
    pub requests_max: usize,
    /// How long a request may take, in seconds.
    pub request_timeout_seconds: u64,
    /// How many requests wait for events at once, as streams or long polls; further ones are turned away.
    pub event_waits_max: usize,
    /// How many of these one caller has at once.
    pub event_waits_per_caller_max: usize,
    /// How many seconds a stopping process waits for work in progress.
    pub shutdown_seconds: u64,
    /// The origins of the portals, such as `https://portal.example`. Their pages may read answers and log users in.
    pub origins: Vec<String>,
    /// The proxies whose forwarded addresses are trusted.
    pub trusted_proxies: Vec<IpAddr>,
}

/// The audit log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Audit {
    /// The anchor file of this host. Empty: `audit-anchors.jsonl` beside `auth.key_file`.
    pub anchor_file: PathBuf,
}

/// Where webhooks may lead.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Webhooks {
    /// Whether endpoints may be at http and in private networks: for development alone.
    pub allow_insecure: bool,
    /// How long an endpoint may take to answer, in seconds.
    pub timeout_seconds: u64,
}

/// Keys that earlier versions had, each with what to do.
const REMOVED: &[(&str, &str)] = &[(
    "bumps_max",
    "Delete the key bumps_max: fees follow the market up to max_fee_per_gas_gwei_cap, without a count.",
)];

impl Default for Config {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            metrics_listen: String::new(),
            api_url: String::new(),
            log: "info,apalis_core=warn,sqlx=warn".to_owned(),
            log_format: LogFormat::Text,
            public_offering_list: false,
            database: Database::default(),
            limits: Limits::default(),
            rates: Rates::default(),
            auth: Auth::default(),
            mail: Mail::default(),
            webhooks: Webhooks::default(),
            audit: Audit::default(),
            engine: Settings::default(),
            chains: Vec::new(),
        }
    }
}

impl Default for Database {
    fn default() -> Self {
        Self { url: "sqlite:data/muniment.db".to_owned(), connections_max: 10 }
    }
}

impl Default for Webhooks {
    fn default() -> Self {
        Self { allow_insecure: false, timeout_seconds: 15 }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 256 * 1024,
            connections_max: 1024,
            connections_per_address_max: 256,
            bodies_per_network_max: 64,
            body_seconds_max: 10,
            requests_max: 512,
            request_timeout_seconds: 15,
            event_waits_max: 256,
            event_waits_per_caller_max: 5,
            shutdown_seconds: 30,
            origins: Vec::new(),
            trusted_proxies: Vec::new(),
        }
    }
}

impl Config {
    /// The file, if one is named, with the environment above it.
    pub fn load(file: Option<&Path>, environment: &[(String, String)]) -> Result<Self, Failure> {
        let base = match file {
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(|error| {
                    Failure::new(format!("The configuration {} cannot be read: {error}.", path.display()))
                })?;
                // Parsed once alone, so that an error has its line.
                Self::parse(&text).map_err(|error| {
                    let removed =
                        REMOVED.iter().find(|(key, _)| error.to_string().contains(&format!("unknown field `{key}`")));
                    let advice = removed.map_or_else(String::new, |(_, advice)| format!("\n{advice}"));
                    Failure::new(format!("{}: {error}{advice}", path.display()))
                })?;
                text
            }
            None => String::new(),
        };
        let config = overridden(&base, environment)?;
        config.check()?;
        Ok(config)
    }

    /// Whether somebody chose the production profile, and did not only leave it at its default.
    pub fn is_for_production(file: Option<&Path>, environment: &[(String, String)]) -> bool {
        let text = file.and_then(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let named =
            text.parse::<toml::Table>().ok().and_then(|table| Some(table.get("profile")?.as_str()? == "production"));
        let of_environment = environment.iter().rfind(|(name, _)| name == "MUNIMENT_PROFILE");
        of_environment.map_or(named.unwrap_or(false), |(_, value)| value.trim_matches('"') == "production")
    }

    /// Where callers reach this interface, without a slash at the end.
    pub fn reached_at(&self) -> &str {
        let url = if self.api_url.is_empty() { &self.auth.public_url } else { &self.api_url };
        url.trim_end_matches('/')
    }

    /// A configuration from the text of a file.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Refuses what cannot work or must not run, before anything is opened.
    pub fn check(&self) -> Result<(), Failure> {
        if self.webhooks.allow_insecure && self.profile == Profile::Production {
            let detail = "webhooks.allow_insecure permits endpoints in the platform's own network. Only the development profile allows it.";
            return Err(Failure::new(detail));
        }
        let limits = &self.limits;
        let needed = [
            ("database.connections_max", u64::from(self.database.connections_max)),
            ("limits.body_bytes_max", limits.body_bytes_max as u64),
            ("limits.connections_max", limits.connections_max as u64),
            ("limits.connections_per_address_max", limits.connections_per_address_max as u64),
            ("limits.bodies_per_network_max", limits.bodies_per_network_max as u64),
            ("limits.body_seconds_max", limits.body_seconds_max),
            ("limits.requests_max", limits.requests_max as u64),
            ("limits.request_timeout_seconds", limits.request_timeout_seconds),
        ];
        if let Some((key, _)) = needed.iter().find(|(_, value)| *value == 0) {
            return Err(Failure::new(format!("{key} is 0, so that nothing would be answered. Set it to 1 or more.")));
        }
        if !(1..=15).contains(&self.webhooks.timeout_seconds) {
            return Err(Failure::new("webhooks.timeout_seconds must be 1 to 15."));
        }
        self.mail.check()?;
        for (index, chain) in self.chains.iter().enumerate() {
            chain.check().map_err(Failure::new)?;
            if self.chains[..index].iter().any(|other| other.chain_id == chain.chain_id || other.key == chain.key) {
                let (key, id) = (&chain.key, chain.chain_id);
                return Err(Failure::new(format!(
                    "The chain {key} ({id}) is configured twice; give each its own key and id."
                )));
            }
            let raw = chain.signers.iter().any(|signer| matches!(signer, SignerConfig::Raw { .. }));
            if raw && self.profile == Profile::Production {
                return Err(Failure::new(format!(
                    "The chain {} has a signer with its private key in the clear, which only the development profile allows. Put the key \
                     into an encrypted keystore and configure kind = \"keystore\".",
                    chain.key
                )));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOWN: &str = include_str!("../../../ops/muniment.toml");

    #[test]
    fn a_limit_that_lets_nothing_through_is_refused() {
        for (section, key) in
            [("limits", "connections_max"), ("limits", "requests_max"), ("database", "connections_max")]
        {
            let config = Config::parse(&format!("[{section}]\n{key} = 0\n")).unwrap();
            let refused = config.check().unwrap_err().to_string();
            assert!(refused.starts_with(&format!("{section}.{key} is 0")), "{refused}");
        }
    }

    fn value(config: &Config) -> toml::Value {
        toml::Value::try_from(config).unwrap()
    }

    /// The commented example at the end of the file, as it would stand without its `# `.
    fn example() -> String {
        let commented = SHOWN.lines().filter_map(|line| line.strip_prefix("# "));
        let is_toml =
            |line: &&str| line.starts_with('[') || line.split_once(" = ").is_some_and(|(key, _)| !key.contains(' '));
        commented.filter(is_toml).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn example_file_has_every_key_with_its_default() {
        let parsed = value(&Config::parse(SHOWN).unwrap());
        let defaults = value(&Config::default());
        assert_eq!(parsed, defaults);
        let shown: toml::Table = SHOWN.parse().unwrap();
        for (key, default) in defaults.as_table().unwrap().iter().filter(|(key, _)| *key != "chains") {
            let shown = shown.get(key).unwrap_or_else(|| panic!("{key} is not shown"));
            if let Some(section) = default.as_table() {
                for name in section.keys() {
                    assert!(shown.get(name).is_some(), "{key}.{name} is not shown");
                }
            }
        }
    }

    #[test]
    fn example_chain_has_every_key_with_its_default() {
        let config = Config::parse(&example()).unwrap();
        let shown: toml::Table = example().parse().unwrap();
        let defaults = toml::Value::try_from(ChainConfig::default()).unwrap();
        for (key, default) in defaults.as_table().unwrap() {
            let shown = shown["chains"][0].get(key).unwrap_or_else(|| panic!("chains.{key} is not shown"));
            // Keys without a default are shown with an example.
            if !["key", "name", "chain_id", "endpoints", "signers"].contains(&key.as_str()) {
                assert_eq!(shown, default, "chains.{key}");
            }
        }
        config.check().unwrap();
    }

    #[test]
    fn raw_signer_keys_are_only_for_development() {
        let text = "[[chains]]\nendpoints = [\"http://127.0.0.1:8545\"]\nsigners = [{ kind = \"raw\", private_key = \"0x01\" }]";
        let refused = Config::parse(text).unwrap().check().unwrap_err().to_string();
        assert!(refused.contains("keystore"), "{refused}");
        Config::parse(&format!("profile = \"development\"\n{text}")).unwrap().check().unwrap();
    }

    #[test]
    fn private_endpoints_are_only_for_development() {
        let text = "[webhooks]\nallow_insecure = true";
        assert!(Config::parse(text).unwrap().check().is_err());
        Config::parse(&format!("profile = \"development\"\n{text}")).unwrap().check().unwrap();
    }

    #[test]
    fn unknown_config_key_is_refused_with_its_line() {
        let refused = Config::parse("[limits]\nbody_byte_max = 1").unwrap_err().to_string();
        assert!(refused.contains("body_byte_max") && refused.contains("line 2"), "{refused}");
    }
}
