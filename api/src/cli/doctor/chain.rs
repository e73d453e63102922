//! Checks of a chain: its endpoints, its identity and the platform's contracts.

use muniment_activities::chain::{Chain, Tag};
use muniment_activities::config::ChainConfig;
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;

use super::Check;

/// Block times, and at least seconds, that the newest block may be behind the clock.
const LATE_BLOCKS: i64 = 10;
const LATE_SECONDS_MIN: i64 = 60;
/// Seconds that a block may be ahead of the clock.
const AHEAD_SECONDS_MAX: i64 = 15;

/// The checks of one chain, and the chain for those that need it, if it is there and the right one. A chain that makes blocks only for
/// transactions may be silent for days.
pub async fn check(config: &ChainConfig, db: Option<&Db>, mines_on_demand: bool) -> (Vec<Check>, Option<Chain>) {
    let subject = format!("chain {}", config.key);
    let chain = match Chain::http(config.clone()) {
        Ok(chain) => chain,
        Err(error) => return (vec![Check::fail(subject, error.to_string(), "correct the [[chains]] section")], None),
    };
    let contact = match chain.check_endpoints().await {
        Ok(contact) => contact,
        Err(fault) => {
            let advice = "no operation of this chain can continue until this is fixed";
            return (vec![Check::fail(subject, fault.to_string(), advice)], None);
        }
    };
    let advice = "the other endpoints are used until it is fixed";
    let mut checks = Vec::new();
    for (endpoint, fault) in &contact.failed {
        checks.push(Check::warn(&subject, format!("{endpoint}: {fault}"), advice));
    }
    checks.push(Check::fine(&subject, format!("chain id {} at {}", contact.chain_id, contact.answered.join(", "))));
    checks.push(genesis(&subject, contact.chain_id, &contact.genesis.to_string(), db).await);
    checks.push(clock(&subject, &chain, mines_on_demand).await);
    for (name, address) in [("factory", config.factory), ("registry", config.registry)] {
        checks.push(contract(&chain, name, address).await);
    }
    (checks, Some(chain))
}

async fn genesis(subject: &str, chain_id: u64, found: &str, db: Option<&Db>) -> Check {
    let subject = format!("{subject} genesis");
    let known = match db {
        Some(db) => stored_genesis(db, chain_id).await,
        None => Ok(None),
    };
    match known {
        Ok(Some(known)) if known == found => Check::fine(subject, format!("{found}, as at the first contact")),
        Ok(Some(known)) => Check::fail(
            subject,
            format!("{found}, but the database knows {known}"),
            "the URL leads to another chain: correct the endpoint, or use a separate database for it",
        ),
        Ok(None) => Check::fine(subject, format!("{found}, first contact")),
        Err(error) => Check::warn(
            subject,
            format!("{found}; the database could not be read: {error}"),
            "run `muniment migrate` first",
        ),
    }
}

async fn stored_genesis(db: &Db, chain_id: u64) -> muniment_domain::Result<Option<String>> {
    if muniment_domain::migrate::applied_version(db).await?.is_none() {
        return Ok(None);
    }
    let mut tx = db.read().await?;
    let chain = muniment_domain::chain::find(&mut tx, chain_id.cast_signed()).await?;
    Ok(chain.map(|chain| chain.genesis_hash.to_string()))
}

async fn clock(subject: &str, chain: &Chain, mines_on_demand: bool) -> Check {
    let subject = format!("{subject} head");
    let heads = match chain.heads().await {
        Ok(heads) => heads,
        Err(fault) => return Check::fail(subject, fault.to_string(), "the node must serve eth_getBlockByNumber"),
    };
    let behind = Clock::System.now().timestamp() - heads.latest.timestamp.cast_signed();
    let found = format!("block {}, {behind} s old", heads.latest.number);
    let late = (chain.config.block_seconds.cast_signed() * LATE_BLOCKS).max(LATE_SECONDS_MIN);
    if behind > late && !mines_on_demand {
        return Check::warn(subject, found, "the node is behind or syncing, or `block_seconds` of this chain is wrong");
    }
    if behind < -AHEAD_SECONDS_MAX {
        return Check::warn(subject, found, "the block is in the future: set this machine's clock with NTP");
    }
    Check::fine(subject, found)
}

async fn contract(chain: &Chain, name: &str, address: Option<alloy_primitives::Address>) -> Check {
    let subject = format!("chain {} {name}", chain.config.key);
    let Some(address) = address else {
        return Check::fail(
            subject,
            "not configured",
            format!("set `{name}` of this chain to the address of the deployed contract"),
        );
    };
    match chain.code(address, Tag::Latest).await {
        Ok(code) if code.is_empty() => Check::fail(
            subject,
            format!("{address} has no code"),
            format!("correct `{name}`, or deploy the platform's contracts first"),
        ),
        Ok(code) => Check::fine(subject, format!("{address}, {} bytes of code", code.len())),
        Err(fault) => Check::fail(subject, fault.to_string(), "the node must serve eth_getCode"),
    }
}
