//! The proof that somebody holds the key of a wallet: a text that says for whom, for what and how long (EIP-4361), signed as a message
//! (EIP-191), or accepted by the contract that the wallet is (EIP-1271).
use std::fmt;

use alloy::{
    primitives::{Address, Signature, eip191_hash_message},
    sol_types::SolCall,
};

use crate::{
    chain::{Chain, Tag},
    fault::Fault,
    operation::read,
    simulate::At,
};

/// What a contract wallet answers when a signature is good.
const MAGIC: [u8; 4] = [0x16, 0x26, 0xba, 0x7e];
/// r, s and the parity.
const SIGNATURE_BYTES: usize = 65;

alloy::sol! {
    function isValidSignature(bytes32 hash, bytes signature) returns (bytes4);
}

/// What the holder of a key is asked to sign.
#[derive(Clone, Debug)]
pub struct Message<'a> {
    /// The host of the platform, as a wallet compares it with the page that asks.
    pub domain: &'a str,
    /// The wallet.
    pub address: Address,
    /// Where the platform is found.
    pub uri: &'a str,
    /// The chain on which a contract wallet is asked.
    pub chain_id: u64,
    /// Letters and digits that were never used before.
    pub nonce: &'a str,
    /// RFC 3339.
    pub issued_at: &'a str,
    /// RFC 3339.
    pub expires_at: &'a str,
    /// The wallet as the platform calls it.
    pub request_id: &'a str,
}

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} wants you to sign in with your Ethereum account:", self.domain)?;
        writeln!(f, "{}\n", self.address.to_checksum(None))?;
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

/// Whose key signed the message. None for what no wallet makes: another length, another parity than 0, 1, 27 or 28, or the other one of
/// the two signatures that everybody can make out of one.
pub fn signer(message: &str, signature: &[u8]) -> Option<Address> {
    let parity = *signature.get(SIGNATURE_BYTES - 1)?;
    if signature.len() != SIGNATURE_BYTES || !matches!(parity, 0 | 1 | 27 | 28) {
        return None;
    }
    let signature = Signature::from_raw(signature).ok()?;
    if signature.normalize_s().is_some() {
        return None;
    }
    signature.recover_address_from_msg(message).ok()
}

/// Whether the contract at this address takes the signature for its own. An address without code never does.
pub async fn contract_accepts(chain: &Chain, wallet: Address, message: &str, signature: &[u8]) -> Result<bool, Fault> {
    if chain.code(wallet, Tag::Latest).await?.is_empty() {
        return Ok(false);
    }
    let call = isValidSignatureCall { hash: eip191_hash_message(message), signature: signature.to_vec().into() };
    let answer = chain.call(&read(wallet, &call), At::Latest).await?;
    // A revert is a no; so is anything but the magic word, filled up with zeros.
    Ok(answer
        .is_ok_and(|data| isValidSignatureCall::abi_decode_returns_validate(&data).is_ok_and(|word| word == MAGIC)))
}

#[cfg(test)]
mod tests;
