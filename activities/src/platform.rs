//! Deploys the platform's contracts to a development or test chain. A repeated run reuses what is already deployed.
use std::time::Duration;

use alloy::{
    primitives::{Address, Bytes, U256},
    sol_types::SolConstructor,
};
use serde::{Deserialize, Serialize};

use crate::{
    chain::{
        Chain, Tag, gas,
        receipt::Receipt,
        send::SendResult,
        simulate::{At, Call, Simulation},
    },
    contract::{
        bindings::{
            coin::DemoCoin, distributor::PlatformYieldDistributor, factory::TokenFactory, registry::AgentRegistry,
            rule144::Rule144, token::PlatformSecurityToken7518, transfer_agent::TransferAgent,
        },
        registry::{self, Roles},
    },
    fault::Fault,
    payout::coin,
    signer::{
        Signer, SignerFault,
        policy::{PolicyGate, Refusal, Target},
        transaction::Transaction,
    },
};

/// How long to wait for one transaction of the deployer.
const INCLUSION_SECONDS_MAX: u64 = 120;

/// The addresses of the platform's contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// The `AgentRegistry`.
    pub registry: Address,
    /// The implementation that every token is a clone of.
    pub implementation: Address,
    /// The `TokenFactory`.
    pub factory: Address,
    /// The `PlatformYieldDistributor`.
    pub distributor: Address,
    /// The `Rule144` module.
    pub rule144: Address,
    /// The `TransferAgent`.
    pub desk: Address,
    /// The demonstration coin for payouts.
    pub coin: Address,
}

/// Why the platform is not deployed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PlatformFault {
    /// An RPC call failed.
    #[error(transparent)]
    Chain(#[from] Fault),
    /// The policy gate refused a transaction of the deployer.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The deployer's signer failed.
    #[error(transparent)]
    Signer(#[from] SignerFault),
    /// The deployer's account has other transactions.
    #[error(
        "transaction {nonce} of the deployer {deployer} did not deploy {contract}; use a separate key for deployments, or a fresh chain"
    )]
    KeyUsedElsewhere {
        /// Name of the contract.
        contract: &'static str,
        /// The nonce at which it is deployed.
        nonce: u64,
        /// The deployer.
        deployer: Address,
    },
    /// A transaction of the deployer failed.
    #[error("{what} failed: {why}")]
    Failed {
        /// What the transaction should do.
        what: String,
        /// Why.
        why: String,
    },
}

impl Platform {
    /// The addresses for a deployer, on any chain: they follow from the deployer's address and the order of deployment.
    pub fn of(deployer: Address) -> Platform {
        Platform {
            registry: deployer.create(0),
            implementation: deployer.create(1),
            factory: deployer.create(2),
            distributor: deployer.create(3),
            rule144: deployer.create(4),
            desk: deployer.create(5),
            coin: deployer.create(6),
        }
    }

