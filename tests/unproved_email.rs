//! An unproved address owns nothing, and the first proof by its owner removes what was made before.

use alloy::primitives::{B256, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use muniment_domain::clock::Clock;
use muniment_domain::delivery;
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{ApiFixture, OfferingFixture, PASSWORD, Person, Server, open_at, register, register_issuer};

const ADA: &str = "ada@people.example";

async fn proves_a_wallet(person: &Person) {
    let key = PrivateKeySigner::from_bytes(&B256::repeat_byte(7)).unwrap();
    let claimed = person.post("/v1/investor/wallets", json!({ "address": key.address().to_checksum(None) })).await;
    let text = claimed.text("/challenge/message");
    let signature = hex::encode_prefixed(key.sign_message_sync(text.as_bytes()).unwrap().as_bytes());
    let path = format!("/v1/investor/wallets/{}/verify", claimed.text("/id"));
    assert_eq!(person.post(&path, json!({ "signature": signature })).await.status, 200, "{claimed:?}");
}

async fn resets_the_password(server: &Server, email: &str, earlier: &str, password: &str) -> String {
    let forgotten = json!({ "email": email });
    server.anonymous().change("POST", "/v1/auth/password/forgot", Some(forgotten)).await.unwrap();
    let token = server.mailed_after(earlier, "reset_password", email).await;
    let body = json!({ "token": token, "new_password": password });
    let reset = server.anonymous().change("POST", "/v1/auth/password/reset", Some(body)).await.unwrap();
    assert_eq!(reset.status, 204, "{reset:?}");
    token
}

on_both_databases! {
    async fn an_unproved_address_owns_nothing(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let (api, server) = (&fixture.api, fixture.server.as_ref().unwrap());
        assert_eq!(register(server, "eve@people.example").await.status, 201);
        let eve = Person::fresh(server, "eve@people.example").await;
        let (ida, issuer_id) = register_issuer(&api.database, server, "mallory").await;
        api.write(&format!("update users set email_verified_at = null where id = '{}'", ida.id)).await;
        fixture.approve(&issuer_id).await;
        let ida = Person::fresh(server, &ida.email).await;
        let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
        let wanted = [
            (&eve, "/v1/investor/wallets".to_owned(), json!({ "address": address })),
            (&eve, "/v1/auth/mfa/totp".to_owned(), json!({})),
            (&eve, "/v1/webhooks/endpoints".to_owned(), json!({ "url": "https://hooks.example/", "event_types": ["*"] })),
            (&eve, "/v1/investor/kyc".to_owned(), json!({ "level": "basic", "data": {} })),
            (&eve, "/v1/offerings/off_01jc0000000000000000000000/subscribe".to_owned(), json!({ "amount": "1000.00" })),
            (&ida, "/v1/api-keys".to_owned(), json!({ "name": "k", "scopes": ["offerings:read"] })),
            (&ida, format!("/v1/issuers/{issuer_id}/members"), json!({ "email": "a@b.example", "name": "A" })),
        ];
        for (person, path, body) in &wanted {
            assert_eq!(person.post(path, body.clone()).await.problem(), (403, "email_not_verified".to_owned()), "{path}");
        }
        let token = server.mailed("verify_email", &eve.email).await;
        let proof = server.anonymous().change("POST", "/v1/auth/verify-email", Some(json!({ "token": token }))).await.unwrap();
        assert_eq!(proof.status, 204, "{proof:?}");
        assert_eq!(eve.post("/v1/investor/wallets", json!({ "address": address })).await.status, 201);
    }

    async fn the_first_proof_by_a_reset_removes_what_was_planted(database: Database) {
        let api = ApiFixture::new(database).await;
        let mut server = api.start().await;
        // An older release let an unproved address own things.
        let mallory = api.person(&server, "ada", Role::Investor).await;
        proves_a_wallet(&mallory).await;
        assert_eq!(mallory.post("/v1/auth/mfa/totp", json!({})).await.status, 200);
        api.write("update second_factors set confirmed_at = created_at").await;
        let endpoint = json!({ "url": "https://portal.example/hooks", "event_types": ["*"] });
        let told = mallory.post("/v1/webhooks/endpoints", endpoint).await;
        assert_eq!(told.status, 201, "{told:?}");
        let test = format!("/v1/webhooks/endpoints/{}/test", told.text("/id"));
        assert!(mallory.post(&test, json!({})).await.status < 300);
        let (deliveries, live) = ("webhook_deliveries", "webhook_deliveries where status in ('pending', 'delivering', 'retrying')");
        api.until("it is to be told", async || api.count(deliveries).await > 0).await;
        api.write("update users set email_verified_at = null").await;

        let first = resets_the_password(&server, ADA, "", PASSWORD).await;
        assert_eq!(mallory.session_status().await.0, 401);
        let ada = Person::log_in(&server, ADA).await;
        assert_eq!(ada.get("/v1/investor/wallets").await.body["data"], json!([]));
        assert_eq!(ada.get("/v1/webhooks/endpoints").await.body["data"], json!([]));
        let me = ada.get("/v1/auth/me").await;
        assert_eq!((&me.body["email_verified"], &me.body["mfa"]["enabled"]), (&json!(true), &json!(false)));

        assert_eq!(api.count(live).await, 0);
        // What the owner makes after the proof survives the next reset.
        proves_a_wallet(&ada).await;
        api.write("delete from email_links").await;
        resets_the_password(&server, ADA, &first, "another horse battery staple").await;
        let again = server.log_in(ADA, "another horse battery staple").await;
        let ada = Person::of(&server, &again).await;
        assert_eq!(ada.get("/v1/investor/wallets").await.body["data"][0]["verified"], json!(true));

        server.process.kill();
        // One that was made while its endpoint ended is found, too.
        api.write("update webhook_deliveries set status = 'pending', next_attempt_at = created_at").await;
        let db = open_at(&api.database.url(), Clock::System).await;
        let mut tx = db.begin().await.unwrap();
        assert!(delivery::skip_ended(&mut tx).await.unwrap() > 0);
        tx.commit(Point::Housekeeping).await.unwrap();
        drop(db);
        assert_eq!(api.count(live).await, 0);
    }

    async fn an_address_is_one_plain_mailbox(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let long = format!("{}@people.example", "a".repeat(65));
        for email in ["all-staff,postmaster,x@evil.example", "a;b@evil.example", "team:a@evil.example", "a@b@evil.example", "<a@evil.example>",
            "a(b)@evil.example", "\"a b\"@evil.example", "a..b@evil.example", ".a@evil.example", "a@evil", "a@-evil.example", "a@evil.1",
            "a@[127.0.0.1]", "a@evil,example.com", "a\u{200b}@evil.example", "-oX@evil.example", &long] {
            let refused = register(&server, email).await;
            assert_eq!(refused.field(), (422, "/email".to_owned(), "email_format".to_owned()), "{email}");
        }
        for email in ["ada+muniment@people.example", "o'brien.x_y@sub.xn--bcher-kva.example"] {
            assert_eq!(register(&server, email).await.status, 201, "{email}");
        }
    }

    async fn only_an_approved_issuer_invites_and_only_so_many_a_day(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        fixture.api.set("engine", "issuer_invitations_per_day", "3");
        fixture.server = None;
        let server = fixture.api.start().await;
        let (pia, pending) = register_issuer(&fixture.api.database, &server, "pia").await;
        let pia = Person::fresh(&server, &pia.email).await;
        let invite = async |by: &Person, issuer: &str, number: usize| {
            let body: Value = json!({ "email": format!("guest{number}@people.example"), "name": "Guest" });
            by.post(&format!("/v1/issuers/{issuer}/members"), body).await.problem()
        };
        assert_eq!(invite(&pia, &pending, 0).await, (409, "invalid_state".to_owned()), "not approved yet");
        let ida = Person::fresh(&server, &fixture.issuer.email).await;
        for number in 1..=3 {
            assert_eq!(invite(&ida, &fixture.issuer_id, number).await.0, 201, "{number}");
        }
        assert_eq!(invite(&ida, &fixture.issuer_id, 4).await, (409, "invalid_state".to_owned()));
        fixture.api.write("update issuers set invited_on = '2020-01-01'").await;
        assert_eq!(invite(&ida, &fixture.issuer_id, 4).await.0, 201, "a new day");
    }
}
