//! The script: deploys, calls, reverts, gaps, replacements, logs, batches, history.

#[path = "calls.rs"]
mod calls;
#[path = "past.rs"]
mod past;
#[path = "platform.rs"]
mod platform;
#[path = "pool.rs"]
mod pool;

use alloy::primitives::{Address, TxKind, address};
use serde_json::{Value, json};

use crate::world::contract;
use crate::world::http::Client;
use crate::world::wallet::{Raw, Tx, Wallet};

/// One response and what it answers.
pub struct Step {
    pub label: String,
    pub response: Value,
}

/// Takes steps on one node and keeps the responses.
pub struct Script {
    client: Client,
    steps: Vec<Step>,
    time: u64,
}

const NOBODY: Address = address!("00000000000000000000000000000000000ff1ce");

pub fn run(client: Client) -> Vec<Step> {
    let mut script = Script { client, steps: Vec::new(), time: super::GENESIS_SECONDS };
    script.fresh_chain();
    script.envelopes();
    let contract = script.deploys();
    script.calls(contract);
    script.estimates(contract);
    script.mined_failures(contract);
    script.pool(contract);
    script.logs(contract);
    script.history(contract);
    script.control();
    script.refusals();
    script.platform();
    script.steps
}

impl Script {
    /// Takes one step.
    fn step(&mut self, label: &str, method: &str, params: Value) -> Value {
        let response = self.client.call(method, params);
        self.steps.push(Step { label: format!("{label}: {method}"), response: response.clone() });
        response["result"].clone()
    }

    /// Fixes the time of the next block, so that timestamps can be compared too.
    fn tick(&mut self) {
        self.time += 10;
        self.client.ok("evm_setNextBlockTimestamp", json!([self.time]));
    }

    /// Sends a transaction and looks at everything that it left behind.
    fn send(&mut self, label: &str, raw: &Raw) -> Value {
        self.tick();
        self.step(label, "eth_sendRawTransaction", raw.params());
        let receipt = self.mined(raw);
        if label != "gap filled" {
            self.look(label, raw);
        }
        receipt
    }

