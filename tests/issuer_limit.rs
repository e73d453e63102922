//! The yearly limit of an issuer, and the earliest end of an offering whose withdrawal period is counted from its end.

use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, OfferingFixture, in_days, later};

fn crowdfunded(change: Value) -> Value {
    let mut terms =
        json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 }, "target_amount": "400000.00" });
    terms.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    terms
}

fn three_million() -> Value {
    crowdfunded(json!({ "hard_cap": "3000000.00" }))
}

fn above_limit() -> (u16, String, String) {
    (422, "/hard_cap".to_owned(), "exemption_limit".to_owned())
}

async fn end_at(fixture: &OfferingFixture, id: &str, closes_at: String) -> Answer {
    let version = fixture.shown(id).await.body["version"].as_i64().unwrap();
    let change = Some(json!({ "closes_at": closes_at }));
    fixture.issuer.client().on_version(version).change("PATCH", &format!("/v1/offerings/{id}"), change).await.unwrap()
}

/// Subscribes with an approved identity, so that no other time runs than those of the offering.
async fn subscribed(fixture: &OfferingFixture, id: &str) -> String {
    fixture.approve_investor().await;
    let body = json!({ "amount": "1000.00", "acknowledgements": ["risk_warning"] });
    let made = fixture.investor.post(&format!("/v1/offerings/{id}/subscribe"), body).await;
    assert_eq!(made.status, 201, "{made:?}");
    made.text("/id")
}

