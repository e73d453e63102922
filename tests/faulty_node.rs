//! A node that drops, delays, duplicates, forgets and lies: everything still happens exactly once, and each fault took effect.

use std::time::Duration;

use world::{Database, Engine, Fault, FaultProxy, Mining, Rule};

use crate::installation::{Installation, Lacks, Terms};

const SEND: &[&str] = &["eth_sendRawTransaction"];
const READ: &[&str] = &["eth_estimateGas", "eth_getBlockByNumber", "eth_getBlockReceipts", "eth_getTransactionReceipt"];

fn refusal(text: &str) -> Fault {
    Fault::Error(-32000, text.to_owned())
}

/// Deploys and mints two pages through a proxy with these rules from the start of the work.
async fn exactly_once_through(rules: Vec<Rule>) {
    let mut site = site().await;
    let proxy = FaultProxy::start(site.anvil.url(), 11);
    site.config.node(proxy.url());
    let mut server = site.start().await;
    let rules: Vec<_> = rules.into_iter().map(|rule| proxy.add(rule)).collect();
    assert!(site.drive(&mut server, &site.offerings[0]).await, "the process ended");
    for rule in rules {
        assert!(proxy.hits(rule) > 0, "{rule:?} changed nothing: {:?}", proxy.trace().calls);
    }
    assert_eq!(site.lacks(&site.offerings[0]).await, Lacks::Nothing);
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (1, 2, 0), "{}", site.overview().await);
}

async fn site() -> Installation {
    let database = Database::fresh(Engine::Sqlite).await;
    let mut site = Installation::new(database, Mining::Quick, &[Terms::locked(4)]).await;
    site.config.engine("mint_page_holders", 2);
    site
}

macro_rules! through {
    ($($name:ident: [$($rule:expr),+ $(,)?];)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                exactly_once_through(vec![$($rule),+]).await;
            }
        )+
    };
}

through! {
    sends_that_never_arrive: [Rule::new(Fault::DropRequest).on(SEND).times(4)];
    sends_whose_answer_is_lost: [Rule::new(Fault::DropResponse).on(SEND)];
    sends_that_arrive_twice: [Rule::new(Fault::Duplicate).on(SEND)];
    a_send_that_is_answered_with_another_hash: [Rule::new(Fault::OtherHash)];
    any_request_may_be_lost: [Rule::new(Fault::DropRequest).chance(0.3).times(40)];
    any_answer_may_be_lost: [Rule::new(Fault::DropResponse).chance(0.3).times(40)];
    everything_takes_its_time: [Rule::new(Fault::Delay(Duration::from_millis(120)))];
    receipts_that_are_null_for_a_while: [Rule::new(Fault::Null).times(12)];
    receipts_that_are_null_now_and_then: [Rule::new(Fault::Null).chance(0.4)];
    heads_that_jump_back_and_forth: [Rule::new(Fault::StaleHead(2)).chance(0.5)];
    too_many_requests: [Rule::new(Fault::Status(429)).chance(0.3).times(40)];
    a_gateway_that_fails: [Rule::new(Fault::Status(502)).chance(0.3).times(40)];
    bodies_that_are_no_json: [Rule::new(Fault::Garbage).chance(0.3).times(40)];
    a_pool_that_is_full: [Rule::new(refusal("txpool is full")).on(SEND).times(3)];
    a_pool_that_says_underpriced: [Rule::new(refusal("replacement transaction underpriced")).on(SEND).times(3)];
    a_pool_that_says_nonce_too_low: [Rule::new(refusal("nonce too low")).on(SEND).times(3)];
    a_pool_that_says_too_poor: [Rule::new(refusal("insufficient funds for gas * price + value")).on(SEND).times(3)];
    a_read_that_fails_without_a_reason: [Rule::new(refusal("internal error")).on(READ).chance(0.3).times(40)];
    everything_at_once: [
        Rule::new(Fault::DropRequest).on(SEND).times(2),
        Rule::new(Fault::DropResponse).on(SEND).after(2).times(2),
        Rule::new(Fault::Null).times(4),
        Rule::new(Fault::StaleHead(1)).chance(0.3),
        Rule::new(Fault::Status(500)).chance(0.2).times(20),
    ];
}

