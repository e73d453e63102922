//! Timers of a subscription: on time by the wake, by the sweep if the wake was lost, and never early.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::clock::Clock;
use serde_json::json;
use world::on_both_databases;

use crate::installation::SubscriptionFixture;

async fn time(fixture: &SubscriptionFixture, id: &str, pointer: &str) -> DateTime<Utc> {
    let shown = fixture.investor.get(&format!("/v1/subscriptions/{id}")).await.text(pointer);
    shown.parse().unwrap_or_else(|e| panic!("{pointer} is {shown:?}: {e}"))
}

fn just_before(at: DateTime<Utc>) -> Clock {
    Clock::manual(at - Duration::milliseconds(1))
}

// Responses have milliseconds, rows microseconds.
fn just_after(at: DateTime<Utc>) -> Clock {
    Clock::manual(at + Duration::milliseconds(1))
}

on_both_databases! {
    async fn a_subscription_becomes_binding_after_cooling_off_and_expires_unpaid(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        let paid = fixture.committed("1000.00").await;
        let ends = time(&fixture, &id, "/cooling_off_expires_at").await;
        fixture.at(just_before(ends), Some(&id)).await;
        assert_eq!(fixture.status(&id).await, "committed");
        fixture.at(just_after(ends), Some(&id)).await;
        assert_eq!(fixture.status(&id).await, "binding");
        // The wake is lost, so the sweep runs the timer.
        fixture.at(Clock::manual(ends + Duration::seconds(10)), None).await;
        assert_eq!(fixture.status(&paid).await, "binding");
        assert_eq!(fixture.act(&fixture.investor, &id, "cancel", json!({})).await.problem(), (409, "cooling_off_elapsed".to_owned()));
        fixture.pay(&paid, "1000.00", "bank-1").await;
        let due = time(&fixture, &id, "/payment/due_at").await;
        assert_eq!((due - ends).num_days(), 10);
        fixture.at(just_before(due), None).await;
        assert_eq!(fixture.status(&id).await, "binding");
        fixture.at(Clock::manual(due + Duration::seconds(10)), None).await;
        assert_eq!((fixture.status(&id).await, fixture.status(&paid).await), ("expired".to_owned(), "binding".to_owned()));
        assert_eq!(fixture.reserved().await, "1000.00");
        assert_eq!(fixture.events(&id).await, ["committed", "binding", "expired"].map(|what| format!("subscription.{what}")));
    }

    async fn a_refund_leaves_the_subscription_payable_until_its_deadline(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        fixture.pay(&id, "1500.00", "bank-1").await;
        let (ends, due) = (time(&fixture, &id, "/cooling_off_expires_at").await, time(&fixture, &id, "/payment/due_at").await);
        fixture.at(just_after(ends), Some(&id)).await;
        assert_eq!((fixture.status(&id).await, fixture.api.count("timers where subject_id like 'sub%'").await), ("binding".to_owned(), 0));
        let back = json!({ "type": "refunded", "amount": "500.00", "method": "bank_transfer", "external_reference": "back-1" });
        assert_eq!(fixture.act(&fixture.operator, &id, "payments", back).await.text("/subscription/payment/status"), "partially_paid");
        fixture.at(just_before(due), None).await;
        assert_eq!((fixture.status(&id).await, fixture.reserved().await), ("binding".to_owned(), "1500.00".to_owned()));
        fixture.at(just_after(due), None).await;
        assert_eq!((fixture.status(&id).await, fixture.reserved().await), ("refund_pending".to_owned(), "0.00".to_owned()));
    }

    async fn overdue_timers_run_once_in_order(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        let part = fixture.committed("1000.00").await;
        fixture.pay(&part, "1.00", "bank-1").await;
        let ends = time(&fixture, &id, "/cooling_off_expires_at").await;
        for _ in 0..2 {
            fixture.at(Clock::manual(ends + Duration::days(100)), None).await;
            assert_eq!(fixture.events(&id).await, ["committed", "binding", "expired"].map(|what| format!("subscription.{what}")));
            // Partly paid, so the money has to be refunded.
            assert_eq!(fixture.status(&part).await, "refund_pending");
        }
        assert_eq!((fixture.reserved().await, fixture.api.count("timers").await), ("0.00".to_owned(), 0));
    }

    async fn the_right_to_withdraw_ends_on_time_without_the_timer(database: Database) {
        let fixture = SubscriptionFixture::new(database, |_| {}).await;
        let id = fixture.committed("1500.00").await;
        fixture.write(&format!("update subscriptions set cooling_off_expires_at = created_at where id = '{id}'")).await;
        assert_eq!(fixture.act(&fixture.investor, &id, "cancel", json!({})).await.problem(), (409, "cooling_off_elapsed".to_owned()));
        assert_eq!(fixture.status(&id).await, "committed");
        assert_eq!(fixture.investor.get(&format!("/v1/subscriptions/{id}")).await.body["cooling_off"]["active"], false);
    }

    async fn silence_about_changed_terms_cancels(database: Database) {
        let mut fixture = SubscriptionFixture::new(database, |_| {}).await;
        let (silent, reconfirmed) = (fixture.committed("1500.00").await, fixture.committed("1000.00").await);
        let ends = time(&fixture, &reconfirmed, "/cooling_off_expires_at").await;
        // As after a material change.
        fixture.write("update subscriptions set previous_status = status, status = 'pending_reconfirmation', reconfirm_by = cooling_off_expires_at").await;
        let stale = fixture.act(&fixture.investor, &reconfirmed, "reconfirm", json!({ "offering_version": 0 })).await;
        assert_eq!(stale.problem(), (412, "version_conflict".to_owned()));
        let said = fixture.act(&fixture.investor, &reconfirmed, "reconfirm", json!({ "offering_version": 1 })).await;
        assert_eq!((said.status, said.text("/status")), (200, "committed".to_owned()), "{said:?}");
        fixture.at(Clock::manual(ends + Duration::seconds(10)), None).await;
        assert_eq!((fixture.status(&silent).await, fixture.status(&reconfirmed).await), ("cancelled".to_owned(), "binding".to_owned()));
        assert_eq!(fixture.reserved().await, "1000.00");
        let expected = ["committed", "cancelled"].map(|what| format!("subscription.{what}"));
        assert_eq!(fixture.events(&silent).await, expected);
        // After the deadline a reconfirmation is too late, whether or not the timer has run.
        fixture.write("update subscriptions set previous_status = 'committed', status = 'pending_reconfirmation', reconfirm_by = created_at").await;
        let late = fixture.act(&fixture.investor, &reconfirmed, "reconfirm", json!({ "offering_version": 1 })).await;
        assert_eq!(late.problem(), (409, "invalid_state".to_owned()));
    }
}
