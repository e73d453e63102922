//! Answers that are not what the node said.

use serde_json::{Value, json};

use super::fault::Fault;
use crate::rpc::{number, quantity};

/// Changes a result; false when there was nothing to lie about.
pub(super) fn tell(fault: &Fault, method: &str, result: &mut Value) -> bool {
    let truth = result.clone();
    match fault {
        Fault::Null => *result = Value::Null,
        Fault::StaleNonce(behind) => lower(result, *behind),
        Fault::StaleHead(behind) if method == "eth_blockNumber" => lower(result, *behind),
        Fault::WrongChainId(id) if method == "net_version" => *result = json!(id.to_string()),
        Fault::WrongChainId(id) => *result = quantity(*id),
        Fault::ForgedReceipt => match &mut *result {
            Value::Array(receipts) => receipts.iter_mut().for_each(turn_status),
            receipt => turn_status(receipt),
        },
        Fault::OtherHash => turn_hash(result),
        _ => {}
    }
    *result != truth
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
