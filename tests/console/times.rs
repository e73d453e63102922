//! A time of another day shows its day, and a record date is the day of its offering.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, PayoutFixture, Terms};

on_both_databases! {
    async fn an_operation_of_another_day_shows_the_day_beside_each_time(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        site.settled().await;
        let path = format!("/console/operations/{deploy}");
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let whole = "title=\"2020-01-02 03:04:05 UTC\">2020-01-02 03:04:05</time>";
        let today = olga.get(&path).await;
        assert!(!today.text.contains(whole) && !today.text.contains("listed days"), "{}", today.text);
        let then = "'2020-01-02T03:04:05+00:00'";
        site.write(&format!("update operation_history set at = {then} where operation_id = '{deploy}'")).await;
        site.write(&format!("update attempts set signed_at = {then}")).await;
        let seen = olga.get(&path).await;
        let of = |part: &str| seen.text.split(&format!("id=\"{part}\"")).nth(1).unwrap().split("</section>").next().unwrap().to_owned();
        for part in ["tl", "transactions", "history"] {
            assert!(of(part).contains(whole), "{part}: {}", of(part));
        }
        assert!(seen.text.contains("listed days"), "the column has room for it");
    }

    async fn a_record_date_is_listed_as_the_day_that_was_entered(database: Database) {
        let fixture = PayoutFixture::new(database, 1).await;
        let mut olga = Visitor::with_role(&fixture.site, &fixture.server, "olga", Role::Operator).await;
        for (minutes, day) in [(-210, "2040-12-31"), (840, "2041-06-30")] {
            fixture.site.write(&format!("update offerings set utc_offset_minutes = {minutes}")).await;
            let mut body = fixture.body("direct_payout", "10.00").await;
            (body["record_date"], body["payment_date"]) = (json!(day), json!(day));
            let made = fixture.server.post("/v1/distributions", day, body).await;
            assert_eq!(made.status, 201, "{made:?}");
            let list = olga.get("/console/distributions").await;
            assert!(list.text.contains(&format!(">{day}<")), "{day} at {minutes}: {}", list.text);
        }
    }
}
