//! Raw transactions: decoding, and the checks a node makes before it takes one into its pool.

use alloy::consensus::transaction::Recovered;
use alloy::consensus::{Transaction, TxEnvelope, Typed2718};
use alloy::eips::eip2718::Decodable2718;
use alloy::primitives::{Address, U256};
use revm::context_interface::cfg::gas::calculate_initial_tx_gas_for_tx;
use revm::primitives::eip3860::MAX_INITCODE_SIZE;
use secp256k1::ecdsa::{RecoverableSignature, RecoveryId};
use secp256k1::{Message, SECP256K1};

use crate::block::Signed;
use crate::execute::{SPEC, transaction_env};
use crate::fault::Fault;
use crate::state::Account;

/// Decodes a signed transaction and recovers its sender.
pub(crate) fn decode(raw: &[u8]) -> Result<Signed, Fault> {
    if raw.is_empty() {
        return Err(Fault::params("Empty transaction data"));
    }
    let mut rest = raw;
    let envelope = TxEnvelope::decode_2718(&mut rest).map_err(|_| Fault::params("Failed to decode transaction"))?;
    if !rest.is_empty() {
        return Err(Fault::params("Failed to decode transaction"));
    }
    // Blobs need sidecars and delegations need their own pool rules; nothing here sends either.
    if envelope.ty() > 2 {
        return Err(Fault::rejected("transaction type not supported"));
    }
    let sender = sender(&envelope).ok_or_else(|| Fault::rejected("invalid sender"))?;
    Ok(Recovered::new_unchecked(envelope, sender))
}

/// Recovers the sender from the signature, of which a chain accepts only the form with the lower `s`.
fn sender(envelope: &TxEnvelope) -> Option<Address> {
    let signature = envelope.signature();
    if signature.normalize_s().is_some() {
        return None;
    }
    let id = if signature.v() { RecoveryId::One } else { RecoveryId::Zero };
    let signature = RecoverableSignature::from_compact(&signature.as_bytes()[..64], id).ok()?;
    let message = Message::from_digest(envelope.signature_hash().0);
    let key = SECP256K1.recover_ecdsa(&message, &signature).ok()?;
    Some(Address::from_raw_public_key(&key.serialize_uncompressed()[1..]))
}

/// The facts about the next block that admission needs.
pub(crate) struct Terms {
    pub chain_id: u64,
    pub gas_limit: u64,
    pub base_fee: u64,
}

/// The most wei that a transaction can take from its sender.
fn cost(transaction: &Signed) -> U256 {
    let gas = U256::from(transaction.gas_limit()) * U256::from(transaction.max_fee_per_gas());
    gas.saturating_add(transaction.value())
}

/// Refuses what could never be mined, with the texts that clients know from geth.
pub(crate) fn admit(transaction: &Signed, account: Option<Account>, terms: &Terms) -> Result<(), Fault> {
    let (nonce, balance) = account.map_or((0, U256::ZERO), |account| (account.nonce, account.balance));
    let (fee_cap, limit) = (transaction.max_fee_per_gas(), transaction.gas_limit());
    if transaction.chain_id().is_some_and(|id| id != terms.chain_id) {
        let id = transaction.chain_id().unwrap_or_default();
        return Err(Fault::rejected(format!("invalid chain id for signer: have {id} want {}", terms.chain_id)));
    }
    if transaction.nonce() < nonce {
        let why = format!("nonce too low: next nonce {nonce}, tx nonce {}", transaction.nonce());
        return Err(Fault::rejected(why));
    }
    if transaction.nonce() == u64::MAX {
        return Err(Fault::rejected("nonce has max value"));
    }
    if limit > terms.gas_limit {
        return Err(Fault::server("exceeds block gas limit"));
    }
    let size = transaction.input().len();
    if transaction.is_create() && size > MAX_INITCODE_SIZE {
        let why = format!("max initcode size exceeded: code size {size}, limit {MAX_INITCODE_SIZE}");
        return Err(Fault::rejected(why));
    }
    let tip = transaction.max_priority_fee_per_gas().unwrap_or_default();
    if tip > fee_cap {
        let why = format!("max priority fee per gas higher than max fee per gas: {tip} > {fee_cap}");
        return Err(Fault::rejected(why));
    }
    if fee_cap < u128::from(terms.base_fee) {
        let why = format!(
            "max fee per gas less than block base fee: address {}, maxFeePerGas: {fee_cap}, baseFee: {}",
            transaction.signer(),
            terms.base_fee
        );
        return Err(Fault::rejected(why));
    }
    let gas = calculate_initial_tx_gas_for_tx(transaction_env(transaction), SPEC, None);
    if limit < gas.initial_total_gas() {
        let needed = gas.initial_total_gas();
        return Err(Fault::server(format!("intrinsic gas too low: gas {limit}, minimum needed {needed}")));
    }
    if limit < gas.floor_gas() {
        let needed = gas.floor_gas();
        let why = format!("insufficient gas for floor data gas cost: gas {limit}, minimum needed {needed}");
        return Err(Fault::rejected(why));
    }
    let cost = cost(transaction);
    if balance < cost {
        let short = cost - balance;
        let why =
            format!("insufficient funds for gas * price + value: balance {balance}, tx cost {cost}, overshot {short}");
        return Err(Fault::rejected(why));
    }
    Ok(())
}