    /// Each contract with its creation code, in the order of the deployer's nonces.
    fn creations(&self, owner: Address) -> [(&'static str, Address, Vec<u8>); 7] {
        let registry = self.registry;
        let code = |bytecode: &Bytes, arguments: Vec<u8>| [bytecode.to_vec(), arguments].concat();
        let coin = DemoCoin::constructorCall { name_: "Demo Dollar".into(), symbol_: "DUSD".into(), decimals_: 6 };
        // The desk starts without members. Its owner announces them.
        let desk = TransferAgent::constructorCall { owner_: owner, members: Vec::new(), roles: Vec::new() };
        let factory = TokenFactory::constructorCall { registry, implementation_: self.implementation };
        [
            (
                // Roles count at once: this deployment is for development and test chains.
                "AgentRegistry",
                self.registry,
                code(
                    &AgentRegistry::BYTECODE,
                    AgentRegistry::constructorCall { initialOwner: owner, grantDelay_: U256::ZERO }.abi_encode(),
                ),
            ),
            (
                "PlatformSecurityToken7518",
                self.implementation,
                code(
                    &PlatformSecurityToken7518::BYTECODE,
                    PlatformSecurityToken7518::constructorCall { registry }.abi_encode(),
                ),
            ),
            ("TokenFactory", self.factory, code(&TokenFactory::BYTECODE, factory.abi_encode())),
            (
                "PlatformYieldDistributor",
                self.distributor,
                code(
                    &PlatformYieldDistributor::BYTECODE,
                    PlatformYieldDistributor::constructorCall { registry }.abi_encode(),
                ),
            ),
            ("Rule144", self.rule144, code(&Rule144::BYTECODE, Rule144::constructorCall { registry }.abi_encode())),
            ("TransferAgent", self.desk, code(&TransferAgent::BYTECODE, desk.abi_encode())),
            ("DemoCoin", self.coin, code(&DemoCoin::BYTECODE, coin.abi_encode())),
        ]
    }

    /// Deploys missing contracts and grants each agent its roles. The deployer owns the registry and must use a separate key.
    pub async fn deploy(
        chain: &Chain,
        deployer: &Signer,
        agents: &[(Address, Roles)],
    ) -> Result<Platform, PlatformFault> {
        let owner = deployer.address();
        let platform = Platform::of(owner);
        for (nonce, (contract, address, code)) in (0..).zip(platform.creations(owner)) {
            // An earlier run can have stopped half way: deploy what is missing.
            if !chain.code(address, Tag::Latest).await?.is_empty() {
                continue;
            }
            // The address of a contract follows from the nonce, so any other transaction of the deployer would move it.
            if chain.transaction_count(owner, Tag::Latest).await? != nonce {
                return Err(PlatformFault::KeyUsedElsewhere { contract, nonce, deployer: owner });
            }
            let call = Call { from: owner, to: None, data: code.into() };
            platform.execute(chain, deployer, &call, nonce, &format!("deploying {contract}")).await?;
        }
        for (agent, roles) in agents {
            if registry::roles_of(chain, platform.registry, *agent, At::Latest).await? == *roles {
                continue;
            }
            let nonce = chain.transaction_count(owner, Tag::Latest).await?;
            let call = registry::set_roles(owner, platform.registry, *agent, *roles);
            platform.execute(chain, deployer, &call, nonce, &format!("granting roles to {agent}")).await?;
        }
        Ok(platform)
    }

    /// Tops up an account with the demonstration coin, so that it can pay.
    pub async fn fund(
        &self,
        chain: &Chain,
        deployer: &Signer,
        account: Address,
        amount: U256,
    ) -> Result<(), PlatformFault> {
        let balance = coin::balance_of(chain, self.coin, account, At::Latest).await?;
        if balance >= amount {
            return Ok(());
        }
        let nonce = chain.transaction_count(deployer.address(), Tag::Latest).await?;
        let call = coin::mint_play_money(deployer.address(), self.coin, account, amount - balance);
        self.execute(chain, deployer, &call, nonce, &format!("giving play money to {account}")).await?;
        Ok(())
    }

    /// Sends one transaction of the deployer through the policy gate and waits until it is in a block.
    async fn execute(
        &self,
        chain: &Chain,
        deployer: &Signer,
        call: &Call,
        nonce: u64,
        what: &str,
    ) -> Result<Receipt, PlatformFault> {
        let failed = |why: String| PlatformFault::Failed { what: what.to_owned(), why };
        let estimate = match chain.simulate(call, At::Latest).await? {
            Simulation::Gas(gas) => gas,
            Simulation::Reverts(revert) => return Err(failed(revert.sentence)),
        };
        let fees = chain.fees().await?;
        let transaction = Transaction {
            chain_id: chain.config.chain_id,
            nonce,
            to: call.to,
            data: call.data.clone(),
            value: U256::ZERO,
            gas_limit: gas::limit(estimate, chain.config.gas_cap).map_err(|error| failed(error.to_string()))?,
            max_fee_per_gas: fees.max_fee_per_gas,
            max_priority_fee_per_gas: fees.max_priority_fee_per_gas,
        };
        let mut gate =
            PolicyGate::of(&chain.config).with(self.registry, Target::Registry).with(self.coin, Target::PlayMoney);
        gate.creations = true;
        let permit = gate.check(deployer.address(), &transaction, U256::ZERO)?;
        let signed = deployer.sign(&permit).await?;
        if let Some(SendResult::Refused(refusal)) = chain.send(std::slice::from_ref(&signed.raw)).await.pop() {
            return Err(failed(refusal.text));
        }
        // Development chains mine within milliseconds, so poll more often than the follower.
        let pause = Duration::from_millis(chain.config.poll_milliseconds.min(200));
        let rounds = INCLUSION_SECONDS_MAX * 1_000 / chain.config.poll_milliseconds.clamp(1, 200);
        for _ in 0..rounds {
            match chain.receipts(&[signed.hash]).await?.pop().flatten() {
                Some(receipt) if receipt.success => return Ok(receipt),
                Some(_) => return Err(failed(format!("the transaction {} reverted", signed.hash))),
                None => tokio::time::sleep(pause).await,
            }
        }
        Err(failed(format!("the transaction {} was not included within {INCLUSION_SECONDS_MAX} s", signed.hash)))
    }
}
