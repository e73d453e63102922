//! Public reads of a token. Each is a list of calls that run at one block and are decoded together.
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall, SolValue},
};

use crate::{
    chain::{
        Chain, Tag,
        block::{Header, METHOD, by_number},
        simulate::Call,
    },
    contract::{bindings::token::PlatformSecurityToken7518 as Token, operation::read},
    fault::Fault,
    revert::Revert,
    rpc::first,
    token::Partition,
};

alloy::sol! {
    /// As the specification prints it; the contract also has a shorter form with the same name.
    function canTransfer(address from, address to, uint256 id, uint256 amount, bytes data) returns (bool allowed, bytes32 reason);
}

/// The return data of a call, or its revert.
pub type CallResult = Result<Bytes, Revert>;

/// Calls at one block and the decoder of their answers.
pub struct TokenRead<T> {
    /// The calls.
    pub calls: Vec<Call>,
    /// Decodes the answers, one for each call.
    pub decode: fn(&[CallResult]) -> Result<T, Fault>,
}

/// The basic data of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSummary {
    /// `offeringId()`.
    pub offering_id: B256,
    /// `tokenSymbol()`.
    pub symbol: String,
    /// Units issued.
    pub supply: U256,
    /// The cap in units.
    pub cap: U256,
    /// The number of partitions.
    pub partitions: u32,
    /// Whether the token is paused.
    pub paused: bool,
}

/// The holding of a holder in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldingView {
    /// Balance in units.
    pub balance: U256,
    /// `transferableBalance(holder, partition)`.
    pub transferable: U256,
    /// `lockedBalanceOf(holder, partition)`.
    pub locked: U256,
    /// `isFrozen(holder)`.
    pub frozen: bool,
}

/// Whether units can move. Our token returns a pair, other tokens of the standard return a bool or revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransferCheck {
    /// Whether the transfer is allowed.
    pub allowed: bool,
    /// A code from the specification's list.
    pub code: &'static str,
    /// The contract's own reason.
    pub reason: String,
}

/// The newest block of an endpoint that has this block or a later one.
pub async fn newest_header(chain: &Chain, since: u64) -> Result<Header, Fault> {
    let block = |tag| chain.ask(vec![by_number(tag, false)], |answers| first::<Header>(METHOD, answers));
    let newest = block(Tag::Latest).await?;
    // The endpoint that answered lags behind the ones that the platform follows.
    if newest.number < since { block(Tag::Number(since)).await } else { Ok(newest) }
}

/// The basic data of the token.
pub fn facts(token: Address) -> TokenRead<TokenSummary> {
    let calls = vec![
        read(token, &Token::offeringIdCall {}),
        read(token, &Token::tokenSymbolCall {}),
        read(token, &Token::totalSupply_0Call {}),
        read(token, &Token::totalCapCall {}),
        read(token, &Token::partitionCountCall {}),
        read(token, &Token::pausedCall {}),
    ];
    TokenRead {
        calls,
        decode: |answers| {
            Ok(TokenSummary {
                offering_id: word::<Token::offeringIdCall>(answers, 0)?,
                symbol: word::<Token::tokenSymbolCall>(answers, 1)?,
                supply: word::<Token::totalSupply_0Call>(answers, 2)?,
                cap: word::<Token::totalCapCall>(answers, 3)?,
                partitions: word::<Token::partitionCountCall>(answers, 4)?.saturating_to(),
                paused: word::<Token::pausedCall>(answers, 5)?,
            })
        },
    }
}

/// All partitions of a token that has `count` partitions.
pub fn partitions(token: Address, count: u32) -> TokenRead<Vec<Partition>> {
    let call = |number: u32| read(token, &Token::partitionOfCall { partition: U256::from(number) });
    TokenRead {
        calls: (1..=count).map(call).collect(),
        decode: |answers| {
            let each = |index| {
                let found = word::<Token::partitionOfCall>(answers, index)?;
                Ok(Partition {
                    supply: found.supply,
                    cap: found.cap,
                    restricted: found.restricted,
                    rule144: found.rule144,
                })
            };
            (0..answers.len()).map(each).collect()
        },
    }
}

/// The holding of a holder in a partition.
pub fn holding(token: Address, holder: Address, partition: u32) -> TokenRead<HoldingView> {
    let id = U256::from(partition);
    let calls = vec![
        read(token, &Token::balanceOfCall { account: holder, id }),
        read(token, &Token::transferableBalanceCall { account: holder, id }),
        read(token, &Token::lockedBalanceOfCall { account: holder, id }),
        read(token, &Token::isFrozenCall { holder }),
    ];
    TokenRead {
        calls,
        decode: |answers| {
            Ok(HoldingView {
                balance: word::<Token::balanceOfCall>(answers, 0)?,
                transferable: word::<Token::transferableBalanceCall>(answers, 1)?,
                locked: word::<Token::lockedBalanceOfCall>(answers, 2)?,
                frozen: word::<Token::isFrozenCall>(answers, 3)?,
            })
        },
    }
}

/// `isFrozen(holder)`.
pub fn is_frozen(token: Address, holder: Address) -> TokenRead<bool> {
    let calls = vec![read(token, &Token::isFrozenCall { holder })];
    TokenRead { calls, decode: |answers| word::<Token::isFrozenCall>(answers, 0) }
}

