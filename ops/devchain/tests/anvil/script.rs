//! The script: deploys, calls, reverts, gaps, replacements, logs, batches, history.

#[path = "platform.rs"]
mod platform;

use alloy::primitives::{Address, TxKind, U256, address};
use serde_json::{Value, json};

use crate::world::contract::{self, command, command_with};
use crate::world::http::Client;
use crate::world::wallet::{GWEI, Raw, Tx, Wallet};

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

    /// Waits for the receipt: anvil answers before it has mined.
    fn mined(&mut self, raw: &Raw) -> Value {
        for _ in 0..200 {
            let receipt = self.client.ok("eth_getTransactionReceipt", json!([raw.hash]));
            if !receipt.is_null() {
                return receipt;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("not mined: {:?}", self.steps.last().map(|step| (&step.label, &step.response)));
    }

    /// Brings the chain to a height: anvil mines an empty block for each transaction that a
    /// filled gap took along, this chain does not.
    fn level(&mut self, height: u64) {
        let wanted = json!(format!("{height:#x}"));
        for patience in 0.. {
            if self.client.ok("eth_blockNumber", json!([])) == wanted {
                break;
            }
            assert!(patience < 100, "height {height} is not reached");
            std::thread::sleep(std::time::Duration::from_millis(10));
            if patience >= 50 {
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

    fn calls(&mut self, contract: Address) {
        let wallet = Wallet::new(0);
        let store = |slot: u64, value: u64| command(contract::STORE, &[U256::from(slot), U256::from(value)]);
        let call = |nonce, data| Tx::new(nonce, TxKind::Call(contract), data);
        self.send("store", &wallet.sign(call(5, store(1, 7))));
        self.send("store again", &wallet.sign(call(6, store(1, 8))));
        self.send("clear for a refund", &wallet.sign(call(7, store(1, 0))));
        self.send("store legacy", &wallet.sign_legacy(call(8, store(2, 9))));
        let slot = U256::from(2).into();
        self.send("store with access list", &wallet.sign_access_list(call(9, store(2, 10)), contract, slot));
        self.send("transfer", &wallet.sign(Tx::transfer(10, NOBODY, 12345)));
        let to = command(contract::FORWARD, &[U256::from_be_slice(NOBODY.as_slice())]);
        self.send("forward value", &wallet.sign(Tx { value: U256::from(99), ..call(11, to) }));
        let create = command_with(contract::CREATE, &contract::init(&[0x00]));
        self.send("create inside", &wallet.sign(call(12, create)));
        self.send("much calldata", &wallet.sign(call(13, command_with(0xff, &[7; 5000]))));
        self.step("storage", "eth_getStorageAt", json!([contract, "0x2", "latest"]));
        self.step("storage", "eth_getStorageAt", json!([contract, "0x2", "0x9"]));
        for (label, data) in [
            ("load", command(contract::LOAD, &[U256::from(2)])),
            ("scene", command(contract::SCENE, &[])),
            ("custom error", command_with(contract::REVERT, &contract::custom_error(NOBODY))),
            ("error string", command_with(contract::REVERT, &contract::error_string("not today"))),
            ("empty revert", command_with(contract::REVERT, &[])),
            ("invalid", command(contract::INVALID, &[])),
            ("spin", command(contract::SPIN, &[])),
            ("nothing", command_with(0xff, &[])),
        ] {
            let request = json!({ "from": wallet.address(), "to": contract, "data": data });
            self.step(label, "eth_call", json!([request, "latest"]));
        }
        let scene = json!({ "from": NOBODY, "to": contract, "input": command(contract::SCENE, &[]), "value": "0x5" });
        self.step("value without funds", "eth_call", json!([scene, "latest"]));
        let scene = json!({ "to": contract, "input": command(contract::SCENE, &[]), "gasPrice": "0x77359400" });
        self.step("price without funds", "eth_call", json!([scene, "latest"]));
        let scene = json!({ "from": wallet.address(), "to": contract, "input": command(contract::SCENE, &[]),
            "maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x1", "gas": "0x186a0" });
        self.step("fees", "eth_call", json!([scene, "latest"]));
        self.step("create by call", "eth_call", json!([{ "data": contract::init(&[0x00]) }, "latest"]));
    }

    fn estimates(&mut self, contract: Address) {
        let from = Wallet::new(0).address();
        let store = command(contract::STORE, &[U256::from(77), U256::from(7)]);
        let clear = command(contract::STORE, &[U256::from(2), U256::ZERO]);
        let forward = command(contract::FORWARD, &[U256::from_be_slice(contract.as_slice())]);
        let custom = command_with(contract::REVERT, &contract::custom_error(NOBODY));
        let text = command_with(contract::REVERT, &contract::error_string("not today"));
        let deploy = contract::init(&contract::runtime());
        for (label, request) in [
            ("transfer", json!({ "from": from, "to": NOBODY, "value": "0x1" })),
            ("store", json!({ "from": from, "to": contract, "data": store })),
            ("clear", json!({ "from": from, "to": contract, "data": clear })),
            ("forward", json!({ "from": from, "to": contract, "data": forward, "value": "0x1" })),
            ("deploy", json!({ "from": from, "data": deploy })),
            ("with fees", json!({ "from": from, "to": contract, "data": store, "maxFeePerGas": "0x77359400" })),
            ("capped", json!({ "from": from, "to": contract, "data": store, "gas": "0x186a0" })),
            ("custom error", json!({ "from": from, "to": contract, "data": custom })),
            ("error string", json!({ "from": from, "to": contract, "data": text })),
            ("invalid", json!({ "from": from, "to": contract, "data": command(contract::INVALID, &[]) })),
            ("too little gas", json!({ "from": from, "to": contract, "data": store, "gas": "0x5300" })),
            ("no funds", json!({ "from": NOBODY, "to": contract, "value": "0xffffffffffffffffff" })),
            (
                "no funds for gas",
                json!({ "from": Wallet::poor().address(), "to": contract, "data": store, "gasPrice": "0x77359400" }),
            ),
            ("floor", json!({ "from": from, "to": NOBODY, "data": command_with(7, &[7; 3000]) })),
        ] {
            self.step(label, "eth_estimateGas", json!([request]));
        }
    }

    fn mined_failures(&mut self, contract: Address) {
        let wallet = Wallet::new(0);
        for (nonce, label, data) in [
            (14, "mined custom error", command_with(contract::REVERT, &contract::custom_error(NOBODY))),
            (15, "mined invalid", command(contract::INVALID, &[])),
            (16, "mined out of gas", command(contract::SPIN, &[])),
            (17, "mined no code", command(contract::DESTROY, &[U256::from_be_slice(NOBODY.as_slice())])),
        ] {
            self.send(label, &wallet.sign(Tx::new(nonce, TxKind::Call(contract), data).gas(100_000)));
        }
        self.send("whole block", &wallet.sign(Tx::transfer(18, NOBODY, 1).gas(30_000_000)));
    }

    fn pool(&mut self, contract: Address) {
        let wallet = Wallet::new(1);
        let store = |nonce: u64| {
            let data = command(contract::STORE, &[U256::from(nonce + 100), U256::from(nonce + 1)]);
            Tx::new(nonce, TxKind::Call(contract), data)
        };
        let count = |script: &mut Self, label: &str| {
            for tag in ["latest", "pending"] {
                script.step(label, "eth_getTransactionCount", json!([wallet.address(), tag]));
            }
        };
        // A gap: two wait until the first comes, then all are in one block.
        let [first, second, third] = [0, 1, 2].map(|nonce| wallet.sign(store(nonce)));
        self.step("gap", "eth_sendRawTransaction", third.params());
        self.step("gap", "eth_sendRawTransaction", second.params());
        self.look("gap waits", &second);
        count(self, "gap waits");
        self.step("known", "eth_sendRawTransaction", second.params());
        self.send("gap filled", &first);
        self.level(0x16);
        self.look("gap filled", &third);
        count(self, "gap filled");
        self.step("gap filled", "eth_getBlockReceipts", json!(["0x14"]));
        self.step("gap filled", "eth_getBlockByNumber", json!(["0x14", true]));
        self.step("known and mined", "eth_sendRawTransaction", second.params());
        // Replacement: a better price takes the place, a worse one does not.
        self.step("manual", "evm_setAutomine", json!([false]));
        let old = wallet.sign(store(3).fees(10 * GWEI, GWEI));
        let new = wallet.sign(store(3).fees(20 * GWEI, 2 * GWEI));
        self.step("replaced", "eth_sendRawTransaction", old.params());
        self.step("replaced", "eth_sendRawTransaction", wallet.sign(store(3).fees(9 * GWEI, GWEI / 2)).params());
        self.step("replacing", "eth_sendRawTransaction", new.params());
        self.look("replacing", &new);
        self.step("replaced", "eth_getTransactionByHash", json!([old.hash]));
        // Order in a block: by tip over all senders.
        let other = Wallet::new(2);
        let rich = other.sign(Tx::transfer(0, NOBODY, 5).fees(30 * GWEI, 5 * GWEI));
        let next = other.sign(Tx::transfer(1, NOBODY, 6).fees(20 * GWEI, GWEI));
        self.step("order", "eth_sendRawTransaction", rich.params());
        self.step("order", "eth_sendRawTransaction", next.params());
        count(self, "before mining");
        self.tick();
        self.step("order", "eth_getBlockByNumber", json!(["pending", false]));
        self.step("order", "evm_mine", json!([]));
        self.step("order", "eth_getBlockByNumber", json!(["latest", true]));
        self.step("order", "eth_getBlockReceipts", json!(["latest"]));
        self.step("replaced", "eth_getTransactionReceipt", json!([old.hash]));
        self.step("order", "eth_feeHistory", json!(["0x3", "latest", [0, 25, 50, 75, 100]]));
        self.step("automatic", "evm_setAutomine", json!([true]));
    }

    fn logs(&mut self, contract: Address) {
        let topic = |number: u64| format!("{:#066x}", number);
        let hash = self.client.ok("eth_getBlockByNumber", json!(["0x6", false]))["hash"].clone();
        for (index, filter) in [
            json!({ "fromBlock": "0x0", "toBlock": "latest" }),
            json!({ "fromBlock": "earliest", "address": contract }),
            json!({ "fromBlock": "0x0", "address": [NOBODY, contract], "topics": [topic(0xaa)] }),
            json!({ "fromBlock": "0x0", "topics": [null, [topic(1), topic(2)]] }),
            json!({ "fromBlock": "0x0", "topics": [topic(1)] }),
            json!({ "fromBlock": "0x0", "address": NOBODY }),
            json!({ "fromBlock": "0x5", "toBlock": "0x7", "address": contract }),
            json!({ "fromBlock": "0x100", "toBlock": "0x200" }),
            json!({ "blockHash": hash, "address": contract }),
            json!({}),
        ]
        .into_iter()
        .enumerate()
        {
            self.step(&format!("logs {index}"), "eth_getLogs", json!([filter]));
        }
        self.step("logs of an unknown block", "eth_getLogs", json!([{ "blockHash": topic(5) }]));
    }

    fn history(&mut self, contract: Address) {
        let hash = self.client.ok("eth_getBlockByNumber", json!(["0x7", false]))["hash"].clone();
        let load = json!({ "to": contract, "data": command(contract::LOAD, &[U256::from(1)]) });
        for block in [
            json!("0x6"),
            json!("0x7"),
            json!("0x8"),
            json!({ "blockHash": hash }),
            json!({ "blockNumber": "0x7" }),
            json!({ "blockHash": hash, "requireCanonical": true }),
            json!("0xfff"),
            json!("finalized"),
            json!("pending"),
        ] {
            let label = if block.get("blockHash").is_some() { "at hash".to_owned() } else { format!("at {block}") };
            self.step(&label, "eth_call", json!([load, block]));
            self.step(&label, "eth_getStorageAt", json!([contract, "0x1", block]));
            self.step(&label, "eth_getBalance", json!([Wallet::new(0).address(), block]));
            self.step(&label, "eth_getTransactionCount", json!([Wallet::new(0).address(), block]));
            self.step(&label, "eth_getCode", json!([contract, block]));
        }
        let scene = json!({ "to": contract, "data": command(contract::SCENE, &[]) });
        self.step("scene then", "eth_call", json!([scene, "0x7"]));
        self.step("by hash", "eth_getBlockByHash", json!([hash, true]));
        self.step("by hash", "eth_getBlockReceipts", json!([hash]));
        self.step("by hash", "eth_getBlockReceipts", json!([{ "blockHash": hash }]));
        self.step("all", "eth_feeHistory", json!(["0x400", "latest", []]));
        self.step("without percentiles", "eth_feeHistory", json!(["0x2", "latest"]));
        self.step("then", "eth_feeHistory", json!(["0x5", "0x8", [50]]));
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

    fn refusals(&mut self) {
        let wallet = Wallet::new(2);
        let transfer = |nonce| Tx::transfer(nonce, NOBODY, 1);
        let heavy = Tx::new(2, TxKind::Create, vec![0; 49_153]);
        for (label, raw) in [
            ("nonce too low", wallet.sign(transfer(0).fees(21 * GWEI, GWEI))),
            ("no funds", Wallet::poor().sign(transfer(0))),
            ("too little gas", wallet.sign(transfer(2).gas(20_999))),
            ("above the block", wallet.sign(transfer(2).gas(30_000_001))),
            ("below the base fee", wallet.sign(transfer(2).fees(1000, 1))),
            ("tip above the cap", wallet.sign(transfer(2).fees(20 * GWEI, 21 * GWEI))),
            ("another chain", wallet.sign(Tx { chain_id: 1, ..transfer(2) })),
            ("too much init code", wallet.sign(heavy.gas(20_000_000))),
        ] {
            self.step(label, "eth_sendRawTransaction", raw.params());
        }
        self.step("not a transaction", "eth_sendRawTransaction", json!(["0x02c0"]));
        self.step("no transaction", "eth_sendRawTransaction", json!(["0x"]));
        // Anvil takes this one, finds that it cannot run, and mines an empty block.
        let shallow = wallet.sign(Tx { data: vec![7; 1000].into(), ..transfer(2).gas(38_000) });
        self.step("below the floor", "eth_sendRawTransaction", shallow.params());
        self.level(0x1b);
    }
}
