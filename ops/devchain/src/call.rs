//! `eth_call` and `eth_estimateGas`.

use alloy::consensus::Header;
use alloy::eips::{BlockId, BlockNumberOrTag};
use alloy::primitives::{TxKind, U256};
use alloy::rpc::types::TransactionRequest;
use revm::context::TxEnv;
use revm::context_interface::cfg::gas::calculate_initial_tx_gas_for_tx;
use revm::context_interface::result::{EVMError, ExecutionResult, HaltReason, InvalidTransaction, ResultAndState};
use serde_json::{Value, json};

use crate::Inner;
use crate::execute::{Refusal, SPEC, block_env, call_rules, transact};
use crate::fault::Fault;
use crate::mine::next_header;
use crate::rpc::{Params, quantity, view};
use crate::view::{Overlay, View};
use crate::writer::{Answer, read};

/// The state and the header that a call runs with.
pub(crate) struct CallContext<'a> {
    pub view: View<'a>,
    pub header: Header,
}

/// `eth_call`.
pub(crate) fn call(inner: &Inner, params: &Params<'_>) -> Answer {
    let chain = &*read(&inner.chain);
    let (request, context) = context(inner, chain, params)?;
    let env = environment(&context, request)?;
    match context.run(env)? {
        ExecutionResult::Success { output, .. } => Ok(json!(output.data())),
        ExecutionResult::Revert { output, .. } => Err(Fault::reverted(&output)),
        ExecutionResult::Halt { reason, .. } => Err(Fault::halted(&reason)),
    }
}

/// `eth_estimateGas`: the least gas limit with which the call succeeds, to the unit.
pub(crate) fn estimate(inner: &Inner, params: &Params<'_>) -> Answer {
    let chain = &*read(&inner.chain);
    let (request, context) = context(inner, chain, params)?;
    let mut env = environment(&context, request)?;
    env.gas_limit = affordable(&context, &env)?;
    let floor = calculate_initial_tx_gas_for_tx(&env, SPEC, None);
    let mut fails = floor.initial_total_gas().max(floor.floor_gas()) - 1;
    if env.gas_limit <= fails {
        return Err(Fault::allowance(env.gas_limit));
    }
    let (used, refunded) = match context.run(env.clone())? {
        ExecutionResult::Success { gas, .. } => (gas.tx_gas_used(), gas.inner_refunded()),
        ExecutionResult::Revert { output, .. } => return Err(Fault::reverted(&output)),
        ExecutionResult::Halt { reason: HaltReason::OutOfGas(_), .. } => return Err(Fault::allowance(env.gas_limit)),
        ExecutionResult::Halt { reason, .. } => return Err(Fault::halted(&reason)),
    };
    let mut succeeds = env.gas_limit;
    // The answer is most often just above what was used, or what was used and 1/64 on top.
    let guesses = [used, (used + refunded).saturating_add(2_300) * 64 / 63];
    for guess in guesses {
        if fails < guess && guess < succeeds {
            narrow(&context, &env, guess, &mut fails, &mut succeeds)?;
        }
    }
    while succeeds - fails > 1 {
        narrow(&context, &env, fails + (succeeds - fails) / 2, &mut fails, &mut succeeds)?;
    }
    Ok(quantity(succeeds))
}

fn narrow(
    context: &CallContext<'_>,
    env: &TxEnv,
    limit: u64,
    fails: &mut u64,
    succeeds: &mut u64,
) -> Result<(), Fault> {
    if context.run(TxEnv { gas_limit: limit, ..env.clone() })?.is_success() {
        *succeeds = limit;
    } else {
        *fails = limit;
    }
    Ok(())
}

/// The first gas limit to try: the requested one or the block's, but no more than the caller can pay.
fn affordable(context: &CallContext<'_>, env: &TxEnv) -> Result<u64, Fault> {
    let limit = env.gas_limit;
    if env.gas_price == 0 {
        return Ok(limit);
    }
    let balance = context.view.account(&env.caller).map_or(U256::ZERO, |account| account.balance);
    let Some(rest) = balance.checked_sub(env.value) else {
        return Err(Fault::rejected("insufficient funds for transfer"));
    };
    let most = rest / U256::from(env.gas_price);
    Ok(u64::try_from(most).map_or(limit, |most| most.min(limit)))
}