    /// Waits until the transaction is mined and no longer in the pool: anvil answers before that.
    fn mined(&mut self, raw: &Raw) -> Value {
        for _ in 0..200 {
            let receipt = self.client.ok("eth_getTransactionReceipt", json!([raw.hash]));
            let known = self.client.ok("eth_getTransactionByHash", json!([raw.hash]));
            if !receipt.is_null() && !known["blockNumber"].is_null() {
                return receipt;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("not mined: {:?}", self.steps.last().map(|step| (&step.label, &step.response)));
    }

    /// Brings the chain to a height: anvil mines up to one empty block for each transaction that
    /// a filled gap took along, this chain does not.
    fn level(&mut self, height: u64) {
        let height = json!(format!("{height:#x}"));
        let mut last = self.client.ok("eth_blockNumber", json!([]));
        let mut calm = 0;
        while last != height {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let now = self.client.ok("eth_blockNumber", json!([]));
            calm = if now == last { calm + 1 } else { 0 };
            assert!(calm < 100, "height {height} is not reached");
            last = now;
            if calm >= 10 && last != height {
                self.client.ok("evm_mine", json!([]));
            }
        }
        // One more, so that the last block has a known time.
        self.tick();
        self.client.ok("evm_mine", json!([]));
    }

    /// Posts a body as it is.
    fn post(&mut self, label: &str, body: &str) {
        let response = self.client.post(body).unwrap();
        self.steps.push(Step { label: label.to_owned(), response });
    }

    fn envelopes(&mut self) {
        let call = |id: Value, method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        let batch = json!([
            call(json!(7), "eth_chainId", json!([])),
            call(json!("text"), "eth_nope", json!([])),
            call(json!(1), "eth_getBalance", json!([NOBODY, "latest"])),
        ]);
        self.post("batch", &batch.to_string());
        self.post("empty batch", "[]");
        self.post("empty object", "{}");
        self.post("null params", &call(json!(1), "eth_chainId", Value::Null).to_string());
        self.post("no params", r#"{"jsonrpc":"2.0","id":3,"method":"eth_blockNumber"}"#);
        self.step("bad address", "eth_getBalance", json!(["0x12", "latest"]));
        self.step("bad block", "eth_getBalance", json!([NOBODY, "soon"]));
        self.step("missing", "eth_getBalance", json!([]));
        self.step("missing", "eth_call", json!([]));
        self.step("count", "eth_getBlockTransactionCountByNumber", json!(["latest"]));
    }

    fn look(&mut self, label: &str, raw: &Raw) {
        self.step(label, "eth_getTransactionReceipt", json!([raw.hash]));
        self.step(label, "eth_getTransactionByHash", json!([raw.hash]));
        self.step(label, "eth_getBlockByNumber", json!(["latest", true]));
    }

    fn fresh_chain(&mut self) {
        let step = &mut |method: &str, params: Value| self.step("fresh", method, params);
        for method in ["web3_clientVersion", "net_version", "net_listening", "eth_chainId", "eth_blockNumber"] {
            step(method, json!([]));
        }
        for method in ["eth_syncing", "eth_accounts", "eth_gasPrice", "eth_maxPriorityFeePerGas"] {
            step(method, json!([]));
        }
        for tag in ["latest", "safe", "finalized", "earliest", "0x0", "0x7"] {
            step("eth_getBlockByNumber", json!([tag, false]));
        }
        step("eth_getBlockByHash", json!([format!("0x{}", "11".repeat(32)), true]));
        step("eth_getTransactionByHash", json!([format!("0x{}", "11".repeat(32))]));
        step("eth_getTransactionReceipt", json!([format!("0x{}", "11".repeat(32))]));
        step("eth_getBlockReceipts", json!(["0x7"]));
        step("eth_getBlockReceipts", json!(["latest"]));
        step("eth_feeHistory", json!(["0x4", "latest", [10, 50]]));
        step("eth_getBalance", json!([Wallet::new(0).address(), "latest"]));
        step("eth_getBalance", json!([NOBODY, "0x7"]));
        step("eth_getTransactionCount", json!([NOBODY, "pending"]));
        step("eth_getCode", json!([NOBODY, "latest"]));
        step("eth_getStorageAt", json!([NOBODY, "0x0", "latest"]));
        step("eth_nope", json!([]));
    }

    fn deploys(&mut self) -> Address {
        let wallet = Wallet::new(0);
        let code = contract::init(&contract::runtime());
        let receipt = self.send("deploy", &wallet.sign(Tx::new(0, TxKind::Create, code.clone())));
        let address: Address = serde_json::from_value(receipt["contractAddress"].clone()).unwrap();
        self.step("deploy", "eth_getCode", json!([address, "latest"]));
        self.step("deploy", "eth_getTransactionCount", json!([address, "latest"]));
        self.send("deploy legacy", &wallet.sign_legacy(Tx::new(1, TxKind::Create, code)));
        // Init code that returns nothing, reverts, and returns code that EIP-3541 forbids.
        for (nonce, init) in [(2, "00"), (3, "5f5ffd"), (4, "60ef5f5360015ff3")] {
            let code = crate::world::wallet::bytes(init);
            self.send("deploy odd", &wallet.sign(Tx::new(nonce, TxKind::Create, code).gas(200_000)));
        }
        address
    }

    fn control(&mut self) {
        self.tick();
        self.step("mine", "evm_mine", json!([]));
        self.time += 500;
        self.step("mine at", "evm_mine", json!([{ "timestamp": self.time }]));
        self.step("mine at", "eth_getBlockByNumber", json!(["latest", false]));
        self.step("past", "evm_setNextBlockTimestamp", json!([1000]));
        self.step("balance", "anvil_setBalance", json!([NOBODY, "0xde0b6b3a7640000"]));
        self.step("balance", "hardhat_setBalance", json!([NOBODY, "0xde0b6b3a7640001"]));
        self.step("balance", "eth_getBalance", json!([NOBODY, "latest"]));
        self.step("automine", "evm_setAutomine", json!([true]));
        let gas_price = self.step("fees", "eth_gasPrice", json!([]));
        assert!(gas_price.is_string());
    }
}
