//! A wallet is proved by a signature of its key over the platform's text, once and in time.

use alloy::primitives::{Address, B256, Signature, U256, eip191_hash_message, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Answer, ApiFixture, Installation, Person, SubscriptionFixture, Terms, wallet};
use crate::recover::{NEW, PATH, recovery};

const WALLETS: &str = "/v1/investor/wallets";

/// A test key.
fn key(number: u8) -> PrivateKeySigner {
    PrivateKeySigner::from_bytes(&B256::repeat_byte(number)).unwrap()
}

fn signed(key: &PrivateKeySigner, text: &str) -> String {
    hex::encode_prefixed(key.sign_message_sync(text.as_bytes()).unwrap().as_bytes())
}

async fn claim(person: &Person, address: Address) -> Answer {
    person.post(WALLETS, json!({ "address": address.to_checksum(None) })).await
}

async fn verify(person: &Person, wallet_id: &str, signature: &str) -> Answer {
    person.post(&format!("{WALLETS}/{wallet_id}/verify"), json!({ "signature": signature })).await
}

/// Proves a wallet and returns its id.
async fn prove(person: &Person, key: &PrivateKeySigner) -> String {
    let requested = claim(person, key.address()).await;
    assert_eq!(requested.status, 201, "{requested:?}");
    let id = requested.text("/id");
    let shown = verify(person, &id, &signed(key, &requested.text("/challenge/message"))).await;
    assert_eq!((shown.status, &shown.body["verified"]), (200, &json!(true)), "{shown:?}");
    id
}

fn refused(code: &str) -> (u16, String, String) {
    (422, "/signature".to_owned(), code.to_owned())
}

