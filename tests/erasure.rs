//! What somebody may have forgotten: who they are, by two people, once nothing is owed any more. What was bought and paid stays.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::export::known;
use crate::installation::{Answer, PASSWORD, Payday, Person, Raise, ledger_everything, ledger_rows, register};
use crate::portfolio::holder;

/// Asks for somebody to be forgotten.
async fn ask(raise: &Raise, id: &str) -> Answer {
    raise.operator.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "asked for by letter" })).await
}

async fn refused(raise: &Raise, id: &str, what: &str) {
    let answer = ask(raise, id).await;
    assert_eq!(answer.problem(), (409, "invalid_state".to_owned()), "{answer:?}");
    assert!(answer.text("/detail").ends_with(&format!("Still open: {what}.")), "{answer:?}");
}

/// The words that stand in any column of any table, whatever their case.
async fn found(raise: &Raise, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for (table, rows) in ledger_everything(&raise.door.database).await {
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
        let raise = Raise::new(database, |_| {}).await;
        let (ada, id, sub) = known(&raise, "zephyrine").await;
        assert_eq!(raise.pay(&sub, "1500.00", "bank-1").await.status, 201);
        refused(&raise, &id, "a subscription that has not ended").await;
        assert_eq!(raise.act(&ada, &sub, "cancel", json!({})).await.status, 200);
        refused(&raise, &id, "an open refund").await;
        let back = json!({ "method": "bank_transfer", "external_reference": "bank-2" });
        assert_eq!(raise.act(&raise.operator, &sub, "refund", back).await.status, 200);
        let petra = raise.door.person(&raise.server, "petra", Role::Operator).await;
        let idle = Person::log_in(&raise.server, &raise.operator.email).await;
        let sleepy = idle.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "x" })).await;
        assert_eq!(sleepy.problem(), (403, "step_up_required".to_owned()));
        let stop = json!({ "reason_code": "operator" });
        assert_eq!(raise.operator.post(&format!("/v1/investors/{id}/suspend"), stop).await.status, 200);
        let end = json!({ "reason": "a mistake", "evidence_sha256": "ab".repeat(32) });
        let reinstating = raise.operator.post(&format!("/v1/investors/{id}/reinstate"), end).await;
        refused(&raise, &id, "another pending approval").await;
        assert_eq!(raise.server.approve(&petra, &reinstating).await.text("/status"), "executed");
        let asked = ask(&raise, &id).await;
        assert_eq!((asked.status, asked.text("/approval/action")), (202, "erase_investor".to_owned()), "{asked:?}");
        assert_eq!(ask(&raise, &id).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(raise.server.approve(&raise.operator, &asked).await.problem(), (403, "self_approval_forbidden".to_owned()));
        let words = ["zephyrine", "quillfeather", "765432", "pt-br"];
        let tables = found(&raise, &words).await;
        for table in ["users", "investors", "wallet_challenges", "subscriptions", "webhook_endpoints", "idempotency_keys"] {
            assert!(tables.iter().any(|line| line.contains(&format!(" in {table}:"))), "{table} would not be looked at: {tables:?}");
        }
        let done = raise.server.approve(&petra, &asked).await;
        assert_eq!(done.text("/status"), "executed", "{done:?}");

        assert_eq!(found(&raise, &words).await, Vec::<String>::new());
        assert_eq!(ada.standing().await, (401, "session_revoked".to_owned()));
        assert_eq!(ada.refresh().await.status, 401);
        assert_eq!(raise.server.log_in(&ada.email, PASSWORD).await.problem(), (401, "invalid_credentials".to_owned()));
        let left = raise.operator.get(&format!("/v1/investors/{id}")).await;
        assert_eq!((left.status, left.text("/legal_name"), &left.body["email"], &left.body["annual_income"]), (200, "Erased".to_owned(), &Value::Null, &Value::Null));
        assert!(left.body["erased_at"].is_string(), "{left:?}");
        let kept = raise.operator.get(&format!("/v1/subscriptions/{sub}")).await;
        assert_eq!((kept.text("/status"), kept.text("/investor_id")), ("refunded".to_owned(), id.clone()));
        assert_eq!((raise.door.count("payments").await, raise.door.count("events where type = 'investor.erased'").await), (2, 1));
        let seals = "select cast(count(*) as text) from sessions where ip <> '' and user_id = ";
        assert_eq!(ledger_rows(&raise.door.database, &format!("{seals}'{}'", ada.id)).await[0][0], "0");
        assert_eq!(raise.operator.get("/v1/audit-log/verify").await.body["ok"], true);
        // Nothing is added to it any more, it is over once, and the address is free again.
        let adam = raise.door.person(&raise.server, "adam", Role::Admin).await;
        let roles = json!({ "roles": ["investor", "issuer"], "reason": "x" });
        assert_eq!(adam.change("PATCH", &format!("/v1/users/{}/roles", ada.id), Some(roles)).await.problem(), (409, "invalid_state".to_owned()));
        let yes = json!({ "status": "none", "basis": "b", "evidence_sha256": "ab".repeat(32) });
        assert_eq!(raise.operator.post(&format!("/v1/investors/{id}/accreditation"), yes).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(ask(&raise, &id).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(register(&raise.server, &ada.email).await.status, 201);
        let consent = json!({ "kind": "subscription_consent", "sha256": "ef".repeat(32) });
        let paper = raise.operator.post(&format!("/v1/investors/{id}/documents"), consent).await.text("/id");
        let late = json!({ "amount": "1500.00", "investor_id": id, "consent_document_id": paper });
        assert_eq!(raise.operator.post(&raise.path(), late).await.field(), (422, "/investor_id".to_owned(), "not_found".to_owned()));
    }

    async fn a_concurrent_commitment_and_erasure_leave_one_outcome(database: Database) {
        let raise = Raise::new(database, |_| {}).await;
        let petra = raise.door.person(&raise.server, "petra", Role::Operator).await;
        for round in 0..4 {
            let ada = raise.another(&format!("ada-{round}")).await;
            let id = ada.get("/v1/auth/me").await.text("/investor_id");
            let asked = ask(&raise, &id).await;
            let (made, decided) = tokio::join!(raise.subscribe(&ada, "1500.00"), raise.server.approve(&petra, &asked));
            let erased = raise.door.count(&format!("investors where id = '{id}' and erased_at is not null")).await == 1;
            let alive = raise.door.count(&format!("subscriptions where investor_id = '{id}'")).await == 1;
            assert_eq!((made.status == 201, decided.text("/status") == "executed"), (alive, erased), "{made:?} {decided:?}");
            assert!(alive != erased, "{made:?} {decided:?}");
        }
    }

    async fn an_investor_with_units_or_open_payments_is_not_erased(database: Database) {
        let day = Payday::new(database, 3).await;
        let olga = day.site.person(&day.server, "olga", Role::Operator).await;
        let (_, id) = holder(&day.site, &day.server, 0).await;
        let refused = async |what: &str| {
            let answer = olga.post(&format!("/v1/investors/{id}/erase"), json!({ "reason": "asked for" })).await;
            assert_eq!(answer.problem(), (409, "invalid_state".to_owned()), "{answer:?}");
            assert!(answer.text("/detail").ends_with(&format!("Still open: {what}.")), "{answer:?}");
        };
        refused("units of a token").await;
        let distribution = day.calculated("direct_payout", "300.00").await;
        refused("an open payment, units of a token").await;
        day.site.lanes("paused").await;
        assert_eq!(day.site.freeze(&day.server, "freeze", 0).await.status, 202);
        refused("an open payment, units of a token, an operation that is not finished").await;
        day.site.lanes("active").await;
        day.site.settled().await;
        let called_off = day.server.post(&format!("/v1/distributions/{distribution}/cancel"), "cancel", json!({ "reason": "a mistake" })).await;
        assert_eq!(called_off.status, 200, "{called_off:?}");
        refused("units of a token").await;
    }
}
