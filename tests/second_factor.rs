//! The second factor: enrolled after a step-up, required at each login, and each code is accepted once.

use std::time::{SystemTime, UNIX_EPOCH};

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, PASSWORD, Person, Server};

/// A user's authenticator app.
pub struct App {
    secret: Vec<u8>,
    /// The code of its enrolment.
    used: String,
}

impl App {
    /// Enrols the app with the secret that the platform shows.
    pub fn with_secret(secret: &str) -> Self {
        let (mut bytes, mut held, mut bits) = (Vec::new(), 0u32, 0);
        for letter in secret.bytes() {
            let value = if letter.is_ascii_uppercase() { letter - b'A' } else { letter - b'2' + 26 };
            held = (held << 5) | u32::from(value);
            bits += 5;
            if bits >= 8 {
                bits -= 8;
                bytes.push((held >> bits & 0xff) as u8);
            }
        }
        Self { secret: bytes, used: String::new() }
    }

    /// The current code, or the code some half minutes later.
    pub fn code(&self, steps: i64) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let step = i64::try_from(now / 30).unwrap() + steps;
        let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.secret);
        let tag = ring::hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        let at = usize::from(tag[19] & 0xf);
        let word = u32::from_be_bytes([tag[at] & 0x7f, tag[at + 1], tag[at + 2], tag[at + 3]]);
        format!("{:06}", word % 1_000_000)
    }
}

/// Enrols a second factor for a user who has stepped up.
pub async fn add(person: &Person) -> App {
    let enrolled = person.post("/v1/auth/mfa/totp", json!({})).await;
    assert_eq!(enrolled.status, 200, "{enrolled:?}");
    let mut app = App::with_secret(&enrolled.text("/secret"));
    assert!(enrolled.text("/otpauth_uri").contains(&enrolled.text("/secret")));
    app.used = app.code(-1);
    let confirmed = person.post("/v1/auth/mfa/totp/confirm", json!({ "code": app.used })).await;
    assert_eq!(confirmed.status, 204, "{confirmed:?}");
    app
}

async fn verify(server: &Server, first: &Answer, code: &str) -> Answer {
    let body = json!({ "mfa_token": first.text("/mfa_token"), "code": code });
    server.anonymous().change("POST", "/v1/auth/mfa/verify", Some(body)).await.unwrap()
}

