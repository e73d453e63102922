//! The questions that the engine asks a node, answered from one view of the chain.

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy::primitives::{Address, B256, Bytes};
use serde_json::{Value, json};

use crate::block::{Block, Receipt, Tx, hex};

/// What a node believes: its blocks, its final height and its pool.
pub struct View<'a> {
    pub blocks: &'a [Arc<Block>],
    pub last: u64,
    pub base_fee: u128,
    pub pool: &'a BTreeMap<(Address, u64), Arc<Tx>>,
}

/// An answer, or code, message and data of an error.
pub type Answer = Result<Value, (i64, String, Option<Bytes>)>;

const GAS: u64 = 300_000;

/// An error without data.
pub fn error(message: &str) -> (i64, String, Option<Bytes>) {
    (-32_000, message.to_owned(), None)
}

impl View<'_> {
    /// Answers one read.
    pub fn answer(&self, method: &str, params: &Value) -> Answer {
        match method {
            "eth_chainId" => Ok(json!("0x7a69")),
            "eth_getBlockByNumber" => {
                let full = params[1].as_bool().unwrap_or(false);
                Ok(self.at(&params[0]).map_or(Value::Null, |block| block.json(full)))
            }
            "eth_getTransactionCount" => self.count(params),
            "eth_getCode" => {
                let address: Address = read(&params[0])?;
                let has_code = self.head().ledger.has_code(address);
                Ok(json!(if has_code { "0x01" } else { "0x" }))
            }
            "eth_getBalance" => Ok(json!("0xde0b6b3a7640000")),
            "eth_feeHistory" => Ok(self.fees()),
            "eth_estimateGas" => self.call(params).map(|_| json!(hex(GAS))),
            "eth_call" => self.call(params).map(|answer| json!(answer)),
            "eth_getTransactionByHash" => {
                let hash: B256 = read(&params[0])?;
                Ok(self.find(hash).map_or(Value::Null, |(block, receipt)| block.transaction(receipt)))
            }
            "eth_getTransactionReceipt" => {
                let hash: B256 = read(&params[0])?;
                Ok(self.find(hash).map_or(Value::Null, |(block, receipt)| block.receipt(receipt)))
            }
            "eth_getBlockReceipts" => {
                let hash: B256 = read(&params[0])?;
                let block = self.blocks.iter().find(|b| b.hash == hash);
                Ok(block.map_or(Value::Null, |b| b.receipts.iter().map(|r| b.receipt(r)).collect()))
            }
            "eth_getLogs" => self.logs(&params[0]),
            other => Err((-32_601, format!("the method {other} does not exist/is not available"), None)),
        }
    }

    fn head(&self) -> &Arc<Block> {
        &self.blocks[self.blocks.len() - 1]
    }

    fn at(&self, tag: &Value) -> Option<&Arc<Block>> {
        match tag.as_str()? {
            "latest" | "pending" => Some(self.head()),
            "finalized" => self.blocks.get(self.last as usize),
            number => self.blocks.get(usize::from_str_radix(number.strip_prefix("0x")?, 16).ok()?),
        }
    }

    fn find(&self, hash: B256) -> Option<(&Arc<Block>, &Receipt)> {
        self.blocks.iter().rev().find_map(|b| b.receipts.iter().find(|r| r.tx.hash == hash).map(|r| (b, r)))
    }

    fn count(&self, params: &Value) -> Answer {
        let address: Address = read(&params[0])?;
        let block = self.at(&params[1]).ok_or_else(|| error("header not found"))?;
        let mut count = block.ledger.nonces.get(&address).copied().unwrap_or(0);
        while params[1] == "pending" && self.pool.contains_key(&(address, count)) {
            count += 1;
        }
        Ok(json!(hex(count)))
    }

    fn fees(&self) -> Value {
        let next = format!("{:#x}", self.base_fee);
        let now = format!("{:#x}", self.head().base_fee);
        json!({ "oldestBlock": hex(self.head().number), "baseFeePerGas": [now, next], "gasUsedRatio": [0.5], "reward": [["0x3b9aca00"]] })
    }

    fn call(&self, params: &Value) -> Result<Bytes, (i64, String, Option<Bytes>)> {
        let block = match params[1].get("blockHash") {
            // Only while it is canonical, as EIP-1898 has it.
            Some(hash) => {
                let hash: B256 = read(hash)?;
                self.blocks.iter().find(|b| b.hash == hash).ok_or_else(|| error("header not found"))?
            }
            None => self.at(&params[1]).ok_or_else(|| error("header not found"))?,
        };
        let call = &params[0];
        let (from, to, data) = (read(&call["from"])?, read(&call["to"])?, read(&call["data"])?);
        let mut ledger = (*block.ledger).clone();
        match ledger.call(from, to, &data) {
            Ok((answer, _)) => Ok(answer),
            Err(revert) => Err((3, "execution reverted".to_owned(), Some(revert))),
        }
    }

    fn logs(&self, filter: &Value) -> Answer {
        let (from, to) = match filter.get("blockHash") {
            Some(hash) => {
                let hash: B256 = read(hash)?;
                let block = self.blocks.iter().find(|b| b.hash == hash).ok_or_else(|| error("unknown block"))?;
                (block.number, block.number)
            }
            None => (
                self.at(&filter["fromBlock"]).map_or(u64::MAX, |b| b.number),
                self.at(&filter["toBlock"]).map_or(self.head().number, |b| b.number),
            ),
        };
        let mut found = Vec::new();
        for block in self.blocks.iter().filter(|b| (from..=to).contains(&b.number)) {
            found.extend(block.receipts.iter().flat_map(|r| block.logs(r)).filter(|log| wanted(filter, log)));
        }
        Ok(Value::Array(found))
    }
}

fn wanted(filter: &Value, log: &Value) -> bool {
    let any = |values: &Value, value: &Value| values.as_array().is_none_or(|v| v.contains(value));
    let topics = filter["topics"].as_array().cloned().unwrap_or_default();
    any(&filter["address"], &log["address"])
        && topics.iter().enumerate().all(|(i, values)| any(values, &log["topics"][i]))
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T, (i64, String, Option<Bytes>)> {
    serde_json::from_value(value.clone()).map_err(|e| (-32_602, format!("invalid params: {e}"), None))
}
