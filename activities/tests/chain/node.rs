//! A fake node with computed blocks. A test can replace any of its answers.
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use futures::future::BoxFuture;
use muniment_activities::{Node, chain::Chain, config::ChainConfig};
use serde_json::{Value, json};

/// Replaces the answer to one call. `None` keeps the true answer, `Err` is an error object.
pub type Lie = Box<dyn Fn(&str, &Value) -> Option<Result<Value, Value>> + Send + Sync>;

pub struct FakeNode {
    pub chain_id: AtomicU64,
    pub head: AtomicU64,
    /// Blocks from the final one to the head.
    pub behind: u64,
    pub seed: u8,
    pub lie: Mutex<Option<Lie>>,
    /// The method of every call that arrived.
    pub asked: Mutex<Vec<String>>,
    pub refuses_batches: bool,
    pub is_down: Mutex<Option<String>>,
}

impl FakeNode {
    pub fn new() -> FakeNode {
        FakeNode {
            chain_id: AtomicU64::new(31337),
            head: AtomicU64::new(20),
            behind: 2,
            seed: 1,
            lie: Mutex::default(),
            asked: Mutex::default(),
            refuses_batches: false,
            is_down: Mutex::default(),
        }
    }

    pub fn lying(lie: impl Fn(&str, &Value) -> Option<Result<Value, Value>> + Send + Sync + 'static) -> FakeNode {
        let node = FakeNode::new();
        node.lies(lie);
        node
    }

    pub fn lies(&self, lie: impl Fn(&str, &Value) -> Option<Result<Value, Value>> + Send + Sync + 'static) {
        *self.lie.lock().unwrap() = Some(Box::new(lie));
    }

    pub fn count(&self, method: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == method).count()
    }

    pub fn answer(&self, body: &Value) -> Value {
        match body {
            Value::Array(_) if self.refuses_batches => {
                json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "batches are not supported" } })
            }
            // The last call first: a node can answer a batch in any order.
            Value::Array(calls) => calls.iter().rev().map(|call| self.one(call)).collect(),
            call => self.one(call),
        }
    }

    fn one(&self, call: &Value) -> Value {
        let method = call["method"].as_str().unwrap();
        self.asked.lock().unwrap().push(method.to_owned());
        let lie = self.lie.lock().unwrap().as_ref().and_then(|lie| lie(method, &call["params"]));
        match lie.unwrap_or_else(|| self.truth(method, &call["params"])) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": call["id"], "result": result }),
            Err(error) => json!({ "jsonrpc": "2.0", "id": call["id"], "error": error }),
        }
    }

    fn truth(&self, method: &str, params: &Value) -> Result<Value, Value> {
        let head = self.head.load(Ordering::SeqCst);
        match method {
            "eth_chainId" => Ok(json!(format!("{:#x}", self.chain_id.load(Ordering::SeqCst)))),
            "eth_getBlockByNumber" => {
                let number = match params[0].as_str().unwrap() {
                    "latest" => head,
                    "finalized" => head.saturating_sub(self.behind),
                    hex => u64::from_str_radix(&hex[2..], 16).unwrap(),
                };
                let full = params[1] == json!(true);
                Ok(if number > head { Value::Null } else { self.block(number, full) })
            }
            "eth_getBlockReceipts" => Ok(json!([receipt(tx(1), self.hash(5)), receipt(tx(2), self.hash(5))])),
            "eth_getTransactionReceipt" => {
                let hash: B256 = serde_json::from_value(params[0].clone()).unwrap();
                Ok(receipt(hash, self.hash(5)))
            }
            "eth_sendRawTransaction" => {
                let raw: Bytes = serde_json::from_value(params[0].clone()).unwrap();
                Ok(json!(keccak256(&raw)))
            }
            "eth_getLogs" => Ok(json!([])),
            "eth_getBalance" => Ok(json!(U256::from(7))),
            other => {
                Err(json!({ "code": -32601, "message": format!("the method {other} does not exist/is not available") }))
            }
        }
    }

    pub fn hash(&self, number: u64) -> B256 {
        keccak256([[self.seed; 8], number.to_be_bytes()].concat())
    }

    fn block(&self, number: u64, full: bool) -> Value {
        let parent = number.checked_sub(1).map_or(B256::ZERO, |below| self.hash(below));
        let transaction = json!({ "hash": tx(1), "from": Address::repeat_byte(1), "nonce": "0x3", "to": null });
        json!({
            "number": format!("{number:#x}"), "hash": self.hash(number), "parentHash": parent, "timestamp": "0x10",
            "baseFeePerGas": "0x7", "gasLimit": "0x1c9c380",
            "transactions": if full { json!([transaction]) } else { json!([tx(1)]) },
        })
    }
}

impl Node for FakeNode {
    fn handle(&self, request: Value) -> BoxFuture<'_, Result<Value, String>> {
        let down = self.is_down.lock().unwrap().clone();
        Box::pin(async move { down.map_or_else(|| Ok(self.answer(&request)), Err) })
    }
}

pub fn tx(number: u8) -> B256 {
    B256::repeat_byte(number)
}

pub fn receipt(hash: B256, block: B256) -> Value {
    json!({
        "transactionHash": hash, "blockHash": block, "blockNumber": "0x5", "from": Address::repeat_byte(1),
        "to": Address::repeat_byte(2), "status": "0x1", "gasUsed": "0x5208", "effectiveGasPrice": "0x7", "logs": [],
        "contractAddress": null, "cumulativeGasUsed": "0x5208",
    })
}

/// A chain over fake nodes.
pub fn chain(nodes: Vec<Arc<FakeNode>>) -> Chain {
    chain_with(ChainConfig::default(), nodes)
}

pub fn chain_with(config: ChainConfig, nodes: Vec<Arc<FakeNode>>) -> Chain {
    Chain::in_process(config, nodes.into_iter().map(|node| node as Arc<dyn Node>).collect())
}
