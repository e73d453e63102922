//! Reads the error texts of nodes; no other file does. Texts steer pacing, alerts and lane modes, never a status:
//! after a send, every text means "maybe sent".
use serde::{Deserialize, Serialize};

/// The class of a refused `eth_sendRawTransaction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendClass {
    /// The mempool or a block already holds this transaction.
    AlreadyKnown,
    /// A block already took the nonce.
    NonceTooLow,
    /// The nonce leaves a gap, and the node does not keep such transactions.
    NonceTooHigh,
    /// The mempool has another transaction with this nonce, and the new fee is not high enough to replace it.
    Underpriced,
    /// The fee is below the minimum of the node or the next block.
    FeeTooLow,
    /// The signer cannot pay for the gas.
    InsufficientFunds,
    /// The mempool of the node is full.
    PoolFull,
    /// The gas limit is too low for the data, or above the limit of a block or the node.
    GasLimit,
    /// The endpoint limits the rate of calls.
    RateLimited,
    /// The node executed the call and it reverts.
    Reverts,
    /// No rule knows the text.
    Unknown,
}

/// The class of a refused read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadClass {
    /// The endpoint limits the rate of calls.
    RateLimited,
    /// The node does not know the block.
    UnknownBlock,
    /// The node has deleted the state of the block.
    Pruned,
    /// The node or the provider's plan does not offer the method.
    MethodNotFound,
    /// The range or the result of a log query is too large.
    RangeTooWide,
    /// The call reverts.
    Reverts,
    /// The call needs more gas than a block or the node allows.
    OutOfGas,
    /// No rule knows the text.
    Unknown,
}

/// Rules for sends. The first match decides, so specific rules come first.
#[rustfmt::skip]
const SEND: &[(SendClass, &[&str])] = &[
    (SendClass::AlreadyKnown, &[
        "already known", "alreadyknown", "already imported", "known transaction", "already exists", "already_exists",
        "same hash", "already in mempool", "already in the pool", "tx already in", "transaction already in",
        "already submitted",
    ]),
    (SendClass::Underpriced, &[
        "replacement transaction underpriced", "replacement not allowed", "replacementnotallowed",
        "replacement_underpriced", "could not replace", "replacement fee too low",
        "another transaction with same nonce", "future transaction tries to replace pending", "replacement gas price",
        "insufficient fee to replace", "cannot be replaced",
    ]),
    (SendClass::NonceTooLow, &[
        "nonce too low", "nonce is too low", "nonce_too_low", "oldnonce", "old nonce", "nonce has already been used",
        "invalid transaction nonce: too low", "nonce below current",
    ]),
    (SendClass::NonceTooHigh, &[
        "nonce too high", "nonce is too high", "noncegap", "nonce gap", "gapped", "noncetoofarinfuture",
        "nonce too distant", "too distant from current", "nonce too far", "lower nonce exists", "tx nonce is higher",
    ]),
    (SendClass::InsufficientFunds, &[
        "insufficient funds", "insufficientfunds", "insufficient balance", "upfront cost exceeds account balance",
        "does not have enough funds", "sender doesn't have enough funds", "insufficient_funds", "balance too low",
        "overshot",
    ]),
    (SendClass::PoolFull, &[
        "txpool is full", "pool is full", "transaction pool limit", "too many transactions in the queue",
        "pool overflow", "limit reached for", "account limit exceeded", "exceeds the pool", "mempool is full",
        "feetoolowtocompete", "spammer", "discarded by pool",
    ]),
    (SendClass::FeeTooLow, &[
        "transaction underpriced", "underpriced", "less than block base fee", "less than the block base fee",
        "below the block base fee", "feetoolow", "fee too low", "gas price too low", "gas price is too low",
        "gas price supplied is too low", "below configured minimum gas price", "below current base fee",
        "gas tip cap", "priority fee", "max fee per gas", "gasprice too low", "effective gas price too low",
    ]),
    (SendClass::GasLimit, &[
        "exceeds block gas limit", "intrinsic gas", "intrinsicgas", "gas limit is too high", "gas limit too high",
        "gaslimitexceeded", "exceeds the configured cap", "fee cap exceeded", "gas limit exceeds", "gas too low",
        "gas required exceeds", "exceeds gas limit", "gas limit is too low", "gas uint64 overflow", "out of gas",
    ]),
    (SendClass::Reverts, &[
        "execution reverted", "reverted", "vm execution error",
    ]),
];

