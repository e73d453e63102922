//! Operation numbers on contracts: a contract executes each number once and can tell whether it did.
use alloy::{
    primitives::{Address, B256, Bytes, U256, keccak256},
    sol_types::{SolCall, SolEvent},
};

use crate::{
    chain::{
        Chain,
        logs::LogFilter,
        receipt::{Log, Receipt},
        simulate::{At, Call},
    },
    contract::bindings::token::PlatformSecurityToken7518::{
        self as Token, OperationExecuted, isOperationExecutedCall, lastRecoveryOfCall,
    },
    fault::Fault,
    revert::Revert,
};

/// A successful transaction lacks the effect of its operation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transaction succeeded without its effect: {0}")]
pub struct MissingEffect(pub String);

/// The transaction that executed an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Execution {
    /// The transaction hash.
    pub tx_hash: B256,
    /// The number of its block.
    pub block_number: u64,
    /// The hash of its block.
    pub block_hash: B256,
    /// The hash of the executed call.
    pub payload_hash: B256,
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
    let payload = payload_hash(data);
    let mut events = events::<OperationExecuted>(receipt, contract);
    match events.find(|event| event.opId == U256::from(op_id)) {
        Some(event) if event.payloadHash == payload => Ok(()),
        Some(event) => Err(MissingEffect(format!(
            "operation {op_id} was executed with the payload {}, not {payload}",
            event.payloadHash
        ))),
        None => Err(MissingEffect(format!("{contract} has no event of operation {op_id}"))),
    }
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

/// Finds the transaction that executed this call under its operation number since a block.
pub async fn find_execution(
    chain: &Chain,
    contract: Address,
    data: &[u8],
    op_id: u64,
    since: u64,
) -> Result<Option<Execution>, Fault> {
    let kind = kind(data)?;
    let filter = LogFilter {
        from_block: since,
        to_block: None,
        addresses: vec![contract],
        topics: vec![vec![OperationExecuted::SIGNATURE_HASH], vec![B256::from(U256::from(op_id))], vec![kind]],
    };
    let logs = chain.logs(&filter).await?;
    // A contract executes a number of a kind once, so there is at most one event.
    let Some(log) = logs.first() else { return Ok(None) };
    let event = OperationExecuted::decode_raw_log_validate(log.topics.iter().copied(), &log.data)
        .map_err(|error| Fault::Malformed(format!("OperationExecuted of {contract}: {error}")))?;
    // Some nodes ignore the filter, so check the event again.
    if log.address != contract || event.opId != U256::from(op_id) || event.kind != kind {
        return Err(Fault::Malformed(format!(
            "the request was for the event of operation {op_id}, the answer is of operation {}",
            event.opId
        )));
    }
    Ok(Some(Execution {
        tx_hash: log.tx_hash,
        block_number: log.block_number,
        block_hash: log.block_hash,
        payload_hash: event.payloadHash,
    }))
}

/// The highest operation number that the contract executed since a block; 0 for none. After a restore the database
/// continues above it.
pub async fn highest_operation_number(chain: &Chain, contract: Address, since: u64) -> Result<u64, Fault> {
    let filter = LogFilter {
        from_block: since,
        to_block: None,
        addresses: vec![contract],
        topics: vec![vec![OperationExecuted::SIGNATURE_HASH]],
    };
    let logs = chain.logs(&filter).await?;
    let ids = logs.iter().filter_map(|log| log.topics.get(1)).map(|topic| U256::from_be_bytes(topic.0).saturating_to());
    Ok(ids.max().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    const SOURCE: &str = include_str!("../../../contracts/src/Operations.sol");

    /// The constants of the contract that name a kind.
    fn words() -> Vec<&'static str> {
        let lines = SOURCE.lines().filter(|line| line.trim_start().starts_with("bytes32 internal constant _"));
        lines.filter_map(|line| line.split('"').nth(1)).collect()
    }

    /// The bit of a kind, as `_indexOf` computes it from the word and the zeros behind it.
    fn bit(word: &str) -> u32 {
        let bytes = word.bytes().chain(std::iter::repeat(0)).take(32);
        bytes.fold(0, |rest, byte| (rest * 256 + u32::from(byte)) % 149) & 0xf
    }

    #[test]
    fn no_two_kinds_share_a_bit() {
        assert!(SOURCE.contains("return (uint256(kind) % 149) & 0xf;"), "the bit is computed in another way");
        let mut taken: BTreeMap<u32, &str> = BTreeMap::new();
        for word in words() {
            let before = taken.insert(bit(word), word);
            assert_eq!(before, None, "{word} has the same bit as this kind, and each would use up the other's numbers");
        }
        assert!(taken.len() >= 11, "{taken:?}");
        assert_eq!(bit("notice"), bit("recovery"), "this check can fail");
    }
}
