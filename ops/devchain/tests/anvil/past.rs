//! Logs, and state at earlier blocks.

use super::{NOBODY, Script};
use crate::world::contract::{self, command};
use crate::world::wallet::Wallet;
use alloy::primitives::{Address, U256};
use serde_json::json;

impl Script {
    pub(super) fn logs(&mut self, contract: Address) {
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

    pub(super) fn history(&mut self, contract: Address) {
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
}