fn context<'a>(
    inner: &Inner,
    chain: &'a crate::chain::Chain,
    params: &Params<'_>,
) -> Result<(TransactionRequest, CallContext<'a>), Fault> {
    let request: TransactionRequest = params.get(0)?;
    let id = params.block_id(1)?;
    let overrides = |index| Ok::<_, Fault>(params.find::<Value>(index)?.is_some_and(|given| given != json!({})));
    if overrides(2)? || overrides(3)? {
        return Err(Fault::params("state and block overrides are not supported"));
    }
    let view = view(chain, &id)?;
    let block = chain.block(view.number).unwrap_or(chain.head());
    let header = if id == BlockId::Number(BlockNumberOrTag::Pending) {
        next_header(chain, block, chain.schedule.next((inner.clock)()))
    } else {
        block.header.clone()
    };
    Ok((request, CallContext { view, header }))
}

/// The EVM's form of a call.
pub(crate) fn environment(context: &CallContext<'_>, request: TransactionRequest) -> Result<TxEnv, Fault> {
    if request.gas_price.is_some() && request.max_fee_per_gas.is_some() {
        return Err(Fault::params("both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"));
    }
    if request.authorization_list.is_some() || request.blob_versioned_hashes.is_some() {
        return Err(Fault::params("transaction type not supported"));
    }
    let caller = request.from.unwrap_or_default();
    let account = context.view.account(&caller);
    let price = request.gas_price.or(request.max_fee_per_gas).unwrap_or(0);
    let mut env = TxEnv {
        tx_type: 0,
        caller,
        gas_limit: request.gas.unwrap_or(context.header.gas_limit).min(context.header.gas_limit),
        gas_price: price,
        kind: request.to.unwrap_or(TxKind::Create),
        value: request.value.unwrap_or_default(),
        data: request.input.into_input().unwrap_or_default(),
        nonce: request.nonce.unwrap_or(account.map_or(0, |account| account.nonce)),
        chain_id: None,
        access_list: request.access_list.unwrap_or_default(),
        gas_priority_fee: request.max_priority_fee_per_gas.filter(|_| price > 0),
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: Vec::new(),
    };
    env.derive_tx_type().map_err(|error| Fault::params(error.to_string()))?;
    Ok(env)
}

impl CallContext<'_> {
    fn run(&self, env: TxEnv) -> Result<ExecutionResult, Fault> {
        Ok(self.run_on(&mut Overlay::bare(self.view), env)?.result)
    }

    /// Runs a call on a state, and returns what it would change there.
    pub(crate) fn run_on(&self, overlay: &mut Overlay<'_>, env: TxEnv) -> Result<ResultAndState, Fault> {
        let mut cfg = call_rules(self.view.chain.chain_id);
        cfg.tx_chain_id_check = false;
        // A call that names a fee is held to it; one that names none need not pay.
        cfg.disable_base_fee = env.gas_price == 0;
        transact(overlay, cfg, block_env(&self.header), env).map_err(|refusal| refused(&refusal))
    }
}

fn refused(refusal: &Refusal) -> Fault {
    match refusal {
        EVMError::Transaction(InvalidTransaction::LackOfFundForMaxFee { .. }) => {
            Fault::rejected("insufficient funds for gas * price + value")
        }
        EVMError::Transaction(InvalidTransaction::CallGasCostMoreThanGasLimit { .. }) => {
            Fault::rejected("intrinsic gas too low")
        }
        EVMError::Transaction(InvalidTransaction::GasPriceLessThanBasefee) => {
            Fault::rejected("max fee per gas less than block base fee")
        }
        EVMError::Transaction(why) => Fault::rejected(why.to_string()),
        other => Fault::server(other.to_string()),
    }
}
