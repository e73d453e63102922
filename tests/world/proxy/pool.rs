//! The rules of geth's transaction pool that anvil does not have.

use std::collections::HashMap;

use alloy::consensus::transaction::SignerRecoverable;
use alloy::consensus::{Transaction, TxEnvelope};
use alloy::eips::eip2718::Decodable2718;
use alloy::primitives::{Address, B256, TxKind, U256, hex};
use serde_json::Value;

/// A signed transaction as it went over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// Its hash.
    pub hash: B256,
    /// Who signed it.
    pub sender: Address,
    /// Its place in the sender's sequence.
    pub nonce: u64,
    /// The most it pays for a unit of gas, in wei.
    pub fee: u128,
    /// The most of it that goes to the block's builder.
    pub tip: u128,
    /// Whom it calls; none for a creation.
    pub to: Option<Address>,
    /// The wei it carries.
    pub value: U256,
    /// Length of its input: a cancel has none.
    pub input_bytes: usize,
}

impl Signed {
    /// Reads the parameters of `eth_sendRawTransaction`.
    pub(super) fn read(params: &Value) -> Option<Self> {
        let raw = hex::decode(params.get(0)?.as_str()?).ok()?;
        let envelope = TxEnvelope::decode_2718(&mut raw.as_slice()).ok()?;
        let to = if let TxKind::Call(to) = envelope.kind() { Some(to) } else { None };
        Some(Self {
            hash: *envelope.tx_hash(),
            sender: envelope.recover_signer().ok()?,
            nonce: envelope.nonce(),
            fee: envelope.max_fee_per_gas(),
            tip: envelope.max_priority_fee_per_gas().unwrap_or(envelope.max_fee_per_gas()),
            to,
            value: envelope.value(),
            input_bytes: envelope.input().len(),
        })
    }
}

/// What the pool holds for each place.
#[derive(Default)]
pub(super) struct Pool(HashMap<(Address, u64), Signed>);

impl Pool {
    pub(super) fn add(&mut self, signed: &Signed) {
        self.0.insert((signed.sender, signed.nonce), signed.clone());
    }

    /// geth asks for 10 % more on both fields; equal bytes are an old friend, not a replacement.
    pub(super) fn underpriced(&self, signed: &Signed) -> bool {
        let enough = |old: u128, new: u128| new * 100 >= old * 110;
        self.0.get(&(signed.sender, signed.nonce)).is_some_and(|held| {
            held.hash != signed.hash && !(enough(held.fee, signed.fee) && enough(held.tip, signed.tip))
        })
    }

    /// The next place of this sender, the pool's own transactions counted.
    pub(super) fn next(&self, sender: Address, mined: u64) -> u64 {
        (mined..).find(|nonce| !self.0.contains_key(&(sender, *nonce))).unwrap_or(mined)
    }
}
