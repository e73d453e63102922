//! A new process migrates the database while an old one still runs: a column more stops nobody.

use serde_json::json;
use world::{Database, Engine, Mining};

use crate::installation::{Installation, Terms};

const OFFERINGS: usize = 12;

#[tokio::test(flavor = "multi_thread")]
async fn a_process_goes_on_beside_a_schema_with_more_columns() {
    let database = Database::fresh(Engine::Postgres).await;
    let site = Installation::new(database, Mining::Quick, &[Terms::free(2); OFFERINGS]).await;
    let mut server = site.start().await;
    // Every connection has prepared its statements.
    for offering in &site.offerings[..OFFERINGS / 2] {
        assert!(site.drive(&mut server, offering).await);
    }
    let tables = "select table_name from information_schema.tables \
                  where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'muniment_migrations'";
    let tables = site.rows(tables).await.concat();
    assert!(tables.len() > 30, "{tables:?}");
    for table in &tables {
        site.write(&format!("alter table {table} add column added_by_a_newer_binary text")).await;
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
