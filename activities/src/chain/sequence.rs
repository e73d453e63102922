//! Simulates calls that run one after another (`eth_simulateV1`): each sees what the earlier ones changed. Nothing is sent.
use alloy::primitives::{Bytes, U64};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    chain::{Chain, header::Header, receipt::Log, simulate::Call},
    fault::Fault,
    revert::{self, Revert},
    rpc::{Request, RpcError, first},
};

const METHOD: &str = "eth_simulateV1";

/// Calls that run in one block.
#[derive(Clone, Debug)]
pub struct SimulatedBlock {
    /// The calls, in order.
    pub calls: Vec<Call>,
    /// The gas that each call may use. Without it, the block's gas.
    pub gas_limit: Option<u64>,
}

/// The result of one call of a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallOutcome {
    /// What it returned, or why it reverted.
    pub result: Result<Bytes, Revert>,
    /// The gas that it used.
    pub gas_used: u64,
    /// Its events. A call that reverts has none.
    pub logs: Vec<Log>,
}

#[derive(Deserialize)]
struct RawBlock {
    calls: Vec<RawCall>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawCall {
    status: U64,
    #[serde(default)]
    gas_used: U64,
    #[serde(default)]
    return_data: Bytes,
    #[serde(default)]
    logs: Vec<Log>,
    #[serde(default)]
    error: Value,
}

impl Chain {
    /// Simulates the blocks on top of `base`, the first of them with this time. Returns the outcomes by block.
    pub async fn simulate_sequence(
        &self,
        blocks: &[SimulatedBlock],
        base: &Header,
        time: u64,
    ) -> Result<Vec<Vec<CallOutcome>>, Fault> {
        let calls: Vec<Value> = (0u64..).zip(blocks).map(|(index, block)| block.param(base, time, index)).collect();
        let at = json!({ "blockHash": base.hash, "requireCanonical": true });
        let request = Request::new(METHOD, json!([{ "blockStateCalls": calls }, at]));
        self.ask(vec![request], |answers| {
            let answer: Vec<RawBlock> = first(METHOD, answers)?;
            let sizes = |found: &[RawBlock]| found.iter().map(|block| block.calls.len()).collect::<Vec<_>>();
            if sizes(&answer) != blocks.iter().map(|block| block.calls.len()).collect::<Vec<_>>() {
                return Err(Fault::Incomplete(format!("{METHOD} left out calls")));
            }
            let outcomes = |block: RawBlock| block.calls.into_iter().map(RawCall::outcome).collect();
            Ok(answer.into_iter().map(outcomes).collect())
        })
        .await
    }
}

impl SimulatedBlock {
    fn param(&self, base: &Header, time: u64, index: u64) -> Value {
        let call = |call: &Call| {
            let mut param = json!({ "from": call.from, "to": call.to, "data": call.data });
            if let Some(gas) = self.gas_limit {
                param["gas"] = json!(U64::from(gas));
            }
            param
        };
        // Nodes choose different numbers and times by themselves, and locks and dates depend on the time.
        let (number, time) = (U64::from(base.number + 1 + index), U64::from(time + index));
        json!({
            "blockOverrides": { "number": number, "time": time },
            "calls": self.calls.iter().map(call).collect::<Vec<_>>(),
        })
    }
}

impl RawCall {
    fn outcome(self) -> CallOutcome {
        let result = if self.status.is_zero() { Err(self.revert()) } else { Ok(self.return_data) };
        CallOutcome { result, gas_used: self.gas_used.to(), logs: self.logs }
    }

    /// Some nodes return the revert data in the error, others as the returned data.
    fn revert(&self) -> Revert {
        let error = RpcError::of(&self.error);
        let data = error.data.as_ref().and_then(revert::data_of).filter(|data| !data.is_empty());
        match data.unwrap_or_else(|| self.return_data.to_vec()) {
            data if data.is_empty() => error.revert().unwrap_or_else(|| revert::decode(&[])),
            data => revert::decode(&data),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy::sol_types::{Revert as ErrorString, SolError};

    use super::*;

    #[test]
    fn a_revert_is_read_from_the_error_or_from_the_returned_data() {
        let data = ErrorString { reason: "closed".to_owned() }.abi_encode();
        let hex = alloy::hex::encode_prefixed(&data);
        let error = json!({ "code": 3, "message": "execution reverted", "data": hex });
        let outcome = |raw: Value| serde_json::from_value::<RawCall>(raw).map(RawCall::outcome).unwrap();
        for raw in [
            json!({ "status": "0x0", "gasUsed": "0x1", "returnData": "0x", "error": error }),
            json!({ "status": "0x0", "gasUsed": "0x1", "returnData": hex, "error": { "code": -3200, "message": "execution failed" } }),
        ] {
            let revert = outcome(raw).result.unwrap_err();
            assert_eq!((revert.name.as_str(), revert.sentence.contains("closed")), ("Error", true));
        }
        let bare = json!({ "status": "0x0", "gasUsed": "0x1", "error": { "code": -32015, "message": "out of gas" } });
        assert_eq!(outcome(bare).result.unwrap_err().name, "OutOfGas");
        let done = json!({ "status": "0x1", "gasUsed": "0x5208", "returnData": "0x01", "logs": [] });
        assert_eq!((outcome(done.clone()).result, outcome(done).gas_used), (Ok(Bytes::from(vec![1])), 21_000));
    }
}
