//! What portals verify before somebody acts: reads of a token, each a list of calls that are asked at one block and decoded together.
use alloy::{
    primitives::{Address, B256, Bytes, U256},
    sol_types::{SolCall, SolValue},
};

use crate::{
    bindings::token::PlatformSecurityToken7518 as Token,
    block::{Header, METHOD, by_number},
    chain::{Chain, Tag},
    fault::Fault,
    operation::read,
    revert::Revert,
    rpc::first,
    simulate::Call,
    token::Partition,
};

alloy::sol! {
    /// As the specification prints it; the contract has a shorter form of the same name too.
    function canTransfer(address from, address to, uint256 id, uint256 amount, bytes data) returns (bool allowed, bytes32 reason);
}

/// What a call answered, or why it reverted.
pub type Outcome = Result<Bytes, Revert>;

/// Calls of one block, and what their answers mean together.
pub struct Read<T> {
    /// The calls.
    pub calls: Vec<Call>,
    /// Reads the answers, which are as many.
    pub decode: fn(&[Outcome]) -> Result<T, Fault>,
}

/// What a token says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `offeringId()`.
    pub offering_id: B256,
    /// `tokenSymbol()`.
    pub symbol: String,
    /// Units issued.
    pub supply: U256,
    /// The most units.
    pub cap: U256,
    /// How many partitions there are.
    pub partitions: u32,
}

/// What a holder has in a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// Units.
    pub balance: U256,
    /// `transferableBalance(holder, partition)`.
    pub transferable: U256,
    /// `lockedBalanceOf(holder, partition)`.
    pub locked: U256,
    /// `isFrozen(holder)`.
    pub frozen: bool,
}

/// Whether units may move, in one form for every token: ours answers a pair, others of the standard one bool or a revert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether they may.
    pub allowed: bool,
    /// One of the list.
    pub code: &'static str,
    /// The contract's own word or sentence.
    pub reason: String,
}

/// The newest block.
pub async fn newest(chain: &Chain) -> Result<Header, Fault> {
    chain.ask(vec![by_number(Tag::Latest, false)], |answers| first(METHOD, answers)).await
}

/// What the token says of itself.
pub fn facts(token: Address) -> Read<Facts> {
    let calls = vec![
        read(token, &Token::offeringIdCall {}),
        read(token, &Token::tokenSymbolCall {}),
        read(token, &Token::totalSupply_0Call {}),
        read(token, &Token::totalCapCall {}),
        read(token, &Token::partitionCountCall {}),
    ];
    Read {
        calls,
        decode: |answers| {
            Ok(Facts {
                offering_id: word::<Token::offeringIdCall>(answers, 0)?,
                symbol: word::<Token::tokenSymbolCall>(answers, 1)?,
                supply: word::<Token::totalSupply_0Call>(answers, 2)?,
                cap: word::<Token::totalCapCall>(answers, 3)?,
                partitions: word::<Token::partitionCountCall>(answers, 4)?.saturating_to(),
            })
        },
    }
}

