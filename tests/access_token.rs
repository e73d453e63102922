//! Attacks on access tokens: only the exact token that the platform signed for a live session is accepted.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};
use world::{Database, on_both_databases};

use crate::installation::{ApiFixture, Person, Server, register};

/// What an attacker has: a token, and in the worst case the signing key.
struct Forge {
    key: Ed25519KeyPair,
    public: String,
    kid: String,
    claims: Value,
}

fn part(token: &str, number: usize) -> Value {
    serde_json::from_slice(&BASE64.decode(token.split('.').nth(number).unwrap()).unwrap()).unwrap()
}

fn header(kid: &str) -> Value {
    json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": kid })
}

/// Builds a token by hand, because a library refuses to write an invalid one.
fn token(header: &Value, claims: &str, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let text = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(claims));
    let signature = BASE64.encode(sign(text.as_bytes()));
    format!("{text}.{signature}")
}

/// Reads the key that signs the tokens of an installation.
fn signing_key(api: &ApiFixture) -> Ed25519KeyPair {
    let pkcs8 = BASE64.decode(api.secrets()["generations"][0]["signing"].as_str().unwrap()).unwrap();
    Ed25519KeyPair::from_pkcs8(&pkcs8).unwrap()
}

impl Forge {
    async fn new(api: &ApiFixture, server: &Server, victim: &Person) -> Self {
        let jwks = server.anonymous().get("/.well-known/jwks.json").await.unwrap();
        let (public, kid) = (jwks.text("/keys/0/x"), jwks.text("/keys/0/kid"));
        assert_eq!(part(&victim.access_token, 0), header(&kid));
        Self { key: signing_key(api), public, kid, claims: part(&victim.access_token, 1) }
    }

    /// A token with one claim changed or removed, signed by the real key.
    fn with(&self, claim: &str, value: Option<Value>) -> String {
        let mut claims = self.claims.clone();
        match value {
            Some(value) => claims[claim] = value,
            None => _ = claims.as_object_mut().unwrap().remove(claim),
        }
        self.signed(&claims.to_string())
    }

    /// A token with any text as claims, signed by the real key.
    fn signed(&self, claims: &str) -> String {
        token(&header(&self.kid), claims, self.sign())
    }

    /// A token with the real claims and another header, signed by the real key.
    fn under(&self, header: &Value) -> String {
        token(header, &self.claims.to_string(), self.sign())
    }

    fn sign(&self) -> impl Fn(&[u8]) -> Vec<u8> {
        |text| self.key.sign(text).as_ref().to_vec()
    }

    /// A token built by hand, with any header and any signature.
    fn by_hand(&self, header: Value, signature: &str) -> String {
        let encoded = |value: &Value| BASE64.encode(value.to_string());
        format!("{}.{}.{signature}", encoded(&header), encoded(&self.claims))
    }
}

async fn answer(server: &Server, token: &str) -> (u16, String) {
    let answer = server.anonymous().with_key(token).get("/v1/auth/me").await.unwrap();
    if answer.status == 401 {
        assert!(answer.headers["www-authenticate"].to_str().unwrap().starts_with("Bearer"), "{answer:?}");
    }
    answer.problem()
}