/// `isRestricted(partition)`.
pub fn is_restricted(token: Address, partition: u32) -> TokenRead<bool> {
    let calls = vec![read(token, &Token::isRestrictedCall { partition: U256::from(partition) })];
    TokenRead { calls, decode: |answers| word::<Token::isRestrictedCall>(answers, 0) }
}

/// `canTransfer(from, to, partition, amount, data)`.
pub fn can_transfer(
    token: Address,
    from: Address,
    to: Address,
    partition: u32,
    units: U256,
    data: Bytes,
) -> TokenRead<TransferCheck> {
    let call = canTransferCall { from, to, id: U256::from(partition), amount: units, data };
    TokenRead {
        calls: vec![read(token, &call)],
        decode: |answers| match answers.first() {
            Some(Ok(data)) => verdict(data),
            Some(Err(revert)) => Ok(TransferCheck { allowed: false, code: UNKNOWN, reason: revert.sentence.clone() }),
            None => Err(missing()),
        },
    }
}

const UNKNOWN: &str = "unknown_revert";

fn verdict(data: &[u8]) -> Result<TransferCheck, Fault> {
    // One word is the bool of the standard interface, two words are our pair.
    let (allowed, word) = match data.len() {
        32 => (bool::abi_decode_validate(data).map_err(malformed)?, B256::ZERO),
        _ => {
            let pair = canTransferCall::abi_decode_returns_validate(data).map_err(malformed)?;
            (pair.allowed, pair.reason)
        }
    };
    let text = String::from_utf8_lossy(word.as_slice()).trim_end_matches('\0').to_owned();
    let code = if allowed { "ok" } else { code_of(&text) };
    Ok(TransferCheck { allowed, code, reason: if allowed { "ok".to_owned() } else { text } })
}

fn malformed(error: impl std::fmt::Display) -> Fault {
    Fault::Malformed(format!("canTransfer returned {error}"))
}

/// The code of the specification for a reason of the contract.
fn code_of(reason: &str) -> &'static str {
    match reason {
        "from_frozen" => "from_frozen",
        "to_frozen" => "to_frozen",
        "to_not_whitelisted" | "to_zero" => "to_not_whitelisted",
        "insufficient_balance" => "insufficient_transferable",
        "locked" => "lockup",
        "restricted" => "partition_restricted",
        "paused" => "paused",
        "cap" | "total_cap" => "supply_cap",
        rule if rule.starts_with("rule144") => "rule144",
        _ => UNKNOWN,
    }
}

fn word<C: SolCall>(answers: &[CallResult], index: usize) -> Result<C::Return, Fault> {
    let data = answers.get(index).ok_or_else(missing)?.as_ref();
    let data = data.map_err(|revert| Fault::Refused(format!("{}: {}", C::SIGNATURE, revert.sentence)))?;
    C::abi_decode_returns_validate(data).map_err(|error| Fault::Malformed(format!("{} returned {error}", C::SIGNATURE)))
}

fn missing() -> Fault {
    Fault::Incomplete("the answer to a batch is incomplete".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word_of(text: &str) -> B256 {
        let mut word = B256::ZERO;
        word[..text.len()].copy_from_slice(text.as_bytes());
        word
    }

    #[test]
    fn a_pair_a_bool_and_a_revert_give_the_same_form_of_answer() {
        let check_of = |outcome: CallResult| {
            let read = can_transfer(Address::ZERO, Address::ZERO, Address::ZERO, 1, U256::ZERO, Bytes::new());
            (read.decode)(&[outcome]).map(|v| (v.allowed, v.code, v.reason))
        };
        let pair = |allowed: bool, reason: &str| Ok(Bytes::from((allowed, word_of(reason)).abi_encode()));
        let expected = |allowed, code, reason: &str| Ok((allowed, code, reason.to_owned()));
        assert_eq!(check_of(pair(true, "")), expected(true, "ok", "ok"));
        for (reason, code) in [
            ("from_frozen", "from_frozen"),
            ("to_frozen", "to_frozen"),
            ("to_not_whitelisted", "to_not_whitelisted"),
            ("to_zero", "to_not_whitelisted"),
            ("insufficient_balance", "insufficient_transferable"),
            ("locked", "lockup"),
            ("restricted", "partition_restricted"),
            ("paused", "paused"),
            ("cap", "supply_cap"),
            ("total_cap", "supply_cap"),
            ("rule144", "rule144"),
            ("rule144_holding", "rule144"),
            ("unknown_partition", "unknown_revert"),
            ("moon", "unknown_revert"),
        ] {
            assert_eq!(check_of(pair(false, reason)), expected(false, code, reason));
        }
        assert_eq!(check_of(Ok(true.abi_encode().into())), expected(true, "ok", "ok"));
        assert_eq!(check_of(Ok(false.abi_encode().into())), expected(false, "unknown_revert", ""));
        let revert = crate::revert::from_message("execution reverted: closed");
        let sentence = revert.sentence.clone();
        assert_eq!(check_of(Err(revert)), expected(false, "unknown_revert", &sentence));
        for nonsense in [vec![], vec![7; 32], vec![0; 63]] {
            assert!(matches!(check_of(Ok(nonsense.into())), Err(Fault::Malformed(_))));
        }
    }
}
