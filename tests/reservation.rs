//! A cap fills with money: words reserve a bounded part of it for a time, and an offering that closed by its cap and has room opens again.

use chrono::{Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{Answer, SubscriptionFixture};

/// Two admins set the bounds, in percent: an investor before payment, one without an approved identity, and all of these.
async fn set_bounds(fixture: &SubscriptionFixture, bounds: [i64; 3]) {
    let a = fixture.api.person(&fixture.server, "a", Role::Admin).await;
    let b = fixture.api.person(&fixture.server, "b", Role::Admin).await;
    let mut limits = a.get("/v1/policies").await.body["limits"].clone();
    let names = ["unpaid_investor_percent", "unverified_investor_percent", "unverified_total_percent"];
    for (name, percent) in names.into_iter().zip(bounds) {
        limits[name] = json!(percent);
    }
    let body = json!({ "limits": limits, "reason": "words are cheap" });
    let asked = a.client().on_version(0).change("PUT", "/v1/policies", Some(body)).await.unwrap();
    assert_eq!(b.approve(&asked).await.text("/status"), "executed");
}

fn is_bounded(answer: &Answer) -> bool {
    answer.field() == (422, "/amount".to_owned(), "reservation_limit_exceeded".to_owned())
}

on_both_databases! {
    async fn words_reserve_a_bounded_part_of_the_cap_for_a_time(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |o| (o.hard_cap, o.minimum_investment) = (1_000_000, 50_000)).await;
        set_bounds(&fixture, [50, 10, 20]).await;
        let mut strangers = Vec::new();
        for name in ["eve", "mallory", "trudy"] {
            strangers.push(fixture.api.person(&fixture.server, name, Role::Investor).await);
        }
        let whole = fixture.subscribe(&strangers[0], "10000.00").await;
        assert!(is_bounded(&whole) && whole.body["errors"][0]["params"]["available"] == "1000.00", "{whole:?}");
        let first = fixture.subscribe(&strangers[0], "1000.00").await.text("/subscription_id");
        assert!(is_bounded(&fixture.subscribe(&strangers[0], "500.00").await), "one stranger has a tenth");
        let second = fixture.subscribe(&strangers[1], "1000.00").await.text("/subscription_id");
        assert!(is_bounded(&fixture.subscribe(&strangers[2], "500.00").await), "all strangers have a fifth");

        // A known investor has half of it before a payment, and the rest after it.
        let known = fixture.committed("5000.00").await;
        assert!(is_bounded(&fixture.subscribe(&fixture.investor, "500.00").await));
        assert_eq!(fixture.pay(&known, "5000.00", "bank-1").await.status, 201);
        fixture.committed("3000.00").await;
        assert_eq!(fixture.reserved().await, "10000.00");

        // One stranger is approved in time; the other loses the place.
        fixture.write(&format!("update investors set kyc_status = 'approved' where user_id = '{}'", strangers[1].id)).await;
        fixture.at(Clock::manual(Utc::now() + Duration::hours(71)), None).await;
        assert_ne!(fixture.status(&first).await, "expired");
        fixture.at(Clock::manual(Utc::now() + Duration::hours(73)), None).await;
        let shown = fixture.operator.get(&format!("/v1/subscriptions/{first}")).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("expired".to_owned(), "identity_not_approved".to_owned()));
        assert_ne!(fixture.status(&second).await, "expired");
        assert_eq!(fixture.reserved().await, "9000.00");
    }

    async fn an_offering_closes_when_its_cap_is_paid_and_opens_again_with_room(database: Database) {
        let end = Utc::now() + Duration::days(30);
        let mut fixture = SubscriptionFixture::new(database, |o| (o.hard_cap, o.closes_at) = (200_000, Some(end))).await;
        let path = format!("/v1/offerings/{}", fixture.offering);
        let id = fixture.binding("2000.00").await;
        let due = format!(
            "insert into timers (subject_id, due_at) values ('{}', '{}') on conflict (subject_id) do update set due_at = excluded.due_at",
            fixture.offering,
            Utc::now().to_rfc3339()
        );
        let tick = async |fixture: &mut SubscriptionFixture| {
            fixture.write(&due).await;
            fixture.at(Clock::manual(Utc::now() + Duration::seconds(5)), None).await;
            fixture.operator.get(&path).await.text("/status")
        };
        assert_eq!(tick(&mut fixture).await, "open", "words close nothing");
        assert_eq!(fixture.pay(&id, "2000.00", "bank-1").await.status, 201);
        assert_eq!(tick(&mut fixture).await, "closed");
        let reopen = format!("{path}/reopen");
        assert_eq!(fixture.issuer.post(&reopen, json!({})).await.problem(), (409, "invalid_state".to_owned()), "it is full");

        let gone = fixture.act(&fixture.operator, &id, "cancel", json!({ "reason": "the money was stolen" })).await;
        assert_eq!(gone.text("/status"), "refund_pending", "{gone:?}");
        assert_eq!(tick(&mut fixture).await, "closed", "it does not settle while it can open again");

        // With a token for the sold units alone, those of a new subscription could not be minted.
        fixture.write("insert into contracts (chain_id, address, kind, next_op_number, created_at) select 31337, \
            '0x00000000000000000000000000000000000000fa', 'factory', 1, created_at from issuers").await;
        let small = json!({ "offering_id": fixture.offering, "caps": { "supply_units": "1" } });
        let deploying = fixture.operator.post("/blockchain/deploy-token", small).await;
        assert_eq!(deploying.status, 202, "{deploying:?}");
        let refused = fixture.issuer.post(&reopen, json!({})).await;
        assert_eq!(refused.problem(), (409, "invalid_state".to_owned()));
        assert!(refused.text("/detail").contains("a cap of 1 base units"), "{refused:?}");
        // As where the deployment is given up.
        fixture.write("update operations set live_key = null").await;

        let reopened = fixture.issuer.post(&reopen, json!({})).await;
        assert_eq!((reopened.status, reopened.text("/status")), (200, "open".to_owned()), "{reopened:?}");
        assert_eq!(fixture.issuer.post(&reopen, json!({})).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(fixture.subscribe(&fixture.investor, "2000.00").await.status, 201);
    }
    async fn an_offering_with_room_settles_when_the_others_are_minted(database: Database) {
        let end = Utc::now() + Duration::days(30);
        let mut fixture = SubscriptionFixture::new(database, |o| (o.hard_cap, o.closes_at) = (200_000, Some(end))).await;
        let path = format!("/v1/offerings/{}", fixture.offering);
        let (kept, given_up) = (fixture.binding("1000.00").await, fixture.binding("1000.00").await);
        for (id, reference) in [(&kept, "bank-1"), (&given_up, "bank-2")] {
            assert_eq!(fixture.pay(id, "1000.00", reference).await.status, 201);
        }
        fixture.at(Clock::manual(Utc::now() + Duration::seconds(5)), None).await;
        assert_eq!(fixture.operator.get(&path).await.text("/status_reason"), "hard_cap_reached");
        let gone = fixture.act(&fixture.operator, &given_up, "cancel", json!({ "reason": "the money was stolen" })).await;
        assert_eq!(gone.text("/status"), "refund_pending", "{gone:?}");
        // As after the refund of one and the mint of the other. A row needs an operation, so the deployment stands for the mint.
        fixture.write("insert into contracts (chain_id, address, kind, next_op_number, created_at) select 31337, \
            '0x00000000000000000000000000000000000000fa', 'factory', 1, created_at from issuers").await;
        let deploying = fixture.operator.post("/blockchain/deploy-token", json!({ "offering_id": fixture.offering })).await;
        assert_eq!(deploying.status, 202, "{deploying:?}");
        fixture.write(&format!("update subscriptions set status = 'refunded' where id = '{given_up}'")).await;
        let hash = "7".repeat(64);
        let minted = format!("status = 'minted', mint_operation_id = (select id from operations), mint_tx_hash = '0x{hash}'");
        fixture.write(&format!("update subscriptions set {minted} where id = '{kept}'")).await;
        fixture.at(Clock::manual(Utc::now() + Duration::minutes(2)), None).await;
        assert_eq!(fixture.operator.get(&path).await.text("/status"), "settled");
    }
}
