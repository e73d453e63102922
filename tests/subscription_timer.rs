//! What the calendar does to a subscription: by its wake at its time, by the sweep when the wake was lost, and never before.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::clock::Clock;
use serde_json::json;
use world::on_both_databases;

use crate::installation::Raise;

async fn time(raise: &Raise, id: &str, pointer: &str) -> DateTime<Utc> {
    let shown = raise.investor.get(&format!("/v1/subscriptions/{id}")).await.text(pointer);
    shown.parse().unwrap_or_else(|e| panic!("{pointer} is {shown:?}: {e}"))
}

fn just_before(at: DateTime<Utc>) -> Clock {
    Clock::manual(at - Duration::milliseconds(1))
}

// Answers show milliseconds, rows have microseconds.
fn just_after(at: DateTime<Utc>) -> Clock {
    Clock::manual(at + Duration::milliseconds(1))
}

on_both_databases! {
    async fn a_subscription_becomes_binding_after_cooling_off_and_expires_unpaid(database: Database) {
        let mut raise = Raise::new(database, |_| {}).await;
        let id = raise.committed("1500.00").await;
        let paid = raise.committed("1000.00").await;
        let ends = time(&raise, &id, "/cooling_off_expires_at").await;
        raise.at(just_before(ends), Some(&id)).await;
        assert_eq!(raise.status(&id).await, "committed");
        raise.at(just_after(ends), Some(&id)).await;
        assert_eq!(raise.status(&id).await, "binding");
        // Its wake was lost: the sweep does it.
        raise.at(Clock::manual(ends + Duration::seconds(10)), None).await;
        assert_eq!(raise.status(&paid).await, "binding");
        assert_eq!(raise.act(&raise.investor, &id, "cancel", json!({})).await.problem(), (409, "cooling_off_elapsed".to_owned()));
        raise.pay(&paid, "1000.00", "bank-1").await;
        let due = time(&raise, &id, "/payment/due_at").await;
        assert_eq!((due - ends).num_days(), 10);
        raise.at(just_before(due), None).await;
        assert_eq!(raise.status(&id).await, "binding");
        raise.at(Clock::manual(due + Duration::seconds(10)), None).await;
        assert_eq!((raise.status(&id).await, raise.status(&paid).await), ("expired".to_owned(), "binding".to_owned()));
        assert_eq!(raise.reserved().await, "1000.00");
        assert_eq!(raise.told(&id).await, ["committed", "binding", "expired"].map(|what| format!("subscription.{what}")));
    }

    async fn a_refund_leaves_the_subscription_payable_until_its_deadline(database: Database) {
        let mut raise = Raise::new(database, |_| {}).await;
        let id = raise.committed("1500.00").await;
        raise.pay(&id, "1500.00", "bank-1").await;
        let (ends, due) = (time(&raise, &id, "/cooling_off_expires_at").await, time(&raise, &id, "/payment/due_at").await);
        raise.at(just_after(ends), Some(&id)).await;
        assert_eq!((raise.status(&id).await, raise.door.count("timers where subject_id like 'sub%'").await), ("binding".to_owned(), 0));
        let back = json!({ "type": "refunded", "amount": "500.00", "method": "bank_transfer", "external_reference": "back-1" });
        assert_eq!(raise.act(&raise.operator, &id, "payments", back).await.text("/subscription/payment/status"), "partially_paid");
        raise.at(just_before(due), None).await;
        assert_eq!((raise.status(&id).await, raise.reserved().await), ("binding".to_owned(), "1500.00".to_owned()));
        raise.at(just_after(due), None).await;
        assert_eq!((raise.status(&id).await, raise.reserved().await), ("refund_pending".to_owned(), "0.00".to_owned()));
    }

    async fn overdue_timers_run_once_in_order(database: Database) {
        let mut raise = Raise::new(database, |_| {}).await;
        let id = raise.committed("1500.00").await;
        let part = raise.committed("1000.00").await;
        raise.pay(&part, "1.00", "bank-1").await;
        let ends = time(&raise, &id, "/cooling_off_expires_at").await;
        for _ in 0..2 {
            raise.at(Clock::manual(ends + Duration::days(100)), None).await;
            assert_eq!(raise.told(&id).await, ["committed", "binding", "expired"].map(|what| format!("subscription.{what}")));
            // Some of its money is there, and has to go back.
            assert_eq!(raise.status(&part).await, "refund_pending");
        }
        assert_eq!((raise.reserved().await, raise.door.count("timers").await), ("0.00".to_owned(), 0));
    }

    async fn the_right_to_withdraw_ends_on_time_without_the_timer(database: Database) {
        let raise = Raise::new(database, |_| {}).await;
        let id = raise.committed("1500.00").await;
        raise.write(&format!("update subscriptions set cooling_off_expires_at = created_at where id = '{id}'")).await;
        assert_eq!(raise.act(&raise.investor, &id, "cancel", json!({})).await.problem(), (409, "cooling_off_elapsed".to_owned()));
        assert_eq!(raise.status(&id).await, "committed");
        assert_eq!(raise.investor.get(&format!("/v1/subscriptions/{id}")).await.body["cooling_off"]["active"], false);
    }

    async fn silence_about_changed_terms_cancels(database: Database) {
        let mut raise = Raise::new(database, |_| {}).await;
        let (silent, yes) = (raise.committed("1500.00").await, raise.committed("1000.00").await);
        let ends = time(&raise, &yes, "/cooling_off_expires_at").await;
        // As a material change leaves them.
        raise.write("update subscriptions set previous_status = status, status = 'pending_reconfirmation', reconfirm_by = cooling_off_expires_at").await;
        let stale = raise.act(&raise.investor, &yes, "reconfirm", json!({ "offering_version": 0 })).await;
        assert_eq!(stale.problem(), (412, "version_conflict".to_owned()));
        let said = raise.act(&raise.investor, &yes, "reconfirm", json!({ "offering_version": 1 })).await;
        assert_eq!((said.status, said.text("/status")), (200, "committed".to_owned()), "{said:?}");
        raise.at(Clock::manual(ends + Duration::seconds(10)), None).await;
        assert_eq!((raise.status(&silent).await, raise.status(&yes).await), ("cancelled".to_owned(), "binding".to_owned()));
        assert_eq!(raise.reserved().await, "1000.00");
        let told = ["committed", "cancelled"].map(|what| format!("subscription.{what}"));
        assert_eq!(raise.told(&silent).await, told);
        // Past the deadline a yes is too late, whether or not the calendar was looked at.
        raise.write("update subscriptions set previous_status = 'committed', status = 'pending_reconfirmation', reconfirm_by = created_at").await;
        let late = raise.act(&raise.investor, &yes, "reconfirm", json!({ "offering_version": 1 })).await;
        assert_eq!(late.problem(), (409, "invalid_state".to_owned()));
    }
}
