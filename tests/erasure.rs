//! Erasure: two people erase an investor's identity once nothing is open. Purchases and payments stay.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::export::investor_with_data;
use crate::installation::{
    Answer, PASSWORD, PayoutFixture, Person, SubscriptionFixture, ledger_everything, ledger_rows, register,
};
use crate::portfolio::holder;

/// Requests the erasure of an investor.
async fn request_erasure(fixture: &SubscriptionFixture, id: &str) -> Answer {
    fixture.operator.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "asked for by letter" })).await
}

async fn assert_refused(fixture: &SubscriptionFixture, id: &str, what: &str) {
    let answer = request_erasure(fixture, id).await;
    assert_eq!(answer.problem(), (409, "invalid_state".to_owned()), "{answer:?}");
    assert!(answer.text("/detail").ends_with(&format!("Still open: {what}.")), "{answer:?}");
}

/// Searches every column of every table for these words, ignoring case.
async fn tables_with(fixture: &SubscriptionFixture, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (table, rows) in ledger_everything(&fixture.api.database).await {
        for row in rows.iter().map(|row| row.to_lowercase()) {
            found.extend(
                words.iter().filter(|word| row.contains(**word)).map(|word| format!("{word} in {table}: {row}")),
            );
        }
    }
    found
}

on_both_databases! {
    async fn two_people_erase_an_investor_and_purchases_stay(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (ada, id, sub) = investor_with_data(&fixture, "zephyrine").await;
        assert_eq!(fixture.pay(&sub, "1500.00", "bank-1").await.status, 201);
        assert_refused(&fixture, &id, "a subscription that has not ended").await;
        assert_eq!(fixture.act(&ada, &sub, "cancel", json!({})).await.status, 200);
        assert_refused(&fixture, &id, "an open refund").await;
        let back = json!({ "method": "bank_transfer", "external_reference": "bank-2" });
        assert_eq!(fixture.act(&fixture.operator, &sub, "refund", back).await.status, 200);
        let petra = fixture.api.person(&fixture.server, "petra", Role::Operator).await;
        let idle = Person::log_in(&fixture.server, &fixture.operator.email).await;
        let sleepy = idle.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "x" })).await;
        assert_eq!(sleepy.problem(), (403, "step_up_required".to_owned()));
        let stop = json!({ "reason_code": "operator" });
        assert_eq!(fixture.operator.post(&format!("/v1/investors/{id}/suspend"), stop).await.status, 200);
        let end = json!({ "reason": "a mistake", "evidence_sha256": "ab".repeat(32) });
        let reinstating = fixture.operator.post(&format!("/v1/investors/{id}/reinstate"), end).await;
        assert_refused(&fixture, &id, "another pending approval").await;
        assert_eq!(fixture.server.approve(&petra, &reinstating).await.text("/status"), "executed");
        let requested = request_erasure(&fixture, &id).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "erase_investor".to_owned()), "{requested:?}");
        assert_eq!(request_erasure(&fixture, &id).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(fixture.server.approve(&fixture.operator, &requested).await.problem(), (403, "self_approval_forbidden".to_owned()));
        // A hash of the audit log can hold six digits of the income by chance, but not eight.
        let words = ["zephyrine", "quillfeather", "76543210", "765432.10", "pt-br"];
        let tables = tables_with(&fixture, &words).await;
        for table in ["users", "investors", "wallet_challenges", "subscriptions", "webhook_endpoints", "idempotency_keys"] {
            assert!(tables.iter().any(|line| line.contains(&format!(" in {table}:"))), "{table} was not searched: {tables:?}");
        }
        fixture.api.fanned_out().await;
        assert!(fixture.api.count("webhook_deliveries").await > 0);
        let done = fixture.server.approve(&petra, &requested).await;
        assert_eq!(done.text("/status"), "executed", "{done:?}");

        let live = "webhook_deliveries where status in ('pending', 'delivering', 'retrying')";
        assert_eq!(fixture.api.count(live).await, 0, "nothing is left for an endpoint that ended");
        assert_eq!(tables_with(&fixture, &words).await, Vec::<String>::new());
        assert_eq!(ada.session_status().await, (401, "session_revoked".to_owned()));
        assert_eq!(ada.refresh().await.status, 401);
        assert_eq!(fixture.server.log_in(&ada.email, PASSWORD).await.problem(), (401, "invalid_credentials".to_owned()));
        let left = fixture.operator.get(&format!("/v1/investors/{id}")).await;
        assert_eq!((left.status, left.text("/legal_name"), &left.body["email"], &left.body["annual_income"]), (200, "Erased".to_owned(), &Value::Null, &Value::Null));
        assert!(left.body["erased_at"].is_string(), "{left:?}");
        let kept = fixture.operator.get(&format!("/v1/subscriptions/{sub}")).await;
        assert_eq!((kept.text("/status"), kept.text("/investor_id")), ("refunded".to_owned(), id.clone()));
        assert_eq!((fixture.api.count("payments").await, fixture.api.count("events where type = 'investor.erased'").await), (2, 1));
        let seals = "select cast(count(*) as text) from sessions where ip <> '' and user_id = ";
        assert_eq!(ledger_rows(&fixture.api.database, &format!("{seals}'{}'", ada.id)).await[0][0], "0");
        assert_eq!(fixture.operator.get("/v1/audit-log/verify").await.body["ok"], true);
        // The record accepts no more changes, cannot be erased again, and the address is free.
        let adam = fixture.api.person(&fixture.server, "adam", Role::Admin).await;
        let roles = json!({ "roles": ["investor", "issuer"], "reason": "x" });
        assert_eq!(adam.change("PATCH", &format!("/v1/users/{}/roles", ada.id), Some(roles)).await.problem(), (409, "invalid_state".to_owned()));
        let decision = json!({ "status": "none", "basis": "b", "evidence_sha256": "ab".repeat(32) });
        assert_eq!(fixture.operator.post(&format!("/v1/investors/{id}/accreditation"), decision).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(request_erasure(&fixture, &id).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(register(&fixture.server, &ada.email).await.status, 201);
        let consent = json!({ "kind": "subscription_consent", "sha256": "ef".repeat(32) });
        let paper = fixture.operator.post(&format!("/v1/investors/{id}/documents"), consent).await.text("/id");
        let late = json!({ "amount": "1500.00", "investor_id": id, "consent_document_id": paper });
        assert_eq!(fixture.operator.post(&fixture.path(), late).await.field(), (422, "/investor_id".to_owned(), "not_found".to_owned()));
    }

    async fn a_member_of_the_staff_is_not_erased(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let petra = fixture.api.person(&fixture.server, "petra", Role::Operator).await;
        let id = fixture.investor.get("/v1/auth/me").await.text("/investor_id");
        let becomes = async |roles: &str| {
            fixture.write(&format!("update users set roles = '{roles}' where id = '{}'", fixture.investor.id)).await;
        };
        for role in ["admin", "operator", "auditor"] {
            becomes(role).await;
            assert_refused(&fixture, &id, "access as staff").await;
        }
        becomes("investor").await;
        let requested = request_erasure(&fixture, &id).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        becomes("admin").await;
        let decided = fixture.server.approve(&petra, &requested).await;
        assert_eq!((decided.text("/status"), decided.text("/error/code")), ("execution_failed".to_owned(), "invalid_state".to_owned()), "{decided:?}");
        assert_eq!(fixture.api.count(&format!("users where id = '{}' and status = 'active'", fixture.investor.id)).await, 1);
    }

    async fn a_concurrent_commitment_and_erasure_leave_one_outcome(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let petra = fixture.api.person(&fixture.server, "petra", Role::Operator).await;
        for round in 0..4 {
            let ada = fixture.another(&format!("ada-{round}")).await;
            let id = ada.get("/v1/auth/me").await.text("/investor_id");
            let requested = request_erasure(&fixture, &id).await;
            let (made, decided) = tokio::join!(fixture.subscribe(&ada, "1500.00"), fixture.server.approve(&petra, &requested));
            let erased = fixture.api.count(&format!("investors where id = '{id}' and erased_at is not null")).await == 1;
            let alive = fixture.api.count(&format!("subscriptions where investor_id = '{id}'")).await == 1;
            assert_eq!((made.status == 201, decided.text("/status") == "executed"), (alive, erased), "{made:?} {decided:?}");
            assert!(alive != erased, "{made:?} {decided:?}");
        }
    }

    async fn an_investor_with_units_or_open_payments_is_not_erased(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let olga = fixture.site.person(&fixture.server, "olga", Role::Operator).await;
        let (_, id) = holder(&fixture.site, &fixture.server, 0).await;
        let refusal_names = async |what: &str| {
            let answer = olga.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "asked for" })).await;
            assert_eq!(answer.problem(), (409, "invalid_state".to_owned()), "{answer:?}");
            assert!(answer.text("/detail").ends_with(&format!("Still open: {what}.")), "{answer:?}");
        };
        refusal_names("units of a token").await;
        let distribution = fixture.calculated("direct_payout", "300.00").await;
        refusal_names("an open payment, units of a token").await;
        let theirs = format!("payee_address in (select address from wallets where investor_id = '{id}')");
        fixture.site.write(&format!("update entitlements set investor_id = null where {theirs}")).await;
        refusal_names("a payment to one of the wallets, units of a token").await;
        fixture.site.write(&format!("update entitlements set investor_id = '{id}' where {theirs}")).await;
        fixture.site.lanes("paused").await;
        assert_eq!(fixture.site.freeze(&fixture.server, "freeze", 0).await.status, 202);
        refusal_names("an open payment, units of a token, an operation that is not finished").await;
        fixture.site.lanes("active").await;
        fixture.site.settled().await;
        let called_off = fixture.server.post(&format!("/v1/distributions/{distribution}/cancel"), "cancel", json!({ "reason": "a mistake" })).await;
        assert_eq!(called_off.status, 200, "{called_off:?}");
        refusal_names("units of a token").await;
        fixture.site.write(&format!("update subscriptions set received_amount = amount + refunded_amount + 1 where investor_id = '{id}'")).await;
        refusal_names("money above a subscription's amount, units of a token").await;
    }
}
