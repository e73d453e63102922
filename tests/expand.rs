//! `expand=offering`: the offering comes with what is read, so that a portal asks once.

use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{PayoutFixture, SubscriptionFixture};

on_both_databases! {
    async fn a_subscription_comes_with_its_offering(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        let offering = fixture.investor.get(&format!("/v1/offerings/{}", fixture.offering)).await;
        for person in [&fixture.investor, &fixture.issuer, &fixture.operator] {
            let list = person.get("/v1/subscriptions?expand=offering").await;
            let one = person.get(&format!("/v1/subscriptions/{id}?expand=offering")).await;
            for shown in [&list.body["data"][0]["offering"], &one.body["offering"]] {
                for field in ["id", "name", "status", "template", "minimum_investment", "currency", "closes_at"] {
                    assert_eq!(shown[field], offering.body[field], "{field}");
                }
                assert!(shown["id"].is_string() && shown["issuer_name"].is_string(), "{shown}");
            }
            for path in ["/v1/subscriptions".to_owned(), format!("/v1/subscriptions/{id}")] {
                let text = person.get(&path).await.body.to_string();
                assert!(!text.contains("\"offering\":"), "only if it is asked for: {text}");
                let refused = person.get(&format!("{path}?expand=investor")).await;
                assert_eq!(refused.problem(), (400, "invalid_parameter".to_owned()), "{refused:?}");
            }
        }
    }

    async fn a_distribution_comes_with_its_offering(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let id = fixture.calculated("direct_payout", "60.00").await;
        let plain = fixture.shown(&id).await;
        let list = fixture.server.get("/v1/distributions?expand=offering").await;
        let one = fixture.server.get(&format!("/v1/distributions/{id}?expand=offering")).await;
        for shown in [&list.body["data"][0]["offering"], &one.body["offering"]] {
            assert_eq!((&shown["name"], &shown["id"]), (&json!(plain.text("/offering_name")), &plain.body["offering_id"]), "{shown}");
        }
        assert_eq!(plain.body.get("offering"), None::<&Value>);
    }
}
