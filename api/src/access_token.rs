//! Access tokens: signed by Ed25519, short-lived, and only a hint: the session they name is read on every request.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use muniment_domain::session::Session;
use muniment_domain::user::Roles;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::code::Code;
use crate::failure::Failure;
use crate::secrets::Secrets;

const AUDIENCE: &str = "platform-api";
/// The type of RFC 9068: no other signed token of ours can be taken for an access token.
const TYPE: &str = "at+jwt";
/// How far the clocks of two machines may be apart.
const LEEWAY_SECONDS: u64 = 5;

/// The keys that access tokens are checked by (RFC 7517).
#[derive(Serialize, ToSchema)]
pub struct Jwks {
    keys: Vec<Jwk>,
}

/// One of them.
#[derive(Serialize, ToSchema)]
pub struct Jwk {
    #[schema(example = "OKP")]
    kty: &'static str,
    #[schema(example = "Ed25519")]
    crv: &'static str,
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    x: String,
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    kid: String,
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: &'static str,
    #[schema(example = "EdDSA")]
    alg: &'static str,
}

/// What a token says.
#[derive(Debug, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Claims {
    pub iss: String,
    pub aud: String,
    /// `usr_…`
    pub sub: String,
    /// `ses_…`
    pub sid: String,
    pub jti: String,
    pub iat: i64,
    pub nbf: i64,
    pub exp: i64,
    pub auth_time: i64,
    pub amr: Vec<String>,
    /// A hint for portals; what counts is in the database.
    pub roles: Vec<String>,
}

/// Signs and reads access tokens.
pub struct AccessTokens {
    keys: Vec<Key>,
    validation: Validation,
    issuer: String,
    seconds: i64,
}

struct Key {
    kid: String,
    public: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl AccessTokens {
    /// With the keys of the secrets, the first of which signs.
    pub fn new(secrets: &Secrets, issuer: &str, seconds: i64) -> Result<Self, Failure> {
        let keys: Option<Vec<_>> = secrets.signing.iter().map(|pkcs8| Key::of(pkcs8)).collect();
        let keys =
            keys.ok_or_else(|| Failure::new("A signing key in the file of `auth.key_file` is no Ed25519 key."))?;
        // The library's defaults accept a token without audience or issuer, and one that is not valid yet.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.algorithms = vec![Algorithm::EdDSA];
        validation.set_required_spec_claims(&["exp", "nbf", "aud", "iss", "sub"]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_issuer(&[issuer]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        Ok(Self { keys, validation, issuer: issuer.to_owned(), seconds })
    }

    /// How long a token lives.
    pub const fn seconds(&self) -> i64 {
        self.seconds
    }

    /// A token for a session.
    pub fn sign(
        &self,
        session: &Session,
        roles: &Roles,
        jti: String,
        now: i64,
    ) -> Result<String, jsonwebtoken::errors::Error> {
        let key = &self.keys[0];
        let header = Header { typ: Some(TYPE.to_owned()), kid: Some(key.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: AUDIENCE.to_owned(),
            sub: session.user_id.clone(),
            sid: session.id.clone(),
            jti,
            iat: now,
            nbf: now,
            exp: now + self.seconds,
            auth_time: session.auth_time.timestamp(),
            amr: session.amr.split(' ').map(str::to_owned).collect(),
            roles: roles.list().iter().map(ToString::to_string).collect(),
        };
        jsonwebtoken::encode(&header, &claims, &key.encoding)
    }

    /// What a token says, if it is one of ours and its time is now.
    pub fn read(&self, token: &str) -> Result<Claims, Code> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Code::TokenInvalid)?;
        // A header that names its own key, or extensions that must be understood, is an attack and not a token of ours.
        let brings_a_key = header.jku.is_some() || header.jwk.is_some() || header.x5u.is_some() || header.x5c.is_some();
        if header.typ.as_deref() != Some(TYPE) || brings_a_key || header.crit.is_some() {
            return Err(Code::TokenInvalid);
        }
        let key = self.keys.iter().find(|key| header.kid.as_deref() == Some(&key.kid)).ok_or(Code::TokenInvalid)?;
        match jsonwebtoken::decode::<Claims>(token, &key.decoding, &self.validation) {
            Ok(token) => Ok(token.claims),
            Err(error) if matches!(error.kind(), ErrorKind::ExpiredSignature) => Err(Code::TokenExpired),
            Err(_) => Err(Code::TokenInvalid),
        }
    }

    /// Signs a statement of ours that is no access token: its type says what it is.
    pub fn sign_statement(&self, kind: &str, statement: &Value) -> Result<String, jsonwebtoken::errors::Error> {
        let key = &self.keys[0];
        let header = Header { typ: Some(kind.to_owned()), kid: Some(key.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        jsonwebtoken::encode(&header, statement, &key.encoding)
    }

    /// What a signed statement of this type says; none if no key of ours has signed it.
    pub fn read_statement(&self, kind: &str, signed: &str) -> Option<Value> {
        let header = jsonwebtoken::decode_header(signed).ok().filter(|header| header.typ.as_deref() == Some(kind))?;
        let key = self.keys.iter().find(|key| header.kid.as_deref() == Some(&key.kid))?;
        // It holds for ever and is for whoever reads it.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_required_spec_claims::<&str>(&[]);
        (validation.validate_exp, validation.validate_aud) = (false, false);
        jsonwebtoken::decode::<Value>(signed, &key.decoding, &validation).ok().map(|statement| statement.claims)
    }

    /// The public keys (RFC 7517).
    pub fn jwks(&self) -> Jwks {
        let jwk = |key: &Key| Jwk {
            kty: "OKP",
            crv: "Ed25519",
            x: key.public.clone(),
            kid: key.kid.clone(),
            usage: "sig",
            alg: "EdDSA",
        };
        Jwks { keys: self.keys.iter().map(jwk).collect() }
    }
}

impl Key {
    fn of(pkcs8: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8).ok()?;
        let public = BASE64.encode(pair.public_key().as_ref());
        // RFC 7638: the required members in alphabetical order.
        let thumbprint = Sha256::digest(format!("{{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"{public}\"}}"));
        let decoding = DecodingKey::from_ed_components(&public).ok()?;
        Some(Self { kid: BASE64.encode(thumbprint), public, encoding: EncodingKey::from_ed_der(pkcs8), decoding })
    }
}
