//! The signers: whether their keys open, whether they can pay for gas, and whether they may act.

use alloy_primitives::U256;
use alloy_primitives::utils::format_ether;
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::registry::{self, Roles};
use muniment_activities::signer::Signer;
use muniment_activities::simulate::At;

use super::Check;
use crate::known_key;

/// For how many transactions at the cap of gas and the fee of now a balance should last.
const TRANSACTIONS_AHEAD: u64 = 50;

/// The checks of a chain's signers.
pub async fn check(config: &ChainConfig, profile: Profile) -> Vec<Check> {
    let subject = format!("chain {} signers", config.key);
    if config.signers.is_empty() {
        return vec![Check::fail(
            subject,
            "none is configured",
            "add `signers` to this chain; without one nothing is sent",
        )];
    }
    let mut checks = Vec::new();
    for (index, signer) in config.signers.iter().enumerate() {
        let subject = format!("chain {} signer {}", config.key, index + 1);
        match Signer::open(signer, profile) {
            Ok(signer) => checks.extend(opened(config, &signer, &subject, profile).await),
            Err(fault) => {
                checks.push(Check::fail(subject, fault.to_string(), "the engine does not start before this is solved"))
            }
        }
    }
    checks
}

async fn opened(config: &ChainConfig, signer: &Signer, subject: &str, profile: Profile) -> Vec<Check> {
    let address = signer.address();
    let mut checks = vec![match (known_key::is_public(address), profile) {
        (true, Profile::Production) => {
            Check::fail(subject, format!("{address} has a key that everybody knows"), "make a key of your own")
        }
        _ => Check::fine(subject, format!("{address} opens")),
    }];
    let Ok(chain) = Chain::over_http(config.clone()) else { return checks };
    checks.push(balance(&chain, signer, subject).await);
    if config.registry.is_some() {
        checks.push(roles(&chain, signer, subject).await);
    }
    checks
}

async fn balance(chain: &Chain, signer: &Signer, subject: &str) -> Check {
    let subject = format!("{subject} balance");
    let (balance, fees) = match (chain.balance(signer.address(), Tag::Latest).await, chain.fees().await) {
        (Ok(balance), Ok(fees)) => (balance, fees),
        (Err(fault), _) | (_, Err(fault)) => {
            return Check::warn(subject, fault.to_string(), "see the lines of the chain");
        }
    };
    let found = format!("{} coins", format_ether(balance));
    let one = U256::from(fees.max_fee_per_gas) * U256::from(chain.config.gas_cap);
    if balance.is_zero() {
        return Check::fail(
            subject,
            found,
            format!("send coins to {}: it cannot pay for a single transaction", signer.address()),
        );
    }
    if balance < one * U256::from(TRANSACTIONS_AHEAD) {
        let full = balance / one.max(U256::ONE);
        return Check::warn(
            subject,
            found,
            format!("enough for {full} full transactions at the fee of now; send more in time"),
        );
    }
    Check::fine(subject, found)
}

async fn roles(chain: &Chain, signer: &Signer, subject: &str) -> Check {
    let subject = format!("{subject} roles");
    let Some(registry) = chain.config.registry else { return Check::fine(subject, "no registry to ask") };
    match registry::roles_of(chain, registry, signer.address(), At::Latest).await {
        Ok(roles) if roles.holds(Roles::ISSUER | Roles::COMPLIANCE) => {
            Check::fine(subject, format!("agent, role bits {:04b}", roles.0))
        }
        Ok(roles) => Check::fail(
            subject,
            format!("role bits {:04b}", roles.0),
            format!(
                "the owner of the registry {registry} must call setRoles({}, 15), or at least 9 to deploy and mint",
                signer.address()
            ),
        ),
        Err(fault) => {
            Check::fail(subject, fault.to_string(), "look whether `registry` is the platform's AgentRegistry")
        }
    }
}
