//! `kill -9` again and again while hundreds of operations are in flight; a seed chooses the moments.

use std::time::Duration;

use serde_json::json;
use world::{Database, Engine, Mining, Seed, campaign};

use crate::installation::{Installation, Lacks, Server, Terms};

const SEED: u64 = 20_260_713;
/// Kills and offerings, in every run and in the whole campaign.
const SIZE: ((usize, usize), (usize, usize)) = ((14, 35), (56, 110));
/// Four mint pages each, so that an offering with its deployment is five operations.
const HOLDERS: usize = 8;
const HOLDERS_PER_PAGE: u64 = 2;
/// Maximum number of requests to each process.
const REQUESTS_MAX: usize = 5;
const SUBMITTED: &str = "operations where status = 'submitted'";

/// Requests what some offerings lack; idempotency keys make a repetition harmless.
async fn request_missing(site: &Installation, server: &Server, requests: usize) {
    let lacking = "select id, token_status from offerings o where not exists (select 1 from operations p where p.offering_id = o.id \
        and p.kind = case when o.token_status = 'deployed' then 'mint' else 'deploy_token' end) order by token_status, id";
    let client = server.client();
    for row in site.rows(lacking).await.into_iter().take(requests) {
        let [id, status] = row.try_into().unwrap();
        let (path, wish) = match status.as_str() {
            "deployed" => ("/blockchain/trigger-mint", "mint"),
            _ => ("/blockchain/deploy-token", "deploy"),
        };
        // A response may be lost; the row is what counts.
        _ = client.post(path, &format!("{wish}-{id}"), json!({ "offering_id": id })).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kills_with_work_in_flight_lose_nothing_and_double_nothing() {
    let (kills, offerings) = campaign(SIZE);
    let database = Database::fresh(Engine::Postgres).await;
    let terms = vec![Terms::locked(HOLDERS); offerings];
    let mut site = Installation::with_signers(database, Mining::Mixed, &terms, 2).await;
    site.config.engine("mint_page_holders", HOLDERS_PER_PAGE);
    let mut seed = Seed::new(SEED);
    let (mut in_flight, mut submitted) = (Vec::new(), Vec::new());
    for kill in 0..kills {
        let mut server = site.start().await;
        // However slow the machine is, there is work to interrupt; at every second kill the node has some of it.
        request_missing(&site, &server, 1).await;
        if kill % 2 == 0 {
            site.until("an operation is submitted, or none is left", async || {
                site.count(SUBMITTED).await > 0 || site.unfinished().await == 0
            })
            .await;
        }
        // The kill comes during or after the other requests.
        let life = Duration::from_millis(80 + seed.below(500));
        _ = tokio::time::timeout(life, request_missing(&site, &server, REQUESTS_MAX - 1)).await;
        tokio::time::sleep(Duration::from_millis(seed.below(250))).await;
        server.process.kill();
        in_flight.push(site.unfinished().await);
        submitted.push(site.count(SUBMITTED).await);
    }
    let mut server = site.start().await;
    for offering in &site.offerings {
        assert!(site.drive(&mut server, offering).await);
        assert_eq!(site.lacks(offering).await, Lacks::Nothing);
    }
    site.settled().await;
    let report = site.exactly_once().await;
    let operations = report.deployed + report.minted;
    println!(
        "{kills} kills, seed {SEED}: in flight at each {in_flight:?}, of these submitted {submitted:?}; {report:?}"
    );
    assert_eq!((report.deployed, report.minted, report.attention), (offerings, 4 * offerings, 0));
    assert!(operations >= campaign((175, 500)), "{operations} operations are too few for a proof");
    assert!(
        in_flight.iter().filter(|open| **open > 0).count() >= kills * 6 / 7,
        "too few kills interrupted an operation: {in_flight:?}"
    );
    assert!(
        submitted.iter().filter(|sent| **sent > 0).count() >= kills / 2,
        "too few kills interrupted a submitted operation: {submitted:?}"
    );
}
