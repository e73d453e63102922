//! Changed terms and a moved end: earlier subscriptions are updated page by page, whatever else happens meanwhile.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::exemption::working_days_after;
use muniment_domain::point::{Point, When, plan};
use muniment_workflows::engine::timer;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, OfferingFixture, in_days, later};

/// More than two pages of the calendar.
const MANY: i64 = 450;

fn crowdfunded(change: Value) -> Value {
    let mut terms = json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 } });
    terms.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    terms
}

/// Subscribes with an approved identity, so that no other time runs than those of the terms.
pub async fn subscribed(fixture: &OfferingFixture, offering: &str, amount: &str) -> String {
    fixture.approve_investor().await;
    let made = fixture
        .investor
        .post(
            &format!("/v1/offerings/{offering}/subscribe"),
            json!({ "amount": amount, "acknowledgements": ["risk_warning"] }),
        )
        .await;
    assert_eq!(made.status, 201, "{made:?}");
    made.text("/id")
}

/// Copies a subscription many times.
async fn multiplied(fixture: &OfferingFixture, id: &str) {
    let columns = "offering_id, investor_id, status, amount, cooling_off_expires_at, payment_due_at, terms_version, calendar_version, version, \
                   created_at, updated_at";
    let rows = format!(
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < {MANY}) insert into subscriptions (id, {columns}) \
         select 'sub_0000000000000000000000' || cast(1000 + n.i as text), {columns} from subscriptions, n where id = '{id}'"
    );
    fixture.api.write(&rows).await;
    let reserved = "update offerings set committed_total = (select sum(amount) from subscriptions where offering_id = offerings.id)";
    fixture.api.write(reserved).await;
}

async fn changed(fixture: &OfferingFixture, id: &str, changes: Value) -> Answer {
    let answer = fixture
        .act(&fixture.issuer, id, "material-change", json!({ "reason": "other terms", "changes": changes }))
        .await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer
}

async fn extended(fixture: &OfferingFixture, id: &str, closes_at: String) {
    let version = fixture.shown(id).await.body["version"].as_i64().unwrap();
    let change = Some(json!({ "closes_at": closes_at }));
    let path = format!("/v1/offerings/{id}");
    let answer = fixture.issuer.client().on_version(version).change("PATCH", &path, change).await.unwrap();
    assert_eq!(answer.status, 200, "{answer:?}");
}

async fn time(fixture: &OfferingFixture, id: &str, pointer: &str) -> DateTime<Utc> {
    let shown = fixture.olga.get(&format!("/v1/subscriptions/{id}")).await.text(pointer);
    shown.parse().unwrap_or_else(|e| panic!("{pointer} is {shown:?}: {e}"))
}

pub async fn status(fixture: &OfferingFixture, id: &str) -> String {
    fixture.olga.get(&format!("/v1/subscriptions/{id}")).await.text("/status")
}

async fn count(fixture: &OfferingFixture, condition: &str) -> i64 {
    fixture.api.count(&format!("subscriptions where {condition}")).await
}

