//! No request makes the chain panic or stop answering, however odd it is.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use muniment_devchain::{Config, Devchain};
use serde_json::{Value, json};
use world::wallet::{Tx, Wallet};

const METHODS: &[&str] = &[
    "web3_clientVersion",
    "net_version",
    "eth_chainId",
    "eth_blockNumber",
    "eth_getBlockByNumber",
    "eth_getBlockByHash",
    "eth_getBlockReceipts",
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "eth_getTransactionCount",
    "eth_getBalance",
    "eth_getCode",
    "eth_getStorageAt",
    "eth_call",
    "eth_estimateGas",
    "eth_gasPrice",
    "eth_maxPriorityFeePerGas",
    "eth_feeHistory",
    "eth_getLogs",
    "eth_sendRawTransaction",
    "eth_accounts",
    "eth_syncing",
    "evm_mine",
    "anvil_mine",
    "evm_increaseTime",
    "evm_setNextBlockTimestamp",
    "evm_setAutomine",
    "evm_setIntervalMining",
    "devchain_setBaseFeeMin",
    "evm_snapshot",
    "anvil_setBalance",
    "eth_getBlockTransactionCountByNumber",
    "no_such_method",
];

const KEYS: &[&str] = &[
    "from",
    "to",
    "data",
    "input",
    "gas",
    "gasPrice",
    "maxFeePerGas",
    "maxPriorityFeePerGas",
    "value",
    "nonce",
    "accessList",
    "blockHash",
    "blockNumber",
    "fromBlock",
    "toBlock",
    "address",
    "topics",
    "timestamp",
    "blocks",
    "type",
    "chainId",
    "authorizationList",
    "blobVersionedHashes",
    "storageKeys",
    "requireCanonical",
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % sides.max(1)
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.roll(from.len())]
    }

    fn hex(&mut self, bytes: usize) -> Value {
        json!(format!("0x{}", (0..bytes).map(|_| format!("{:02x}", self.roll(256))).collect::<String>()))
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.roll(if depth == 0 { 14 } else { 17 }) {
            0 => Value::Null,
            1 => json!(self.roll(2) == 0),
            2 => json!(self.roll(1000)),
            3 => json!(-(self.roll(1000) as i64)),
            4 => json!(u64::MAX - self.roll(2) as u64),
            5 => json!(1e300),
            6 => json!(self.pick(&["latest", "pending", "earliest", "safe", "finalized", "", "0x", "0xzz", "🦀"])),
            7 => json!(self.pick(&["0x0", "0x1", "0x10000", "0xffffffffffffffff", "0x10000000000000000"])),
            8 => json!(format!("0x{}", "f".repeat(64))),
            9 => self.hex(20),
            10 => self.hex(32),
            11 => json!(Wallet::new(0).address()),
            12 => {
                let length = self.roll(200);
                self.hex(length)
            }
            13 => json!([1, 50, 99.5]),
            14 => {
                let length = self.roll(4);
                (0..length).map(|_| self.value(depth - 1)).collect()
            }
            _ => {
                let length = self.roll(6);
                (0..length)
                    .map(|_| (self.pick(KEYS).to_owned(), self.value(depth - 1)))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }
        }
    }

    fn request(&mut self) -> Value {
        let length = self.roll(4);
        let params: Value = (0..length).map(|_| self.value(3)).collect();
        match self.roll(20) {
            0 => self.value(4),
            1 => json!({ "id": self.value(1), "method": self.value(1), "params": self.value(2) }),
            2 => (0..self.roll(4)).map(|_| self.request()).collect(),
            _ => json!({ "jsonrpc": "2.0", "id": 1, "method": self.pick(METHODS), "params": params }),
        }
    }

    /// A real transaction with some bits flipped.
    fn transaction(&mut self) -> Value {
        let mut bytes =
            Wallet::new(0).sign(Tx::transfer(self.roll(5) as u64, Wallet::new(1).address(), 1)).bytes.to_vec();
        for _ in 0..self.roll(3) {
            let at = self.roll(bytes.len());
            bytes[at] ^= 1 << self.roll(8);
        }
        bytes.truncate(bytes.len() - self.roll(20) * self.roll(2));
        let raw = alloy::primitives::Bytes::from(bytes);
        json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction", "params": [raw] })
    }
}

#[test]
fn odd_requests_are_answered_and_the_chain_goes_on() {
    for seed in 0..40 {
        let chain = Devchain::open(Config::default()).unwrap();
        let mut dice = Dice(seed);
        for _ in 0..300 {
            let request = if dice.roll(5) == 0 { dice.transaction() } else { dice.request() };
            let text = request.to_string();
            let answer = chain.handle(request);
            let answers = answer.as_array().cloned().unwrap_or_else(|| vec![answer.clone()]);
            for answer in answers {
                let one = answer.get("result").is_some() != answer.get("error").is_some();
                assert!(one, "seed {seed}: {text} → {answer}");
                assert_ne!(
                    answer["error"]["code"],
                    -32603_i64 * i64::from(answer["error"]["message"] == "Internal error"),
                    "seed {seed}: {text}"
                );
            }
        }
        let alive = chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber" }));
        assert!(alive["result"].is_string(), "seed {seed}: {alive}");
    }
}
