//! JSON-RPC: envelopes, batches, and the table of methods.

mod account;
mod block;
mod control;
mod params;
mod transaction;

use std::time::Duration;

use serde_json::{Value, json};

use crate::Inner;
use crate::fault::Fault;
use crate::writer::{Answer, Command, read};
use crate::{call, fees, logs, simulate};

pub(crate) use params::{Params, numbered, quantity, view};
pub(crate) use transaction::placed;

/// More calls in one batch are refused.
const BATCH_CALLS_MAX: usize = 10_000;

/// Answers a request or a batch.
pub(crate) fn handle(inner: &Inner, request: Value) -> Value {
    match request {
        Value::Array(calls) if calls.is_empty() => {
            envelope(Value::Null, Err(Fault::invalid_request("Invalid request")))
        }
        Value::Array(calls) if calls.len() > BATCH_CALLS_MAX => {
            envelope(Value::Null, Err(Fault::invalid_request("batch too large")))
        }
        Value::Array(calls) => batch(inner, calls),
        call => match Call::read(call) {
            Ok(call) => {
                let answer = answer(inner, &call);
                envelope(call.id, answer)
            }
            Err((id, fault)) => envelope(id, Err(fault)),
        },
    }
}

/// The response to what is not JSON.
pub(crate) fn parse_error() -> Value {
    envelope(Value::Null, Err(Fault::parse()))
}

/// The response when the handler itself failed.
pub(crate) fn internal_error() -> Value {
    envelope(Value::Null, Err(Fault::internal()))
}

/// The interval of mining, if there is one.
pub(crate) fn block_time(inner: &Inner) -> Option<Duration> {
    read(&inner.chain).schedule.block_time
}

/// One block, now.
pub(crate) fn mine_one(inner: &Inner) {
    inner.write_queue.submit(&inner.chain, Command::Mine(1, None));
}

struct Call {
    id: Value,
    method: String,
    params: Value,
}

impl Call {
    fn read(call: Value) -> Result<Self, (Value, Fault)> {
        let Value::Object(mut call) = call else {
            return Err((Value::Null, Fault::invalid_request("Invalid request")));
        };
        let id = call.remove("id").unwrap_or_default();
        let params = call.remove("params").unwrap_or_default();
        match call.remove("method") {
            Some(Value::String(method)) => Ok(Self { id, method, params }),
            _ => Err((id, Fault::invalid_request("Invalid request"))),
        }
    }
}

fn envelope(id: Value, answer: Answer) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(fault) => json!({ "jsonrpc": "2.0", "id": id, "error": fault.to_json() }),
    }
}

/// Consecutive transactions of a batch are one command: one block and one disk write.
fn batch(inner: &Inner, calls: Vec<Value>) -> Value {
    let mut responses = Vec::with_capacity(calls.len());
    let mut calls = calls.into_iter().map(Call::read).peekable();
    while let Some(call) = calls.next() {
        match call {
            Err((id, fault)) => responses.push(envelope(id, Err(fault))),
            Ok(call) if call.method == "eth_sendRawTransaction" => {
                let mut group = vec![call];
                let next_send =
                    |call: &Result<Call, _>| matches!(call, Ok(call) if call.method == "eth_sendRawTransaction");
                while let Some(Ok(call)) = calls.next_if(next_send) {
                    group.push(call);
                }
                let params: Vec<&Value> = group.iter().map(|call| &call.params).collect();
                let answers = transaction::send(inner, &params);
                responses.extend(group.into_iter().zip(answers).map(|(call, answer)| envelope(call.id, answer)));
            }
            Ok(call) => {
                let answer = answer(inner, &call);
                responses.push(envelope(call.id, answer));
            }
        }
    }
    Value::Array(responses)
}

fn answer(inner: &Inner, call: &Call) -> Answer {
    let params = Params::new(&call.params)?;
    match call.method.as_str() {
        "eth_sendRawTransaction" => transaction::send(inner, &[&call.params]).pop().unwrap_or(Err(Fault::internal())),
        "evm_mine" => control::mine(inner, &params),
        "anvil_mine" | "hardhat_mine" => control::mine_many(inner, &params),
        "evm_increaseTime" => control::increase_time(inner, &params),
        "evm_setNextBlockTimestamp" => control::next_timestamp(inner, &params),
        "evm_setAutomine" => control::automine(inner, &params),
        "evm_setIntervalMining" => control::interval(inner, &params),
        "devchain_setBaseFeeMin" => control::base_fee_min(inner, &params),
        "evm_snapshot" | "evm_revert" => Err(Fault::server("not supported: the head of this chain is final")),
        "anvil_setBalance" | "hardhat_setBalance" => control::set_balance(inner, &params),
        "eth_getBlockByNumber" => block::by_number(inner, &params),
        "eth_call" => call::call(inner, &params),
        "eth_estimateGas" => call::estimate(inner, &params),
        "eth_simulateV1" => simulate::simulate(inner, &params),
        _ => lookup(inner, &call.method, &params),
    }
}

/// Methods that only read what is mined or waiting.
fn lookup(inner: &Inner, method: &str, params: &Params<'_>) -> Answer {
    let chain = &*read(&inner.chain);
    match method {
        "web3_clientVersion" => Ok(json!(concat!("muniment-devchain/v", env!("CARGO_PKG_VERSION")))),
        "net_version" => Ok(json!(chain.chain_id.to_string())),
        "net_listening" => Ok(json!(true)),
        "eth_chainId" => Ok(quantity(chain.chain_id)),
        "eth_syncing" => Ok(json!(false)),
        "eth_accounts" => Ok(json!(chain.accounts)),
        "eth_blockNumber" => Ok(quantity(chain.head().header.number)),
        "eth_getBlockByHash" => block::by_hash(chain, params),
        "eth_getBlockReceipts" => block::receipts(chain, params),
        "eth_getBlockTransactionCountByNumber" => block::count(chain, params),
        "eth_getTransactionByHash" => transaction::by_hash(chain, params),
        "eth_getTransactionReceipt" => transaction::receipt(chain, params),
        "eth_getTransactionCount" => account::nonce(chain, params),
        "eth_getBalance" => account::balance(chain, params),
        "eth_getCode" => account::code(chain, params),
        "eth_getStorageAt" => account::slot(chain, params),
        "eth_gasPrice" => Ok(fees::gas_price(chain)),
        "eth_maxPriorityFeePerGas" => Ok(fees::tip()),
        "eth_feeHistory" => fees::history(chain, params),
        "eth_getLogs" => logs::get(chain, params),
        _ => Err(Fault::no_method()),
    }
}
