//! Why a contract refused, in words.
use alloy::{
    primitives::{Address, Bytes, I256, U256},
    sol_types::{Panic, Revert as ErrorString, SolError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::errors;

/// How much revert data is kept; a contract may return as much as it likes.
const DATA_BYTES_MAX: usize = 4_096;

/// A decoded revert.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revert {
    /// The name of the error, or `Error`, `Panic`, `Empty`, `OutOfGas`, `Unknown`.
    pub name: String,
    /// Its operands by name, in order.
    pub operands: Vec<(String, String)>,
    /// What happened, as a sentence.
    pub sentence: String,
    /// The data, at most 4 KiB of it.
    pub data: Bytes,
}

impl Revert {
    /// The operation id, when the contract says that this operation was executed before.
    pub fn is_operation_replayed(&self) -> Option<U256> {
        match self.name.as_str() {
            "OperationReplayed" => self.operands.first().and_then(|(_, id)| id.parse().ok()),
            _ => None,
        }
    }

    /// Whether the contract says that the effect of this very call, or another in its place, stands already.
    pub fn is_done_before(&self) -> bool {
        let said = ["OperationReplayed", "DistributionExists", "PageAlreadyPaid", "NothingWithheld"];
        said.contains(&self.name.as_str())
    }

    fn new(name: &str, operands: Vec<(String, String)>, sentence: String, data: &[u8]) -> Revert {
        let data = Bytes::copy_from_slice(&data[..data.len().min(DATA_BYTES_MAX)]);
        Revert { name: name.to_owned(), operands, sentence, data }
    }
}

/// Reads revert data.
pub fn decode(data: &[u8]) -> Revert {
    if data.is_empty() {
        return Revert::new("Empty", Vec::new(), "The contract refused without a reason.".into(), data);
    }
    if let Ok(ErrorString { reason }) = ErrorString::abi_decode(data) {
        let reason: String = reason.chars().filter(|c| !c.is_control()).take(400).collect();
        let sentence = format!("The contract refused: {reason}.");
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
            let sentence = format!("The contract refused with an error that is not one of ours ({shown}).");
            Revert::new("Unknown", vec![("selector".into(), shown)], sentence, data)
        }
    }
}

/// A revert of which the node gave a text but no data.
pub(crate) fn from_message(message: &str) -> Revert {
    let reason = message.strip_prefix("execution reverted").unwrap_or(message).trim_start_matches([':', ' ']);
    if reason.is_empty() {
        return decode(&[]);
    }
    Revert::new("Error", vec![("reason".into(), reason.to_owned())], format!("The contract refused: {reason}."), &[])
}

/// A call that no block could hold.
pub(crate) fn out_of_gas(message: &str) -> Revert {
    Revert::new(
        "OutOfGas",
        Vec::new(),
        format!("The call needs more gas than a transaction may take ({message})."),
        &[],
    )
}

/// The revert data of an error object: nodes put it there as hex, behind a word, or one level deeper.
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
    // Every operand of our errors is one word; a test keeps it so.
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
            // Reasons are short ASCII words, left-aligned; hashes and selectors are not.
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
