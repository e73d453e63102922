//! One transaction or call in revm, under the rules that the reference node uses.

use std::convert::Infallible;

use alloy::consensus::{Header, Transaction, Typed2718};
use alloy::primitives::{B256, U256};
use revm::context::{BlockEnv, CfgEnv, Context, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::context_interface::result::{EVMError, ResultAndState};
use revm::primitives::eip4844::BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE;
use revm::primitives::hardfork::SpecId;
use revm::{ExecuteEvm, MainBuilder, MainContext};

use crate::block::Signed;
use crate::view::Overlay;

/// The rules of execution: what anvil 1.7.1 runs by default.
pub(crate) const SPEC: SpecId = SpecId::OSAKA;

/// Why revm refused to run a transaction.
pub(crate) type Refusal = EVMError<Infallible>;

/// The configuration of transactions that are mined.
pub(crate) fn rules(chain_id: u64) -> CfgEnv {
    let mut cfg = CfgEnv::new().with_spec_and_mainnet_gas_params(SPEC).with_chain_id(chain_id);
    // Like the reference node: a transaction may use the whole block.
    cfg.tx_gas_limit_cap = Some(u64::MAX);
    cfg
}

/// The configuration of calls, which need no nonce, no fee and no balance for gas.
pub(crate) fn call_rules(chain_id: u64) -> CfgEnv {
    let mut cfg = rules(chain_id);
    cfg.disable_nonce_check = true;
    cfg.disable_eip3607 = true;
    cfg.disable_block_gas_limit = true;
    cfg.disable_base_fee = true;
    cfg
}

/// The EVM's environment for the block of `header`.
pub(crate) fn block_env(header: &Header) -> BlockEnv {
    BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.unwrap_or_default(),
        difficulty: U256::ZERO,
        prevrandao: Some(header.mix_hash),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice::new(0, BLOB_BASE_FEE_UPDATE_FRACTION_PRAGUE)),
        slot_num: 0,
    }
}

/// A number for `prevrandao` that follows from the parent, so that a chain can be replayed.
pub(crate) fn randao(parent: B256) -> B256 {
    alloy::primitives::keccak256(parent)
}

/// The EVM's form of a signed transaction.
pub(crate) fn transaction_env(transaction: &Signed) -> TxEnv {
    let inner = transaction.inner();
    TxEnv {
        tx_type: inner.ty(),
        caller: transaction.signer(),
        gas_limit: inner.gas_limit(),
        gas_price: inner.max_fee_per_gas(),
        kind: inner.kind(),
        value: inner.value(),
        data: inner.input().clone(),
        nonce: inner.nonce(),
        chain_id: inner.chain_id(),
        access_list: inner.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: inner.max_priority_fee_per_gas(),
        blob_hashes: Vec::new(),
        max_fee_per_blob_gas: 0,
        authorization_list: Vec::new(),
    }
}

/// Runs one transaction on `overlay` without changing it.
pub(crate) fn transact(
    overlay: &mut Overlay<'_>,
    cfg: CfgEnv,
    block: BlockEnv,
    transaction: TxEnv,
) -> Result<ResultAndState, Refusal> {
    Context::mainnet().with_db(overlay).with_block(block).with_cfg(cfg).build_mainnet().transact(transaction)
}
