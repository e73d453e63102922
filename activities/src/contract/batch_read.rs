//! Batch reads of one contract at one block. Reconciliation compares them with the database.
use alloy::{
    primitives::{Address, B256, U256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{Chain, logs::LogFilter, simulate::At},
    contract::{
        bindings::{
            registry::AgentRegistry::{RolesChanged, rolesForCall},
            token::PlatformSecurityToken7518::{
                OperationExecuted, balanceOfBatchCall, frozenAmongCall, isRestrictedCall, lockedBalanceOfCall,
                pausedCall, totalSupply_1Call,
            },
        },
        operation::{executions, read},
        registry::Roles,
    },
    fault::Fault,
    rpc::required,
};

/// Balances in one call: about ten million gas, which every node allows for a read.
const BALANCES_PER_CALL: usize = 500;
/// The limit of accounts of `frozenAmong`.
const FROZEN_PER_CALL: usize = 256;

/// Reads of one contract at one block. It counts its calls, because they are the cost of a reconciliation.
pub struct BatchReader<'a> {
    chain: &'a Chain,
    contract: Address,
    at: At,
    /// Calls made so far; each call of a batch counts.
    pub calls: u64,
}

/// An account that the registry knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Agent {
    /// The offering to which its roles are limited, as the contracts name it; zero for the whole platform.
    pub offering_id: B256,
    /// The account.
    pub account: Address,
}

/// An operation that the contract executed, by its own event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutedOperation {
    /// Its kind, as the contract names it. Each kind has numbers of its own.
    pub kind: B256,
    /// The operation number. It can be larger than any of the platform's.
    pub op_id: U256,
    /// The hash of its transaction.
    pub tx_hash: B256,
    /// The hash of the executed call.
    pub payload_hash: B256,
}

