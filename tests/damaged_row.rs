//! A row damaged past the platform blocks only itself and is reported.

use world::{Mining, on_both_databases};

use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn a_final_effect_that_cannot_be_written_waits_and_blocks_nothing_else(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        for (number, offering) in site.offerings.iter().enumerate() {
            server.deploy(&format!("deploy-{number}"), offering).await;
        }
        site.finalised().await;
        let mut mints = Vec::new();
        for (number, offering) in site.offerings.iter().enumerate() {
            mints.push(server.mint(&format!("mint-{number}"), offering).await.text("/operations/0/id"));
        }
        site.until("all are sent", async || site.count("attempts where sends > 0 and open").await == 3).await;
        let [broken, moved, sound] = mints.try_into().unwrap();
        let payload = site.rows(&format!("select cast(payload as text) from operations where id = '{broken}'")).await[0][0].clone();
        site.write(&format!("update operations set payload = '{{}}' where id = '{broken}'")).await;
        let of_moved = format!("where id = (select subject_id from operation_items where operation_id = '{moved}')");
        site.write(&format!("update subscriptions set status = 'binding' {of_moved}")).await;
        site.until("the intact one is confirmed", async || {
            site.anvil.mine(1).await;
            server.state(&sound).await.0 == "confirmed"
        })
        .await;
        for damaged in [&broken, &moved] {
            let waits = format!("operations where id = '{damaged}' and status = 'submitted' and blocked_reason like 'damaged_row: %'");
            site.until("an operator is notified", async || site.count(&waits).await == 1).await;
            let shown = server.get(&format!("/blockchain/operations/{damaged}")).await;
            assert_eq!(shown.text("/blocked_reason"), "damaged_row");
            assert!(!shown.text("/blocked_detail").is_empty(), "{shown:?}");
        }
        assert_eq!(site.count("subscriptions where status = 'minted'").await, 1, "nothing of the damaged one was written");
        site.write(&format!("update operations set payload = '{payload}' where id = '{broken}'")).await;
        site.write(&format!("update subscriptions set status = 'accepted' {of_moved}")).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.minted, 3);
        assert_eq!(site.count("operations where blocked_reason is not null").await, 0);
    }

    async fn a_damaged_row_waits_and_blocks_nothing_else(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1)]).await;
        site.config.engine("settle_batch", 1);
        let mut server = site.start().await;
        let mut mints = Vec::new();
        for (number, offering) in site.offerings.iter().enumerate() {
            server.deploy(&format!("deploy-{number}"), offering).await;
        }
        site.finalised().await;
        for (number, offering) in site.offerings.iter().enumerate() {
            mints.push(server.mint(&format!("mint-{number}"), offering).await.text("/operations/0/id"));
            site.until("it is sent", async || site.count("attempts where sends > 0 and open").await == number as i64 + 1).await;
        }
        let [broken, sound] = mints.try_into().unwrap();
        let payload = site.rows(&format!("select cast(payload as text) from operations where id = '{broken}'")).await[0][0].clone();
        site.write(&format!("update operations set payload = '{{}}' where id = '{broken}'")).await;
        // The damaged row comes first, and rows are settled one at a time.
        site.mined_until("the other one is confirmed", async || server.state(&sound).await.0 == "confirmed").await;
        server.process.kill();
        site.config.engine("outage_pause_seconds", 3600);
        server = site.start().await;
        let written = format!("select cast(version as text), cast(updated_at as text) from operations where id = '{broken}'");
        let before = site.rows(&written).await;
        site.write(&format!("update operations set payload = '{payload}' where id = '{broken}'")).await;
        let cursor = "select cast(final_number as text) from chains";
        let height = site.rows(cursor).await;
        site.mined_until("blocks are followed", async || site.rows(cursor).await != height).await;
        site.anvil.mine(4).await;
        assert_eq!((server.state(&broken).await.0, site.rows(&written).await), ("submitted".to_owned(), before), "it is not retried at once");
        site.write(&format!("update operations set updated_at = '2020-01-01T00:00:00+00:00' where id = '{broken}'")).await;
        site.finalised().await;
        assert_eq!((site.exactly_once().await.minted, server.state(&broken).await.0), (2, "confirmed".to_owned()));
    }
}
