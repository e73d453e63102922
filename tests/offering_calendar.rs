//! The calendar of an offering: on time by its wake, or by the sweep, only once and never early.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::point::{Point, When, plan};
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::timer;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{OfferingFixture, in_days, later};

/// Commit points at which moves are ended here.
pub const ENDED_AT: &[Point] = &[Point::Timer];

/// Runs the timer of an offering at once, as after a change of a subscription.
async fn run_timer(engine: &Engine, id: &str) {
    let mut tx = engine.db.begin().await.unwrap();
    muniment_domain::timer::make_due(&mut tx, id).await.unwrap();
    tx.commit(Point::Timer).await.unwrap();
    while timer::sweep(engine).await.unwrap() > 0 {}
}

on_both_databases! {
    async fn an_offering_opens_on_time_and_not_before(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let opens_at = in_days(1);
        let terms = json!({ "opens_at": opens_at.to_rfc3339(), "auto_open": true });
        let id = fixture.approved(terms).await;
        let patient = fixture.approved(json!({ "opens_at": opens_at.to_rfc3339() })).await;
        let early = fixture.act(&fixture.issuer, &id, "publish", json!({})).await;
        assert_eq!((early.status, early.text("/current_status")), (409, "approved".to_owned()), "{early:?}");
        let ring = async |engine: &Engine| timer::run(engine, &id).await.unwrap();
        fixture.with_engine(opens_at - Duration::milliseconds(1), ring).await;
        assert_eq!(fixture.status(&id).await, "approved");
        // Once by the wake, and once by a surplus wake.
        fixture.with_engine(opens_at + Duration::milliseconds(1), async |engine| { ring(engine).await; ring(engine).await }).await;
        assert_eq!(fixture.status(&id).await, "open");
        assert_eq!(fixture.events(&id).await.iter().filter(|event| *event == "published").count(), 1);
        fixture.at(opens_at + Duration::days(1)).await;
        assert_eq!(fixture.status(&patient).await, "approved", "auto_open is off");
    }

    async fn an_offering_of_a_suspended_issuer_does_not_open(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.approved(json!({ "opens_at": later(1), "auto_open": true })).await;
        fixture.api.write("update issuers set status = 'suspended'").await;
        fixture.at(in_days(2)).await;
        assert_eq!((fixture.status(&id).await, fixture.api.count("timers").await), ("approved".to_owned(), 0));
        assert_eq!(fixture.act(&fixture.olga, &id, "publish", json!({})).await.problem(), (409, "invalid_state".to_owned()));
    }

    async fn an_offering_ends_on_its_day_and_is_settled_when_nothing_is_open(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({ "soft_cap": "1000.00" })).await;
        let paused = fixture.open(json!({})).await;
        assert_eq!(fixture.act(&fixture.issuer, &paused, "pause", json!({ "reason": "storm" })).await.status, 200);
        fixture.subscribed(&id, &[("accepted", 150_000), ("refund_pending", 100)]).await;
        fixture.at(in_days(59)).await;
        assert_eq!(fixture.status(&id).await, "open");
        // A later end replaces the earlier one.
        let version = fixture.shown(&id).await.body["version"].as_i64().unwrap();
        let path = format!("/v1/offerings/{id}");
        let moved = fixture.issuer.client().on_version(version).change("PATCH", &path, Some(json!({ "closes_at": later(70) }))).await.unwrap();
        assert_eq!(moved.status, 200, "{moved:?}");
        fixture.at(in_days(61)).await;
        assert_eq!((fixture.status(&id).await, fixture.status(&paused).await), ("open".to_owned(), "settled".to_owned()));
        fixture.at(in_days(71)).await;
        assert_eq!(fixture.status(&id).await, "closed");
        fixture.api.write("update subscriptions set status = 'refunded'").await;
        fixture.at(in_days(72)).await;
        assert_eq!(fixture.status(&id).await, "settled");
        assert_eq!(fixture.events(&id).await[5..], ["updated", "closed", "settled"]);
        assert_eq!(fixture.act(&fixture.olga, &id, "archive", json!({})).await.text("/status"), "archived");
        assert_eq!(fixture.api.count("timers").await, 0);
    }

    async fn a_lockup_counts_from_the_real_end_of_the_offering(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let lockup = json!({ "enabled": true, "rule": "after_close", "days": 30 });
        let id = fixture.open(json!({ "lockup": lockup, "closes_at": later(90) })).await;
        let ends = async || fixture.shown(&id).await.text("/lockup_release_at").parse::<DateTime<Utc>>().unwrap();
        assert!(ends().await > in_days(119), "announced with the planned end");
        let named = fixture.act(&fixture.issuer, &id, "close", json!({ "reason": "hard_cap_reached" })).await;
        assert_eq!(named.field(), (422, "/reason".to_owned(), "unexpected".to_owned()), "only the calendar says so");
        let closed = fixture.act(&fixture.issuer, &id, "close", json!({})).await;
        assert_eq!(closed.status, 200, "{closed:?}");
        let end = ends().await;
        assert!(end > in_days(29) && end < in_days(31), "{end}");
    }

    async fn an_offering_below_its_soft_cap_fails_and_cannot_be_closed(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({ "soft_cap": "2000.00" })).await;
        fixture.subscribed(&id, &[("binding", 150_000), ("committed", 900_000)]).await;
        // A subscription that can still be withdrawn does not count, not even if the calendar runs late.
        fixture.api.write(&format!("update subscriptions set cooling_off_expires_at = '{}'", later(62))).await;
        let close = fixture.act(&fixture.issuer, &id, "close", json!({})).await;
        assert_eq!((close.status, close.text("/current_status")), (409, "open".to_owned()), "{close:?}");
        fixture.with_engine(in_days(63), async |engine| timer::run(engine, &id).await.unwrap()).await;
        let shown = fixture.shown(&id).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("failed".to_owned(), "soft_cap_missed".to_owned()));
        let archive = async |fixture: &OfferingFixture| fixture.act(&fixture.olga, &id, "archive", json!({})).await;
        assert_eq!(archive(&fixture).await.problem(), (409, "invalid_state".to_owned()), "its subscriptions have not ended");
        fixture.at(in_days(63)).await;
        assert_eq!(fixture.api.count("subscriptions where status = 'refund_pending'").await, 2);
        assert_eq!(archive(&fixture).await.text("/status"), "archived");
    }

    async fn a_commitment_that_is_fixed_by_the_end_counts_for_the_soft_cap(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({ "exemption": "eu_mica_other", "soft_cap": "1000.00", "closes_at": later(10) })).await;
        fixture.approve_investor().await;
        let made = fixture.investor.post(&format!("/v1/offerings/{id}/subscribe"), json!({ "amount": "1000.00" })).await;
        assert_eq!((made.status, made.text("/status")), (201, "committed".to_owned()), "{made:?}");
        // The timer of the offering runs before that of the subscription.
        fixture.with_engine(in_days(11), async |engine| timer::run(engine, &id).await.unwrap()).await;
        assert_eq!(fixture.status(&id).await, "closed");
        fixture.at(in_days(11)).await;
        let shown = fixture.investor.get(&format!("/v1/subscriptions/{}", made.text("/id"))).await;
        assert_eq!((shown.text("/status"), fixture.status(&id).await), ("binding".to_owned(), "closed".to_owned()), "{shown:?}");
    }

    async fn a_full_offering_closes_when_nobody_can_withdraw(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        fixture.subscribed(&id, &[("accepted", 40_000_000), ("committed", 10_000_000)]).await;
        fixture.api.write(&format!("update subscriptions set cooling_off_expires_at = '{}'", later(1))).await;
        fixture.with_engine(in_days(0), async |engine| run_timer(engine, &id).await).await;
        assert_eq!(fixture.status(&id).await, "open", "some may still withdraw");
        fixture.api.write("update subscriptions set status = 'binding' where status = 'committed'").await;
        fixture.with_engine(in_days(0), async |engine| run_timer(engine, &id).await).await;
        let shown = fixture.shown(&id).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("closed".to_owned(), "hard_cap_reached".to_owned()));
        assert_eq!(shown.text("/raised_amount"), "500000.00");
    }

    async fn a_full_offering_is_watched_after_an_edit_and_a_pause(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        fixture.subscribed(&id, &[("binding", 50_000_000)]).await;
        fixture.api.write("update subscriptions set received_amount = 0").await;
        fixture.at(in_days(0)).await;
        let version = fixture.shown(&id).await.body["version"].as_i64().unwrap();
        let edit = Some(json!({ "description": "A house beside the harbour." }));
        let edited = fixture.issuer.client().on_version(version).change("PATCH", &format!("/v1/offerings/{id}"), edit).await.unwrap();
        assert_eq!(edited.status, 200, "{edited:?}");
        fixture.at(in_days(1)).await;
        for (verb, body) in [("pause", json!({ "reason": "storm" })), ("resume", json!({}))] {
            assert_eq!(fixture.act(&fixture.issuer, &id, verb, body).await.status, 200);
        }
        fixture.at(in_days(2)).await;
        assert_eq!(fixture.status(&id).await, "open", "nothing is paid");
        fixture.api.write("update subscriptions set received_amount = amount").await;
        fixture.at(in_days(3)).await;
        let shown = fixture.shown(&id).await;
        assert_eq!((shown.text("/status"), shown.text("/status_reason")), ("closed".to_owned(), "hard_cap_reached".to_owned()));
    }

    async fn the_sweep_recovers_from_a_crash_around_the_timer_commit(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        for when in [When::Before, When::After] {
            let id = fixture.open(json!({})).await;
            fixture.with_engine(in_days(61), async |engine| {
                plan::crash_at(Point::Timer, when, 1);
                timer::run(engine, &id).await.unwrap_err();
            })
            .await;
            assert_eq!(fixture.status(&id).await, if when == When::Before { "open" } else { "closed" });
            fixture.at(in_days(61)).await;
            assert_eq!(fixture.status(&id).await, "settled");
            assert_eq!(fixture.events(&id).await[4..], ["published", "closed", "settled"]);
        }
    }

    async fn a_failing_timer_delays_no_other(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        fixture.api.write("insert into timers (subject_id, due_at) select 'off_nobody', created_at from issuers").await;
        fixture.at(in_days(61)).await;
        assert_eq!((fixture.status(&id).await, fixture.api.count("timers where subject_id = 'off_nobody'").await), ("settled".to_owned(), 1));
    }
}
