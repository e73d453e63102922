//! Answers that are not what the node said.

use serde_json::{Value, json};

use super::fault::Fault;
use crate::rpc::{number, quantity};

/// Changes a result; false when there was nothing to lie about.
pub(super) fn tell(fault: &Fault, method: &str, params: &Value, result: &mut Value) -> bool {
    let truth = result.clone();
    match fault {
        Fault::Null => *result = Value::Null,
        Fault::StaleNonce(behind) => lower(result, *behind),
        Fault::AbsurdNonce(above) => raise(result, *above),
        Fault::StaleHead(behind) if method == "eth_blockNumber" => lower(result, *behind),
        Fault::WrongChainId(id) if method == "net_version" => *result = json!(id.to_string()),
        Fault::WrongChainId(id) => *result = quantity(*id),
        Fault::ForgedReceipt => match &mut *result {
            Value::Array(receipts) => receipts.iter_mut().for_each(turn_status),
            receipt => turn_status(receipt),
        },
        Fault::OtherHash => turn_hash(result),
        Fault::AbsurdHead(above) if method == "eth_blockNumber" => raise(result, *above),
        Fault::AbsurdHead(above) if params[0] == "latest" => raise(&mut result["number"], *above),
        Fault::BodyLeftOut => drop_last(&mut result["transactions"]),
        Fault::ReceiptLeftOut => drop_last(result),
        Fault::ExchangedHashes => exchange_hashes(result),
        Fault::OtherSender(sender) => {
            let transactions = result["transactions"].as_array_mut();
            let full = transactions.into_iter().flatten().filter(|transaction| transaction.is_object());
            full.for_each(|transaction| transaction["from"] = json!(sender));
        }
        Fault::NoLogs => match &mut *result {
            Value::Array(receipts) => receipts.iter_mut().for_each(drop_logs),
            receipt => drop_logs(receipt),
        },
        Fault::NothingFound => *result = json!([]),
        Fault::OtherData => result.as_array_mut().into_iter().flatten().for_each(|log| {
            let data = log["data"].as_str().unwrap_or("0x");
            let first = if data.starts_with("0x00") { "0x01" } else { "0x00" };
            log["data"] = json!(format!("{first}{}", data.get(4..).unwrap_or("")));
        }),
        Fault::NoCode => *result = json!("0x"),
        Fault::HalfGas => number(result).into_iter().for_each(|gas| *result = quantity(gas / 2)),
        // Receipts above the block at which the node stopped are not there.
        Fault::StandStill(height) if number(&result["blockNumber"]).is_some_and(|at| at > *height) => {
            *result = Value::Null;
        }
        _ => {}
    }
    *result != truth
}

fn raise(result: &mut Value, above: u64) {
    if let Some(truth) = number(result) {
        *result = quantity(truth + above);
    }
}

fn drop_last(list: &mut Value) {
    if let Some(list) = list.as_array_mut() {
        list.pop();
    }
}

fn exchange_hashes(receipts: &mut Value) {
    if let Some([first, second, ..]) = receipts.as_array_mut().map(Vec::as_mut_slice) {
        std::mem::swap(&mut first["transactionHash"], &mut second["transactionHash"]);
    }
}

fn drop_logs(receipt: &mut Value) {
    if receipt.get("logs").is_some() {
        receipt["logs"] = json!([]);
        receipt["logsBloom"] = json!(format!("0x{}", "0".repeat(512)));
    }
}

fn lower(result: &mut Value, behind: u64) {
    if let Some(truth) = number(result) {
        *result = quantity(truth.saturating_sub(behind));
    }
}

fn turn_status(receipt: &mut Value) {
    if let Some(status) = receipt.get_mut("status") {
        *status = quantity(u64::from(number(status) == Some(0)));
    }
}

fn turn_hash(result: &mut Value) {
    if let Some(hash) = result.as_str() {
        let other = if hash.ends_with('0') { '1' } else { '0' };
        *result = json!(format!("{}{other}", &hash[..hash.len() - 1]));
    }
}
