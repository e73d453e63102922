//! The disk is full: callers get an error, nothing is written in part, and work goes on when there is room again.

use std::time::Duration;

use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms};

/// Makes every further write fail: by a file size limit on the process, or by an error at each commit in the server.
async fn fill(site: &Installation, server: &Server) {
    if matches!(site.database, Database::Sqlite(_)) {
        return server.process.limit_file_bytes(Some(0));
    }
    site.write(
        "create function full_disk() returns trigger language plpgsql as $$ begin \
         raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$",
    )
    .await;
    for table in ["operations", "chains"] {
        let trigger = format!(
            "create constraint trigger full_disk after insert or update on {table} deferrable initially deferred \
             for each row execute function full_disk()"
        );
        site.write(&trigger).await;
    }
}

async fn free(site: &Installation, server: &Server) {
    if matches!(site.database, Database::Sqlite(_)) {
        return server.process.limit_file_bytes(None);
    }
    site.write("drop function full_disk() cascade").await;
}

on_both_databases! {
    async fn nothing_is_lost_and_work_goes_on_when_there_is_room(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::locked(2), Terms::free(1)]).await;
        // Without this the kernel would kill the process instead of returning an error.
        let server = site.serve(site.launch(&["run"]).behind("trap '' XFSZ")).await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;

        fill(&site, &server).await;
        let refused = server.deploy("other", &site.offerings[1]).await;
        assert_eq!(refused.problem(), (503, "service_unavailable".to_owned()), "{refused:?}");
        let head = site.rows("select cast(head_number as text) from chains").await;
        site.anvil.mine(8).await;
        let failed = async || server.process.log().contains("the chain is read again in a second");
        site.until("the follower cannot write", failed).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(site.rows("select cast(head_number as text) from chains").await, head);
        assert_eq!(site.count("operations").await, 1, "nothing was written in part");
        assert_eq!(site.statuses().await, [["submitted", "1"]]);

        free(&site, &server).await;
        let again = server.deploy("other", &site.offerings[1]).await;
        assert_eq!(again.status, 202, "{again:?}");
        site.mined_until_settled().await;
        server.mint("mint", &site.offerings[0]).await;
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (2, 1, 0));
    }
}
