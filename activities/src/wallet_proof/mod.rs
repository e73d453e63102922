//! Proof of control over a wallet: a text with domain, purpose and expiry (EIP-4361), signed as a message (EIP-191) or accepted
//! by a contract wallet (EIP-1271).
use std::fmt;

use alloy::{
    primitives::{Address, Signature, eip191_hash_message},
    sol_types::SolCall,
};

use crate::{
    chain::{Chain, Tag, simulate::At},
    contract::operation::read,
    fault::Fault,
};

/// The return value of a contract wallet for a valid signature.
const MAGIC: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];
/// Length of a signature: r, s and the parity.
const SIGNATURE_BYTES: usize = 65;

alloy::sol! {
    function isValidSignature(bytes32 hash, bytes signature) returns (bytes4);
}

/// The message that the holder of a wallet signs.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The host of the platform. A wallet compares it with the page that asks for the signature.
    pub domain: &'a str,
    /// The wallet address.
    pub address: Address,
    /// The URI of the platform.
    pub uri: &'a str,
    /// The chain of a contract wallet.
    pub chain_id: u64,
    /// Letters and digits that are never used twice.
    pub nonce: &'a str,
    /// Time of issue in RFC 3339.
    pub issued_at: &'a str,
    /// Time of expiry in RFC 3339.
    pub expires_at: &'a str,
    /// The id of the wallet on the platform.
    pub request_id: &'a str,
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wants you to sign in with your Ethereum account:", self.domain)?;
        writeln!(f, "{}\n", self.address.to_checksum(None))?;
        // A wallet shows this sentence to its holder, and stored challenges contain it: do not change it.
        writeln!(f, "Show that this wallet is yours. This costs nothing and moves nothing.\n")?;
        writeln!(f, "URI: {}", self.uri)?;
        writeln!(f, "Version: 1")?;
        writeln!(f, "Chain ID: {}", self.chain_id)?;
        writeln!(f, "Nonce: {}", self.nonce)?;
        writeln!(f, "Issued At: {}", self.issued_at)?;
        writeln!(f, "Expiration Time: {}", self.expires_at)?;
        write!(f, "Request ID: {}", self.request_id)
    }
}

/// The address whose key signed the message. None for an invalid length, a parity other than 0, 1, 27 or 28, or a high `s`:
/// anybody can turn a signature into its high-`s` twin, so only one of the two is accepted.
pub fn signer(message: &str, signature: &[u8]) -> Option<Address> {
    let parity = *signature.get(SIGNATURE_BYTES - 1)?;
    if signature.len() != SIGNATURE_BYTES || !matches!(parity, 0 | 1 | 27 | 28) {
        return None;
    }
    let signature = Signature::from_raw(signature).ok()?;
    // `normalize_s` returns a value only for a high `s`.
    if signature.normalize_s().is_some() {
        return None;
    }
    signature.recover_address_from_msg(message).ok()
}

/// Whether the contract at this address accepts the signature. An address without code never does.
pub async fn contract_accepts(chain: &Chain, wallet: Address, message: &str, signature: &[u8]) -> Result<bool, Fault> {
    if chain.code(wallet, Tag::Latest).await?.is_empty() {
        return Ok(false);
    }
    let call = isValidSignatureCall { hash: eip191_hash_message(message), signature: signature.to_vec().into() };
    let answer = chain.call(&read(wallet, &call), At::Latest).await?;
    // A revert means no, and so does any return value except the magic word padded with zeros.
    Ok(answer
        .is_ok_and(|data| isValidSignatureCall::abi_decode_returns_validate(&data).is_ok_and(|word| word == MAGIC)))
}

#[cfg(test)]
mod tests;
