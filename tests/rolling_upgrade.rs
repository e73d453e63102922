//! A new process migrates the database while an old one still runs: a column more stops nobody.

use std::ffi::OsString;
use std::time::Duration;

use serde_json::json;
use world::{Database, Engine, Mining};

use crate::installation::{Installation, Terms};

const OFFERINGS: usize = 12;
const MIGRATION: Duration = Duration::from_secs(120);

async fn add_a_column_to_each_table(site: &Installation) {
    let tables = "select table_name from information_schema.tables \
                  where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'muniment_migrations'";
    let tables = site.rows(tables).await.concat();
    assert!(tables.len() > 30, "{tables:?}");
    for table in &tables {
        site.write(&format!("alter table {table} add column added_by_a_newer_binary text")).await;
    }
    let later = "insert into muniment_migrations (version, description, success, checksum, execution_time) \
                 select 9999, 'later', success, checksum, 0 from muniment_migrations where version = 1";
    site.write(later).await;
}

/// `tests/upgrade` runs this test of an older revision with a newer binary.
async fn migrate_with(site: &Installation, newer: OsString) {
    let versions = "muniment_migrations";
    let before = site.count(versions).await;
    let mut migrate = site.launch(&["migrate"]).program(newer).spawn();
    let ended = migrate.wait(MIGRATION);
    assert!(ended.is_some_and(|status| status.success()), "{}", migrate.log());
    assert!(site.count(versions).await > before, "the newer binary has no migration that this one lacks");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_goes_on_beside_a_schema_with_more_columns() {
    let database = Database::fresh(Engine::Postgres).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(2); OFFERINGS]).await;
    let mut server = site.start().await;
    // Every connection has prepared its statements.
    for offering in &site.offerings[..OFFERINGS / 2] {
        assert!(site.drive(&mut server, offering).await);
    }
    match std::env::var_os("MUNIMENT_NEWER_BINARY") {
        Some(newer) => migrate_with(&site, newer).await,
        None => add_a_column_to_each_table(&site).await,
    }
    for (number, offering) in site.offerings.iter().enumerate().skip(OFFERINGS / 2) {
        let answer = server.deploy(&format!("new-{number}"), offering).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        for path in ["/blockchain/operations", "/blockchain/signers", "/readyz"] {
            let answer = server.get(path).await;
            assert_eq!(answer.status, 200, "{path}: {answer:?}");
        }
    }
    site.settled().await;
    for offering in &site.offerings {
        assert!(site.drive(&mut server, offering).await);
    }
    assert!(!server.process.log().contains("cached plan"), "{}", server.process.log());
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (OFFERINGS, OFFERINGS, 0));
    let refused = server.post("/blockchain/deploy-token", "no", json!({})).await;
    assert!(refused.status < 500, "{refused:?}");
}
