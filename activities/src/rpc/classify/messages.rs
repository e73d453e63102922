//! Error texts of real nodes and providers, each with its expected class.
use super::{ReadClass as Read, SendClass as Send, classify_read, classify_send, is_rate_limit};

const SENDS: &[(&str, i64, &str, Send)] = &[
    ("geth", -32000, "already known", Send::AlreadyKnown),
    ("geth 1.8", -32000, "known transaction: 5b1f6c", Send::AlreadyKnown),
    ("geth", -32000, "nonce too low: next nonce 12, tx nonce 11", Send::NonceTooLow),
    ("geth", -32000, "nonce too low: address 0x9c2b, tx: 3 state: 4", Send::NonceTooLow),
    ("geth", -32000, "nonce too high: address 0x9c2b, tx: 9 state: 4", Send::NonceTooHigh),
    ("geth", -32000, "gapped-nonce tx from delegated accounts", Send::NonceTooHigh),
    ("geth", -32000, "replacement transaction underpriced", Send::Underpriced),
    ("geth", -32000, "replacement transaction underpriced: new tx gas tip cap 1 < 2 queued", Send::Underpriced),
    ("geth", -32000, "future transaction tries to replace pending", Send::Underpriced),
    ("geth", -32000, "transaction underpriced", Send::FeeTooLow),
    ("geth", -32000, "transaction underpriced: gas tip cap 0, minimum needed 1", Send::FeeTooLow),
    (
        "geth",
        -32000,
        "max fee per gas less than block base fee: address 0x9c2b, maxFeePerGas: 1, baseFee: 875000000",
        Send::FeeTooLow,
    ),
    (
        "geth",
        -32000,
        "insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000",
        Send::InsufficientFunds,
    ),
    ("geth", -32000, "txpool is full", Send::PoolFull),
    ("geth", -32000, "in-flight transaction limit reached for delegated accounts", Send::PoolFull),
    ("geth", -32000, "exceeds block gas limit", Send::GasLimit),
    ("geth", -32000, "intrinsic gas too low: gas 20000, minimum needed 21000", Send::GasLimit),
    ("geth", -32000, "transaction gas limit too high (cap: 16777216, tx: 20000000)", Send::GasLimit),
    ("geth", -32000, "tx fee (1.50 ether) exceeds the configured cap (1.00 ether)", Send::GasLimit),
    ("erigon", -32000, "existing tx with same hash", Send::AlreadyKnown),
    ("erigon", -32000, "already known", Send::AlreadyKnown),
    ("erigon", -32000, "could not replace existing tx", Send::Underpriced),
    ("erigon", -32000, "underpriced", Send::FeeTooLow),
    ("erigon", -32000, "fee too low", Send::FeeTooLow),
    ("erigon", -32000, "pending sub-pool is full", Send::PoolFull),
    ("erigon", -32000, "spammer", Send::PoolFull),
    ("erigon", -32000, "insufficient funds for gas * price + value", Send::InsufficientFunds),
    ("nethermind", -32010, "AlreadyKnown", Send::AlreadyKnown),
    ("nethermind", -32010, "OldNonce, Current nonce: 12, nonce of rejected tx: 11.", Send::NonceTooLow),
    ("nethermind", -32010, "NonceGap, Future nonce. Expected nonce: 12.", Send::NonceTooHigh),
    ("nethermind", -32010, "NonceTooFarInFuture", Send::NonceTooHigh),
    ("nethermind", -32010, "ReplacementNotAllowed", Send::Underpriced),
    (
        "nethermind",
        -32010,
        "FeeTooLow, MaxFeePerGas too low. MaxFeePerGas: 1, BaseFee: 7, MaxPriorityFeePerGas: 1",
        Send::FeeTooLow,
    ),
    ("nethermind", -32010, "FeeTooLowToCompete", Send::PoolFull),
    ("nethermind", -32010, "InsufficientFunds, Account balance: 0, cumulative cost: 21000", Send::InsufficientFunds),
    ("nethermind", -32010, "GasLimitExceeded, Gas limit: 30000000, gas limit of rejected tx: 50000000", Send::GasLimit),
    ("besu", -32000, "Known transaction", Send::AlreadyKnown),
    ("besu", -32001, "Nonce too low", Send::NonceTooLow),
    ("besu", -32006, "Nonce too high", Send::NonceTooHigh),
    ("besu", -32006, "Transaction nonce too distant from current sender nonce", Send::NonceTooHigh),
    ("besu", -32000, "An invalid transaction with a lower nonce exists", Send::NonceTooHigh),
    ("besu", -32000, "Replacement transaction underpriced", Send::Underpriced),
    ("besu", -32004, "Upfront cost exceeds account balance", Send::InsufficientFunds),
    ("besu", -32009, "Gas price below configured minimum gas price", Send::FeeTooLow),
    ("besu", -32009, "Gas price below current base fee", Send::FeeTooLow),
    ("besu", -32005, "Transaction gas limit exceeds block gas limit", Send::GasLimit),
    ("besu", -32003, "Intrinsic gas exceeds gas limit", Send::GasLimit),
    ("besu", -32000, "Transaction fee cap exceeded", Send::GasLimit),
    ("reth", -32000, "already known", Send::AlreadyKnown),
    ("reth", -32000, "nonce too low: next nonce 12, tx nonce 11", Send::NonceTooLow),
    ("reth", -32000, "replacement transaction underpriced", Send::Underpriced),
    ("reth", -32003, "insufficient funds for gas * price + value: have 0 want 21000", Send::InsufficientFunds),
    ("reth", -32003, "max fee per gas less than block base fee", Send::FeeTooLow),
    ("reth", -32003, "txpool is full", Send::PoolFull),
    ("reth", -32003, "exceeds block gas limit", Send::GasLimit),
    ("anvil", -32003, "transaction already imported", Send::AlreadyKnown),
    ("anvil", -32003, "nonce too low", Send::NonceTooLow),
    ("anvil", -32003, "replacement transaction underpriced", Send::Underpriced),
    ("anvil", -32003, "Insufficient funds for gas * price + value", Send::InsufficientFunds),
    ("anvil", -32003, "max fee per gas less than block base fee", Send::FeeTooLow),
    ("anvil", -32003, "intrinsic gas too high -- CallGasCostMoreThanGasLimit", Send::GasLimit),
    ("parity", -32010, "Transaction with the same hash was already imported.", Send::AlreadyKnown),
    ("parity", -32010, "Transaction nonce is too low. Try incrementing the nonce.", Send::NonceTooLow),
    (
        "parity",
        -32010,
        "Transaction gas price 1wei is too low. There is another transaction with same nonce in the queue with gas price 2wei. Try increasing the gas price or incrementing the nonce.",
        Send::Underpriced,
    ),
    (
        "parity",
        -32010,
        "There are too many transactions in the queue. Your transaction was dropped due to limit. Try increasing the fee.",
        Send::PoolFull,
    ),
    (
        "parity",
        -32010,
        "Insufficient funds. The account you tried to send transaction from does not have enough funds. Required 21000 and got: 0.",
        Send::InsufficientFunds,
    ),
    ("polygon gateway", -32000, "ALREADY_EXISTS: already known", Send::AlreadyKnown),
    ("polygon gateway", -32000, "INTERNAL_ERROR: nonce too low", Send::NonceTooLow),
    (
        "alchemy",
        429,
        "Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message.",
        Send::RateLimited,
    ),
    ("infura", -32005, "project ID request rate exceeded", Send::RateLimited),
    ("infura", -32005, "daily request count exceeded, request rate limited", Send::RateLimited),
    (
        "quicknode",
        -32007,
        "50/second request limit reached - reduce calls per second or upgrade your account at quicknode.com",
        Send::RateLimited,
    ),
    ("devnet", 3, "execution reverted: paused", Send::Reverts),
    ("anyone", -32603, "Internal error", Send::Unknown),
    ("anyone", -32700, "parse error", Send::Unknown),
];