on_both_databases! {
    async fn subscribers_must_reconfirm_and_silence_cancels(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        let subscription = subscribed(&fixture, &id, "1000.00").await;
        multiplied(&fixture, &subscription).await;
        let version = changed(&fixture, &id, json!({ "target_amount": "450000.00" })).await.body["version"].as_i64().unwrap();
        // It crashes after its second page and continues there.
        let now = in_days(0);
        fixture.with_engine(now, async |engine| {
            timer::run(engine, &id).await.unwrap();
            plan::crash_at(Point::Timer, When::After, 1);
            timer::run(engine, &id).await.unwrap_err();
        }).await;
        assert_eq!(count(&fixture, "status = 'pending_reconfirmation'").await, 400);
        let asked_from = in_days(0);
        fixture.at(asked_from).await;
        assert_eq!(count(&fixture, "status = 'pending_reconfirmation'").await, MANY + 1);
        assert_eq!(fixture.api.count("events where type = 'subscription.reconfirmation_required'").await, MANY + 1);
        assert_eq!(fixture.api.count("timers where subject_id like 'sub%'").await, MANY + 1);
        let deadline = time(&fixture, &subscription, "/reconfirm_by").await;
        assert!((working_days_after(now, 5)..=working_days_after(asked_from, 5) + Duration::seconds(1)).contains(&deadline), "{deadline}");
        let path = format!("/v1/subscriptions/{subscription}/reconfirm");
        assert_eq!(fixture.investor.post(&path, json!({ "offering_version": version - 1 })).await.problem(), (412, "version_conflict".to_owned()));
        let said = fixture.investor.post(&path, json!({ "offering_version": version })).await;
        assert_eq!((said.status, said.text("/status")), (200, "committed".to_owned()), "{said:?}");
        fixture.at(working_days_after(now, 5) - Duration::milliseconds(1)).await;
        assert_eq!(count(&fixture, "status = 'cancelled'").await, 0, "not before its time");
        fixture.at(working_days_after(asked_from, 5) + Duration::seconds(2)).await;
        assert_eq!((count(&fixture, "status = 'cancelled'").await, status(&fixture, &subscription).await), (MANY, "committed".to_owned()));
        assert_eq!(fixture.api.rows("select cast(committed_total as text) from offerings").await, [["100000"]]);
    }

    async fn terms_that_change_again_give_new_time_to_confirm(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        let subscription = subscribed(&fixture, &id, "1000.00").await;
        changed(&fixture, &id, json!({ "target_amount": "450000.00" })).await;
        fixture.at(in_days(0)).await;
        // As if the investor had been asked some days ago.
        fixture.api.write(&format!("update subscriptions set reconfirm_by = '{}'", later(1))).await;
        fixture.api.write(&format!("update timers set due_at = '{}' where subject_id = '{subscription}'", later(1))).await;
        let version = changed(&fixture, &id, json!({ "target_amount": "460000.00" })).await.body["version"].as_i64().unwrap();
        fixture.at(in_days(2)).await;
        assert_eq!(status(&fixture, &subscription).await, "pending_reconfirmation");
        assert!(time(&fixture, &subscription, "/reconfirm_by").await > in_days(6));
        assert_eq!(fixture.api.count("events where type = 'subscription.reconfirmation_required'").await, 2);
        let audited = format!("audit_log where object_id = '{subscription}' and detail like '%reconfirmation_required%'");
        assert_eq!(fixture.api.count(&audited).await, 2, "each time that it was asked");
        let path = format!("/v1/subscriptions/{subscription}/reconfirm");
        let said = fixture.investor.post(&path, json!({ "offering_version": version })).await;
        assert_eq!((said.status, said.text("/status")), (200, "committed".to_owned()), "{said:?}");
    }

    async fn a_pause_does_not_keep_subscribers_from_being_asked(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        let subscription = subscribed(&fixture, &id, "1000.00").await;
        multiplied(&fixture, &subscription).await;
        changed(&fixture, &id, json!({ "target_amount": "450000.00" })).await;
        fixture.with_engine(in_days(0), async |engine| timer::run(engine, &id).await.unwrap()).await;
        assert_eq!(fixture.act(&fixture.issuer, &id, "pause", json!({ "reason": "storm" })).await.status, 200);
        fixture.at(in_days(0)).await;
        assert_eq!(count(&fixture, "status = 'pending_reconfirmation'").await, MANY + 1);
    }

    async fn a_lockup_that_is_removed_has_no_end(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({ "lockup": { "enabled": true, "rule": "after_close", "days": 30 } })).await;
        assert!(fixture.shown(&id).await.body["lockup_release_at"].is_string());
        let free = changed(&fixture, &id, json!({ "lockup": { "enabled": false } })).await;
        assert_eq!((&free.body["lockup_release_at"], &free.body["lockup"]["enabled"]), (&Value::Null, &json!(false)), "{free:?}");
    }

    async fn subscribers_not_asked_before_the_close_are_asked_afterwards(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({ "soft_cap": "1500.00" })).await;
        let first = subscribed(&fixture, &id, "2000.00").await;
        fixture.api.write("update subscriptions set status = 'binding'").await;
        let version = changed(&fixture, &id, json!({ "soft_cap": "1000.00" })).await.body["version"].as_i64().unwrap();
        let close = async |fixture: &OfferingFixture| fixture.act(&fixture.issuer, &id, "close", json!({})).await;
        assert_eq!(close(&fixture).await.problem(), (409, "invalid_state".to_owned()), "nobody has reconfirmed these terms");
        let second = subscribed(&fixture, &id, "1000.00").await;
        fixture.api.write(&format!("update subscriptions set status = 'binding' where id = '{second}'")).await;
        let closed = close(&fixture).await;
        assert_eq!(closed.text("/status"), "closed", "{closed:?}");
        assert_eq!(status(&fixture, &first).await, "binding");
        fixture.at(in_days(0)).await;
        assert_eq!((status(&fixture, &first).await, status(&fixture, &second).await), ("pending_reconfirmation".to_owned(), "binding".to_owned()));
        let path = format!("/v1/subscriptions/{first}/reconfirm");
        let said = fixture.investor.post(&path, json!({ "offering_version": version + 1 })).await;
        assert_eq!((said.status, said.text("/status")), (200, "binding".to_owned()), "{said:?}");
    }

    async fn a_later_end_extends_the_time_to_withdraw_and_pay(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(crowdfunded(json!({}))).await;
        let sub = subscribed(&fixture, &id, "1000.00").await;
        multiplied(&fixture, &sub).await;
        let (expires, due) = (time(&fixture, &sub, "/cooling_off_expires_at").await, time(&fixture, &sub, "/payment/due_at").await);
        assert_eq!((in_days(58) - expires).num_minutes(), 0);
        extended(&fixture, &id, later(70)).await;
        fixture.at(in_days(0)).await;
        let (moved, paid_by) = (time(&fixture, &sub, "/cooling_off_expires_at").await, time(&fixture, &sub, "/payment/due_at").await);
        assert_eq!(((in_days(68) - moved).num_minutes(), paid_by - due), (0, moved - expires));
        assert_eq!(count(&fixture, "calendar_version = 2").await, MANY + 1);
        assert_eq!(fixture.api.count("events where type = 'subscription.cooling_off_changed'").await, MANY + 1);
        fixture.at(in_days(60)).await;
        assert_eq!(count(&fixture, "status = 'committed'").await, MANY + 1, "the old time no longer counts");
        // One more change, of which no page is applied yet: the old time no longer counts for the calendar or the investor.
        extended(&fixture, &id, later(80)).await;
        fixture.with_engine(in_days(69), async |engine| timer::run(engine, &sub).await.unwrap()).await;
        assert_eq!(status(&fixture, &sub).await, "committed");
        fixture.api.write(&format!("update subscriptions set calendar_version = 1, cooling_off_expires_at = created_at where id = '{sub}'")).await;
        let left = fixture.investor.post(&format!("/v1/subscriptions/{sub}/cancel"), json!({})).await;
        assert_eq!(left.text("/status"), "cancelled", "{left:?}");
        fixture.at(in_days(79)).await;
        assert_eq!(count(&fixture, "status = 'binding'").await, MANY);
    }

    async fn an_earlier_end_is_a_change_of_terms_and_shortens_the_time(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(crowdfunded(json!({}))).await;
        let sub = subscribed(&fixture, &id, "1000.00").await;
        let due = time(&fixture, &sub, "/payment/due_at").await;
        let version = changed(&fixture, &id, json!({ "closes_at": later(40) })).await.body["version"].as_i64().unwrap();
        fixture.at(in_days(0)).await;
        assert_eq!(status(&fixture, &sub).await, "pending_reconfirmation");
        assert_eq!((in_days(38) - time(&fixture, &sub, "/cooling_off_expires_at").await).num_minutes(), 0);
        assert!(time(&fixture, &sub, "/payment/due_at").await >= due, "no payment is due sooner");
        let said = fixture.investor.post(&format!("/v1/subscriptions/{sub}/reconfirm"), json!({ "offering_version": version })).await;
        assert_eq!(said.text("/status"), "committed", "{said:?}");
        fixture.at(in_days(39)).await;
        assert_eq!(status(&fixture, &sub).await, "binding");
    }
}
