//! The policy gate in front of every key. A transaction that is not on its list is never signed.
use std::collections::BTreeMap;

use alloy::primitives::{Address, U256, keccak256};

use crate::{config::ChainConfig, payout::calldata, revert::errors, signer::transaction::Transaction};

/// The kind of a contract; it decides which functions may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The `TokenFactory`.
    Factory,
    /// A token that the factory deployed.
    Token,
    /// The `PlatformYieldDistributor`.
    Distributor,
    /// The ERC-20 of payouts: only approvals for our own contracts.
    Asset,
    /// The demonstration coin; only for the deployer of a development chain.
    PlayMoney,
    /// The `AgentRegistry`; only for the deployer of a development chain.
    Registry,
}

/// Why the gate refuses a transaction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The chain is not on the list.
    #[error("this signer may not sign for chain {0}")]
    Chain(u64),
    /// The contract is not on the list.
    #[error("{0} is not a contract of the platform")]
    Target(Address),
    /// A deployment of a contract.
    #[error("this signer may not deploy contracts")]
    Creation,
    /// The function is not on the list.
    #[error("this signer may not call the function {selector} of a {target:?}")]
    Selector {
        /// The kind of the contract.
        target: Target,
        /// Its name, or the first four bytes of the calldata.
        selector: String,
    },
    /// The transaction carries value.
    #[error("a transaction must not carry value")]
    Value,
    /// The fee is above the cap.
    #[error("the fee of {offered} wei per unit of gas is above the cap of {cap}")]
    FeeCap {
        /// The fee offered.
        offered: u128,
        /// The cap of the chain.
        cap: u128,
    },
    /// The gas limit is above the cap.
    #[error("a gas limit of {limit} is above the cap of {cap}")]
    GasCap {
        /// The gas limit.
        limit: u64,
        /// The cap of the chain.
        cap: u64,
    },
    /// The payouts of the day would exceed the limit.
    #[error("a payout of {amount} with {spent} already paid today exceeds the daily limit of {ceiling}")]
    PayoutLimit {
        /// The payout of this transaction.
        amount: U256,
        /// The payouts of the day so far.
        spent: U256,
        /// The daily limit.
        ceiling: U256,
    },
    /// The arguments of a payout or an approval cannot be decoded.
    #[error("the arguments of a payout or an approval cannot be decoded")]
    Arguments,
    /// The spender of an approval is not our contract.
    #[error("{0} is not a contract of the platform and may not get an allowance")]
    Spender(Address),
}

impl Refusal {
    /// The stable code for tables and metrics.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::Chain(_) => "policy_chain",
            Refusal::Target(_) => "policy_target",
            Refusal::Creation => "policy_creation",
            Refusal::Selector { .. } => "policy_selector",
            Refusal::Value => "policy_value",
            Refusal::FeeCap { .. } => "policy_fee_cap",
            Refusal::GasCap { .. } => "policy_gas_cap",
            Refusal::PayoutLimit { .. } => "policy_payout_ceiling",
            Refusal::Arguments => "policy_arguments",
            Refusal::Spender(_) => "policy_spender",
        }
    }
}

/// What may be signed.
#[derive(Clone, Debug, Default)]
pub struct PolicyGate {
    /// The chain ids.
    pub chain_ids: Vec<u64>,
    /// The contracts and their kinds.
    pub targets: BTreeMap<Address, Target>,
    /// The gas limit of one transaction.
    pub gas_cap: u64,
    /// The fee limit per unit of gas, in wei.
    pub max_fee_per_gas_cap: u128,
    /// The daily limit of each payout asset in units; none for no limit.
    pub payout_ceiling: Option<U256>,
    /// Whether contract deployments are allowed: only for the deployer of a development chain.
    pub creations: bool,
}

/// Proof that the gate checked exactly this transaction for this signer. Only the gate creates it.
#[derive(Clone, Debug)]
pub struct Permit {
    signer: Address,
    transaction: Transaction,
}

impl Permit {
    /// The signer that may sign.
    pub fn signer(&self) -> Address {
        self.signer
    }

    /// The checked transaction.
    pub fn transaction(&self) -> &Transaction {
        &self.transaction
    }
}

impl PolicyGate {
    /// A gate with the limits of the chain and its factory as the only contract.
    pub fn of(config: &ChainConfig) -> PolicyGate {
        PolicyGate {
            chain_ids: vec![config.chain_id],
            targets: config.factory.iter().map(|factory| (*factory, Target::Factory)).collect(),
            gas_cap: config.gas_cap,
            max_fee_per_gas_cap: config.max_fee_per_gas_cap(),
            payout_ceiling: config.payout_ceiling_daily,
            creations: false,
        }
    }

    /// The same gate with one more contract.
    pub fn with(mut self, address: Address, target: Target) -> PolicyGate {
        self.targets.insert(address, target);
        self
    }

    /// Checks one transaction. `spent` is the sum of the day's payouts of its asset so far.
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
            // A cancel: an empty transfer to the signer itself.
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
            return Err(Refusal::Selector { target, selector: errors::function(selector) });
        }
        // An allowance lets its spender take money, so only our own contracts may get one.
        if target == Target::Asset {
            let spender = calldata::spender(data).ok_or(Refusal::Arguments)?;
            let ours = self.targets.get(&spender);
            if !matches!(ours, Some(Target::Token | Target::Distributor)) {
                return Err(Refusal::Spender(spender));
            }
        }
        // The limit counts what leaves the signer, whichever function moves it.
        let amount = calldata::amount(data).map_err(|_| Refusal::Arguments)?;
        match self.payout_ceiling {
            Some(ceiling) if !amount.is_zero() && spent.saturating_add(amount) > ceiling => {
                Err(Refusal::PayoutLimit { amount, spent, ceiling })
            }
            _ => Ok(()),
        }
    }
}

impl Target {
    /// The functions that the service may call. Where a contract has a form with and one without an operation number, only the
    /// first is listed.
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
                "reinstateAddress(address,uint256)",
                "redeem(uint256,address,uint256,uint256)",
                "releaseLock(uint256,address,uint256,uint256,uint256,uint256)",
                "pause()",
                "unpause()",
                "payout(uint256,address,address,uint256)",
                "batchPayout(uint256,address,bytes32[])",
            ],
            Target::Distributor => &[
                "createDistribution(bytes32,address,address,uint256,uint256,bytes32,bytes32)",
                "payoutForDistribution(bytes32,uint256,bytes32,bytes32[])",
                "claimWithheld(bytes32,address)",
                "batchClaimWithheld(bytes32,address[])",
                "cancelDistribution(bytes32)",
                "declareAudit(bytes32,address,bytes32)",
            ],
            Target::Asset => &["approve(address,uint256)"],
            Target::PlayMoney => &["mint(address,uint256)"],
            Target::Registry => &["setRoles(address,uint256)"],
        }
    }
}
