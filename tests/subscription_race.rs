//! Concurrent requests through the API: the hard cap holds to the cent, a key makes one subscription, and one of two moves wins.

use std::collections::BTreeSet;

use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{Installation, SubscriptionFixture, Terms};

on_both_databases! {
    async fn one_of_two_hundred_gets_the_last_place(database: Database) {
        let fixture = SubscriptionFixture::new(database, |o| o.hard_cap = 300_000).await;
        fixture.committed("1500.00").await;
        let requested = (0..200).map(|_| {
            let (client, path) = (fixture.investor.client(), fixture.path());
            async move { client.change("POST", &path, Some(json!({ "amount": "1500.00" }))).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let made = answers.iter().filter(|answer| answer.status == 201).count();
        let refused = answers.iter().filter(|answer| answer.text("/errors/0/code") == "hard_cap_exceeded").count();
        assert_eq!((made, refused), (1, 199), "{:?}", answers.iter().map(|a| a.problem()).collect::<BTreeSet<_>>());
        assert_eq!((fixture.api.count("subscriptions").await, fixture.reserved().await), (2, "3000.00".to_owned()));
    }

    async fn one_idempotency_key_makes_one_subscription(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let path = fixture.path();
        let requested = (0..50).map(|_| {
            let (client, path) = (fixture.investor.client(), path.clone());
            async move { client.post(&path, "once", json!({ "amount": "1500.00" })).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let ids: BTreeSet<_> = answers.iter().filter(|a| a.status == 201).map(|a| a.text("/subscription_id")).collect();
        let busy = answers.iter().filter(|a| a.problem() == (409, "idempotency_in_progress".to_owned())).count();
        assert_eq!((ids.len(), answers.iter().filter(|a| a.status == 201).count() + busy), (1, 50), "{answers:?}");
        let again = fixture.investor.client().post(&path, "once", json!({ "amount": "1500.00" })).await.unwrap();
        assert_eq!((again.status, again.text("/subscription_id")), (201, ids.first().unwrap().clone()));
        assert!(again.headers.contains_key("idempotent-replayed"));
        let other = fixture.investor.client().post(&path, "once", json!({ "amount": "1600.00" })).await.unwrap();
        assert_eq!(other.problem(), (422, "idempotency_key_reuse".to_owned()));
        // The stored response is deleted after a day; its effect stays.
        fixture.write("delete from idempotency_keys").await;
        let late = fixture.investor.client().post(&path, "once", json!({ "amount": "1500.00" })).await.unwrap();
        assert_eq!((late.problem(), late.text("/resource")), ((409, "idempotency_key_spent".to_owned()), format!("/v1/subscriptions/{}", ids.first().unwrap())));
        assert_eq!((fixture.api.count("subscriptions").await, fixture.reserved().await), (1, "1500.00".to_owned()));
    }

    async fn a_consent_commits_its_investor_once_in_twenty_requests(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let investor = fixture.investor.get("/v1/investor/profile").await.text("/id");
        let paper = json!({ "kind": "subscription_consent", "sha256": "ab".repeat(32) });
        let paper = fixture.operator.post(&format!("/v1/investors/{investor}/documents"), paper).await.text("/id");
        let body = json!({ "amount": "1500.00", "investor_id": investor, "consent_document_id": paper });
        let requested = (0..20).map(|_| {
            let (client, path, body) = (fixture.operator.client(), fixture.path(), body.clone());
            async move { client.change("POST", &path, Some(body)).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let made = answers.iter().filter(|answer| answer.status == 201).count();
        let refused = answers.iter().filter(|answer| answer.text("/errors/0/code") == "already_used").count();
        assert_eq!((made, refused), (1, 19), "{:?}", answers.iter().map(|a| a.problem()).collect::<BTreeSet<_>>());
    }

    async fn a_concurrent_cancel_and_acceptance_leave_one_outcome(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        for round in 0..6 {
            let id = fixture.binding("1500.00").await;
            fixture.pay(&id, "1500.00", &format!("bank-{round}")).await;
            let cancel = fixture.act(&fixture.operator, &id, "cancel", json!({ "reason": "a race" }));
            let accept = fixture.act(&fixture.issuer, &id, "accept", json!({}));
            let (cancelled, accepted) = tokio::join!(cancel, accept);
            // An accepted subscription may be cancelled; a cancelled one is never accepted.
            assert_eq!((cancelled.status, fixture.status(&id).await), (200, "refund_pending".to_owned()), "{cancelled:?}");
            assert!(accepted.status == 200 || accepted.problem() == (409, "invalid_state".to_owned()), "{accepted:?}");
            let events = fixture.events(&id).await;
            assert_eq!(events.contains(&"subscription.accepted".to_owned()), accepted.status == 200, "{events:?}");
        }
        assert_eq!(fixture.reserved().await, "0.00");
    }

    async fn a_refund_that_names_its_amount_does_not_cover_money_that_came_later(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        fixture.pay(&id, "1500.00", "bank-1").await;
        fixture.act(&fixture.investor, &id, "cancel", json!({})).await;
        fixture.pay(&id, "50.00", "bank-2").await;
        let refund = async |amount: &str| {
            fixture.act(&fixture.operator, &id, "refund", json!({ "amount": amount, "method": "bank_transfer", "external_reference": "back-1" })).await
        };
        for (amount, code) in [("1500.00", "below_minimum"), ("1550.01", "above_maximum")] {
            assert_eq!(refund(amount).await.field(), (422, "/amount".to_owned(), code.to_owned()));
        }
        assert_eq!(fixture.api.count("payments where kind = 'refunded'").await, 0);
        let refunded = refund("1550.00").await;
        assert_eq!((refunded.status, refunded.text("/subscription/status")), (200, "refunded".to_owned()), "{refunded:?}");
        assert_eq!(refund("1550.00").await.text("/id"), refunded.text("/id"));
    }

    async fn a_cancelled_subscription_is_never_minted(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(6)]).await;
        let server = site.start().await;
        let offering = &site.offerings[0];
        server.deploy("deploy", offering).await;
        site.settled().await;
        let ids = site.rows("select id from subscriptions order by id").await.concat();
        let cancelling = ids.iter().enumerate().map(|(number, id)| {
            let (client, path) = (server.client(), format!("/v1/subscriptions/{id}/cancel"));
            async move { client.post(&path, &format!("cancel-{number}"), json!({ "reason": "a race" })).await.unwrap() }
        });
        let (cancelled, minted) = tokio::join!(futures::future::join_all(cancelling), server.mint("mint", offering));
        assert!(minted.status == 202 || minted.problem() == (409, "nothing_to_mint".to_owned()), "{minted:?}");
        site.settled().await;
        for (id, answer) in ids.iter().zip(&cancelled) {
            let status = server.get(&format!("/v1/subscriptions/{id}")).await.text("/status");
            match answer.status {
                200 => assert_eq!(status, "refund_pending"),
                _ => assert_eq!((answer.problem().0, status.as_str()), (409, "minted"), "{answer:?}"),
            }
        }
        // A minted subscription stays minted and keeps its place.
        let sums = "select cast(committed_total - (select cast(coalesce(sum(amount), 0) as bigint) from subscriptions where status = 'minted') \
            as text) from offerings";
        assert_eq!(site.rows(sums).await[0][0], "0");
        site.exactly_once().await;
    }
}
