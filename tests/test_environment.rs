//! The test environment works: both databases, the node, and the relay that breaks connections.

use std::time::Duration;

use serde_json::json;
use sqlx::{Connection, Executor, PgConnection, Row};
use world::{Anvil, Cluster, Engine, Launch, Mining, Postgres, Sqlite, Wire};

#[tokio::test]
async fn each_test_has_a_postgres_database_of_its_own() {
    let (one, other) = (Postgres::fresh().await, Postgres::fresh().await);
    let mut one = PgConnection::connect(&one.url()).await.unwrap();
    one.execute("create table only_here (id bigint)").await.unwrap();
    let mut other = PgConnection::connect(&other.url()).await.unwrap();
    other.execute("select * from only_here").await.unwrap_err();
}

#[tokio::test]
async fn a_postgres_database_is_durable_and_has_the_queues_extensions() {
    let database = Postgres::fresh().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    let fsync = connection.fetch_one("show fsync").await.unwrap();
    assert_eq!(fsync.get::<String, _>(0), "on");
    connection.execute("select 'a=>1'::hstore, gen_random_bytes(4)").await.unwrap();
}

#[tokio::test]
async fn dropping_a_database_value_deletes_it() {
    let database = Postgres::fresh().await;
    let url = database.url();
    drop(database);
    PgConnection::connect(&url).await.unwrap_err();
}

#[tokio::test]
async fn a_backup_keeps_its_rows() {
    let database = Postgres::fresh().await;
    let mut connection = PgConnection::connect(&database.url()).await.unwrap();
    connection.execute("create table kept (id bigint)").await.unwrap();
    connection.close().await.unwrap();
    let backup = database.backup().await;
    let mut connection = PgConnection::connect(&backup.url()).await.unwrap();
    connection.execute("select * from kept").await.unwrap();
}

#[tokio::test]
async fn dropping_a_private_cluster_stops_it() {
    let cluster = tokio::task::spawn_blocking(Cluster::start).await.unwrap();
    let database = cluster.database().await;
    PgConnection::connect(&database.url()).await.unwrap();
    tokio::task::spawn_blocking(move || drop(cluster)).await.unwrap();
    PgConnection::connect(&database.url()).await.unwrap_err();
}

world::on_both_databases! {
    async fn a_test_can_be_written_once_for_both(database: Database) {
        let scheme = if matches!(database, world::Database::Sqlite(_)) { "sqlite://" } else { "postgres://" };
        assert!(database.url().starts_with(scheme));
    }
}

#[test]
fn dropping_a_sqlite_value_deletes_its_folder() {
    let sqlite = Sqlite::fresh();
    let folder = sqlite.folder().to_path_buf();
    assert!(folder.is_dir() && !sqlite.path().exists() && Engine::Sqlite != Engine::Postgres);
    drop(sqlite);
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_commit_with_a_lost_response_is_committed() {
    let database = Postgres::fresh().await;
    let (wire, url) = Wire::before(&database.url());
    let mut connection = PgConnection::connect(&url).await.unwrap();
    connection.execute("create table kept (id bigint)").await.unwrap();
    wire.deafen();
    let lost = tokio::time::timeout(Duration::from_millis(500), connection.execute("insert into kept values (1)"));
    assert!(lost.await.is_err(), "no response may come through");
    assert!(wire.withheld_bytes() > 0, "the fault must withhold a response");
    wire.open();
    let mut again = PgConnection::connect(&url).await.unwrap();
    let count = again.fetch_one("select count(*) from kept").await.unwrap();
    assert_eq!(count.get::<i64, _>(0), 1);
    wire.close();
    again.execute("select 1").await.unwrap_err();
}

#[tokio::test]
async fn a_mixed_chain_makes_everything_final() {
    let anvil = Anvil::start(Mining::Mixed);
    let rpc = anvil.rpc();
    anvil.mine(5).await;
    let head = rpc.number("eth_blockNumber", json!([])).await;
    let last = rpc.call("eth_getBlockByNumber", json!(["finalized", false])).await;
    assert_eq!(last["number"], format!("{:#x}", head - 2), "{}", anvil.log());
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert!(rpc.number("eth_blockNumber", json!([])).await > head, "blocks come by themselves");
}

#[tokio::test]
async fn a_reorg_changes_the_hashes_of_the_last_blocks_only() {
    let anvil = Anvil::start(Mining::Manual);
    anvil.mine(6).await;
    let hash =
        async |number: &str| anvil.rpc().call("eth_getBlockByNumber", json!([number, false])).await["hash"].clone();
    let (old, kept) = (hash("0x6").await, hash("0x3").await);
    anvil.reorg(2).await;
    assert_ne!(hash("0x6").await, old);
    assert_eq!(hash("0x3").await, kept);
}

#[tokio::test]
async fn a_process_can_be_killed_stopped_frozen_and_read() {
    let script = "trap 'echo ending; exit 3' TERM; echo $WORD; while :; do sleep 0.05; done";
    let launch = Launch::new(["-c", script]).program("sh").env("WORD", "ready");
    let mut binary = launch.spawn();
    assert!(binary.line_with("ready", Duration::from_secs(5)).is_some());
    assert_eq!(binary.terminate(Duration::from_secs(5)).code(), Some(3));
    assert!(binary.line_with("ending", Duration::from_secs(5)).is_some());
    assert!(binary.line_with("another word", Duration::MAX).is_none(), "no line comes after the end");
    let mut binary = launch.spawn();
    binary.freeze();
    assert!(binary.exited().is_none());
    binary.thaw();
    assert_eq!(binary.kill().code(), None, "a killed process has no code");
}
