//! Operation numbers on contracts: a contract executes each number once and can tell whether it did.
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{
        Chain,
        logs::{ChainLog, LogFilter},
        receipt::{Log, Receipt},
        simulate::{At, Call},
    },
    contract::bindings::token::PlatformSecurityToken7518::{
        self as Token, AddressRecovered, OperationExecuted, isOperationExecutedCall, lastRecoveryOfCall,
    },
    fault::Fault,
    revert::Revert,
};

/// No larger number is the platform's, which counts from 1: a forced transfer takes any 32 bytes of text for one. Above it a counter would
/// soon have no next number.
const OPERATION_NUMBER_MAX: i64 = 1 << 62;

/// A successful transaction lacks the effect of its operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transaction succeeded without its effect: {0}")]
pub struct MissingEffect(pub String);

/// The transaction that executed an operation, as one endpoint shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The event of the execution.
    pub event: ChainLog,
    /// The event that names the lost wallet, for another recovery with the same number.
    recovered: Option<ChainLog>,
    /// The hash of the executed call.
    pub payload_hash: B256,
}

impl Execution {
    pub(crate) fn of(event: &ChainLog, payload_hash: B256) -> Self {
        Self { event: event.clone(), recovered: None, payload_hash }
    }

    /// Whether a receipt is that of this transaction, in the same block and with these events.
    pub fn is_shown_by(&self, receipt: &Receipt) -> bool {
        let has = |event: &ChainLog| {
            let is_same =
                |log: &Log| log.address == event.address && log.topics == event.topics && log.data == event.data;
            receipt.tx_hash == event.tx_hash
                && receipt.block_hash == event.block_hash
                && receipt.logs.iter().any(is_same)
        };
        has(&self.event) && self.recovered.iter().all(has)
    }
}

/// The payload hash that a contract stores for a call: keccak256 of the complete calldata.
pub fn payload_hash(data: &Bytes) -> B256 {
    keccak256(data)
}

/// A read-only call of a contract, from the zero address.
pub(crate) fn read(contract: Address, call: &impl SolCall) -> Call {
    Call { from: Address::ZERO, to: Some(contract), data: call.abi_encode().into() }
}

/// Calls a view function and decodes the answer.
pub(crate) async fn view<C: SolCall>(chain: &Chain, contract: Address, call: &C, at: At) -> Result<C::Return, Fault> {
    let refused = |revert: Revert| Fault::Refused(format!("{} of {contract}: {}", C::SIGNATURE, revert.sentence));
    let data = chain.call(&read(contract, call), at).await?.map_err(refused)?;
    // An address without code answers with empty data, which does not decode.
    C::abi_decode_returns_validate(&data).map_err(|error| {
        Fault::Refused(format!("{contract} is not the expected contract: {} answered {error}", C::SIGNATURE))
    })
}

