//! `eth_simulateV1`: calls that run one after another, each on the state that the earlier ones left. Nothing is kept.

use alloy::consensus::Header;
use alloy::primitives::U64;
use alloy::rpc::types::TransactionRequest;
use revm::context_interface::result::ExecutionResult;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Inner;
use crate::call::{CallContext, environment};
use crate::fault::Fault;
use crate::mine::next_header;
use crate::rpc::{Params, quantity, view};
use crate::view::Overlay;
use crate::writer::{Answer, read};

/// More blocks in one simulation are refused.
const BLOCKS_MAX: usize = 256;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Simulation {
    block_state_calls: Vec<SimulatedBlock>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SimulatedBlock {
    #[serde(default)]
    block_overrides: BlockOverrides,
    #[serde(default)]
    calls: Vec<TransactionRequest>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct BlockOverrides {
    number: Option<U64>,
    time: Option<U64>,
}

/// `eth_simulateV1`.
pub(crate) fn simulate(inner: &Inner, params: &Params<'_>) -> Answer {
    let chain = &*read(&inner.chain);
    let asked: Simulation = params.get(0)?;
    if asked.block_state_calls.len() > BLOCKS_MAX {
        return Err(Fault::params(format!("too many blocks: {BLOCKS_MAX} at most")));
    }
    let view = view(chain, &params.block_id(1)?)?;
    let base = chain.block(view.number).unwrap_or(chain.head());
    let next = next_header(chain, base, chain.schedule.next((inner.clock)()));
    let mut context = CallContext { view, header: next };
    let mut overlay = Overlay::bare(view);
    let mut blocks = Vec::with_capacity(asked.block_state_calls.len());
    for block in asked.block_state_calls {
        context.header.number = block.block_overrides.number.map_or(context.header.number, |number| number.to());
        context.header.timestamp = block.block_overrides.time.map_or(context.header.timestamp, |time| time.to());
        let calls = block.calls.into_iter().map(|call| run(&context, &mut overlay, call));
        blocks.push(answer(&context.header, &calls.collect::<Result<Vec<_>, _>>()?));
        context.header.number += 1;
        context.header.timestamp += 1;
    }
    Ok(Value::Array(blocks))
}

fn answer(header: &Header, calls: &[Value]) -> Value {
    json!({ "number": quantity(header.number), "timestamp": quantity(header.timestamp), "calls": calls })
}

/// Runs one call, and keeps its changes for the next one.
fn run(context: &CallContext<'_>, overlay: &mut Overlay<'_>, call: TransactionRequest) -> Answer {
    let outcome = context.run_on(overlay, environment(context, call)?)?;
    overlay.top.absorb(outcome.state);
    let gas_used = quantity(outcome.result.tx_gas_used());
    let failed = |fault: Fault, data: Value| json!({ "status": "0x0", "gasUsed": gas_used, "returnData": data, "logs": [], "error": fault.to_json() });
    Ok(match outcome.result {
        ExecutionResult::Success { output, logs, .. } => {
            json!({ "status": "0x1", "gasUsed": gas_used, "returnData": output.data(), "logs": logs })
        }
        ExecutionResult::Revert { output, .. } => failed(Fault::reverted(&output), json!(output)),
        ExecutionResult::Halt { reason, .. } => failed(Fault::halted(&reason), json!("0x")),
    })
}
