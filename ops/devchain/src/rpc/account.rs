//! Reads of accounts at a block.

use alloy::eips::{BlockId, BlockNumberOrTag};
use alloy::primitives::{Address, Bytes, U256};
use serde_json::json;

use super::params::{Params, quantity, view};
use crate::chain::Chain;
use crate::writer::Answer;

/// `eth_getTransactionCount`; `pending` counts what waits without a gap.
pub(crate) fn nonce(chain: &Chain, params: &Params<'_>) -> Answer {
    let (address, id): (Address, _) = (params.get(0)?, params.block_id(1)?);
    let nonce = view(chain, &id)?.account(&address).map_or(0, |account| account.nonce);
    if id == BlockId::Number(BlockNumberOrTag::Pending) {
        return Ok(quantity(chain.pool.next_nonce(&address, nonce)));
    }
    Ok(quantity(nonce))
}

/// `eth_getBalance`.
pub(crate) fn balance(chain: &Chain, params: &Params<'_>) -> Answer {
    let (address, id): (Address, _) = (params.get(0)?, params.block_id(1)?);
    Ok(json!(view(chain, &id)?.account(&address).map_or(U256::ZERO, |account| account.balance)))
}

/// `eth_getCode`.
pub(crate) fn code(chain: &Chain, params: &Params<'_>) -> Answer {
    let (address, id): (Address, _) = (params.get(0)?, params.block_id(1)?);
    let account = view(chain, &id)?.account(&address);
    let code = account.map_or_else(Bytes::new, |account| chain.state.code(&account.code_hash).original_bytes());
    Ok(json!(code))
}

/// `eth_getStorageAt`.
pub(crate) fn slot(chain: &Chain, params: &Params<'_>) -> Answer {
    let (address, slot, id): (Address, U256, _) = (params.get(0)?, params.get(1)?, params.block_id(2)?);
    Ok(json!(alloy::primitives::B256::from(view(chain, &id)?.slot(&address, &slot))))
}
