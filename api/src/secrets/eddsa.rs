//! The cryptography of `jsonwebtoken`, over ring: the backend that TLS uses, so that the binary has one. Ed25519 is the only algorithm.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind, Result};
use jsonwebtoken::signature::{self, Signer, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, EncodingKey};
use ring::signature::{ED25519, Ed25519KeyPair, UnparsedPublicKey};

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    // Used for JWKs only, which this crate writes itself.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes this the cryptography of every token of the process. Later calls change nothing.
pub fn install() {
    let _ = PROVIDER.install_default();
}

struct EdSigner(Ed25519KeyPair);

impl Signer<Vec<u8>> for EdSigner {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, signature::Error> {
        Ok(self.0.sign(message).as_ref().to_vec())
    }
}

impl JwtSigner for EdSigner {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

struct EdVerifier(UnparsedPublicKey<Vec<u8>>);

impl Verifier<Vec<u8>> for EdVerifier {
    fn verify(&self, message: &[u8], signed: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        self.0.verify(message, signed).map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for EdVerifier {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

fn signer(algorithm: &Algorithm, key: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    check(*algorithm, key.family())?;
    let pair = Ed25519KeyPair::from_pkcs8(key.as_bytes()).map_err(|_| ErrorKind::InvalidEddsaKey)?;
    Ok(Box::new(EdSigner(pair)))
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    check(*algorithm, key.family())?;
    Ok(Box::new(EdVerifier(UnparsedPublicKey::new(&ED25519, key.try_get_as_bytes()?.to_vec()))))
}

fn check(algorithm: Algorithm, family: AlgorithmFamily) -> Result<()> {
    match (algorithm, family) {
        (Algorithm::EdDSA, AlgorithmFamily::Ed) => Ok(()),
        _ => Err(Error::from(ErrorKind::InvalidAlgorithm)),
    }
}
