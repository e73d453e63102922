//! The database is restored from an older backup while the chain went on: nothing is signed before an operator resumes the lane, and
//! effects already on the chain are found and not repeated.

use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Terms};

/// Copies the database; no process may have it open.
pub async fn copy(site: &Installation) -> Database {
    match &site.database {
        Database::Postgres(postgres) => Database::Postgres(postgres.backup().await),
        Database::Sqlite(sqlite) => {
            let backup = world::Sqlite::fresh();
            // Copies into one file, as `sqlite3 .backup` does, to include the write-ahead log.
            site.write("pragma wal_checkpoint(truncate)").await;
            std::fs::copy(sqlite.path(), backup.path()).unwrap();
            Database::Sqlite(backup)
        }
    }
}

on_both_databases! {
    async fn effects_after_the_backup_are_found_on_chain_and_not_repeated(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::locked(2), Terms::free(2), Terms::free(2)]).await;
        let mut server = site.start().await;
        for (number, offering) in site.offerings.iter().enumerate().take(2) {
            server.deploy(&format!("deploy-{number}"), offering).await;
        }
        site.settled().await;
        site.write("update lanes set mode = 'paused'").await;
        let mint = server.mint("mint-0", &site.offerings[0]).await.text("/operations/0/id");
        let deploy = server.deploy("deploy-2", &site.offerings[2]).await.text("/id");
        server.process.kill();
        let backup = copy(&site).await;
        site.write("update lanes set mode = 'active'").await;
        let mut server = site.start().await;
        site.settled().await;
        assert_eq!(site.exactly_once().await.minted, 1);
        server.process.kill();

        site.config.database(&backup.url());
        site.database = backup;
        site.write("update lanes set mode = 'active'").await;
        assert_eq!(site.unfinished().await, 2, "the backup has them as pending operations");
        let signed = site.count("attempts").await;
        let mut server = site.start().await;
        site.until("the lane is stopped", async || site.count("lanes where mode = 'quarantined'").await == 1).await;
        // Executed effects may be adopted meanwhile: that needs no signature.
        let free = "operations where status = 'pending' and coalesce(blocked_reason, '') not like 'lane_quarantined%'";
        site.until("every other operation is blocked", async || site.count(free).await == 0).await;
        assert_eq!(site.count("attempts").await, signed, "nothing was signed");
        server.process.kill();

        let fixture = site.engine_fixture(|_| {}).await;
        fixture.resume().await;
        site.settled().await;
        assert_eq!(site.rows(&format!("select status from operations where id = '{mint}'")).await, [["confirmed"]]);
        assert_eq!(site.rows(&format!("select status from operations where id = '{deploy}'")).await, [["confirmed"]]);
        fixture.mint(&site.offerings[1]).await;
        site.settled().await;
        fixture.close().await;
        let numbers = site.rows("select distinct target, cast(op_number as text) from operation_steps where op_number is not null").await;
        assert_eq!(numbers.len(), 2);
        assert_eq!(site.executed_once_and_held_once().await, 2);
    }

    async fn work_continues_from_an_up_to_date_backup(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let mut server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        server.process.kill();
        let backup = copy(&site).await;
        site.config.database(&backup.url());
        site.database = backup;
        let mut server = site.start().await;
        assert!(site.drive(&mut server, &site.offerings[0]).await);
        assert_eq!(site.exactly_once().await.minted, 1);
    }
}
