//! The gate in front of every key: what is not on its list is not signed, whoever asks.
use std::collections::BTreeMap;

use alloy::primitives::{Address, U256, keccak256};

use crate::{config::ChainConfig, payout, transaction::Transaction};

/// What a contract is to the platform; it decides which of its functions may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The `TokenFactory`.
    Factory,
    /// A token that the factory deployed.
    Token,
    /// The `PlatformYieldDistributor`.
    Distributor,
    /// The ERC-20 that payouts are made in: approvals to our own contracts alone.
    Asset,
    /// Play money; only for the deployer of a development chain.
    PlayMoney,
    /// The `AgentRegistry`; only for the deployer of a development chain.
    Registry,
}

/// Why the gate refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Another chain.
    #[error("chain {0} is not one that this signer may sign for")]
    Chain(u64),
    /// A contract that is not ours.
    #[error("{0} is not a contract of the platform")]
    Target(Address),
    /// A deployment of a contract.
    #[error("this signer may not deploy contracts")]
    Creation,
    /// A function that the service has no business calling.
    #[error("the function {selector} of a {target:?} is not on the list")]
    Selector {
        /// What the contract is.
        target: Target,
        /// The first four bytes of the data.
        selector: String,
    },
    /// Money that would go along.
    #[error("a transaction must not carry value")]
    Value,
    /// A fee above the cap.
    #[error("{offered} wei for a unit of gas is above the cap of {cap}")]
    FeeCap {
        /// What was offered.
        offered: u128,
        /// The cap of the chain.
        cap: u128,
    },
    /// A gas limit above the cap.
    #[error("a gas limit of {limit} is above the cap of {cap}")]
    GasCap {
        /// What was asked for.
        limit: u64,
        /// The cap of the chain.
        cap: u64,
    },
    /// More money than a day may see.
    #[error("paying {amount} on top of the {spent} of this day is above the ceiling of {ceiling}")]
    PayoutCeiling {
        /// What this transaction pays.
        amount: U256,
        /// What the day has seen.
        spent: U256,
        /// The ceiling.
        ceiling: U256,
    },
    /// The arguments of a call that moves money cannot be read.
    #[error("the arguments of a payout cannot be read")]
    Arguments,
    /// An approval to a stranger.
    #[error("{0} may not be given an allowance")]
    Spender(Address),
}

impl Refusal {
    /// The stable word for tables and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Chain(_) => "policy_chain",
            Refusal::Target(_) => "policy_target",
            Refusal::Creation => "policy_creation",
            Refusal::Selector { .. } => "policy_selector",
            Refusal::Value => "policy_value",
            Refusal::FeeCap { .. } => "policy_fee_cap",
            Refusal::GasCap { .. } => "policy_gas_cap",
            Refusal::PayoutCeiling { .. } => "policy_payout_ceiling",
            Refusal::Arguments => "policy_arguments",
            Refusal::Spender(_) => "policy_spender",
        }
    }
}

/// What may be signed.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// The chains.
    pub chain_ids: Vec<u64>,
    /// The contracts, and what each of them is.
    pub targets: BTreeMap<Address, Target>,
    /// The most gas of one transaction.
    pub gas_cap: u64,
    /// The most wei for a unit of gas.
    pub max_fee_per_gas_cap: u128,
    /// The most units of each payout asset that one day may see; none for no ceiling.
    pub payout_ceiling: Option<U256>,
    /// Whether contracts may be deployed: only for the deployer of a development chain.
    pub creations: bool,
}

/// Proof that the gate has seen this very transaction for this very signer; only the gate makes one.
#[derive(Clone, Debug)]
pub struct Permit {
    signer: Address,
    transaction: Transaction,
}

impl Permit {
    /// Whose key may sign it.
    pub fn signer(&self) -> Address {
        self.signer
    }

    /// What may be signed.
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }
}

impl Gate {
    /// A gate with the limits of the chain and its factory as the first target.
    pub fn of(config: &ChainConfig) -> Gate {
        Gate {
            chain_ids: vec![config.chain_id],
            targets: config.factory.iter().map(|factory| (*factory, Target::Factory)).collect(),
            gas_cap: config.gas_cap,
            max_fee_per_gas_cap: config.max_fee_per_gas_cap(),
            payout_ceiling: config.payout_ceiling_daily,
            creations: false,
        }
    }