/// Rules for reads.
#[rustfmt::skip]
const READ: &[(ReadClass, &[&str])] = &[
    (ReadClass::Reverts, &[
        "execution reverted", "vm execution error", "transaction reverted", "reverted with", "reverted 0x",
        "always failing transaction",
    ]),
    (ReadClass::OutOfGas, &[
        "gas required exceeds", "out of gas", "intrinsic gas", "exceeds block gas limit", "gas limit exceeded",
        "gas too low", "cannot execute with gas limit",
    ]),
    (ReadClass::RangeTooWide, &[
        "query returned more than", "block range", "response size exceeded", "max results", "limited to a",
        "exceeds max", "too many logs", "range is too large", "range too large", "range too wide",
        "response size should not", "logs are limited", "exceed maximum block", "too many results",
    ]),
    (ReadClass::Pruned, &[
        "missing trie node", "pruned", "historical state", "archive", "state unavailable", "no state available",
        "world state", "state is not available", "state not available", "distance to target block exceeds",
        "state already discarded", "missing state", "old data not available", "state histories",
    ]),
    (ReadClass::MethodNotFound, &[
        "method not found", "does not exist/is not available", "unsupported method", "method not supported",
        "not supported", "is not available on", "is not whitelisted", "unknown method", "no such method",
        "not available on the free", "method is not available", "upgrade your", "not implemented",
    ]),
    (ReadClass::UnknownBlock, &[
        "header not found", "unknown block", "resource not found", "block not found", "header for hash not found",
        "not currently canonical", "is not canonical", "blocknotfound", "could not find block",
        "block could not be found", "block not known", "block is not available", "finalized block not found",
        "cannot find block", "unknown ancestor", "was not found", "block with such an id is pruned",
        "after last accepted block", "not yet known", "beyond current head", "blockoutofrange", "out of range",
        "hash is not found", "no block", "block hash not found",
    ]),
];

/// Texts that always mean a rate limit.
const RATE_LIMIT: &[&str] = &[
    "rate limit",
    "rate-limit",
    "ratelimit",
    "request rate",
    "too many requests",
    "compute units",
    "request limit",
    "requests per second",
    "request count exceeded",
    "call rate",
    "throttl",
];
/// Texts that mean a rate limit if no other rule matches: ranges, gas and results have limits too.
const RATE_LIMIT_PERHAPS: &[&str] =
    &["limit exceeded", "capacity exceeded", "exceeded its", "rate exceeded", "quota", "credits limit", "free tier"];

/// Classifies a refused send.
pub fn classify_send(code: i64, message: &str) -> SendClass {
    let text = message.to_lowercase();
    match first(SEND, &text) {
        // A rate limit decides first: its text can contain words of other rules.
        _ if is_rate_limit(code, message) => SendClass::RateLimited,
        Some(class) => class,
        // Code 3 without a known text is still a revert.
        None if code == 3 => SendClass::Reverts,
        None => SendClass::Unknown,
    }
}

/// Classifies a refused read.
pub fn classify_read(code: i64, message: &str) -> ReadClass {
    let text = message.to_lowercase();
    // Codes decide where they are unambiguous: 3 is geth's revert, -32601 is defined by JSON-RPC.
    match code {
        3 => return ReadClass::Reverts,
        -32601 => return ReadClass::MethodNotFound,
        -39001 => return ReadClass::UnknownBlock,
        _ => {}
    }
    match first(READ, &text) {
        _ if is_rate_limit(code, message) => ReadClass::RateLimited,
        Some(class) => class,
        None => ReadClass::Unknown,
    }
}

/// Whether the endpoint limits the rate of calls.
pub fn is_rate_limit(code: i64, message: &str) -> bool {
    let text = message.to_lowercase();
    let any = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    // A contract can put any text into its revert reason, so a revert never counts.
    if code == 3 || text.contains("reverted") {
        return false;
    }
    any(RATE_LIMIT)
        || (first(READ, &text).is_none()
            && first(SEND, &text).is_none()
            && (matches!(code, 429 | -32005 | -32029) || any(RATE_LIMIT_PERHAPS)))
}

/// Whether the endpoint refuses batches, or batches of this length. Any other error for a whole batch is temporary.
pub fn is_batch_refusal(code: i64, message: &str) -> bool {
    matches!(code, -32600 | -32700) || message.to_lowercase().contains("batch")
}

/// Whether a log query asked for too many blocks or results.
pub fn is_range_too_wide(message: &str) -> bool {
    first(READ, &message.to_lowercase()) == Some(ReadClass::RangeTooWide)
}

fn first<C: Copy>(rules: &[(C, &[&str])], text: &str) -> Option<C> {
    rules.iter().find(|(_, parts)| parts.iter().any(|part| text.contains(part))).map(|(class, _)| *class)
}

#[cfg(test)]
mod messages;