impl<'a> BatchReader<'a> {
    /// Reads of a contract at the block with this hash.
    pub fn new(chain: &'a Chain, contract: Address, block_hash: B256) -> BatchReader<'a> {
        BatchReader { chain, contract, at: At::Hash(block_hash), calls: 0 }
    }

    /// The supply of each partition, in units.
    pub async fn supplies(&mut self, partitions: &[u32]) -> Result<Vec<U256>, Fault> {
        self.each(partitions.iter().map(|id| totalSupply_1Call { partition: U256::from(*id) }).collect()).await
    }

    /// Whether each partition is restricted.
    pub async fn restrictions(&mut self, partitions: &[u32]) -> Result<Vec<bool>, Fault> {
        self.each(partitions.iter().map(|id| isRestrictedCall { partition: U256::from(*id) }).collect()).await
    }

    /// Whether the token is paused.
    pub async fn paused(&mut self) -> Result<bool, Fault> {
        let answers = self.each(vec![pausedCall {}]).await?;
        answers.first().copied().ok_or_else(|| Fault::Incomplete("no answer whether the token is paused".to_owned()))
    }

    /// The units of each holder in a partition.
    pub async fn balances(&mut self, holders: &[(Address, u32)]) -> Result<Vec<U256>, Fault> {
        let call = |chunk: &[(Address, u32)]| balanceOfBatchCall {
            accounts: chunk.iter().map(|(account, _)| *account).collect(),
            ids: chunk.iter().map(|(_, id)| U256::from(*id)).collect(),
        };
        let parts = self.each(holders.chunks(BALANCES_PER_CALL).map(call).collect()).await?;
        let balances: Vec<U256> = parts.into_iter().flatten().collect();
        complete(balances, holders.len())
    }

    /// The locked units of each holder in a partition. The contract has no batch read for them.
    pub async fn locked(&mut self, holders: &[(Address, u32)]) -> Result<Vec<U256>, Fault> {
        let call = |(account, id): &(Address, u32)| lockedBalanceOfCall { account: *account, id: U256::from(*id) };
        self.each(holders.iter().map(call).collect()).await
    }

    /// Whether each account is frozen.
    pub async fn frozen(&mut self, accounts: &[Address]) -> Result<Vec<bool>, Fault> {
        let line = |account: &Address| {
            let mut word = B256::ZERO;
            word[..20].copy_from_slice(account.as_slice());
            word
        };
        let chunks = accounts.chunks(FROZEN_PER_CALL);
        let call = |chunk: &[Address]| frozenAmongCall { lines: chunk.iter().map(line).collect() };
        let bits = self.each(chunks.clone().map(call).collect()).await?;
        Ok(chunks.zip(bits).flat_map(|(chunk, bits)| (0..chunk.len()).map(move |index| bits.bit(index))).collect())
    }

    /// The roles of each agent; for the registry only.
    pub async fn roles(&mut self, agents: &[Agent]) -> Result<Vec<Roles>, Fault> {
        let call = |agent: &Agent| rolesForCall { offeringId: agent.offering_id, account: agent.account };
        let words = self.each(agents.iter().map(call).collect()).await?;
        Ok(words.into_iter().map(|word| Roles(word.saturating_to())).collect())
    }

    /// Every account that ever had a role up to a block, once for the whole platform and once for each offering; for the registry only.
    pub async fn agents(&mut self, to: u64) -> Result<Vec<Agent>, Fault> {
        let filter = LogFilter {
            from_block: 0,
            to_block: Some(to),
            addresses: vec![self.contract],
            topics: vec![vec![RolesChanged::SIGNATURE_HASH]],
        };
        self.calls += 1;
        let logs = self.chain.logs(&filter).await?;
        // Some nodes ignore the filter, so check the events again.
        let ours = logs.iter().filter(|log| log.address == self.contract && log.block_number <= to);
        let mut agents = ours
            .map(|log| {
                let event = RolesChanged::decode_raw_log_validate(log.topics.iter().copied(), &log.data);
                event
                    .map(|event| Agent { offering_id: event.offeringId, account: event.account })
                    .map_err(|error| Fault::Malformed(format!("RolesChanged of {}: {error}", self.contract)))
            })
            .collect::<Result<Vec<_>, _>>()?;
        // An account has one event for each change of its roles.
        agents.sort_unstable();
        agents.dedup();
        Ok(agents)
    }

    /// Every operation that the contract executed from one block to another.
    pub async fn executed(&mut self, from: u64, to: u64) -> Result<Vec<ExecutedOperation>, Fault> {
        let filter = LogFilter {
            from_block: from,
            to_block: Some(to),
            addresses: vec![self.contract],
            topics: vec![vec![OperationExecuted::SIGNATURE_HASH]],
        };
        self.calls += 1;
        let logs = self.chain.logs(&filter).await?;
        let found = executions(&logs, self.contract)?.into_iter();
        Ok(found
            .filter(|(_, log)| (from..=to).contains(&log.block_number))
            .map(|(event, log)| ExecutedOperation {
                kind: event.kind,
                op_id: event.opId,
                tx_hash: log.tx_hash,
                payload_hash: event.payloadHash,
            })
            .collect())
    }

    /// Calls a view function many times at the block of this survey.
    async fn each<C: SolCall>(&mut self, calls: Vec<C>) -> Result<Vec<C::Return>, Fault> {
        if calls.is_empty() {
            return Ok(Vec::new());
        }
        self.calls += calls.len() as u64;
        let requests = calls.iter().map(|call| read(self.contract, call).request("eth_call", self.at)).collect();
        self.chain
            .ask(requests, |answers| {
                let decoded = answers.into_iter().map(|answer| {
                    let data: alloy::primitives::Bytes = required("eth_call", answer)?;
                    C::abi_decode_returns_validate(&data)
                        .map_err(|error| Fault::Malformed(format!("{} returned {error}", C::SIGNATURE)))
                });
                complete(decoded.collect::<Result<Vec<_>, _>>()?, calls.len())
            })
            .await
    }
}

fn complete<T>(found: Vec<T>, wanted: usize) -> Result<Vec<T>, Fault> {
    match found.len() == wanted {
        true => Ok(found),
        false => Err(Fault::Incomplete(format!("the batch has {} of {wanted} answers", found.len()))),
    }
}
