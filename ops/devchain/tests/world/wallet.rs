//! Signing with the well-known development keys.

use alloy::consensus::{SignableTransaction, TxEip1559, TxEip2930, TxEnvelope, TxLegacy};
use alloy::eips::eip2718::Encodable2718;
use alloy::eips::eip2930::{AccessList, AccessListItem};
use alloy::primitives::{Address, B256, Bytes, Signature, TxKind, U256, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use serde_json::{Value, json};

pub const CHAIN_ID: u64 = 31337;
pub const GWEI: u128 = 1_000_000_000;

/// Public keys of the mnemonic that every development chain funds.
const KEYS: [&str; 3] = [
    "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
];

#[derive(Clone)]
pub struct Wallet {
    signer: PrivateKeySigner,
}

/// A transaction of any of the three types, with the values that tests seldom change.
#[derive(Clone)]
pub struct Tx {
    pub nonce: u64,
    pub to: TxKind,
    pub data: Bytes,
    pub value: U256,
    pub gas: u64,
    pub fee: u128,
    pub tip: u128,
    pub chain_id: u64,
}

impl Tx {
    pub fn new(nonce: u64, to: TxKind, data: impl Into<Bytes>) -> Self {
        let data = data.into();
        Self { nonce, to, data, value: U256::ZERO, gas: 3_000_000, fee: 20 * GWEI, tip: GWEI, chain_id: CHAIN_ID }
    }

    pub fn transfer(nonce: u64, to: Address, wei: u64) -> Self {
        Self { value: U256::from(wei), gas: 21_000, ..Self::new(nonce, TxKind::Call(to), Bytes::new()) }
    }

    pub fn fees(self, fee: u128, tip: u128) -> Self {
        Self { fee, tip, ..self }
    }

    pub fn gas(self, gas: u64) -> Self {
        Self { gas, ..self }
    }
}

/// A signed transaction as bytes, and its hash.
#[derive(Clone)]
pub struct Raw {
    pub bytes: Bytes,
    pub hash: B256,
}

impl Raw {
    pub fn params(&self) -> Value {
        json!([self.bytes])
    }
}

impl Wallet {
    pub fn new(index: usize) -> Self {
        Self { signer: KEYS[index].parse().unwrap() }
    }

    /// A wallet that nobody funded.
    pub fn poor() -> Self {
        Self { signer: PrivateKeySigner::from_bytes(&B256::repeat_byte(0x77)).unwrap() }
    }

    pub fn address(&self) -> Address {
        self.signer.address()
    }

    fn finish<T: SignableTransaction<Signature>>(&self, transaction: T) -> Raw
    where
        TxEnvelope: From<alloy::consensus::Signed<T>>,
    {
        let signature = self.signer.sign_hash_sync(&transaction.signature_hash()).unwrap();
        let envelope = TxEnvelope::from(transaction.into_signed(signature));
        Raw { hash: *envelope.tx_hash(), bytes: envelope.encoded_2718().into() }
    }

    pub fn sign(&self, tx: Tx) -> Raw {
        self.finish(TxEip1559 {
            chain_id: tx.chain_id,
            nonce: tx.nonce,
            gas_limit: tx.gas,
            max_fee_per_gas: tx.fee,
            max_priority_fee_per_gas: tx.tip,
            to: tx.to,
            value: tx.value,
            access_list: AccessList::default(),
            input: tx.data,
        })
    }

    pub fn sign_legacy(&self, tx: Tx) -> Raw {
        self.finish(TxLegacy {
            chain_id: Some(tx.chain_id),
            nonce: tx.nonce,
            gas_price: tx.fee,
            gas_limit: tx.gas,
            to: tx.to,
            value: tx.value,
            input: tx.data,
        })
    }

    pub fn sign_access_list(&self, tx: Tx, address: Address, slot: B256) -> Raw {
        self.finish(TxEip2930 {
            chain_id: tx.chain_id,
            nonce: tx.nonce,
            gas_price: tx.fee,
            gas_limit: tx.gas,
            to: tx.to,
            value: tx.value,
            access_list: AccessList(vec![AccessListItem { address, storage_keys: vec![slot] }]),
            input: tx.data,
        })
    }
}

/// Bytes from hex, for calldata that is easier to read so.
pub fn bytes(text: &str) -> Bytes {
    hex::decode(text).unwrap().into()
}