on_both_databases! {
    async fn an_issuer_raises_five_million_a_year_over_all_its_offerings(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let (a, b) = (fixture.approved(three_million()).await, fixture.approved(three_million()).await);
        let publishing = [&a, &b].map(|id| fixture.act(&fixture.issuer, id, "publish", json!({})));
        let answers = futures::future::join_all(publishing).await;
        let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
        assert_eq!((refused.len(), refused[0].field()), (1, above_limit()), "{answers:?}");
        assert_eq!(refused[0].body["errors"][0]["params"], json!({ "limit": "5000000.00", "used": "3000000.00", "remaining": "2000000.00" }));
        let (open, waiting) = if answers[0].status == 200 { (a, b) } else { (b, a) };
        assert_eq!((fixture.status(&open).await, fixture.status(&waiting).await), ("open".to_owned(), "approved".to_owned()));
        // An offering above the limit is refused at submission; one within it is accepted.
        let more = fixture.draft(crowdfunded(json!({ "hard_cap": "2000001.00" }))).await;
        assert_eq!(fixture.act(&fixture.issuer, &more, "submit", json!({})).await.field(), above_limit());
        let fits = fixture.open(crowdfunded(json!({ "hard_cap": "2000000.00" }))).await;
        let changes = json!({ "reason": "more", "changes": { "hard_cap": "2000001.00" } });
        assert_eq!(fixture.act(&fixture.issuer, &fits, "material-change", changes).await.field(), above_limit());
        // Other exemptions and other issuers have limits of their own.
        fixture.open(json!({ "hard_cap": "9000000.00" })).await;
        let (rival, organisation) = fixture.other_issuer("rita").await;
        fixture.approve(&organisation).await;
        fixture.open_by(&rival, three_million()).await;
        // An ended offering counts by its commitments within a year.
        fixture.api.write(&format!("update offerings set status = 'closed' where id in ('{open}', '{fits}')")).await;
        fixture.subscribed(&open, &[("accepted", 200_000_001)]).await;
        let publish = async || fixture.act(&fixture.issuer, &waiting, "publish", json!({})).await;
        assert_eq!(publish().await.field(), above_limit());
        fixture.api.write("update subscriptions set created_at = '2020-01-01T00:00:00+00:00'").await;
        assert_eq!(publish().await.status, 200);
    }

    async fn an_offering_that_opens_again_counts_with_its_whole_cap(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let european = || json!({ "exemption": "eu_ecsp", "hard_cap": "3000000.00" });
        let (full, other) = (fixture.approved(european()).await, fixture.approved(european()).await);
        assert_eq!(fixture.act(&fixture.issuer, &full, "publish", json!({})).await.status, 200);
        fixture.subscribed(&full, &[("binding", 300_000_000)]).await;
        fixture.at(in_days(0)).await;
        assert_eq!(fixture.status(&full).await, "closed");
        // The money goes back, and the other offering takes the room.
        fixture.api.write("update subscriptions set status = 'refund_pending'").await;
        fixture.api.write(&format!("update offerings set committed_total = 0 where id = '{full}'")).await;
        assert_eq!(fixture.act(&fixture.issuer, &other, "publish", json!({})).await.status, 200);
        let reopen = async || fixture.act(&fixture.issuer, &full, "reopen", json!({})).await;
        assert_eq!(reopen().await.field(), above_limit());
        fixture.api.write(&format!("update offerings set status = 'cancelled' where id = '{other}'")).await;
        assert_eq!(reopen().await.text("/status"), "open");
    }

    async fn an_earlier_end_is_announced_and_moves_the_withdrawal_period(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(crowdfunded(json!({}))).await;
        let sub = subscribed(&fixture, &id).await;
        fixture.api.write("update offerings set published_at = '2026-01-01T00:00:00+00:00'").await;
        let early = |answer: Answer| answer.field() == (422, "/closes_at".to_owned(), "below_minimum".to_owned());
        assert!(early(end_at(&fixture, &id, later(4)).await), "five working days are more than that");
        let changes = json!({ "reason": "sooner", "changes": { "closes_at": later(4) } });
        assert!(early(fixture.act(&fixture.issuer, &id, "material-change", changes).await));
        let close = fixture.act(&fixture.issuer, &id, "close", json!({})).await;
        assert_eq!(close.problem(), (409, "invalid_state".to_owned()), "{close:?}");
        let moved = end_at(&fixture, &id, later(10)).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        fixture.at(in_days(0)).await;
        let shown = fixture.investor.get(&format!("/v1/subscriptions/{sub}")).await;
        let expires: chrono::DateTime<chrono::Utc> = shown.text("/cooling_off_expires_at").parse().unwrap();
        assert_eq!((in_days(8) - expires).num_minutes(), 0, "{shown:?}");
        assert_eq!(fixture.api.count("events where type = 'subscription.cooling_off_changed'").await, 1);
        fixture.at(in_days(9)).await;
        assert_eq!(fixture.investor.get(&format!("/v1/subscriptions/{sub}")).await.text("/status"), "binding");
        fixture.at(in_days(11)).await;
        assert_eq!(fixture.status(&id).await, "closed");
        let other = fixture.open(json!({})).await;
        assert!(early(end_at(&fixture, &other, later(30)).await), "elsewhere nobody expects it");
    }

    async fn a_withdrawal_period_never_ends_in_the_past(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(crowdfunded(json!({}))).await;
        let sub = subscribed(&fixture, &id).await;
        fixture.api.write("update offerings set published_at = '2026-01-01T00:00:00+00:00'").await;
        assert_eq!(end_at(&fixture, &id, later(10)).await.status, 200);
        // The calendar runs late: two days after the end of the withdrawal period.
        let late = in_days(9);
        fixture.at(late).await;
        let shown = fixture.investor.get(&format!("/v1/subscriptions/{sub}")).await;
        let expires: chrono::DateTime<chrono::Utc> = shown.text("/cooling_off_expires_at").parse().unwrap();
        assert_eq!((expires - late).num_minutes(), 0, "{shown:?}");
    }

    async fn a_full_offering_ends_on_its_announced_date(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let id = fixture.open(crowdfunded(json!({}))).await;
        fixture.subscribed(&id, &[("binding", 50_000_000)]).await;
        fixture.api.write("update timers set due_at = '2026-01-01T00:00:00+00:00'").await;
        fixture.at(in_days(22)).await;
        assert_eq!(fixture.status(&id).await, "open");
        fixture.at(in_days(61)).await;
        assert_eq!(fixture.status(&id).await, "closed");
    }

    async fn an_offering_is_open_for_at_least_three_weeks(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let waited = fixture.approved(crowdfunded(json!({ "closes_at": later(22) }))).await;
        fixture.api.write(&format!("update offerings set closes_at = '{}' where id = '{waited}'", later(20))).await;
        let publish = async || fixture.act(&fixture.issuer, &waited, "publish", json!({})).await;
        assert_eq!(publish().await.problem(), (409, "invalid_state".to_owned()), "it was published too late for that");
        assert_eq!(end_at(&fixture, &waited, later(30)).await.status, 200);
        assert_eq!(publish().await.status, 200);
        let id = fixture.open(crowdfunded(json!({}))).await;
        let answer = end_at(&fixture, &id, later(20)).await;
        assert_eq!((answer.field(), &answer.body["errors"][0]["params"]["days"]), ((422, "/closes_at".to_owned(), "below_minimum".to_owned()), &json!(21)));
        assert_eq!(end_at(&fixture, &id, later(22)).await.status, 200);
    }
}