/// The transaction count is too low at start, when lanes are made, and at each comparison.
#[tokio::test(flavor = "multi_thread")]
async fn a_stale_transaction_count_gives_no_nonce_twice() {
    let mut site = site().await;
    let proxy = FaultProxy::start(site.anvil.url(), 11);
    site.config.node(proxy.url());
    let mut server = site.start().await;
    let rule = proxy.add(Rule::new(Fault::StaleNonce(2)));
    // An error of this kind makes the engine ask for the count.
    proxy.add(Rule::new(refusal("nonce too low")).on(SEND).times(6));
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    server.process.kill();
    server = site.start().await;
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    assert!(proxy.hits(rule) > 0);
    assert_eq!(site.exactly_once().await.minted, 2);
}

/// One of two endpoints lies about a receipt: with a quorum of two nothing is final before they agree.
#[tokio::test(flavor = "multi_thread")]
async fn a_forged_receipt_is_not_believed_while_another_endpoint_disagrees() {
    let mut site = site().await;
    let liar = FaultProxy::start(site.anvil.url(), 11);
    let rule = liar.add(Rule::new(Fault::ForgedReceipt));
    let honest = site.anvil.url().to_owned();
    site.config.chain("endpoints", &format!("[{:?}, {honest:?}]", liar.url()));
    site.config.chain("quorum", "2");
    let mut server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.until("the false receipt is served", async || liar.hits(rule) > 3).await;
    assert_eq!(site.statuses().await, [["submitted", "1"]]);
    liar.heal();
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (1, 2, 0));
}

/// Finality is not based on a receipt that the only endpoint forged once.
#[tokio::test(flavor = "multi_thread")]
async fn a_forged_receipt_is_detected_before_finality() {
    exactly_once_through(vec![Rule::new(Fault::ForgedReceipt).times(1)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pool_rules_of_geth_are_followed() {
    let mut site = site().await;
    let proxy = FaultProxy::start(site.anvil.url(), 11);
    site.config.node(proxy.url());
    proxy.add(Rule::new(Fault::ReplacementRule));
    let gap = proxy.add(Rule::new(Fault::GapRule));
    let lost = proxy.add(Rule::new(Fault::DropRequest).on(SEND).times(3));
    let mut server = site.start().await;
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    assert_eq!(proxy.hits(lost), 3);
    assert!(proxy.hits(gap) <= 3, "only a lost send leaves a nonce gap");
    assert_eq!(site.exactly_once().await.minted, 2);
}

/// Half of the endpoints answer reads but refuse or lose transactions.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_refused_by_some_endpoints_arrives_by_the_others() {
    let faults = [Fault::DropRequest, Fault::Status(503), Fault::OtherHash, refusal("internal error")];
    for (number, fault) in faults.into_iter().enumerate() {
        let mut site = site().await;
        let deaf = FaultProxy::start(site.anvil.url(), 11);
        let rule = deaf.add(Rule::new(fault).on(SEND));
        let good = site.anvil.url().to_owned();
        site.config.chain("endpoints", &format!("[{:?}, {good:?}]", deaf.url()));
        site.config.chain("broadcast_all", if number % 2 == 0 { "false" } else { "true" });
        let mut server = site.start().await;
        assert!(site.drive(&mut server, &site.offerings[0]).await);
        assert!(deaf.hits(rule) > 0, "the fault changed nothing: {:?}", deaf.trace().calls);
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (1, 2, 0));
    }
}

/// An endpoint says that it has the transactions, and keeps them to itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_an_endpoint_keeps_to_itself_is_sent_to_the_others() {
    let mut site = site().await;
    let greedy = FaultProxy::start(site.anvil.url(), 11);
    let rule = greedy.add(Rule::new(refusal("already known")).on(SEND));
    let good = site.anvil.url().to_owned();
    site.config.chain("endpoints", &format!("[{:?}, {good:?}]", greedy.url()));
    site.config.chain("broadcast_all", "false");
    // No higher fee is what brings it to the other one.
    site.config.chain("bump_after_seconds", "600");
    let mut server = site.start().await;
    assert!(site.drive(&mut server, &site.offerings[0]).await);
    assert!(greedy.hits(rule) > 0, "the fault changed nothing: {:?}", greedy.trace().calls);
    let report = site.exactly_once().await;
    assert_eq!((report.deployed, report.minted, report.attention), (1, 2, 0));
}