on_both_databases! {
    async fn a_second_factor_is_required_and_each_code_works_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let elsewhere = Person::log_in(&server, "ada@people.example").await;
        // Enrolment is refused without a step-up.
        assert_eq!(elsewhere.post("/v1/auth/mfa/totp", json!({})).await.problem(), (403, "step_up_required".to_owned()));
        let app = add(&ada).await;
        assert_eq!(elsewhere.session_status().await, (401, "session_revoked".to_owned()));
        assert_eq!(ada.get("/v1/auth/me").await.body["session"]["amr"], json!(["pwd", "otp"]));

        let first = server.log_in("ada@people.example", PASSWORD).await;
        assert_eq!((first.status, &first.body["mfa_required"], first.body.get("access_token")), (200, &json!(true), None));
        let wrong = (401, "mfa_invalid".to_owned());
        assert_eq!(verify(&server, &first, &app.used).await.problem(), wrong, "the code was used at enrolment");
        assert_eq!(verify(&server, &first, "12345a").await.problem(), wrong);
        let code = app.code(0);
        let second = Person::of(&server, &verify(&server, &first, &code).await).await;
        assert_eq!(verify(&server, &first, &code).await.problem(), wrong, "a code opens one session");
        let mut forged = first.clone();
        forged.body["mfa_token"] = json!(first.text("/mfa_token").replace("usr_0", "usr_1"));
        assert_eq!(verify(&server, &forged, &app.code(1)).await.problem(), wrong);

        // A password alone is no longer a step-up.
        let weak = second.post("/v1/auth/step-up", json!({ "password": PASSWORD })).await;
        assert_eq!((weak.status, weak.text("/errors/0/pointer")), (422, "/code".to_owned()));
        assert_eq!(second.post("/v1/auth/step-up", json!({ "code": app.code(1) })).await.status, 200);
        assert_eq!(second.post("/v1/auth/mfa/totp", json!({})).await.problem(), (409, "invalid_state".to_owned()));

        // The phone is lost.
        let codes = second.post("/v1/auth/mfa/recovery-codes", json!({})).await;
        let code = codes.text("/recovery_codes/3");
        assert_eq!(codes.body["recovery_codes"].as_array().unwrap().len(), 10);
        Person::of(&server, &verify(&server, &first, &code.to_lowercase()).await).await;
        assert_eq!(verify(&server, &first, &code).await.problem(), wrong, "a recovery code is accepted once");
        assert_eq!(second.change("DELETE", "/v1/auth/mfa/totp", None).await.status, 204);
        Person::log_in(&server, "ada@people.example").await;
    }

    async fn codes_cannot_be_guessed_and_one_code_opens_one_session(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let app = add(&ada).await;
        let first = server.log_in("ada@people.example", PASSWORD).await;
        let before = api.count("sessions where revoked_at is null").await;
        let body = json!({ "mfa_token": first.text("/mfa_token"), "code": app.code(0) });
        let requested = (0..20).map(|_| {
            let (client, body) = (server.anonymous(), body.clone());
            tokio::spawn(async move { client.change("POST", "/v1/auth/mfa/verify", Some(body)).await.unwrap().status })
        });
        for answer in requested.collect::<Vec<_>>() {
            let status = answer.await.unwrap();
            assert!(matches!(status, 200 | 401 | 429), "{status}");
        }
        assert_eq!(api.count("sessions where revoked_at is null").await, before + 1);
        api.write("delete from attempt_counters").await;
        for _ in 0..5 {
            assert_eq!(verify(&server, &first, "000000").await.status, 401);
        }
        assert_eq!(verify(&server, &first, &app.code(1)).await.problem(), (429, "login_throttled".to_owned()));
    }

    async fn staff_without_a_second_factor_can_only_enrol(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "staff_second_factor", "true");
        let server = api.start().await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        assert_eq!(operator.get("/blockchain/operations").await.problem(), (403, "step_up_required".to_owned()));
        assert_eq!(operator.get("/v1/auth/me").await.status, 200);
        add(&operator).await;
        assert_eq!(operator.get("/blockchain/operations").await.status, 200);
        let investor = api.person(&server, "ada", Role::Investor).await;
        assert_eq!(investor.get("/v1/auth/sessions").await.status, 200);
        // Removing the second factor restores the initial restriction.
        assert_eq!(operator.change("DELETE", "/v1/auth/mfa/totp", None).await.status, 204);
        assert_eq!(operator.get("/blockchain/operations").await.problem(), (403, "step_up_required".to_owned()));
    }

    async fn a_new_password_voids_earlier_second_factors(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let app = add(&ada).await;
        let first = server.log_in("ada@people.example", PASSWORD).await;
        let changed = json!({ "current_password": PASSWORD, "new_password": "a much better one, really" });
        assert_eq!(ada.post("/v1/auth/password/change", changed).await.status, 204);
        assert_eq!(verify(&server, &first, &app.code(0)).await.problem(), (401, "mfa_invalid".to_owned()));
        let again = server.log_in("ada@people.example", "a much better one, really").await;
        assert_eq!(verify(&server, &again, &app.code(0)).await.status, 200, "the code was not used up");
    }

    async fn a_recovery_code_works_once_under_concurrency(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        add(&ada).await;
        let code = ada.post("/v1/auth/mfa/recovery-codes", json!({})).await.text("/recovery_codes/0");
        let first = server.log_in("ada@people.example", PASSWORD).await;
        let body = json!({ "mfa_token": first.text("/mfa_token"), "code": code });
        let requested = (0..10).map(|_| {
            let (client, body) = (server.anonymous(), body.clone());
            tokio::spawn(async move { client.change("POST", "/v1/auth/mfa/verify", Some(body)).await.unwrap().status })
        });
        let mut opened = 0;
        for answer in requested.collect::<Vec<_>>() {
            let status = answer.await.unwrap();
            assert!(matches!(status, 200 | 401 | 429), "{status}");
            opened += u32::from(status == 200);
        }
        assert_eq!((opened, api.count("events where type = 'user.recovery_code_used'").await), (1, 1));
    }
}
