//! The error object of an answer, and what it means for a read.
use serde_json::Value;

use super::classify;
use crate::{fault::Fault, revert};

/// The error object of an answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn of(error: &Value) -> RpcError {
        RpcError {
            code: error.get("code").and_then(Value::as_i64).unwrap_or_default(),
            message: error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned(),
            data: error.get("data").cloned(),
        }
    }

    /// The fault that a failed read means for the caller.
    pub fn fault(&self, method: &str) -> Fault {
        let RpcError { code, message, .. } = self;
        match classify::classify_read(*code, message) {
            classify::ReadClass::UnknownBlock => Fault::UnknownBlock,
            classify::ReadClass::Pruned => Fault::Pruned(message.clone()),
            classify::ReadClass::MethodNotFound => Fault::NoMethod(method.to_owned()),
            classify::ReadClass::RateLimited => {
                Fault::RateLimited { endpoint: "the node".into(), retry_after_seconds: None }
            }
            _ => Fault::Refused(format!("{method}: {message} (code {code})")),
        }
    }

    /// The revert that the error reports, if any.
    pub fn revert(&self) -> Option<revert::Revert> {
        match classify::classify_read(self.code, &self.message) {
            classify::ReadClass::Reverts => Some(match self.data.as_ref().and_then(revert::data_of) {
                Some(data) => revert::decode(&data),
                None => revert::from_message(&self.message),
            }),
            classify::ReadClass::OutOfGas => Some(revert::out_of_gas(&self.message)),
            _ => None,
        }
    }
}
