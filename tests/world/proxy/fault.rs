//! What can go wrong between the engine and a node, one variant a fault.

use std::time::Duration;

use alloy::primitives::Address;

/// A fault; a rule says when it strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request never reaches the node; the connection breaks.
    DropRequest,
    /// The node has done the work; the connection breaks before its answer.
    DropResponse,
    /// The call waits this long before it goes on.
    Delay(Duration),
    /// The node gets the request twice; its first answer is given.
    Duplicate,
    /// `null` instead of what the node knows: receipts, unless the rule names other methods.
    Null,
    /// The account's count of transactions is this much too low.
    StaleNonce(u64),
    /// Another chain answers.
    WrongChainId(u64),
    /// Receipts with their status turned round: success for revert and revert for success.
    ForgedReceipt,
    /// The answer to a sent transaction names another hash.
    OtherHash,
    /// `latest` is this many blocks behind the node's.
    StaleHead(u64),
    /// The node stopped at this block: it answers from there, takes transactions and knows nothing newer.
    StandStill(u64),
    /// The newest block has a number that is this much too high.
    AbsurdHead(u64),
    /// A transaction count that is this much too high.
    AbsurdNonce(u64),
    /// The newest block counts as final.
    EarlyFinality,
    /// A block without its last transaction.
    BodyLeftOut,
    /// The receipts of a block without the last one.
    ReceiptLeftOut,
    /// The receipts of a block with the hashes of the first two exchanged.
    ExchangedHashes,
    /// A block whose transactions all come from this account.
    OtherSender(Address),
    /// Receipts without their logs.
    NoLogs,
    /// Searches of logs that find nothing.
    NothingFound,
    /// Logs of searches with another first byte in their data.
    OtherData,
    /// No contract at any address.
    NoCode,
    /// Estimates of half the gas.
    HalfGas,
    /// An HTTP status, such as 429 or 500, instead of an answer.
    Status(u16),
    /// A body that is no JSON.
    Garbage,
    /// This error object instead of an answer; the node never sees the call.
    Error(i64, String),
    /// geth's rule: a replacement must pay at least 10 % more on both fee fields.
    ReplacementRule,
    /// A transaction whose nonce is above the next one is refused.
    GapRule,
}

const SEND: &[&str] = &["eth_sendRawTransaction"];
const RECEIPTS: &[&str] = &["eth_getTransactionReceipt", "eth_getBlockReceipts"];
const HEAD: &[&str] = &["eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockReceipts"];

impl Fault {
    /// Its name, under which hits are counted.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropRequest => "drop_request",
            Self::DropResponse => "drop_response",
            Self::Delay(_) => "delay",
            Self::Duplicate => "duplicate",
            Self::Null => "null",
            Self::StaleNonce(_) => "stale_nonce",
            Self::WrongChainId(_) => "wrong_chain_id",
            Self::ForgedReceipt => "forged_receipt",
            Self::OtherHash => "other_hash",
            Self::StaleHead(_) => "stale_head",
            Self::StandStill(_) => "stand_still",
            Self::AbsurdHead(_) => "absurd_head",
            Self::AbsurdNonce(_) => "absurd_nonce",
            Self::EarlyFinality => "early_finality",
            Self::BodyLeftOut => "body_left_out",
            Self::ReceiptLeftOut => "receipt_left_out",
            Self::ExchangedHashes => "exchanged_hashes",
            Self::OtherSender(_) => "other_sender",
            Self::NoLogs => "no_logs",
            Self::NothingFound => "nothing_found",
            Self::OtherData => "other_data",
            Self::NoCode => "no_code",
            Self::HalfGas => "half_gas",
            Self::Status(_) => "status",
            Self::Garbage => "garbage",
            Self::Error(..) => "error",
            Self::ReplacementRule => "replacement_rule",
            Self::GapRule => "gap_rule",
        }
    }

    /// The methods that it means where a rule names none; empty means every method.
    pub(crate) fn methods(&self) -> &'static [&'static str] {
        match self {
            Self::Null | Self::ForgedReceipt | Self::NoLogs => RECEIPTS,
            Self::ReceiptLeftOut | Self::ExchangedHashes => &["eth_getBlockReceipts"],
            Self::NothingFound | Self::OtherData => &["eth_getLogs"],
            Self::NoCode => &["eth_getCode"],
            Self::HalfGas => &["eth_estimateGas"],
            Self::AbsurdHead(_) => &["eth_blockNumber", "eth_getBlockByNumber"],
            Self::EarlyFinality | Self::BodyLeftOut | Self::OtherSender(_) => &["eth_getBlockByNumber"],
            Self::StaleNonce(_) | Self::AbsurdNonce(_) => &["eth_getTransactionCount"],
            Self::WrongChainId(_) => &["eth_chainId", "net_version"],
            Self::OtherHash | Self::ReplacementRule | Self::GapRule => SEND,
            Self::StaleHead(_) => HEAD,
            _ => &[],
        }
    }
}
