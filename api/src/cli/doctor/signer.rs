//! Checks of the signers: whether their keys open, whether they can pay for gas, and whether they have the agent role.

use alloy_primitives::utils::format_ether;
use alloy_primitives::{Address, U256};
use muniment_activities::chain::simulate::At;
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::config::{ChainConfig, Profile};
use muniment_activities::contract::batch_read::BatchReader;
use muniment_activities::contract::registry::{self, Roles};
use muniment_activities::fault::Fault;
use muniment_activities::signer::Signer;

use super::{Check, number};
use crate::cli::known_key;

/// The roles without which nothing can be deployed or minted.
const NEEDED: Roles = Roles(Roles::ISSUER.0 | Roles::COMPLIANCE.0);
/// For how many transactions at the cap of gas and the fee of now a balance should last.
const TRANSACTIONS_AHEAD: u64 = 50;

/// The checks of a chain's signers. Without the chain, only their keys are looked at.
pub async fn check(config: &ChainConfig, profile: Profile, chain: Option<&Chain>) -> Vec<Check> {
    let subject = format!("chain {} signers", config.key);
    if config.signers.is_empty() {
        return vec![Check::fail(
            subject,
            "none is configured",
            "add `signers` to this chain; without a signer nothing is sent",
        )];
    }
    let mut checks = Vec::new();
    for (index, signer) in config.signers.iter().enumerate() {
        let subject = format!("chain {} signer {}", config.key, index + 1);
        let signer = match Signer::open(signer, profile) {
            Ok(signer) => signer,
            Err(fault) => {
                checks.push(Check::fail(subject, fault.to_string(), "the engine does not start until this is fixed"));
                continue;
            }
        };
        checks.push(key(&signer, &subject, profile));
        if let Some(chain) = chain {
            checks.push(balance(chain, &signer, &subject).await);
            checks.extend(roles(chain, &signer, &subject).await);
        }
    }
    checks
}

fn key(signer: &Signer, subject: &str, profile: Profile) -> Check {
    let address = signer.address();
    if known_key::is_public(address) && profile == Profile::Production {
        return Check::fail(subject, format!("the key of {address} is publicly known"), "create your own key");
    }
    Check::fine(subject, format!("{address} opens"))
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
            format!("send coins to {}: it cannot pay for one transaction", signer.address()),
        );
    }
    if balance < one * U256::from(TRANSACTIONS_AHEAD) {
        let full = balance / one.max(U256::ONE);
        return Check::warn(
            subject,
            found,
            format!("enough for {full} full transactions at the current fee; send more soon"),
        );
    }
    Check::fine(subject, found)
}

/// The number of offerings for which a signer has the roles to deploy and mint.
async fn offerings(chain: &Chain, registry: Address, signer: &Signer) -> Result<usize, Fault> {
    let head = chain.heads().await?.latest;
    let mut reader = BatchReader::new(chain, registry, head.hash);
    let mut agents = reader.agents(head.number).await?;
    agents.retain(|agent| agent.account == signer.address() && !agent.offering_id.is_zero());
    let roles = reader.roles(&agents).await?;
    Ok(roles.into_iter().filter(|roles| roles.holds(NEEDED)).count())
}

async fn roles(chain: &Chain, signer: &Signer, subject: &str) -> Option<Check> {
    let registry = chain.config.registry?;
    let subject = format!("{subject} roles");
    let found = match registry::roles_of(chain, registry, signer.address(), At::Latest).await {
        Ok(roles) if !roles.holds(NEEDED) => offerings(chain, registry, signer).await.map(|count| (roles, count)),
        found => found.map(|roles| (roles, 0)),
    };
    Some(match found {
        Ok((roles, _)) if roles.holds(NEEDED) => {
            Check::fine(subject, format!("agent of the platform: {}", roles.names()))
        }
        Ok((roles, count)) if count > 0 => Check::warn(
            subject,
            format!("agent of {} only; on the platform: {}", number(count, "offering"), roles.names()),
            "the other offerings need another signer; the owner of the registry can call setRoles or setRolesFor",
        ),
        Ok((roles, _)) => Check::fail(
            subject,
            format!("agent of the platform: {}", roles.names()),
            format!(
                "the owner of {registry} must call setRoles({}, 15), or at least 9 to deploy and mint",
                signer.address()
            ),
        ),
        Err(fault) => Check::fail(subject, fault.to_string(), "check that `registry` is the platform's AgentRegistry"),
    })
}