/// The contract's events of one kind in this transaction.
pub(crate) fn events<'a, E: SolEvent + 'a>(receipt: &'a Receipt, contract: Address) -> impl Iterator<Item = E> + 'a {
    receipt.logs.iter().filter(move |log| log.address == contract).filter_map(event)
}

fn event<E: SolEvent>(log: &Log) -> Option<E> {
    E::decode_raw_log_validate(log.topics.iter().copied(), &log.data).ok()
}

/// Checks that the contract's event in this receipt shows the operation with exactly this calldata.
pub fn executed_effect(receipt: &Receipt, contract: Address, op_id: u64, data: &Bytes) -> Result<(), MissingEffect> {
    let (number, payload, kind) = (U256::from(op_id), payload_hash(data), kind_of(data));
    let numbered = || events::<OperationExecuted>(receipt, contract).filter(|event| event.opId == number);
    if numbered().any(|event| event.payloadHash == payload) {
        return Ok(());
    }
    Err(MissingEffect(match numbered().find(|event| Some(event.kind) == kind) {
        Some(event) => {
            format!("operation {op_id} was executed with the payload {}, not {payload}", event.payloadHash)
        }
        None => format!("{contract} has no event of operation {op_id}"),
    }))
}

/// The kind of operation that a call is, as the contract names it in its event. Each kind has numbers of its own.
pub fn kind_of(data: &[u8]) -> Option<B256> {
    let name = match data.get(..4)?.try_into().ok()? {
        Token::mintPageCall::SELECTOR => "mint_page",
        Token::batchMintCall::SELECTOR => "mint",
        Token::batchLockTokensCall::SELECTOR => "lock_page",
        Token::lockTokens_0Call::SELECTOR => "lock",
        Token::forceTransferCall::SELECTOR => "force_transfer",
        Token::recoveryAddressCall::SELECTOR => "recovery",
        Token::payout_1Call::SELECTOR => "payout",
        Token::batchPayout_0Call::SELECTOR => "payout_page",
        Token::redeemCall::SELECTOR => "redeem",
        Token::releaseLockCall::SELECTOR => "release_lock",
        Token::reinstateAddressCall::SELECTOR => "reinstate",
        _ => return None,
    };
    Some(B256::right_padding_from(name.as_bytes()))
}

/// Whether a kind is that of recoveries. Each lost wallet has numbers of its own.
pub fn is_recovery(kind: B256) -> bool {
    kind == B256::right_padding_from(b"recovery")
}

fn kind(data: &[u8]) -> Result<B256, Fault> {
    kind_of(data).ok_or_else(|| Fault::Malformed("a call without an operation number was looked for by number".into()))
}

/// Whether the contract executed this call under its operation number, from any transaction.
pub async fn is_operation_executed(
    chain: &Chain,
    contract: Address,
    data: &[u8],
    op_id: u64,
    at: At,
) -> Result<bool, Fault> {
    // The contract keeps the number of a recovery with the lost wallet.
    if let Ok(call) = Token::recoveryAddressCall::abi_decode(data) {
        let last = view(chain, contract, &lastRecoveryOfCall { lost: call.lost }, at).await?;
        return Ok(last == U256::from(op_id));
    }
    view(chain, contract, &isOperationExecutedCall { kind: kind(data)?, opId: U256::from(op_id) }, at).await
}

/// Finds the transaction that executed this call under its operation number since a block, or else the one that used up the number.
pub async fn find_execution(
    chain: &Chain,
    contract: Address,
    data: &[u8],
    op_id: u64,
    since: u64,
) -> Result<Option<Execution>, Fault> {
    let (kind, payload) = (kind(data)?, keccak256(data));
    let topics = vec![vec![OperationExecuted::SIGNATURE_HASH], vec![B256::from(U256::from(op_id))], vec![kind]];
    let filter = LogFilter { from_block: since, to_block: None, addresses: vec![contract], topics };
    let numbered: Vec<Execution> = executions(&chain.logs(&filter).await?, contract)?
        .into_iter()
        .filter(|(event, _)| event.opId == U256::from(op_id) && event.kind == kind)
        .map(|(event, log)| Execution::of(log, event.payloadHash))
        .collect();
    if let Some(ours) = numbered.iter().find(|found| found.payload_hash == payload) {
        return Ok(Some(ours.clone()));
    }
    match Token::recoveryAddressCall::abi_decode(data) {
        Ok(call) => other_recovery(chain, contract, call.lost, since, &numbered).await,
        Err(_) => Ok(numbered.into_iter().next()),
    }
}

/// The recovery of this lost wallet, if it is one of these. Recoveries of other wallets can have the same number.
async fn other_recovery(
    chain: &Chain,
    contract: Address,
    lost: Address,
    since: u64,
    numbered: &[Execution],
) -> Result<Option<Execution>, Fault> {
    if numbered.is_empty() {
        return Ok(None);
    }
    let topics = [AddressRecovered::SIGNATURE_HASH, lost.into_word()];
    let filter = LogFilter {
        from_block: since,
        to_block: None,
        addresses: vec![contract],
        topics: topics.iter().map(|topic| vec![*topic]).collect(),
    };
    let logs = chain.logs(&filter).await?;
    let of_wallet = |log: &&ChainLog| log.address == contract && log.topics.starts_with(&topics);
    let recovered = |found: &Execution| logs.iter().filter(of_wallet).find(|log| log.tx_hash == found.event.tx_hash);
    let other = numbered.iter().find_map(|found| Some((found, recovered(found)?)));
    Ok(other.map(|(found, recovered)| Execution { recovered: Some(recovered.clone()), ..found.clone() }))
}

/// The operations that a contract executed. Some nodes ignore the filter, so each event is checked again.
pub(crate) fn executions(logs: &[ChainLog], contract: Address) -> Result<Vec<(OperationExecuted, &ChainLog)>, Fault> {
    let signature = Some(&OperationExecuted::SIGNATURE_HASH);
    let ours = logs.iter().filter(|log| log.address == contract && log.topics.first() == signature);
    ours.map(|log| {
        let event = OperationExecuted::decode_raw_log_validate(log.topics.iter().copied(), &log.data)
            .map_err(|error| Fault::Malformed(format!("OperationExecuted of {contract}: {error}")))?;
        Ok((event, log))
    })
    .collect()
}

/// The highest operation number that the contract executed since a block; 0 for none. After a restore the database
/// continues above it.
pub async fn highest_operation_number(chain: &Chain, contract: Address, since: u64) -> Result<i64, Fault> {
    let filter = LogFilter {
        from_block: since,
        to_block: None,
        addresses: vec![contract],
        topics: vec![vec![OperationExecuted::SIGNATURE_HASH]],
    };
    highest(&chain.logs(&filter).await?, contract)
}

fn highest(logs: &[ChainLog], contract: Address) -> Result<i64, Fault> {
    let found = executions(logs, contract)?.into_iter();
    let numbers = found.filter_map(|(event, _)| i64::try_from(event.opId).ok());
    Ok(numbers.filter(|number| *number <= OPERATION_NUMBER_MAX).max().unwrap_or_default())
}

#[cfg(test)]
mod tests;
