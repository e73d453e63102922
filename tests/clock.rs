//! The machine's clock jumps while operations run: due work is done once, and nothing waits for the old time.

use chrono::Duration;
use muniment_domain::clock::Clock;
use world::{Mining, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms};

async fn sent(site: &Installation, fixture: &EngineFixture, offering: usize) {
    let before = site.count("attempts where sends > 0").await;
    fixture.deploy(&site.offerings[offering]).await;
    site.until("it is sent", async || site.count("attempts where sends > 0").await > before).await;
}

#[allow(clippy::disallowed_methods, reason = "the test's clock starts with the machine's, as the queue's does")]
fn clock() -> Clock {
    Clock::manual(chrono::Utc::now())
}

on_both_databases! {
    async fn a_clock_that_is_set_back_stops_no_rebroadcast(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let clock = clock();
        let fixture = site.engine_fixture_at(clock.clone(), |_| {}).await;
        sent(&site, &fixture, 0).await;
        clock.advance(-Duration::hours(3));
        let hash = site.rows("select tx_hash from attempts").await[0][0].clone();
        site.anvil.evict(&hash).await;
        site.until("it is sent again", async || site.in_pool().await == 1).await;
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn a_process_whose_clock_is_a_day_ahead_delays_nothing(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2); 2]).await;
        let clock = clock();
        let fixture = site.engine_fixture_at(clock.clone(), |_| {}).await;
        sent(&site, &fixture, 0).await;
        clock.advance(Duration::days(1));
        sent(&site, &fixture, 1).await;
        site.mined_until_settled().await;
        fixture.mint(&site.offerings[1]).await;
        site.mined_until_settled().await;
        clock.advance(-Duration::days(1));
        fixture.mint(&site.offerings[0]).await;
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (2, 2, 0));
        fixture.close().await;
    }

    async fn a_clock_jump_loses_and_repeats_nothing(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2); 4]).await;
        let clock = clock();
        let fixture = site.engine_fixture_at(clock.clone(), |_| {}).await;
        sent(&site, &fixture, 0).await;
        clock.advance(Duration::minutes(20));
        // Accepted by a clock that is ahead of the queue's.
        sent(&site, &fixture, 1).await;
        site.mined_until_settled().await;
        clock.advance(-Duration::hours(3));
        sent(&site, &fixture, 2).await;
        site.mined_until_settled().await;
        fixture.mint(&site.offerings[0]).await;
        site.mined_until_settled().await;

        // A next time far ahead, set before the clock went back, does not delay the operation.
        site.write("update lanes set mode = 'paused'").await;
        clock.advance(Duration::minutes(50));
        fixture.deploy(&site.offerings[3]).await;
        site.until("it waits", async || site.count("operations where blocked_reason like 'lane_paused%'").await == 1).await;
        clock.advance(-Duration::minutes(50));
        site.write("update lanes set mode = 'active'").await;
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (4, 1, 0));
        fixture.close().await;
    }
}
