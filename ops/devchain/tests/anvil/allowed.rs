//! The only allowed differences.

use serde_json::Value;

/// Fields that may differ, and why.
const FIELDS: &[(&str, &str)] = &[
    ("stateRoot", "a chain of hashes over the state changes, not a Merkle root"),
    ("mixHash", "follows from the parent's hash"),
    ("parentHash", "a hash over the two above"),
    ("blockHash", "a hash over the two above"),
    ("size", "anvil leaves the empty list of withdrawals out of the block's length"),
];

/// Fields that anvil adds to receipts and geth does not have.
const RECEIPT_FIELDS: &[(&str, &str)] =
    &[("blobGasPrice", "told also of transactions without blobs"), ("blockTimestamp", "told as a JSON number")];

/// Answers, or parts of them, that may differ.
const PLACES: &[(&str, &str)] = &[
    ("fresh: web3_clientVersion.result", "names the program"),
    ("at \"finalized\": ", "the head is final here; anvil's finalized block is 64 behind"),
    ("then: eth_feeHistory.result.baseFeePerGas[5]", "anvil always tells the fee of the next block here"),
    ("bad address: eth_getBalance.error.message", "texts of malformed parameters are each program's own"),
    ("bad block: eth_getBalance.error.message", "the same"),
    ("missing: eth_getBalance.error.message", "the same"),
    ("missing: eth_call.error.message", "the same"),
    ("below the floor: eth_sendRawTransaction", "geth refuses what anvil takes and cannot mine"),
];

/// Error texts: how anvil's begins, and how geth's and so this chain's begins.
const TEXTS: &[(&str, &str)] = &[
    ("transaction already imported", "already known"),
    ("Insufficient funds for gas * price + value", "insufficient funds for gas * price + value"),
    ("intrinsic gas too high -- tx.gas_limit > env.block.gas_limit", "exceeds block gas limit"),
    ("execution reverted: custom error", "execution reverted"),
];

/// Adds every difference that is not allowed.
pub fn compare(label: &str, theirs: &Value, ours: &Value, differences: &mut Vec<String>) {
    values(label, "", theirs, ours, differences);
}

fn values(label: &str, path: &str, theirs: &Value, ours: &Value, differences: &mut Vec<String>) {
    if PLACES.iter().any(|(place, _)| format!("{label}{path}").starts_with(place)) {
        return;
    }
    match (theirs, ours) {
        (Value::Object(a), Value::Object(b)) => {
            let is_block = a.contains_key("parentHash");
            let mut keys: Vec<&String> = a.keys().chain(b.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                if FIELDS.iter().any(|(field, _)| field == key) || (is_block && key == "hash") {
                    // The value may differ; that the field is there and what type it has may not.
                    let kind = |value: Option<&Value>| value.map(std::mem::discriminant);
                    if kind(a.get(key)) != kind(b.get(key)) {
                        differences.push(format!("{label}{path}.{key}: {:?} / {:?}", a.get(key), b.get(key)));
                    }
                    continue;
                }
                let is_receipt = a.contains_key("cumulativeGasUsed");
                if is_receipt && !b.contains_key(key) && RECEIPT_FIELDS.iter().any(|(field, _)| field == key) {
                    continue;
                }
                let missing = Value::String("(absent)".to_owned());
                let (a, b) = (a.get(key).unwrap_or(&missing), b.get(key).unwrap_or(&missing));
                values(label, &format!("{path}.{key}"), a, b, differences);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                values(label, &format!("{path}[{index}]"), a, b, differences);
            }
        }
        (Value::String(a), Value::String(b)) if path.ends_with(".error.message") && same_text(a, b) => {}
        _ if theirs == ours => {}
        _ => differences.push(format!("{label}{path}: anvil {theirs} / ours {ours}")),
    }
}

fn same_text(theirs: &str, ours: &str) -> bool {
    // Where anvil only names the rule, geth tells the figures too.
    let longer = ours.strip_prefix(theirs).is_some_and(|rest| rest.starts_with(": "));
    longer || TEXTS.iter().any(|(anvil, geth)| theirs.starts_with(anvil) && ours.starts_with(geth))
}
