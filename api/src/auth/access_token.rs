//! Access tokens: short-lived and signed with Ed25519. A token only names its session; every request reads the session.

use std::sync::Arc;

use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation};
use muniment_domain::session::Session;
use muniment_domain::user::Roles;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::code::Code;
use crate::secrets::{Key, Secrets};

const AUDIENCE: &str = "platform-api";
/// The type of RFC 9068: no other signed token of ours can be taken for an access token.
const TYPE: &str = "at+jwt";
/// How far the clocks of two machines may be apart.
const LEEWAY_SECONDS: u64 = 5;

/// The public keys of access tokens (RFC 7517).
#[derive(Serialize, ToSchema)]
pub struct Jwks {
    /// The keys.
    keys: Vec<Jwk>,
}

/// A public key.
#[derive(Serialize, ToSchema)]
pub struct Jwk {
    /// The type of the key.
    #[schema(example = "OKP")]
    kty: &'static str,
    /// The curve.
    #[schema(example = "Ed25519")]
    crv: &'static str,
    /// The public key in base64url.
    #[schema(example = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo")]
    x: String,
    /// The id of the key.
    #[schema(example = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")]
    kid: String,
    /// The use of the key.
    #[serde(rename = "use")]
    #[schema(example = "sig")]
    usage: &'static str,
    /// The algorithm.
    #[schema(example = "EdDSA")]
    alg: &'static str,
}

/// The claims of a token.
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
    secrets: Arc<Secrets>,
    validation: Validation,
    issuer: String,
    seconds: i64,
}

impl AccessTokens {
    /// With the keys of the secrets, whichever they are at the time.
    pub fn new(secrets: Arc<Secrets>, issuer: &str, seconds: i64) -> Self {
        // The library's defaults accept a token without audience or issuer, and one that is not valid yet.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.algorithms = vec![Algorithm::EdDSA];
        validation.set_required_spec_claims(&["exp", "nbf", "aud", "iss", "sub"]);
        validation.set_audience(&[AUDIENCE]);
        validation.set_issuer(&[issuer]);
        validation.validate_nbf = true;
        validation.leeway = LEEWAY_SECONDS;
        Self { secrets, validation, issuer: issuer.to_owned(), seconds }
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
        let claims = Claims {
            iss: self.issuer.clone(),
            aud: AUDIENCE.to_owned(),
            sub: session.user_id.to_string(),
            sid: session.id.to_string(),
            jti,
            iat: now,
            nbf: now,
            exp: now + self.seconds,
            auth_time: session.auth_time.timestamp(),
            amr: session.amr.split(' ').map(str::to_owned).collect(),
            roles: roles.list().iter().map(ToString::to_string).collect(),
        };
        self.signed(TYPE, &claims)
    }

    /// The claims of a token, if the signature and the time are valid.
    pub fn read(&self, token: &str) -> Result<Claims, Code> {
        let header = jsonwebtoken::decode_header(token).map_err(|_| Code::TokenInvalid)?;
        // A header that names its own key, or extensions that must be understood, is an attack and not a token of ours.
        let brings_a_key = header.jku.is_some() || header.jwk.is_some() || header.x5u.is_some() || header.x5c.is_some();
        if header.typ.as_deref() != Some(TYPE) || brings_a_key || header.crit.is_some() {
            return Err(Code::TokenInvalid);
        }
        let ring = self.secrets.ring();
        let keys = ring.signing(self.secrets.now(), self.seconds);
        let key = keys.iter().find(|key| header.kid.as_deref() == Some(&key.kid)).ok_or(Code::TokenInvalid)?;
        match jsonwebtoken::decode::<Claims>(token, &key.decoding, &self.validation) {
            Ok(token) => Ok(token.claims),
            Err(error) if matches!(error.kind(), ErrorKind::ExpiredSignature) => Err(Code::TokenExpired),
            Err(_) => Err(Code::TokenInvalid),
        }
    }

    /// Signs a statement of ours that is no access token: its type says what it is.
    pub fn sign_statement(&self, kind: &str, statement: &Value) -> Result<String, jsonwebtoken::errors::Error> {
        self.signed(kind, statement)
    }

    fn signed(&self, kind: &str, said: &impl Serialize) -> Result<String, jsonwebtoken::errors::Error> {
        let ring = self.secrets.ring();
        let key = &ring.current(self.secrets.now()).key;
        let header = Header { typ: Some(kind.to_owned()), kid: Some(key.kid.clone()), ..Header::new(Algorithm::EdDSA) };
        let signs = key.encoding.as_ref().ok_or(ErrorKind::InvalidKeyFormat)?;
        jsonwebtoken::encode(&header, said, signs)
    }

    /// The content of a signed statement, if one of our keys signed it.
    pub fn read_statement(&self, kind: &str, signed: &str) -> Option<Value> {
        let header = jsonwebtoken::decode_header(signed).ok().filter(|header| header.typ.as_deref() == Some(kind))?;
        let ring = self.secrets.ring();
        let mut keys = ring.all().map(|generation| &generation.key);
        let key = keys.find(|key| header.kid.as_deref() == Some(&key.kid))?;
        // It never expires, and anybody may verify it.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.set_required_spec_claims::<&str>(&[]);
        (validation.validate_exp, validation.validate_aud) = (false, false);
        jsonwebtoken::decode::<Value>(signed, &key.decoding, &validation).ok().map(|statement| statement.claims)
    }

    /// The public keys of accepted tokens and the next key (RFC 7517). The signing key comes first.
    pub fn jwks(&self) -> Jwks {
        let ring = self.secrets.ring();
        let jwk = |key: &&Key| Jwk {
            kty: "OKP",
            crv: "Ed25519",
            x: key.public.clone(),
            kid: key.kid.clone(),
            usage: "sig",
            alg: "EdDSA",
        };
        Jwks { keys: ring.signing(self.secrets.now(), self.seconds).iter().map(jwk).collect() }
    }
}
