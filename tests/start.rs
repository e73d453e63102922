//! An error in the installation is reported clearly, with what to do, at start or on the operation, and loses nothing.

use muniment_workflows::operator::abandon;
use world::{Cluster, Database, Engine, Launch, Mining, on_both_databases};

use crate::installation::{Installation, PATIENCE, Terms, ledger_dump};

async fn small_site(mining: Mining) -> Installation {
    Installation::new(Database::fresh(Engine::Sqlite).await, mining, &[Terms::free(1)]).await
}

/// Starts the installation, which must fail, and returns its output.
async fn refusal(site: &Installation) -> String {
    let mut process = site.launch(&["run"]).spawn();
    let status = process.wait(PATIENCE).unwrap();
    assert_eq!(status.code(), Some(1), "{}", process.log());
    process.log()
}

/// Checks that the installation works after the correction.
async fn works(site: &Installation) {
    let mut server = site.start().await;
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (1, 1, 0));
}

fn assert_says(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word:?} is missing in:\n{text}");
    }
}

on_both_databases! {
    async fn a_database_newer_than_the_binary_is_refused(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let newer = "insert into muniment_migrations (version, description, success, checksum, execution_time) \
            select 9999, 'later', success, checksum, 0 from muniment_migrations where version = 1";
        assert_eq!(site.write(newer).await, 1);
        assert_says(&refusal(&site).await, &["9999", "newer", "Start a binary of at least that version"]);
        assert_eq!(site.count("operations").await, 0);
        site.write("delete from muniment_migrations where version = 9999").await;
        works(&site).await;
    }

    async fn an_unfunded_signer_continues_when_funded(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let signer = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8";
        site.anvil.set_balance(signer, 1).await;
        let mut server = site.start().await;
        let accepted = server.deploy(&format!("deploy-{}", site.offerings[0]), &site.offerings[0]).await;
        assert_eq!(accepted.status, 202);
        let path = format!("/blockchain/operations/{}", accepted.text("/id"));
        site.until("it is blocked with its reason", async || {
            let shown = server.get(&path).await.body.to_string().to_lowercase();
            shown.contains("fund")
        })
        .await;
        tokio::time::sleep(std::time::Duration::from_secs(4)).await;
        assert_eq!(site.count("operations where faults > 0 or status in ('failed', 'dead_letter')").await, 0);
        site.anvil.set_balance(signer, u64::MAX).await;
        assert!(site.drive(&mut server, &site.offerings[0]).await);
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (1, 1, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_production_profile_never_starts_the_demo() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("muniment.toml");
    std::fs::write(&file, "profile = \"production\"\n").unwrap();
    let launch = || Launch::new::<&str>([]).env("MUNIMENT_DATA", folder.path()).env("MUNIMENT_LISTEN", "127.0.0.1:0");
    for launch in [launch().env("MUNIMENT_PROFILE", "production"), launch().env("MUNIMENT_CONFIG", &file)] {
        let mut process = launch.spawn();
        let status = process.wait(PATIENCE).expect("it refuses to start");
        assert_eq!(status.code(), Some(1), "{}", process.log());
        assert_says(&process.log(), &["production", "starts the demo", "muniment run"]);
    }
    assert!(!folder.path().join("muniment.db").exists());
}

/// Other tests get a migrated copy.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_postgres_database_is_migrated_once_by_two_processes() {
    let cluster = tokio::task::spawn_blocking(Cluster::shared).await.unwrap();
    let empty = cluster.database().await;
    let folder = tempfile::tempdir().unwrap();
    let migrate = || Launch::new(["migrate"]).env("MUNIMENT_DATABASE_URL", empty.url()).folder(folder.path()).spawn();
    for mut process in [migrate(), migrate()] {
        let status = process.wait(PATIENCE).expect("it ends");
        assert!(status.success(), "{}", process.log());
    }
    let (one, other) =
        (ledger_dump(&Database::Postgres(empty)).await, ledger_dump(&Database::fresh(Engine::Postgres).await).await);
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>(), "the copy has the same tables");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_chain_id_behind_an_endpoint_is_refused_at_start() {
    let mut site = small_site(Mining::Quick).await;
    site.config.chain("chain_id", "11155111");
    assert_says(&refusal(&site).await, &["chain id 31337", "chain id 11155111", "correct the URL or the chain id"]);
    site.config.chain("chain_id", "31337");
    works(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_keystore_is_refused_at_start() {
    let mut site = small_site(Mining::Quick).await;
    let good = site.config.clone();
    let folder = tempfile::tempdir().unwrap();
    let (missing, broken) = (folder.path().join("missing.json"), folder.path().join("broken.json"));
    std::fs::write(&broken, "{\"crypto\":{}}").unwrap();
    for (path, word) in [(&missing, "missing.json"), (&broken, "broken.json")] {
        let signer = format!("[{{ kind = \"keystore\", path = {path:?}, password_env = \"HOME\" }}]");
        site.config.chain("signers", &signer);
        assert_says(
            &refusal(&site).await,
            &[word, "cannot be opened", "check the path, its permissions and the password"],
        );
    }
    let signer = format!("[{{ kind = \"keystore\", path = {broken:?}, password_env = \"NO_SUCH_VARIABLE\" }}]");
    site.config.chain("signers", &signer);
    assert_says(&refusal(&site).await, &["NO_SUCH_VARIABLE", "is not set", "password_file"]);
    site.config = good;
    works(&site).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_offering_on_an_unconfigured_chain_is_refused() {
    let site = small_site(Mining::Quick).await;
    site.write("update offerings set chain_id = 999").await;
    let mut server = site.start().await;
    let refused = server.deploy("deploy-1", &site.offerings[0]).await;
    assert_eq!(refused.status, 409, "{refused:?}");
    assert!(["unknown_chain", "contract_missing"].contains(&refused.text("/code").as_str()), "{refused:?}");
    assert!(refused.text("/detail").contains("999"), "{refused:?}");
    assert_eq!(site.count("operations").await, 0);
    server.process.kill();
    site.write("update offerings set chain_id = 31337").await;
    works(&site).await;
}

/// Accepted by an API process that knows the chain, found by a worker that does not.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_on_a_chain_unknown_to_the_worker_waits() {
    let site = small_site(Mining::Quick).await;
    let mut server = site.start().await;
    site.write("update lanes set mode = 'paused'").await;
    assert_eq!(server.deploy("deploy-early", &site.offerings[0]).await.status, 202);
    server.process.kill();
    site.write("update lanes set mode = 'active'").await;
    site.write("update operations set chain_id = 999").await;
    let mut server = site.start().await;
    let waits = "operations where status = 'pending' and blocked_reason like 'unknown_chain%999%'";
    site.until("the reason is recorded", async || site.count(waits).await == 1).await;
    assert_eq!(site.count("operations where faults > 0").await, 0);
    server.process.kill();
    site.write("update operations set chain_id = 31337").await;
    works(&site).await;
}

/// The factory's address has no code: a call to it would succeed and do nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_missing_factory_is_reported_before_signing() {
    let mut site = small_site(Mining::Quick).await;
    let (good, nowhere) = (site.platform.factory.to_string(), "0x00000000000000000000000000000000000000fa");
    site.config.chain("factory", &format!("{nowhere:?}"));
    let mut server = site.start().await;
    let accepted = server.deploy("deploy-early", &site.offerings[0]).await;
    assert_eq!(accepted.status, 202, "{accepted:?}");
    site.settled().await;
    let said = site.rows("select status, error_code, error_message from operations").await.concat();
    assert_eq!(said[..2], ["failed", "contract_missing"]);
    assert_says(&said[2].to_lowercase(), &[nowhere, "the address in the configuration"]);
    assert_eq!(site.count("attempts").await, 0, "nothing was signed");
    server.process.kill();
    let fixture = site.engine_fixture(|_| {}).await;
    abandon::abandon(&fixture.engine, &accepted.text("/id").as_str().into(), "operator", "the address was wrong")
        .await
        .unwrap();
    fixture.close().await;
    site.config.chain("factory", &format!("{good:?}"));
    works(&site).await;
}
