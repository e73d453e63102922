//! What waits for a cause is parked on it: waiting costs nothing, and the end of the cause wakes it, not the clock.

use std::time::{Duration, Instant};

use serde_json::json;
use world::{Anvil, Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{Installation, Terms};

const OFFERINGS: usize = 30;
/// More than one queue takes at once.
const SLOW: usize = 150;
/// Longer than the whole test waits: only the end of the cause can wake what is parked.
const PAUSE_SECONDS: u64 = 120;
/// How long what waits is watched.
const WATCHED: Duration = Duration::from_secs(8);

fn jobs(site: &Installation) -> &'static str {
    match &site.database {
        Database::Sqlite(_) => "Jobs",
        Database::Postgres(_) => "apalis.jobs",
    }
}

async fn deploy_all(site: &Installation, server: &crate::installation::Server) {
    for (number, offering) in site.offerings.iter().enumerate() {
        assert_eq!(server.deploy(&format!("deploy-{number}"), offering).await.status, 202);
    }
}

/// All are parked, and stay so without a job.
async fn are_parked(site: &Installation, cause: &str) {
    let parked =
        format!("operations where status = 'pending' and next_action_at is null and blocked_reason like '{cause}%'");
    site.until("all are parked", async || site.count(&parked).await == OFFERINGS as i64).await;
    let before = site.count(jobs(site)).await;
    tokio::time::sleep(WATCHED).await;
    let pushed = site.count(jobs(site)).await - before;
    println!("{OFFERINGS} operations wait for {cause}: {pushed} jobs in {WATCHED:?}");
    assert!(pushed <= 8, "{pushed} jobs were pushed for what waits");
}

on_both_databases! {
    async fn what_waits_for_a_chain_costs_nothing_and_goes_on_when_it_answers(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1); OFFERINGS]).await;
        site.config.engine("outage_pause_seconds", PAUSE_SECONDS);
        let proxy = FaultProxy::start(site.anvil.url(), 5);
        site.config.node(proxy.url());
        let server = site.start().await;
        site.until("the chain is met", async || site.count("lanes").await == 1).await;
        proxy.add(Rule::new(Fault::Status(503)));
        let away = "chains where blocked_reason is not null";
        site.until("the chain is away", async || site.count(away).await == 1).await;
        deploy_all(&site, &server).await;
        are_parked(&site, "").await;
        let healed = Instant::now();
        proxy.heal();
        site.settled().await;
        println!("all went on and were final after {:?}", healed.elapsed());
        assert!(healed.elapsed() < Duration::from_secs(PAUSE_SECONDS / 2), "{:?}", healed.elapsed());
        assert_eq!(site.exactly_once().await.deployed, OFFERINGS);
    }

    async fn a_slow_chain_does_not_delay_another_one(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1); SLOW + 1]).await;
        let slow = Anvil::with(&["--chain-id", "31338", "--block-time", "1", "--mixed-mining"].map(str::to_owned));
        let proxy = FaultProxy::start(slow.url(), 5);
        site.config.second_chain(31338, proxy.url());
        let factory = site.platform.factory;
        let code = site.anvil.rpc().call("eth_getCode", json!([factory, "latest"])).await;
        slow.rpc().call("anvil_setCode", json!([factory, code])).await;
        let server = site.start().await;
        site.until("both chains are met", async || site.count("lanes").await == 2).await;
        site.write("update contracts set implementation = (select implementation from contracts where chain_id = 31337 \
            and kind = 'factory') where chain_id = 31338 and kind = 'factory'").await;
        let (healthy, others) = site.offerings.split_first().unwrap();
        site.write(&format!("update offerings set chain_id = 31338 where id <> '{healthy}'")).await;
        // Below the timeout of a request, so it is no outage.
        proxy.add(Rule::new(Fault::Delay(Duration::from_millis(2_500))));
        for (number, offering) in others.iter().enumerate() {
            assert_eq!(server.deploy(&format!("slow-{number}"), offering).await.status, 202);
        }
        let asked = Instant::now();
        assert_eq!(server.deploy("healthy", healthy).await.status, 202);
        let done = format!("operations where offering_id = '{healthy}' and status = 'confirmed'");
        site.until("it is final", async || site.count(&done).await == 1).await;
        println!("final on the healthy chain after {:?} beside {SLOW} on the slow one", asked.elapsed());
        assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
        assert!(site.count("operations where status = 'pending'").await > 0, "the slow chain was not slow");
    }

    async fn a_resumed_lane_takes_at_once_what_waited_for_it(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1); OFFERINGS]).await;
        site.config.engine("outage_pause_seconds", PAUSE_SECONDS);
        let server = site.start().await;
        site.until("the chain is met", async || site.count("lanes").await == 1).await;
        let lane = site.rows("select id from lanes").await.concat().remove(0);
        let paused = server.post(&format!("/blockchain/signers/{lane}/pause"), "pause", json!({ "reason": "a test" })).await;
        assert_eq!(paused.status, 200, "{paused:?}");
        deploy_all(&site, &server).await;
        are_parked(&site, "lane_paused").await;
        let resumed = Instant::now();
        let answer = server.post(&format!("/blockchain/signers/{lane}/resume"), "resume", json!({ "reason": "a test" })).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        site.settled().await;
        assert!(resumed.elapsed() < Duration::from_secs(PAUSE_SECONDS / 2), "{:?}", resumed.elapsed());
        assert_eq!(site.exactly_once().await.deployed, OFFERINGS);
    }
}
