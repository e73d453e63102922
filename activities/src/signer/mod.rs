//! Holds a signing key. It signs only what the policy gate permitted.
pub mod policy;
pub mod state;
pub mod transaction;

use std::path::Path;

use alloy::{
    consensus::{SignableTransaction, transaction::RlpEcdsaEncodableTx},
    primitives::{Address, B256, Signature, keccak256},
    signers::local::PrivateKeySigner,
};
use secp256k1::{Message, SECP256K1, SecretKey};
use zeroize::Zeroize;

use crate::{
    config::{Profile, Secret, SignerConfig},
    signer::{policy::Permit, transaction::Signed},
};

/// One signing key.
#[derive(Clone)]
pub enum Signer {
    /// A key from an encrypted keystore file.
    Keystore(Key),
    /// A key in the clear; development only.
    Raw(Key),
}

/// The key. Its fields are private: code with access to them could sign without the gate.
#[derive(Clone)]
pub struct Key {
    secret: SecretKey,
    address: Address,
}

/// Why there is no signature, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerFault {
    /// The keystore file cannot be opened.
    #[error("keystore {path} cannot be opened: {why}; check the path, its permissions and the password")]
    Keystore {
        /// The path from the configuration.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// There is no password for the keystore.
    #[error("keystore {path} has no password: {why}; set `password_file` or `password_env` of this signer")]
    Password {
        /// The path from the configuration.
        path: String,
        /// What went wrong.
        why: String,
    },
    /// A key in the clear outside the development profile.
    #[error(
        "a raw private key is refused outside the development profile; put the key into an encrypted keystore file and configure `kind = \"keystore\"`"
    )]
    RawKeyRefused,
    /// The raw key is not a valid key.
    #[error("the raw private key is not 32 bytes in hexadecimal or not a valid secp256k1 key")]
    RawKeyMalformed,
    /// The permit is for another signer.
    #[error("the permit is for {permitted} but this signer is {signer}; a lane asked the gate for the wrong key")]
    OtherSigner {
        /// The signer of the permit.
        permitted: Address,
        /// This signer.
        signer: Address,
    },
}

impl Signer {
    /// Opens the key. Decryption of a keystore takes up to a second of CPU time, so call it at start.
    pub fn open(config: &SignerConfig, profile: Profile) -> Result<Signer, SignerFault> {
        match config {
            SignerConfig::Keystore { path, password_file, password_env } => {
                let password = password(path, password_file.as_deref(), password_env.as_deref())?;
                let fault = |why: String| SignerFault::Keystore { path: path.display().to_string(), why };
                // The decryption error for a missing file gives no reason, so check the file first.
                std::fs::metadata(path).map_err(|error| fault(error.to_string()))?;
                let key =
                    PrivateKeySigner::decrypt_keystore(path, password.0).map_err(|error| fault(error.to_string()))?;
                Key::of(&key).map(Signer::Keystore).map_err(|error| fault(error.to_string()))
            }
            SignerConfig::Raw { private_key } => {
                let key = private_key.0.trim().parse::<B256>().map_err(|_| SignerFault::RawKeyMalformed)?;
                Signer::raw(key, profile)
            }
        }
    }

    /// A signer from a key in the clear; refused outside the development profile.
    pub fn raw(key: B256, profile: Profile) -> Result<Signer, SignerFault> {
        if profile != Profile::Development {
            return Err(SignerFault::RawKeyRefused);
        }
        let key = PrivateKeySigner::from_bytes(&key).map_err(|_| SignerFault::RawKeyMalformed)?;
        Key::of(&key).map(Signer::Raw).map_err(|_| SignerFault::RawKeyMalformed)
    }

    /// The address of the key.
    pub fn address(&self) -> Address {
        self.key().address
    }

    /// Signs what the gate permitted to this signer.
    pub async fn sign(&self, permit: &Permit) -> Result<Signed, SignerFault> {
        if permit.signer() != self.address() {
            return Err(SignerFault::OtherSigner { permitted: permit.signer(), signer: self.address() });
        }
        let transaction = permit.transaction().to_alloy();
        let signature = self.key().sign(transaction.signature_hash());
        let mut raw = Vec::new();
        transaction.eip2718_encode(&signature, &mut raw);
        Ok(Signed { hash: keccak256(&raw), raw: raw.into() })
    }

    fn key(&self) -> &Key {
        match self {
            Signer::Keystore(key) | Signer::Raw(key) => key,
        }
    }
}

impl Key {
    fn of(key: &PrivateKeySigner) -> Result<Key, secp256k1::Error> {
        let mut bytes = key.to_bytes().0;
        let secret = SecretKey::from_byte_array(&bytes);
        bytes.zeroize();
        Ok(Key { secret: secret?, address: key.address() })
    }

    fn sign(&self, hash: B256) -> Signature {
        let (id, bytes) =
            SECP256K1.sign_ecdsa_recoverable(&Message::from_digest(hash.0), &self.secret).serialize_compact();
        Signature::from_bytes_and_parity(&bytes, i32::from(id) & 1 == 1)
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        self.secret.non_secure_erase();
    }
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Signer({})", self.address())
    }
}

fn password(keystore: &Path, file: Option<&Path>, env: Option<&str>) -> Result<Secret, SignerFault> {
    let fault = |why: String| SignerFault::Password { path: keystore.display().to_string(), why };
    match (file, env) {
        (Some(file), _) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| fault(format!("{} cannot be read: {error}", file.display())))?;
            // Editors end a file with a newline, which is not part of the password.
            Ok(Secret::new(text.strip_suffix('\n').unwrap_or(&text).trim_end_matches('\r')))
        }
        (None, Some(name)) => std::env::var(name)
            .map(Secret::new)
            .map_err(|_| fault(format!("the environment variable {name} is not set"))),
        (None, None) => Err(fault("neither `password_file` nor `password_env` is set".into())),
    }
}
