//! Every status of a subscription against every move through the API: moves of the table succeed, others are refused with their error.

use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Person, SubscriptionFixture};

/// Every status except `minted`, which only the chain sets; the mint tests cover it.
const STATUSES: [&str; 9] = [
    "committed",
    "pending_reconfirmation",
    "binding",
    "accepted",
    "cancelled",
    "rejected",
    "expired",
    "refund_pending",
    "refunded",
];

/// The next status by status and move; a missing pair is refused.
fn expected_status(status: &str, act: &str) -> Option<&'static str> {
    match (status, act) {
        ("committed" | "pending_reconfirmation", "withdraw")
        | ("committed" | "pending_reconfirmation" | "binding" | "accepted", "cancel") => Some("cancelled"),
        ("pending_reconfirmation", "reconfirm") => Some("committed"),
        ("binding", "accept") => Some("accepted"),
        ("committed" | "binding", "reject") => Some("rejected"),
        ("refund_pending", "refund") => Some("refunded"),
        _ => None,
    }
}

/// Sets a status, with the columns that a row in that status has.
async fn set_status(fixture: &SubscriptionFixture, id: &str, status: &str, act: &str) {
    let paid = act == "accept" || status == "refund_pending";
    let money = if paid { "amount" } else { "0" };
    let reserved = if ["cancelled", "rejected", "expired", "refund_pending", "refunded"].contains(&status) {
        "0"
    } else {
        "150000"
    };
    fixture
        .write(&format!(
            "update subscriptions set status = '{status}', received_amount = {money}, refunded_amount = 0, previous_status = 'committed', \
             reconfirm_by = cooling_off_expires_at where id = '{id}'"
        ))
        .await;
    fixture.write(&format!("update offerings set committed_total = {reserved}")).await;
}

fn request_for<'a>(fixture: &'a SubscriptionFixture, act: &str) -> (&'a Person, &'static str, Value) {
    match act {
        "withdraw" => (&fixture.investor, "cancel", json!({})),
        "cancel" => (&fixture.operator, "cancel", json!({ "reason": "a test" })),
        "reconfirm" => (&fixture.investor, "reconfirm", json!({ "offering_version": 1 })),
        "accept" => (&fixture.operator, "accept", json!({})),
        "reject" => (&fixture.issuer, "reject", json!({ "reason_code": "unsuitable" })),
        _ => (&fixture.operator, "refund", json!({ "method": "bank_transfer", "external_reference": "back" })),
    }
}

on_both_databases! {
    async fn every_status_allows_exactly_its_moves(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        for status in STATUSES {
            for act in ["withdraw", "cancel", "reconfirm", "accept", "reject", "refund"] {
                set_status(&fixture, &id, status, act).await;
                fixture.write("delete from payments").await;
                fixture.write("delete from eligibility_checks where stage = 'accept'").await;
                let before = fixture.rows("select cast(count(*) as text) from events").await;
                let (person, path, body) = request_for(&fixture, act);
                let answer = fixture.act(person, &id, path, body).await;
                let now = fixture.status(&id).await;
                match expected_status(status, act) {
                    Some(to) => {
                        // A paid subscription ends when the money is refunded.
                        let to = if status == "refund_pending" { "refunded" } else { to };
                        assert_eq!((answer.status, now.as_str()), (200, to), "{status} {act} {answer:?}");
                    }
                    None => {
                        let late = act == "withdraw" && ["binding", "accepted"].contains(&status);
                        let code = if late { "cooling_off_elapsed" } else { "invalid_state" };
                        assert_eq!(answer.problem(), (409, code.to_owned()), "{status} {act} {answer:?}");
                        if !late {
                            assert_eq!(answer.text("/current_status"), status);
                            assert!(answer.body["allowed_transitions"].is_array(), "{answer:?}");
                        }
                        assert_eq!(now, status, "{act}");
                        assert_eq!(fixture.rows("select cast(count(*) as text) from events").await, before, "{status} {act}");
                    }
                }
            }
        }
    }
}
