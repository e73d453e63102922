//! Shutdowns and outages: a stopping process finishes its moves, and an outage is waited out.

use std::time::Duration;

use world::{Database, Engine, Fault, FaultProxy, Mining, Rule, Wire, on_both_databases};

use crate::installation::{Installation, PATIENCE, Terms};

const OFFERINGS: usize = 6;

on_both_databases! {
    async fn a_stopped_process_finishes_its_work_and_the_next_one_continues(database: Database) {
        let mut site = Installation::new(database, Mining::Mixed, &[Terms::free(2); OFFERINGS]).await;
        site.config.chain("in_flight_max", "2");
        let mut server = site.start().await;
        for (number, offering) in site.offerings.iter().enumerate() {
            server.deploy(&format!("deploy-{number}"), offering).await;
        }
        site.until("something is sent", async || site.count("attempts").await > 0).await;
        let status = server.process.terminate(PATIENCE);
        assert_eq!(status.code(), Some(0), "{}", server.process.log());
        assert!(site.unfinished().await > 0, "the shutdown interrupted nothing");
        // Everything signed was also sent: the current move was finished.
        assert_eq!(site.count("attempts where sends = 0").await, 0);
        assert_eq!(site.count("leases").await, 0, "the leases were released");
        let mut server = site.start().await;
        for offering in &site.offerings {
            assert!(site.drive(&mut server, offering).await);
        }
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted), (OFFERINGS, OFFERINGS));
    }

    async fn a_node_outage_counts_no_attempt_and_work_resumes(database: Database) {
        let mut site = Installation::new(database, Mining::Mixed, &[Terms::free(2); OFFERINGS]).await;
        site.config.engine("attempts_max", 2);
        let proxy = FaultProxy::start(site.anvil.url(), 5);
        site.config.node(proxy.url());
        let mut server = site.start().await;
        server.deploy("deploy-0", &site.offerings[0]).await;
        site.until("something is sent", async || site.count("attempts").await > 0).await;
        let rule = proxy.add(Rule::new(Fault::Status(503)));
        for (number, offering) in site.offerings.iter().enumerate().skip(1) {
            assert_eq!(server.deploy(&format!("deploy-{number}"), offering).await.status, 202);
        }
        let blocked = "operations where status = 'pending' and blocked_reason is not null";
        site.until("all others are blocked", async || site.count(blocked).await == OFFERINGS as i64 - 1).await;
        site.until("the chain is marked unavailable", async || {
            site.count("chains where blocked_reason is not null").await == 1
        })
        .await;
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(site.count("operations where faults > 0 or status in ('failed', 'dead_letter')").await, 0);
        assert!(proxy.hits(rule) > 10, "{}", proxy.hits(rule));
        assert_eq!(server.get("/readyz").await.body["status"], "degraded");
        proxy.heal();
        for offering in &site.offerings {
            assert!(site.drive(&mut server, offering).await);
        }
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (OFFERINGS, OFFERINGS, 0));
        assert_eq!(site.count("operations where faults > 0").await, 0);
    }
}

/// The relay is between the process and the database server, like a failover or a network fault.
async fn with_database_outage(away: impl AsyncFn(&Wire, &Installation)) {
    let database = Database::fresh(Engine::Postgres).await;
    let mut site = Installation::new(database, Mining::Mixed, &[Terms::free(2); OFFERINGS]).await;
    let (wire, through) = Wire::before(&site.database.url());
    site.config.database(&through);
    let mut server = site.start().await;
    for (number, offering) in site.offerings.iter().enumerate() {
        server.deploy(&format!("deploy-{number}"), offering).await;
    }
    site.until("something is sent", async || site.count("attempts").await > 0).await;
    assert!(site.unfinished().await > 0, "the outage interrupted nothing");
    away(&wire, &site).await;
    for offering in &site.offerings {
        assert!(site.drive(&mut server, offering).await, "the process did not survive the outage");
    }
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (OFFERINGS, OFFERINGS, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_away_for_ten_seconds_loses_nothing() {
    with_database_outage(async |wire, _| {
        wire.close();
        tokio::time::sleep(Duration::from_secs(10)).await;
        wire.open();
    })
    .await;
}

/// A failover behind a load balancer: the old connections stay open for ever, and nobody answers on them. A single process follows, settles
/// and signs again by itself.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_answers_are_replaced() {
    with_database_outage(async |wire, site| {
        let before = site.rows("select cast(head_number as text) from chains").await;
        let swallowed = std::time::Instant::now();
        wire.swallow();
        site.until("the chain is followed again", async || {
            site.rows("select cast(head_number as text) from chains").await != before
        })
        .await;
        println!("half-open: followed again after {:?}", swallowed.elapsed());
        assert!(swallowed.elapsed() < Duration::from_secs(60), "{:?}", swallowed.elapsed());
    })
    .await;
}

/// The queue library asks the database without a limit. Nothing else of the process hangs, so nothing else notices.
#[tokio::test(flavor = "multi_thread")]
async fn a_queue_worker_that_hangs_is_replaced() {
    let database = Database::fresh(Engine::Postgres).await;
    let mut site = Installation::new(database, Mining::Mixed, &[Terms::free(2)]).await;
    let (wire, through) = Wire::before(&site.database.url());
    site.config.database(&through);
    wire.swallow_sender_of("-deploy-run_");
    let server = site.start().await;
    site.until("the worker hangs", async || !wire.awaits_sender()).await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.settled().await;
    assert_eq!(site.exactly_once().await.deployed, 1);
}

/// Longer than any loop may fail in a row; the process that starts meanwhile waits too.
#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_starts_without_its_database_waits_for_it() {
    let database = Database::fresh(Engine::Postgres).await;
    let mut site = Installation::new(database, Mining::Mixed, &[Terms::free(2)]).await;
    let (wire, through) = Wire::before(&site.database.url());
    site.config.database(&through);
    wire.close();
    let mut process = site.launch(&["worker"]).spawn();
    site.until("it says so", async || process.log().contains("the database is away")).await;
    wire.open();
    site.until("it has contacted the chain", async || site.count("lanes").await == 1).await;
    process.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_with_lost_responses_are_neither_lost_nor_repeated() {
    with_database_outage(async |wire, _| {
        for _ in 0..4 {
            wire.deafen();
            tokio::time::sleep(Duration::from_millis(700)).await;
            wire.open();
            tokio::time::sleep(Duration::from_millis(700)).await;
        }
        assert!(wire.withheld_bytes() > 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_closed_by_a_failover_are_reopened() {
    with_database_outage(async |_, site| {
        let Database::Postgres(postgres) = &site.database else { unreachable!("it runs on the server") };
        for _ in 0..5 {
            postgres.disconnect_all().await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    })
    .await;
}
