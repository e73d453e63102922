//! Methods that steer the chain: mining, time, balances.

use alloy::primitives::{Address, U256};
use serde_json::Value;

use super::params::Params;
use crate::Inner;
use crate::fault::Fault;
use crate::writer::{Answer, Command};

/// More blocks are not made by one call.
const MINE_BLOCKS_MAX: u64 = 10_000;

fn submit(inner: &Inner, command: Command) -> Answer {
    inner.write_queue.submit(&inner.chain, command).pop().unwrap_or(Err(Fault::internal()))
}

/// `evm_mine`, with a timestamp or an object that holds one.
pub(crate) fn mine(inner: &Inner, params: &Params<'_>) -> Answer {
    let given: Option<Value> = params.find(0)?;
    let number = |value: Value| {
        let number: U256 = serde_json::from_value(value).map_err(|_| Fault::params("invalid timestamp"))?;
        u64::try_from(number).map_err(|_| Fault::params("the timestamp is too large"))
    };
    let field = |object: &serde_json::Map<String, Value>, name: &str| {
        object.get(name).filter(|value| !value.is_null()).cloned().map(number).transpose()
    };
    let (blocks, timestamp) = match given {
        None => (1, None),
        Some(Value::Object(object)) => (field(&object, "blocks")?.unwrap_or(1), field(&object, "timestamp")?),
        Some(value) => (1, Some(number(value)?)),
    };
    limited(inner, blocks, timestamp)
}

/// `anvil_mine`: a number of blocks; a pause between their timestamps is not offered.
pub(crate) fn mine_many(inner: &Inner, params: &Params<'_>) -> Answer {
    limited(inner, params.find_number(0)?.unwrap_or(1), None).map(|_| Value::Null)
}

fn limited(inner: &Inner, blocks: u64, timestamp: Option<u64>) -> Answer {
    if blocks > MINE_BLOCKS_MAX {
        return Err(Fault::params(format!("at most {MINE_BLOCKS_MAX} blocks at a time")));
    }
    submit(inner, Command::Mine(blocks, timestamp))
}

/// `evm_increaseTime`, in seconds.
pub(crate) fn increase_time(inner: &Inner, params: &Params<'_>) -> Answer {
    submit(inner, Command::IncreaseTime(params.number(0)?))
}

/// `evm_setNextBlockTimestamp`, in seconds.
pub(crate) fn next_timestamp(inner: &Inner, params: &Params<'_>) -> Answer {
    submit(inner, Command::NextTimestamp(params.number(0)?))
}

/// `evm_setAutomine`.
pub(crate) fn automine(inner: &Inner, params: &Params<'_>) -> Answer {
    submit(inner, Command::Automine(params.get(0)?))
}

/// `evm_setIntervalMining`, in seconds; zero stops it.
pub(crate) fn interval(inner: &Inner, params: &Params<'_>) -> Answer {
    submit(inner, Command::Interval(params.number(0)?))
}

/// `devchain_setBaseFeeMin`, in wei; zero lets the base fee fall again. It makes the chain as busy as a test needs it.
pub(crate) fn base_fee_min(inner: &Inner, params: &Params<'_>) -> Answer {
    submit(inner, Command::BaseFeeMin(params.number(0)?))
}

/// `anvil_setBalance`.
pub(crate) fn set_balance(inner: &Inner, params: &Params<'_>) -> Answer {
    let (address, balance): (Address, U256) = (params.get(0)?, params.get(1)?);
    submit(inner, Command::SetBalance(address, balance))
}