/// Every partition of a token that has so many.
pub fn partitions(token: Address, count: u32) -> Read<Vec<Partition>> {
    let call = |number: u32| read(token, &Token::partitionOfCall { partition: U256::from(number) });
    Read {
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

/// What a holder has in a partition.
pub fn holding(token: Address, holder: Address, partition: u32) -> Read<Holding> {
    let id = U256::from(partition);
    let calls = vec![
        read(token, &Token::balanceOfCall { account: holder, id }),
        read(token, &Token::transferableBalanceCall { account: holder, id }),
        read(token, &Token::lockedBalanceOfCall { account: holder, id }),
        read(token, &Token::isFrozenCall { holder }),
    ];
    Read {
        calls,
        decode: |answers| {
            Ok(Holding {
                balance: word::<Token::balanceOfCall>(answers, 0)?,
                transferable: word::<Token::transferableBalanceCall>(answers, 1)?,
                locked: word::<Token::lockedBalanceOfCall>(answers, 2)?,
                frozen: word::<Token::isFrozenCall>(answers, 3)?,
            })
        },
    }
}

/// `isFrozen(holder)`.
pub fn is_frozen(token: Address, holder: Address) -> Read<bool> {
    let calls = vec![read(token, &Token::isFrozenCall { holder })];
    Read { calls, decode: |answers| word::<Token::isFrozenCall>(answers, 0) }
}

/// `isRestricted(partition)`.
pub fn is_restricted(token: Address, partition: u32) -> Read<bool> {
    let calls = vec![read(token, &Token::isRestrictedCall { partition: U256::from(partition) })];
    Read { calls, decode: |answers| word::<Token::isRestrictedCall>(answers, 0) }
}

/// `canTransfer(from, to, partition, amount, data)`.
pub fn can_transfer(
    token: Address,
    from: Address,
    to: Address,
    partition: u32,
    units: U256,
    data: Bytes,
) -> Read<Verdict> {
    let call = canTransferCall { from, to, id: U256::from(partition), amount: units, data };
    Read {
        calls: vec![read(token, &call)],
        decode: |answers| match answers.first() {
            Some(Ok(data)) => verdict(data),
            Some(Err(revert)) => Ok(Verdict { allowed: false, code: UNKNOWN, reason: revert.sentence.clone() }),
            None => Err(missing()),
        },
    }
}

const UNKNOWN: &str = "unknown_revert";

fn verdict(data: &[u8]) -> Result<Verdict, Fault> {
    // One word is the bool of the printed interface; two are the pair.
    let (allowed, word) = match data.len() {
        32 => (bool::abi_decode_validate(data).map_err(odd)?, B256::ZERO),
        _ => {
            let pair = canTransferCall::abi_decode_returns_validate(data).map_err(odd)?;
            (pair.allowed, pair.reason)
        }
    };
    let text = String::from_utf8_lossy(word.as_slice()).trim_end_matches('\0').to_owned();
    let code = if allowed { "ok" } else { code_of(&text) };
    Ok(Verdict { allowed, code, reason: if allowed { "ok".to_owned() } else { text } })
}

fn odd(error: impl std::fmt::Display) -> Fault {
    Fault::Malformed(format!("canTransfer answered {error}"))
}

/// The word of the list for a word of the contract.
fn code_of(reason: &str) -> &'static str {
    match reason {
        "from_frozen" => "from_frozen",
        "to_frozen" => "to_frozen",
        "to_not_whitelisted" | "to_zero" => "to_not_whitelisted",
        "insufficient_balance" => "insufficient_transferable",
        "locked" => "lockup",
        "restricted" => "partition_restricted",
        "cap" | "total_cap" => "supply_cap",
        rule if rule.starts_with("rule144") => "rule144",
        _ => UNKNOWN,
    }
}

fn word<C: SolCall>(answers: &[Outcome], index: usize) -> Result<C::Return, Fault> {
    let data = answers.get(index).ok_or_else(missing)?.as_ref();
    let data = data.map_err(|revert| Fault::Refused(format!("{}: {}", C::SIGNATURE, revert.sentence)))?;
    C::abi_decode_returns_validate(data).map_err(|error| Fault::Malformed(format!("{} answered {error}", C::SIGNATURE)))
}

fn missing() -> Fault {
    Fault::Incomplete("a batch came back shorter".into())
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
    fn a_pair_a_bool_and_a_revert_are_one_answer() {
        let judged = |outcome: Outcome| {
            let read = can_transfer(Address::ZERO, Address::ZERO, Address::ZERO, 1, U256::ZERO, Bytes::new());
            (read.decode)(&[outcome]).map(|v| (v.allowed, v.code, v.reason))
        };
        let pair = |allowed: bool, reason: &str| Ok(Bytes::from((allowed, word_of(reason)).abi_encode()));
        let told = |allowed, code, reason: &str| Ok((allowed, code, reason.to_owned()));
        assert_eq!(judged(pair(true, "")), told(true, "ok", "ok"));
        for (reason, code) in [
            ("from_frozen", "from_frozen"),
            ("to_frozen", "to_frozen"),
            ("to_not_whitelisted", "to_not_whitelisted"),
            ("to_zero", "to_not_whitelisted"),
            ("insufficient_balance", "insufficient_transferable"),
            ("locked", "lockup"),
            ("restricted", "partition_restricted"),
            ("cap", "supply_cap"),
            ("total_cap", "supply_cap"),
            ("rule144", "rule144"),
            ("rule144_holding", "rule144"),
            ("unknown_partition", "unknown_revert"),
            ("moon", "unknown_revert"),
        ] {
            assert_eq!(judged(pair(false, reason)), told(false, code, reason));
        }
        assert_eq!(judged(Ok(true.abi_encode().into())), told(true, "ok", "ok"));
        assert_eq!(judged(Ok(false.abi_encode().into())), told(false, "unknown_revert", ""));
        let revert = crate::revert::from_message("execution reverted: closed");
        let sentence = revert.sentence.clone();
        assert_eq!(judged(Err(revert)), told(false, "unknown_revert", &sentence));
        for nonsense in [vec![], vec![7; 32], vec![0; 63]] {
            assert!(matches!(judged(Ok(nonsense.into())), Err(Fault::Malformed(_))));
        }
    }
}