    /// The same gate with one more contract.
    pub fn with(mut self, address: Address, target: Target) -> Gate {
        self.targets.insert(address, target);
        self
    }

    /// Looks at one transaction; `spent` is what this day's payouts of its asset come to so far.
    pub fn check(&self, signer: Address, transaction: &Transaction, spent: U256) -> Result<Permit, Refusal> {
        let Transaction { chain_id, gas_limit, max_fee_per_gas, max_priority_fee_per_gas, .. } = *transaction;
        if !self.chain_ids.contains(&chain_id) {
            return Err(Refusal::Chain(chain_id));
        }
        if !transaction.value.is_zero() {
            return Err(Refusal::Value);
        }
        if gas_limit > self.gas_cap {
            return Err(Refusal::GasCap { limit: gas_limit, cap: self.gas_cap });
        }
        let offered = max_fee_per_gas.max(max_priority_fee_per_gas);
        if offered > self.max_fee_per_gas_cap {
            return Err(Refusal::FeeCap { offered, cap: self.max_fee_per_gas_cap });
        }
        match transaction.to {
            None if self.creations => {}
            None => return Err(Refusal::Creation),
            // A cancel: nothing to oneself.
            Some(to) if to == signer && transaction.data.is_empty() => {}
            Some(to) => self.check_call(to, transaction, spent)?,
        }
        Ok(Permit { signer, transaction: transaction.clone() })
    }

    fn check_call(&self, to: Address, transaction: &Transaction, spent: U256) -> Result<(), Refusal> {
        let target = *self.targets.get(&to).ok_or(Refusal::Target(to))?;
        let data = &transaction.data;
        let selector = data.get(..4).unwrap_or(data);
        if !target.functions().iter().any(|signature| keccak256(signature)[..4] == *selector) {
            return Err(Refusal::Selector { target, selector: alloy::hex::encode_prefixed(selector) });
        }
        if target == Target::Asset {
            let spender = payout::spender(data).ok_or(Refusal::Arguments)?;
            let ours = self.targets.get(&spender);
            if !matches!(ours, Some(Target::Token | Target::Distributor)) {
                return Err(Refusal::Spender(spender));
            }
        }
        let amount = payout::amount(data).map_err(|_| Refusal::Arguments)?;
        match self.payout_ceiling {
            Some(ceiling) if !amount.is_zero() && spent.saturating_add(amount) > ceiling => {
                Err(Refusal::PayoutCeiling { amount, spent, ceiling })
            }
            _ => Ok(()),
        }
    }
}

impl Target {
    /// The functions that the service calls; the forms without an operation id are not among them.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Target::Factory => &["deployToken(bytes32,string,uint256,(uint256,bool,bool)[])"],
            Target::Token => &[
                "batchWhitelist(uint256,address[],bool)",
                "mintPage(uint256,uint256,uint256,bytes32[])",
                "batchMint(uint256,uint256,bytes32[])",
                "batchLockTokens(uint256,uint256,uint256,bytes32[])",
                "lockTokens(uint256,address,uint256,uint256,uint256)",
                "unlockToken(address,uint256)",
                "freezeAddress(address,bytes)",
                "unFreeze(address,bytes)",
                "restrictTransfer(uint256)",
                "removeRestriction(uint256)",
                "forceTransfer(address,address,uint256,uint256,bytes)",
                "recoveryAddress(address,address,uint256)",
                "payout(uint256,address,address,uint256)",
                "batchPayout(uint256,address,bytes32[])",
            ],
            Target::Distributor => &[
                "createDistribution(bytes32,address,address,uint256,uint256,bytes32,bytes32)",
                "payoutForDistribution(bytes32,uint256,bytes32[])",
                "claimWithheld(bytes32,address)",
                "cancelDistribution(bytes32)",
                "declareAudit(bytes32,address,bytes32)",
            ],
            Target::Asset => &["approve(address,uint256)"],
            Target::PlayMoney => &["mint(address,uint256)"],
            Target::Registry => &["setRoles(address,uint256)"],
        }
    }
}