on_both_databases! {
    async fn a_forged_token_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let forge = Forge::new(&api, &server, &ada).await;
        let now = forge.claims["iat"].as_i64().unwrap();
        // The real key signs each invalid token, so that only the named check can refuse it. The first case proves that the forge works.
        assert_eq!(answer(&server, &forge.with("jti", Some(json!("another")))).await.0, 200);
        let expired = (401, "token_expired".to_owned());
        assert_eq!(answer(&server, &forge.with("exp", Some(json!(now - 10)))).await, expired);
        let wrong = [
            ("aud", Some(json!("another-api"))), ("aud", None), ("iss", Some(json!("somebody"))), ("iss", None), ("exp", None),
            ("nbf", Some(json!(now + 600))), ("nbf", None), ("sub", Some(json!("usr_01jc0000000000000000000000"))), ("sub", None),
            ("sid", None), ("exp", Some(json!("tomorrow"))), ("exp", Some(json!(1e300))), ("exp", Some(Value::Null)), ("nbf", Some(json!(-1.5))),
            ("aud", Some(json!(["another-api"]))), ("sid", Some(json!(["ses_1"]))), ("sub", Some(json!({}))),
        ];
        let mut forged: Vec<_> = wrong.into_iter().map(|(claim, value)| (format!("{claim} {value:?}"), forge.with(claim, value))).collect();

        // A duplicate claim: a reader that takes the first and one that takes the last must not differ.
        let claims = forge.claims.to_string();
        assert_eq!(answer(&server, &forge.signed(&claims)).await.0, 200);
        for claim in ["sub", "sid", "exp", "aud", "iss", "nbf"] {
            let twice = format!("{},{:?}:{}}}", &claims[..claims.len() - 1], claim, forge.claims[claim]);
            forged.push((format!("{claim} twice"), forge.signed(&twice)));
        }
        for text in ["", "{}", "[]", "null", "\u{0}", &claims[..40], &format!("{}1{}", "[".repeat(2_000), "]".repeat(2_000))] {
            forged.push((format!("claims that are {text:.10}"), forge.signed(text)));
        }

        let none = json!({ "typ": "at+jwt", "alg": "none", "kid": forge.kid });
        let signature = ada.access_token.split('.').nth(2).unwrap();
        forged.push(("alg none".to_owned(), forge.by_hand(none.clone(), "")));
        forged.push(("alg none, with a signature".to_owned(), forge.by_hand(none, signature)));
        for (alg, hash) in [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)] {
            for secret in [forge.public.clone().into_bytes(), BASE64.decode(&forge.public).unwrap()] {
                let key = hmac::Key::new(hash, &secret);
                let head = json!({ "typ": "at+jwt", "alg": alg, "kid": forge.kid });
                let token = token(&head, &forge.claims.to_string(), |text| hmac::sign(&key, text).as_ref().to_vec());
                forged.push((format!("{alg} with the public key"), token));
            }
        }
        for alg in ["None", "nONE", "", "ES256", "RS256", "Ed25519", "EdDSA\u{0}"] {
            forged.push((format!("alg {alg:?}"), forge.by_hand(json!({ "typ": "at+jwt", "alg": alg, "kid": forge.kid }), signature)));
        }
        for kid in ["../../../dev/null", "' or 1=1; --", "https://evil.example/key", &"k".repeat(4_000)] {
            forged.push((format!("kid {kid:.30}"), forge.under(&header(kid))));
        }
        let mut cut = ada.access_token.clone();
        cut.truncate(cut.len() - 4);
        forged.extend([("half a signature".to_owned(), cut), ("no signature".to_owned(), forge.by_hand(part(&ada.access_token, 0), ""))]);
        let heads = [
            ("another type", json!({ "typ": "JWT", "alg": "EdDSA", "kid": forge.kid })),
            ("an unknown key", header("another")),
            ("no key", json!({ "typ": "at+jwt", "alg": "EdDSA" })),
            ("a header that brings a key", json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": forge.kid, "jku": "https://evil.example/jwks.json" })),
            ("a critical extension", json!({ "typ": "at+jwt", "alg": "EdDSA", "kid": forge.kid, "crit": ["b64"] })),
        ];
        forged.extend(heads.map(|(name, head)| (name.to_owned(), forge.under(&head))));
        let other = part(&ada.access_token, 0);
        forged.push(("the signature of other claims".to_owned(), Forge { claims: json!({ "sub": "x" }), ..forge }.by_hand(other, signature)));
        forged.extend(["", ".", "..", "a.b.c", "eyJ"].map(|text| (format!("{text:?}"), format!("x{text}"))));
        for (name, token) in forged {
            assert_eq!(answer(&server, &token).await, (401, "token_invalid".to_owned()), "{name}");
        }
        assert_eq!(server.anonymous().get("/v1/auth/me").await.unwrap().problem(), (401, "token_missing".to_owned()));
        assert_eq!(ada.get("/v1/auth/me").await.status, 200);
    }

    async fn a_token_of_another_installation_is_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let other = ApiFixture::new(Database::fresh(world::Engine::Sqlite).await).await;
        let (here, there) = (api.start().await, other.start().await);
        register(&there, "ada@people.example").await;
        let stranger = Person::log_in(&there, "ada@people.example").await;
        assert_eq!(answer(&here, &stranger.access_token).await, (401, "token_invalid".to_owned()));
        // Signed by our key, but the session does not exist.
        register(&here, "ada@people.example").await;
        let ada = Person::log_in(&here, "ada@people.example").await;
        let forge = Forge::new(&api, &here, &ada).await;
        // Signed by another installation's key under our key id, with a header that carries that key.
        let theirs = signing_key(&other);
        let jwks = there.anonymous().get("/.well-known/jwks.json").await.unwrap();
        let mut brought = header(&forge.kid);
        brought["jwk"] = jwks.body["keys"][0].clone();
        for disguise in [header(&forge.kid), brought, header(&jwks.text("/keys/0/kid"))] {
            let token = token(&disguise, &forge.claims.to_string(), |text| theirs.sign(text).as_ref().to_vec());
            assert_eq!(answer(&here, &token).await, (401, "token_invalid".to_owned()), "{disguise:?}");
        }
        // Another user's session under one's own name, and the reverse.
        register(&here, "bruno@people.example").await;
        let bruno = Person::log_in(&here, "bruno@people.example").await;
        let stolen = forge.with("sid", Some(json!(bruno.session_id)));
        assert_eq!(answer(&here, &stolen).await, (401, "token_invalid".to_owned()));
        let unknown = forge.with("sid", Some(json!(stranger.session_id)));
        assert_eq!(answer(&here, &unknown).await, (401, "session_revoked".to_owned()));
    }

    async fn tokens_stay_valid_over_a_restart(database: Database) {
        let api = ApiFixture::new(database).await;
        let mut server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        server.process.terminate(crate::installation::PATIENCE);
        let server = api.start().await;
        assert_eq!(answer(&server, &ada.access_token).await.0, 200);
        let body = json!({ "refresh_token": ada.refresh_token });
        assert_eq!(server.anonymous().change("POST", "/v1/auth/refresh", Some(body)).await.unwrap().status, 200);
    }
}
