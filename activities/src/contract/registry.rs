//! The `AgentRegistry`: which accounts are agents, and in which roles.
use std::ops::BitOr;

use alloy::{
    primitives::{Address, B256, U256},
    sol_types::SolCall,
};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{
        Chain,
        simulate::{At, Call},
    },
    contract::{bindings::registry::AgentRegistry, operation::view},
    fault::Fault,
};

/// A set of role bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles(pub u8);

impl Roles {
    /// Deploys tokens, mints, locks.
    pub const ISSUER: Roles = Roles(1);
    /// Moves units without the holder: forced transfer and recovery.
    pub const CUSTODY: Roles = Roles(2);
    /// Pays holders.
    pub const PAYOUT: Roles = Roles(4);
    /// Whitelists, freezes, restricts.
    pub const COMPLIANCE: Roles = Roles(8);
    /// All roles.
    pub const ALL: Roles = Roles(15);

    /// The names of the roles in this set, for a sentence.
    pub fn names(self) -> String {
        let names = self.list();
        if names.is_empty() { "no role".to_owned() } else { names.join(", ") }
    }

    /// The roles in this set, by name.
    pub fn list(self) -> Vec<&'static str> {
        let named = [
            (Self::ISSUER, "issuer"),
            (Self::CUSTODY, "custody"),
            (Self::PAYOUT, "payout"),
            (Self::COMPLIANCE, "compliance"),
        ];
        named.into_iter().filter(|(role, _)| self.holds(*role)).map(|(_, name)| name).collect()
    }

    /// Whether this set contains every role of the other set.
    pub fn holds(self, other: Roles) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Roles {
    type Output = Roles;

    fn bitor(self, other: Roles) -> Roles {
        Roles(self.0 | other.0)
    }
}

/// Replaces the roles of an account; an empty set removes the agent.
pub fn set_roles(from: Address, registry: Address, account: Address, roles: Roles) -> Call {
    let call = AgentRegistry::setRolesCall { account, roles: U256::from(roles.0) };
    Call { from, to: Some(registry), data: call.abi_encode().into() }
}

/// Replaces the roles of an account for one offering; an empty set removes the agent from it.
pub fn set_roles_for(from: Address, registry: Address, offering_id: B256, account: Address, roles: Roles) -> Call {
    let call = AgentRegistry::setRolesForCall { offeringId: offering_id, account, roles: U256::from(roles.0) };
    Call { from, to: Some(registry), data: call.abi_encode().into() }
}

/// Whether the account had any role on the whole platform at that block.
pub async fn is_agent(chain: &Chain, registry: Address, account: Address, at: At) -> Result<bool, Fault> {
    view(chain, registry, &AgentRegistry::isAgentCall { account }, at).await
}

/// Whether the account had any role for an offering at that block, or on the whole platform.
pub async fn is_agent_for(
    chain: &Chain,
    registry: Address,
    offering_id: B256,
    account: Address,
    at: At,
) -> Result<bool, Fault> {
    let mask = U256::from(Roles::ALL.0);
    view(chain, registry, &AgentRegistry::hasRoleForCall { offeringId: offering_id, account, mask }, at).await
}

/// The roles of the account.
pub async fn roles_of(chain: &Chain, registry: Address, account: Address, at: At) -> Result<Roles, Fault> {
    let word = view(chain, registry, &AgentRegistry::rolesOfCall { account }, at).await?;
    Ok(Roles(word.saturating_to()))
}

/// The owner of the registry, the only account that can grant roles.
pub async fn owner(chain: &Chain, registry: Address) -> Result<Address, Fault> {
    view(chain, registry, &AgentRegistry::ownerCall {}, At::Latest).await
}
