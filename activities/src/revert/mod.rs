//! Decodes why a contract reverted.
pub(crate) mod errors;

use alloy::{
    primitives::{Address, Bytes, I256, U256},
    sol_types::{Panic, Revert as ErrorString, SolError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How much revert data is kept; a contract can return any amount.
const DATA_BYTES_MAX: usize = 4_096;

/// A decoded revert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// Name of the error, or `Error`, `Panic`, `Empty`, `OutOfGas`, `Unknown`.
    pub name: String,
    /// Operands by name, in order.
    pub operands: Vec<(String, String)>,
    /// The reason as a sentence.
    pub sentence: String,
    /// The revert data, at most 4 KiB.
    pub data: Bytes,
}

impl Revert {
    /// The operation number, if the contract reports that the operation was already executed.
    pub fn replayed_operation(&self) -> Option<U256> {
        match self.name.as_str() {
            "OperationReplayed" => self.operands.first().and_then(|(_, id)| id.parse().ok()),
            _ => None,
        }
    }

    /// Whether the contract reports that the effect of this call, or of another call in its place, already exists.
    pub fn is_already_executed(&self) -> bool {
        let names = ["OperationReplayed", "DistributionExists", "PageAlreadyPaid", "NothingWithheld"];
        names.contains(&self.name.as_str())
    }

    /// Whether the payout asset refused everybody, so that nobody was paid and nobody is at fault.
    pub fn is_outage_of_asset(&self) -> bool {
        self.name == "AssetUnavailable"
    }

    fn new(name: &str, operands: Vec<(String, String)>, sentence: String, data: &[u8]) -> Revert {
        let data = Bytes::copy_from_slice(&data[..data.len().min(DATA_BYTES_MAX)]);
        Revert { name: name.to_owned(), operands, sentence, data }
    }
}

/// Decodes revert data.
pub fn decode(data: &[u8]) -> Revert {
    if data.is_empty() {
        return Revert::new("Empty", Vec::new(), "The contract rejected the call without a reason.".into(), data);
    }
    if let Ok(ErrorString { reason }) = ErrorString::abi_decode(data) {
        // The contract chooses this text, and it is shown and logged: drop control characters and cut it.
        let reason: String = reason.chars().filter(|c| !c.is_control()).take(400).collect();
        let sentence = format!("The contract rejected the call: {reason}.");
        return Revert::new("Error", vec![("reason".into(), reason)], sentence, data);
    }
    if let Ok(panic) = Panic::abi_decode(data) {
        let sentence = format!("The contract failed an internal check ({panic}).");
        return Revert::new("Panic", vec![("code".into(), panic.code.to_string())], sentence, data);
    }
    match data.split_first_chunk::<4>().and_then(|(selector, words)| known(*selector, words, data)) {
        Some(revert) => revert,
        None => {
            let shown = alloy::hex::encode_prefixed(&data[..data.len().min(4)]);
            let sentence = format!("The contract rejected the call with an unknown error ({shown}).");
            Revert::new("Unknown", vec![("selector".into(), shown)], sentence, data)
        }
    }
}

/// A revert for which the node returned a text but no data.
pub(crate) fn from_message(message: &str) -> Revert {
    let reason = message.strip_prefix("execution reverted").unwrap_or(message).trim_start_matches([':', ' ']);
    if reason.is_empty() {
        return decode(&[]);
    }
    Revert::new(
        "Error",
        vec![("reason".into(), reason.to_owned())],
        format!("The contract rejected the call: {reason}."),
        &[],
    )
}

/// A call that needs more gas than a block allows.
pub(crate) fn out_of_gas(message: &str) -> Revert {
    Revert::new("OutOfGas", Vec::new(), format!("The call needs more gas than a transaction may use ({message})."), &[])
}

/// The revert data of an error object. Nodes return it as hex, after a word, or one level deeper.
pub(crate) fn data_of(data: &Value) -> Option<Vec<u8>> {
    match data {
        Value::String(text) => {
            let hex = &text[text.find("0x")?..];
            alloy::hex::decode(hex.trim()).ok()
        }
        Value::Object(object) => object.get("data").or_else(|| object.get("result")).and_then(data_of),
        _ => None,
    }
}

fn known(selector: [u8; 4], words: &[u8], data: &[u8]) -> Option<Revert> {
    let error = errors::by_selector(selector)?;
    let mut operands = Vec::new();
    // All operands of our errors are one word; a test ensures it.
    for (index, (name, kind)) in error.inputs.iter().enumerate() {
        let word: [u8; 32] = words.get(index * 32..(index + 1) * 32)?.try_into().ok()?;
        operands.push((name.clone(), show(kind, word)));
    }
    let sentence = errors::sentence(&error.name, &operands);
    Some(Revert::new(&error.name, operands, sentence, data))
}

fn show(kind: &str, word: [u8; 32]) -> String {
    match kind {
        "address" => Address::from_slice(&word[12..]).to_checksum(None),
        "bool" => (word[31] != 0).to_string(),
        kind if kind.starts_with("uint") => U256::from_be_bytes(word).to_string(),
        kind if kind.starts_with("int") => I256::from_be_bytes(word).to_string(),
        kind => {
            let length = kind.strip_prefix("bytes").and_then(|n| n.parse().ok()).unwrap_or(32).min(32);
            let bytes = &word[..length];
            let text: &[u8] = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
            let rest_is_zero = bytes[text.len()..].iter().all(|byte| *byte == 0);
            // A bytes32 with ASCII text and zeros is a reason; everything else is a hash or a selector.
            match std::str::from_utf8(text) {
                Ok(word)
                    if length == 32
                        && !word.is_empty()
                        && rest_is_zero
                        && word.bytes().all(|b| b.is_ascii_graphic()) =>
                {
                    word.to_owned()
                }
                _ => alloy::hex::encode_prefixed(bytes),
            }
        }
    }
}

#[cfg(test)]
mod tests;