on_both_databases! {
    async fn an_own_claim_is_reserved_for_a_recovery_to_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        site.minted(&server).await;
        let owned = format!("investor_id, '{NEW:#x}', created_at from wallets where address = '{:#x}'", wallet(0));
        site.write(&format!("insert into wallets (id, investor_id, address, created_at) select 'wal_1', {owned}")).await;
        site.lanes("paused").await;
        server.request_and_approve(&second, PATH, "recover", recovery(&site, &site.offerings[0], NEW).await).await;
        assert_eq!(site.count("wallets where id = 'wal_1' and reserved_by is not null").await, 1);
        site.lanes("active").await;
        site.settled().await;
        assert_eq!(site.count("wallets where id = 'wal_1' and verified_at is not null").await, 1);
    }

    async fn a_wallet_is_proved_once_by_its_signature(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "public_url", "\"https://portal.example/app\"");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let own = key(7);
        let first = claim(&ada, own.address()).await;
        let second = claim(&ada, own.address()).await;
        assert_eq!((first.status, second.status, first.text("/id")), (201, 201, second.text("/id")), "{second:?}");
        let (id, text) = (second.text("/id"), second.text("/challenge/message"));
        assert!(text.starts_with("portal.example wants you to sign in with your Ethereum account:\n"), "{text}");
        let (nonce, address) = (second.text("/challenge/nonce"), own.address().to_checksum(None));
        assert!(text.contains(&format!("\nNonce: {nonce}\n")) && text.contains(&format!("\n{address}\n")), "{text}");

        let made: Signature = own.sign_message_sync(text.as_bytes()).unwrap();
        let order: U256 = "0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141".parse().unwrap();
        let twin = Signature::new(made.r(), order - made.s(), !made.v());
        let wrong = [
            signed(&own, &first.text("/challenge/message")),
            signed(&own, &text.replace("portal.example", "portal.example.evil")),
            signed(&own, &text.replace(&nonce, "0123456789abcdef")),
            signed(&own, &text.replace(&address, &key(8).address().to_checksum(None))),
            signed(&key(8), &text),
            hex::encode_prefixed(twin.as_bytes()),
            hex::encode_prefixed(&made.as_bytes()[..64]),
        ];
        for signature in wrong {
            assert_eq!(verify(&ada, &id, &signature).await.field(), refused("signature_invalid"), "{signature}");
        }
        for signature in ["", "0x", "0x123", "nothing"] {
            assert_eq!(verify(&ada, &id, signature).await.field(), refused("signature_format"), "{signature}");
        }
        assert_eq!(ada.get(WALLETS).await.body["data"][0]["verified"], json!(false));

        // The right signature from twenty tabs at once: one succeeds.
        let right = signed(&own, &text);
        let tabs = (0..20).map(|_| {
            let (ada, id, right) = (ada.clone(), id.clone(), right.clone());
            tokio::spawn(async move { verify(&ada, &id, &right).await })
        });
        let mut taken = 0;
        for tab in tabs.collect::<Vec<_>>() {
            let answer = tab.await.unwrap();
            match answer.status {
                200 => taken += 1,
                _ => assert_eq!(answer.field(), refused("challenge_over"), "{answer:?}"),
            }
        }
        assert_eq!((taken, api.count("events where type = 'wallet.verified'").await), (1, 1));
        assert_eq!(verify(&ada, &id, &right).await.field(), refused("challenge_over"), "a replay");
        assert_eq!(claim(&ada, own.address()).await.problem(), (409, "invalid_state".to_owned()), "the wallet belongs to her");
        assert_eq!(ada.get("/v1/investor/profile").await.body["wallets"][0]["default"], json!(true));
    }

    async fn a_challenge_expires_after_ten_minutes(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let requested = claim(&ada, key(7).address()).await;
        let at = |pointer: &str| chrono::DateTime::parse_from_rfc3339(&requested.text(pointer)).unwrap();
        let text = requested.text("/challenge/message");
        let issued = text.split("Issued At: ").nth(1).unwrap().lines().next().unwrap();
        assert_eq!((at("/challenge/expires_at") - chrono::DateTime::parse_from_rfc3339(issued).unwrap()).num_minutes(), 10);
        assert!(text.contains(&format!("Expiration Time: {}", requested.text("/challenge/expires_at"))));
        api.write("update wallet_challenges set expires_at = created_at").await;
        assert_eq!(verify(&ada, &requested.text("/id"), &signed(&key(7), &text)).await.field(), refused("challenge_over"));
        prove(&ada, &key(7)).await;
    }

    async fn an_unproved_claim_takes_no_address(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let squatted = claim(&bruno, key(7).address()).await;
        let id = prove(&ada, &key(7)).await;
        assert_ne!(id, squatted.text("/id"));
        assert_eq!(bruno.get(WALLETS).await.body["data"], json!([]));
        assert_eq!(claim(&bruno, key(7).address()).await.problem(), (409, "wallet_in_use".to_owned()));
        let late = verify(&bruno, &squatted.text("/id"), &signed(&key(7), &squatted.text("/challenge/message"))).await;
        assert_eq!(late.problem(), (409, "wallet_in_use".to_owned()), "even with the key: the wallet belongs to her now");
        // Another user's wallet is not found.
        let missing = (404, "not_found".to_owned());
        for other in [id.as_str(), "wal_01jc0000000000000000000000", "wal_1"] {
            assert_eq!(verify(&bruno, other, "0x01").await.problem(), missing);
            assert_eq!(bruno.change("POST", &format!("{WALLETS}/{other}/default"), None).await.problem(), missing);
            assert_eq!(bruno.change("DELETE", &format!("{WALLETS}/{other}"), None).await.problem(), missing);
        }
        let olga = api.person(&server, "olga", Role::Operator).await;
        assert_eq!(claim(&olga, key(9).address()).await.problem(), (403, "role_forbidden".to_owned()));
    }

    async fn an_unproved_claim_blocks_nobody(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (ines, bruno, own) = (&fixture.investor, fixture.another("bruno").await, key(7));
        assert_eq!(claim(&bruno, own.address()).await.status, 201);
        let body = json!({ "amount": "1000.00", "wallet_address": own.address().to_checksum(None) });
        let first = ines.post(&fixture.path(), body.clone()).await;
        assert_eq!((first.status, first.text("/wallet_address")), (201, own.address().to_checksum(None)), "{first:?}");
        let second = fixture.committed("1000.00").await;
        let other = json!({ "wallet_address": own.address().to_checksum(None) });
        let changed = ines.change("PATCH", &format!("/v1/subscriptions/{second}"), Some(other.clone())).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        // Two users claim it, and neither has proved it.
        let his = bruno.post(&fixture.path(), body.clone()).await;
        assert_eq!(his.status, 201, "{his:?}");
        let proved = async |person: &Person, id: &str| {
            let shown = person.get(&format!("/v1/subscriptions/{id}")).await;
            let gates = shown.body["gates"].as_array().unwrap();
            gates.iter().find(|gate| gate["code"] == "wallet_unverified").unwrap()["satisfied"] == json!(true)
        };
        assert!(!proved(ines, &first.text("/id")).await && !proved(&bruno, &his.text("/id")).await);
        prove(ines, &own).await;
        assert!(proved(ines, &first.text("/id")).await && proved(ines, &second).await && !proved(&bruno, &his.text("/id")).await);
        assert_eq!(fixture.api.count("events where type = 'wallet.removed'").await, 1);
        let in_use = (409, "wallet_in_use".to_owned());
        assert_eq!(bruno.post(&fixture.path(), body).await.problem(), in_use);
        let path = format!("/v1/subscriptions/{}", fixture.subscribe(&bruno, "1000.00").await.text("/id"));
        assert_eq!(bruno.change("PATCH", &path, Some(other)).await.problem(), in_use);
    }

    async fn one_wallet_is_the_default_and_unused_ones_can_be_removed(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let (first, second) = (prove(&ada, &key(7)).await, prove(&ada, &key(8)).await);
        let named = ada.post(WALLETS, json!({ "address": key(9).address(), "label": "cold" })).await;
        let early = ada.change("POST", &format!("{WALLETS}/{}/default", named.text("/id")), None).await;
        assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "it is not proved");
        let (one, other) = (format!("{WALLETS}/{first}/default"), format!("{WALLETS}/{second}/default"));
        let both = futures::join!(ada.change("POST", &one, None), ada.change("POST", &other, None));
        assert_eq!((both.0.status, both.1.status), (200, 200), "{both:?}");
        assert_eq!(api.count("wallets where is_default").await, 1);
        assert_eq!(ada.change("DELETE", &format!("{WALLETS}/{second}"), None).await.status, 204);
        assert_eq!(ada.change("DELETE", &format!("{WALLETS}/{second}"), None).await.status, 404);
        let told = format!("select type, cast(sequence as text) from events where subject_id = '{second}' order by sequence");
        assert_eq!(api.rows(&told).await, [["wallet.verified", "1"], ["wallet.preferred", "2"], ["wallet.removed", "3"]]);
        let left = ada.get(WALLETS).await;
        assert_eq!((left.body["pagination"]["total"].clone(), left.body["pagination"]["page"].clone()), (json!(2), json!(1)));
        let last = ada.get(&format!("{WALLETS}?page=2&limit=1")).await;
        assert_eq!((last.body["data"].as_array().unwrap().len(), last.text("/data/0/label")), (1, "cold".to_owned()));
        assert_eq!(ada.get(&format!("{WALLETS}?limit=0")).await.problem(), (400, "invalid_parameter".to_owned()));
        let labels: Vec<_> = left.body["data"].as_array().unwrap().iter().map(|w| w["label"].clone()).collect();
        assert_eq!(labels, [Value::Null, json!("cold")]);
        prove(&ada, &key(8)).await;
    }

    async fn a_contract_wallet_is_asked_for_its_signature(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let ada = site.person(&server, "ada", Role::Investor).await;
        let token = site.minted(&server).await;
        let signer = crate::installation::signer_of(world::KEYS[1]);
        for address in [Address::ZERO, token, signer, site.platform.factory, site.platform.registry] {
            let answer = claim(&ada, address).await;
            assert_eq!(answer.field(), (422, "/address".into(), "address_forbidden".into()), "{address}");
        }
        let mistyped = ada.post(WALLETS, json!({ "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAee" })).await;
        assert_eq!(mistyped.field(), (422, "/address".into(), "address_checksum".into()));
        assert_eq!(claim(&ada, wallet(0)).await.problem(), (409, "wallet_in_use".to_owned()));
        let nowhere = ada.post(WALLETS, json!({ "address": key(7).address(), "chain_id": 5 })).await;
        assert_eq!(nowhere.problem(), (409, "unknown_chain".to_owned()));

        let safe = Address::repeat_byte(0x5a);
        let requested = claim(&ada, safe).await;
        let id = requested.text("/id");
        assert_eq!(verify(&ada, &id, "0x1234").await.field(), refused("signature_invalid"), "no code, no key");
        let hash = eip191_hash_message(requested.text("/challenge/message"));
        // Contracts that revert, accept another text, and accept this text.
        let accepts = |hash: B256| format!("0x6004357f{}14631626ba7e0260e01b60005260206000f3", hex::encode(hash));
        for code in ["0x60006000fd".to_owned(), accepts(B256::repeat_byte(1))] {
            site.anvil.rpc().call("anvil_setCode", json!([safe, code])).await;
            assert_eq!(verify(&ada, &id, "0x1234").await.field(), refused("signature_invalid"), "{code}");
        }
        site.anvil.rpc().call("anvil_setCode", json!([safe, accepts(hash)])).await;
        assert_eq!(verify(&ada, &id, "0x1234").await.status, 200);

        // A wallet with history stays.
        let owner = ada.get("/v1/auth/me").await.text("/investor_id");
        site.write(&format!("update wallets set is_default = false, investor_id = '{owner}' where address = '{:#x}'", wallet(0))).await;
        let held = ada.get(WALLETS).await.body["data"].as_array().unwrap().iter().find(|w| w["address"] == json!(wallet(0).to_checksum(None))).unwrap()["id"].clone();
        let kept = ada.change("DELETE", &format!("{WALLETS}/{}", held.as_str().unwrap()), None).await;
        assert_eq!(kept.problem(), (409, "invalid_state".to_owned()));
    }
}
