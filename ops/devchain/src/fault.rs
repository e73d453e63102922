//! JSON-RPC errors: code, text and data as clients expect them from a node.

use alloy::primitives::{Bytes, U256};
use alloy::sol_types::Panic;
use revm::context_interface::result::HaltReason;
use serde_json::{Value, json};

/// The error member of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl Fault {
    fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub fn parse() -> Self {
        Self::new(-32700, "Parse error")
    }

    pub fn invalid_request(why: &str) -> Self {
        Self::new(-32600, why)
    }

    pub fn no_method() -> Self {
        Self::new(-32601, "Method not found")
    }

    pub fn params(why: impl Into<String>) -> Self {
        Self::new(-32602, why)
    }

    /// A promise of this program to itself was broken.
    pub fn internal() -> Self {
        Self::new(-32603, "Internal error")
    }

    /// The chain is not that high.
    pub fn beyond(head: u64, number: u64) -> Self {
        Self::params(format!("BlockOutOfRangeError: block height is {head} but requested was {number}"))
    }

    /// The node understood and will not or cannot.
    pub fn server(why: impl Into<String>) -> Self {
        Self::new(-32000, why)
    }

    /// The pool does not take the transaction.
    pub fn rejected(why: impl Into<String>) -> Self {
        Self::new(-32003, why)
    }

    /// A call that reverted, with the data of the revert.
    pub fn reverted(output: &Bytes) -> Self {
        let message = match revert_reason(output) {
            Some(reason) => format!("execution reverted: {reason}"),
            None => "execution reverted".to_owned(),
        };
        Self { code: 3, message, data: Some(json!(output)) }
    }

    /// A call that ended without a revert.
    pub fn halted(reason: &HaltReason) -> Self {
        match reason {
            HaltReason::OutOfGas(_) => Self::new(-32603, "EVM error OutOfGas"),
            other => Self::new(-32603, format!("EVM error {other:?}")),
        }
    }

    /// No gas limit up to this one is enough.
    pub fn allowance(limit: u64) -> Self {
        Self::rejected(format!("Out of gas: gas required exceeds allowance: {limit}"))
    }

    pub fn to_json(&self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        error
    }
}

/// The text of `Error(string)`, or the meaning of `Panic(uint256)`; custom errors have no text.
fn revert_reason(output: &Bytes) -> Option<String> {
    let body = output.get(4..)?;
    match output.get(..4)? {
        [0x08, 0xc3, 0x79, 0xa0] => {
            let length = usize::try_from(U256::from_be_slice(body.get(32..64)?)).ok()?;
            let text = body.get(64..64usize.checked_add(length)?)?;
            String::from_utf8(text.to_vec()).ok()
        }
        [0x4e, 0x48, 0x7b, 0x71] => {
            let code = U256::from_be_slice(body.get(..32)?);
            Some(Panic { code }.to_string())
        }
        _ => None,
    }
}
