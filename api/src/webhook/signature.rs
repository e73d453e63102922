//! What needs the secrets of an endpoint: the signatures of a message after Standard Webhooks 1.0, and the extra headers.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use muniment_domain::db::Db;
use muniment_domain::webhook::Endpoint;
use muniment_domain::webhook::secret::Secret;
use muniment_workflows::delivery::{Courier, Vault};
use ring::hmac;

use super::record::Headers;
use crate::config::Webhooks;
use crate::failure::Failure;
use crate::secrets::Secrets;

/// What every signing secret begins with.
pub const PREFIX: &str = "whsec_";

/// What sends deliveries, with the secrets of this process.
pub fn courier(db: Db, secrets: &Arc<Secrets>, config: Webhooks) -> Result<Courier, Failure> {
    let (signing, opening) = (secrets.clone(), secrets.clone());
    let vault = Vault {
        sign: Box::new(move |rows, message| sign_all(&signing, rows, message)),
        headers: Box::new(move |endpoint| headers(&opening, endpoint).map(|headers| headers.into_iter().collect())),
    };
    let timeout = Duration::from_secs(config.timeout_seconds);
    Courier::new(db, vault, timeout, config.allow_insecure).map_err(Failure::new)
}

/// The signatures by every secret, with a blank between them.
fn sign_all(secrets: &Secrets, rows: &[Secret], message: (&str, i64, &str)) -> Option<String> {
    let signed = rows.iter().map(|row| {
        let text = secrets.unseal(&row.id, &row.secret_sealed)?;
        sign(std::str::from_utf8(&text).ok()?, message)
    });
    let signed = signed.collect::<Option<Vec<_>>>()?;
    (!signed.is_empty()).then(|| signed.join(" "))
}

/// The signature of a message by one secret: its id, the Unix time of the attempt, and the exact bytes of its body.
pub fn sign(secret: &str, (id, at, body): (&str, i64, &str)) -> Option<String> {
    let key = BASE64.decode(secret.strip_prefix(PREFIX)?).ok()?;
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let code = hmac::sign(&key, format!("{id}.{at}.{body}").as_bytes());
    Some(format!("v1,{}", BASE64.encode(code)))
}

/// The extra headers of an endpoint. None if they cannot be read.
pub fn headers(secrets: &Secrets, endpoint: &Endpoint) -> Option<Headers> {
    let Some(sealed) = &endpoint.headers_sealed else { return Some(Headers::new()) };
    serde_json::from_slice(&secrets.unseal(&endpoint.id, sealed)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of the Standard Webhooks specification.
    #[test]
    fn the_signature_is_that_of_the_specification() {
        let message = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, r#"{"test": 2432232314}"#);
        let signature = sign("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", message);
        assert_eq!(signature.as_deref(), Some("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="));
        assert_eq!(sign("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", message), None);
    }
}