const READS: &[(&str, i64, &str, Read)] = &[
    ("geth", 3, "execution reverted: ERC20: transfer amount exceeds balance", Read::Reverts),
    ("geth", -32000, "execution reverted", Read::Reverts),
    ("nethermind", -32015, "VM execution error.", Read::Reverts),
    ("besu", -32000, "Execution reverted", Read::Reverts),
    ("parity", -32015, "Transaction execution error: Reverted 0x08c379a0", Read::Reverts),
    ("geth", -32000, "gas required exceeds allowance (16777216)", Read::OutOfGas),
    ("anvil", -32003, "Out of gas: gas required exceeds allowance: 30000000", Read::OutOfGas),
    ("geth", -32000, "header not found", Read::UnknownBlock),
    ("geth", -32000, "header for hash not found", Read::UnknownBlock),
    ("geth", -32000, "hash 0x9c2b is not currently canonical", Read::UnknownBlock),
    ("geth", -39001, "Unknown block", Read::UnknownBlock),
    ("geth", -32000, "finalized block not found", Read::UnknownBlock),
    ("reth", -32001, "block not found: hash 0x9c2b", Read::UnknownBlock),
    ("besu", -32000, "Block not found", Read::UnknownBlock),
    ("erigon", -32000, "block 123 not found: unknown block", Read::UnknownBlock),
    ("anvil", -32001, "Resource not found", Read::UnknownBlock),
    ("anvil", -32602, "BlockOutOfRangeError: block height is 4 but requested was 9", Read::UnknownBlock),
    ("geth", -32000, "missing trie node 9c2b (path ) state 0x1234 is not available", Read::Pruned),
    ("geth", -32000, "required historical state unavailable (reexec=128)", Read::Pruned),
    ("geth", -32000, "historical state 9c2b is not available", Read::Pruned),
    ("reth", -32000, "state at block #12 is pruned", Read::Pruned),
    ("besu", -32000, "World state unavailable", Read::Pruned),
    ("nethermind", -32002, "No state available for block 0x9c2b", Read::Pruned),
    ("infura", -32002, "project ID does not have access to archive state", Read::Pruned),
    ("geth", -32601, "the method eth_getBlockReceipts does not exist/is not available", Read::MethodNotFound),
    ("anvil", -32601, "Method not found", Read::MethodNotFound),
    ("alchemy", -32600, "Unsupported method: eth_getBlockReceipts on ETH_MAINNET", Read::MethodNotFound),
    ("ankr", -32000, "method not supported", Read::MethodNotFound),
    ("infura", -32005, "query returned more than 10000 results", Read::RangeTooWide),
    (
        "alchemy",
        -32602,
        "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size",
        Read::RangeTooWide,
    ),
    ("quicknode", -32614, "eth_getLogs is limited to a 10,000 range", Read::RangeTooWide),
    ("reth", -32602, "query exceeds max block range 100000", Read::RangeTooWide),
    ("alchemy", 429, "Your app has exceeded its compute units per second capacity.", Read::RateLimited),
    ("infura", -32005, "daily request count exceeded, request rate limited", Read::RateLimited),
    ("ankr", -32005, "Too many requests, reason: call rate limit exhausted", Read::RateLimited),
    ("public", -32000, "rate limit exceeded", Read::RateLimited),
    ("a contract", 3, "execution reverted: rate limit exceeded, header not found", Read::Reverts),
    ("anyone", -32603, "Internal error", Read::Unknown),
];

#[test]
fn every_known_send_error_has_its_class() {
    for (node, code, text, class) in SENDS {
        assert_eq!(classify_send(*code, text), *class, "{node}: {text}");
    }
}

#[test]
fn every_known_read_error_has_its_class() {
    for (node, code, text, class) in READS {
        assert_eq!(classify_read(*code, text), *class, "{node}: {text}");
    }
}

#[test]
fn a_rate_limit_is_not_confused_with_other_limits() {
    let reads = READS.iter().map(|(_, code, text, class)| (*code, *text, *class == Read::RateLimited));
    let sends = SENDS.iter().map(|(_, code, text, class)| (*code, *text, *class == Send::RateLimited));
    for (code, text, limited) in reads.chain(sends) {
        assert_eq!(is_rate_limit(code, text), limited, "{text}");
    }
}
