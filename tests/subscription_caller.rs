//! Who subscribes for whom: the role of the caller decides, not a record of an investor that a former role left.

use serde_json::json;
use world::on_both_databases;

use crate::installation::{Person, SubscriptionFixture};

/// Records a consent of the investor; returns the document's id.
async fn consent(fixture: &SubscriptionFixture, investor: &str) -> String {
    let paper = json!({ "kind": "subscription_consent", "sha256": "ab".repeat(32) });
    let kept = fixture.operator.post(&format!("/v1/investors/{investor}/documents"), paper).await;
    assert_eq!(kept.status, 201, "{kept:?}");
    kept.text("/id")
}

async fn set_role(fixture: &SubscriptionFixture, person: &Person, role: &str) {
    fixture.write(&format!("update users set roles = '{role}' where id = '{}'", person.id)).await;
}

on_both_databases! {
    async fn a_former_operator_subscribes_for_nobody_else(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let victim = fixture.investor.get("/v1/investor/profile").await.text("/id");
        let paper = consent(&fixture, &victim).await;
        set_role(&fixture, &fixture.operator, "investor").await;
        let named = json!({ "amount": "1500.00", "investor_id": victim, "consent_document_id": paper });
        for path in [fixture.path(), format!("{}?dry_run=true", fixture.path())] {
            let refused = fixture.operator.post(&path, named.clone()).await;
            assert_eq!(refused.field(), (422, "/investor_id".to_owned(), "unknown_field".to_owned()), "{refused:?}");
            let without_record = fixture.operator.post(&path, json!({ "amount": "1500.00" })).await;
            assert_eq!(without_record.problem(), (404, "not_found".to_owned()), "{without_record:?}");
        }
        assert_eq!(fixture.api.count("subscriptions").await, 0);
    }

    async fn an_operator_who_was_an_investor_subscribes_for_others_alone(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let sven = fixture.another("sven").await;
        let [own, other] = [&sven, &fixture.investor].map(async |person: &Person| person.get("/v1/investor/profile").await.text("/id"));
        let (own, other) = (own.await, other.await);
        let (own_paper, paper) = (consent(&fixture, &own).await, consent(&fixture, &other).await);
        set_role(&fixture, &sven, "operator").await;
        let unnamed = fixture.subscribe(&sven, "1500.00").await;
        assert_eq!(unnamed.field(), (422, "/investor_id".to_owned(), "required".to_owned()), "{unnamed:?}");
        let themselves = json!({ "amount": "1500.00", "investor_id": own, "consent_document_id": own_paper });
        assert_eq!(sven.post(&fixture.path(), themselves).await.problem(), (403, "self_approval_forbidden".to_owned()));
        let named = json!({ "amount": "1500.00", "investor_id": other, "consent_document_id": paper });
        let created = sven.post(&fixture.path(), named).await;
        assert_eq!(created.status, 201, "{created:?}");
        assert_eq!(fixture.api.count("subscriptions").await, 1);
    }
}
