//! The test clock of a development installation: what is due by then happens, and everything goes on.

use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, in_days, wallet};

const DAYS: i64 = 30;

async fn advance(server: &Server, key: &str, seconds: i64) -> crate::installation::Answer {
    server.session().await.post("/v1/test-clock/advance", key, json!({ "advance_seconds": seconds })).await.unwrap()
}

on_both_databases! {
    async fn a_period_ends_when_the_clock_is_moved_forward_and_the_clock_stays_ahead(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let mut server = site.start().await;
        let token = site.minted(&server).await;
        let body = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        let requested = server.post("/blockchain/unfreeze", "unfreeze", body).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        assert_eq!(advance(&server, "back", -1).await.field(), (422, "/advance_seconds".to_owned(), "out_of_range".to_owned()));
        let seconds = Duration::days(DAYS).num_seconds();
        let moved = advance(&server, "forward", seconds).await;
        assert_eq!((moved.status, &moved.body["ahead_seconds"]), (200, &json!(seconds)), "{moved:?}");
        assert!(moved.text("/now").parse::<DateTime<Utc>>().unwrap() > in_days(DAYS - 1));
        site.until("the approval expires", async || site.count("approvals where status = 'expired'").await == 1).await;
        // The queue goes by the clock of its database: what is due at once does not wait for thirty days.
        assert_eq!(site.freeze(&server, "ahead", 0).await.status, 202);
        site.settled().await;
        assert!(site.is_frozen(token, wallet(0)).await);
        // A later start does not go back.
        server.process.kill();
        let server = site.start().await;
        let again = site.freeze(&server, "restarted", 0).await;
        assert!(again.text("/created_at").parse::<DateTime<Utc>>().unwrap() > in_days(DAYS - 1), "{again:?}");
        site.settled().await;
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}
