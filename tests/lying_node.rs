//! Endpoints that lie about what is final, about heads, blocks, receipts and logs: no operation fails by it and none is lost.

use std::time::Duration;

use alloy::primitives::Bytes;
use serde_json::json;
use world::{Database, Engine, Fault, FaultProxy, KEYS, Mining, Rule};

use crate::installation::{Installation, Server, Terms, signer_of, wallet};

/// Operations under each lie. Enough that each kind of answer is met many times.
const OPERATIONS: usize = 25;
const STATE: &[&str] = &["eth_getBlockByNumber", "eth_blockNumber", "eth_call", "eth_estimateGas", "eth_getCode"];

/// A platform with a token, and a proxy that tells lies before its only endpoint, or before the first of two or three.
pub struct Liar {
    pub site: Installation,
    pub proxy: FaultProxy,
    pub server: Server,
    _honest: FaultProxy,
}

impl Liar {
    async fn start(endpoints: usize, quorum: usize, mining: Mining) -> Self {
        Self::start_under(endpoints, quorum, mining, None).await
    }

    /// The first start is lied to as well.
    async fn start_under(endpoints: usize, quorum: usize, mining: Mining, lie: Option<Rule>) -> Self {
        let mut site = Installation::new(Database::fresh(Engine::Sqlite).await, mining, &[Terms::free(2)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 11);
        lie.map(|lie| proxy.add(lie));
        let honest = FaultProxy::start(site.anvil.url(), 12);
        let urls = [proxy.url(), site.anvil.url(), honest.url()];
        site.config.chain("endpoints", &format!("{:?}", &urls[..endpoints]));
        site.config.chain("quorum", &quorum.to_string());
        site.config.engine("attempts_max", 3);
        let server = site.start().await;
        Self { site, proxy, server, _honest: honest }
    }

    /// The same, with a deployed token.
    pub async fn with_token(endpoints: usize, quorum: usize) -> Self {
        let liar = Self::start(endpoints, quorum, Mining::Quick).await;
        liar.server.deploy("deploy", &liar.site.offerings[0]).await;
        liar.site.settled().await;
        liar
    }

    /// Freezes and unfreezes while the lie is told. Everything is confirmed.
    pub async fn all_confirmed_under(&self, rule: Rule) {
        let rule = self.proxy.add(rule);
        for number in 0..OPERATIONS {
            let answer = self.site.freeze(&self.server, &format!("freeze-{number}"), number).await;
            assert_eq!(answer.status, 202, "{answer:?}");
        }
        self.site.settled().await;
        assert!(self.proxy.hits(rule) > 0, "the lie changed nothing: {:?}", self.proxy.trace().calls);
        let all = OPERATIONS as i64 + 1;
        assert_eq!(
            self.site.statuses().await,
            [["confirmed".to_owned(), all.to_string()]],
            "{}",
            self.site.overview().await
        );
        assert_eq!(self.site.count("operations where faults > 0").await, 0);
    }
}

macro_rules! under {
    ($($name:ident: $endpoints:literal, $quorum:literal, $rule:expr;)+) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                Liar::with_token($endpoints, $quorum).await.all_confirmed_under($rule).await;
            }
        )+
    };
}

under! {
    blocks_that_leave_a_transaction_out_are_read_again: 1, 1, Rule::new(Fault::BodyLeftOut).chance(0.3);
    blocks_that_leave_a_transaction_out_are_read_elsewhere: 2, 1, Rule::new(Fault::BodyLeftOut);
    receipts_that_are_left_out_are_asked_for_again: 1, 1, Rule::new(Fault::ReceiptLeftOut).chance(0.5);
    receipts_without_logs_are_no_effect_mismatch: 1, 1, Rule::new(Fault::NoLogs).chance(0.3);
    receipts_without_logs_are_read_elsewhere: 2, 1, Rule::new(Fault::NoLogs);
    receipts_without_logs_reach_no_quorum: 2, 2, Rule::new(Fault::NoLogs).chance(0.5);
    heads_that_jitter_make_no_verdict: 1, 1, Rule::new(Fault::StaleHead(6)).on(STATE).chance(0.4);
    heads_that_jitter_before_another_endpoint_make_no_verdict: 2, 1, Rule::new(Fault::StaleHead(6)).on(STATE).chance(0.4);
    an_absurd_head_is_not_believed: 1, 1, Rule::new(Fault::AbsurdHead(1_000_000)).chance(0.3);
    an_absurd_head_is_not_believed_beside_another: 2, 1, Rule::new(Fault::AbsurdHead(1_000_000)).chance(0.5);
    an_absurd_head_does_not_make_a_quorum: 2, 2, Rule::new(Fault::AbsurdHead(1_000_000)).chance(0.5);
}

/// The receipts of two freezes in one block change their transactions.
#[tokio::test(flavor = "multi_thread")]
async fn exchanged_receipts_are_asked_for_again() {
    let liar = Liar::start(1, 1, Mining::Manual).await;
    liar.server.deploy("deploy", &liar.site.offerings[0]).await;
    liar.site.all_in_pool(1).await;
    liar.site.finalised().await;
    let lie = liar.proxy.add(Rule::new(Fault::ExchangedHashes));
    for number in 0..2 {
        let answer = liar.site.freeze(&liar.server, &format!("freeze-{number}"), number).await;
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    liar.site.all_in_pool(2).await;
    liar.site.finalised().await;
    assert!(liar.proxy.hits(lie) > 0);
    assert_eq!(liar.site.statuses().await, [["confirmed", "3"]]);
}

/// The only endpoint shows somebody's transaction as that of the platform's signer, who has not signed it.
#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_the_signer_has_not_signed_stops_no_lane() {
    let liar = Liar::with_token(1, 1).await;
    let lie = liar.proxy.add(Rule::new(Fault::OtherSender(signer_of(KEYS[1]))));
    let hash = liar.site.sent_as(KEYS[3], wallet(0), Bytes::new()).await;
    liar.site.mined(&hash).await;
    assert_eq!(liar.site.freeze(&liar.server, "freeze", 0).await.status, 202);
    liar.site.settled().await;
    assert!(liar.proxy.hits(lie) > 0);
    assert_eq!(liar.site.count("foreign_transactions").await, 0);
    assert_eq!(liar.site.count("lanes where mode <> 'active'").await, 0);
    assert_eq!(liar.site.statuses().await, [["confirmed", "2"]]);
}

/// The only endpoint hides the sender of the platform's transaction. Then it shows an earlier one of the same block, with the same nonce, as
/// that of the platform's signer.
#[tokio::test(flavor = "multi_thread")]
async fn a_used_nonce_is_not_explained_by_what_the_signer_has_not_signed() {
    let liar = Liar::start(1, 1, Mining::Manual).await;
    let site = &liar.site;
    liar.server.deploy("deploy", &site.offerings[0]).await;
    site.all_in_pool(1).await;
    site.finalised().await;
    let hash = site.sent_as(KEYS[3], wallet(0), Bytes::new()).await;
    site.anvil.mine(1).await;
    site.mined(&hash).await;
    let hidden = liar.proxy.add(Rule::new(Fault::OtherSender(wallet(1))));
    let silent = liar.proxy.add(Rule::new(Fault::Null).on(&["eth_getTransactionReceipt"]));
    assert_eq!(site.freeze(&liar.server, "freeze", 0).await.status, 202);
    site.all_in_pool(1).await;
    let hash = site.sent_as(KEYS[3], wallet(0), Bytes::new()).await;
    site.anvil.mine(1).await;
    let block = site.mined(&hash).await;
    let used = site.anvil.rpc().number("eth_getTransactionCount", json!([signer_of(KEYS[3]), "latest"])).await;
    assert_eq!(site.count(&format!("lanes where next_nonce = {used}")).await, 1, "both have the same nonce");
    let followed = format!("chains where final_number > {block}");
    site.mined_until("its block is final", async || site.count(&followed).await == 1).await;
    assert_eq!(site.count("operation_steps where state = 'signed'").await, 1, "the endpoint hid it");
    liar.proxy.remove(hidden);
    let lie = liar.proxy.add(Rule::new(Fault::OtherSender(signer_of(KEYS[1]))));
    let asked = liar.proxy.calls("eth_getTransactionByHash");
    site.mined_until("the nonce is searched", async || {
        liar.proxy.calls("eth_getTransactionByHash") > asked && liar.proxy.hits(lie) > 0
    })
    .await;
    let silences = liar.proxy.hits(silent);
    site.mined_until("the search has ended", async || {
        liar.proxy.hits(silent) > silences + 1 || site.count("foreign_transactions").await > 0
    })
    .await;
    assert_eq!(site.count("foreign_transactions").await, 0);
    assert_eq!(site.count("lanes where mode <> 'active'").await, 0);
    liar.proxy.heal();
    site.finalised().await;
    assert_eq!(site.statuses().await, [["confirmed", "2"]]);
}

/// One of two endpoints calls its newest block final. With a quorum of two, nothing is final before the other one agrees.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_endpoint_calls_final_is_not_final() {
    let liar = Liar::start(2, 2, Mining::Manual).await;
    let rule = liar.proxy.add(Rule::new(Fault::EarlyFinality));
    let site = &liar.site;
    liar.server.deploy("deploy", &site.offerings[0]).await;
    site.all_in_pool(1).await;
    site.anvil.mine(1).await;
    site.until("it is in a block", async || site.count("operation_steps where state = 'included'").await == 1).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(liar.proxy.hits(rule) > 0);
    assert_eq!(site.statuses().await, [["submitted", "1"]]);
    // The reorganisation that the false finality would have made fatal.
    site.anvil.reorg(1).await;
    site.until("the reorganisation is seen", async || site.count("operation_steps where state = 'signed'").await == 1)
        .await;
    site.finalised().await;
    assert_eq!(site.exactly_once().await.deployed, 1);
    assert_eq!(site.count("chains where halted_reason is not null").await, 0);
}

/// The preferred endpoint stands still. The other one is asked instead, and the first is named.
#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_that_stands_still_is_left_and_named() {
    let liar = Liar::with_token(2, 1).await;
    let head = liar.site.anvil.rpc().number("eth_blockNumber", json!([])).await;
    liar.all_confirmed_under(Rule::new(Fault::StandStill(head)).on(&[])).await;
    let ready = liar.server.get("/readyz").await;
    assert_eq!(ready.text("/status"), "degraded", "{ready:?}");
    assert!(ready.text("/chains/0/endpoint_warning").contains("behind"), "{ready:?}");
    liar.proxy.heal();
    let warned = "chains where endpoint_warning is not null";
    liar.site.until("it is trusted again", async || liar.site.count(warned).await == 0).await;
}

/// One of two endpoints shows far more transactions of the key. With a quorum of two a new lane begins at the true nonce, and goes on after a
/// restart.
#[tokio::test(flavor = "multi_thread")]
async fn an_absurd_transaction_count_stops_no_lane() {
    let lie = || Rule::new(Fault::AbsurdNonce(50));
    let mut liar = Liar::start_under(2, 2, Mining::Quick, Some(lie())).await;
    liar.server.deploy("deploy", &liar.site.offerings[0]).await;
    liar.site.settled().await;
    liar.server.process.kill();
    liar.server = liar.site.start().await;
    // Each such answer makes the engine compare the counts.
    liar.proxy.add(Rule::new(Fault::Error(-32000, "nonce too low".into())).on(&["eth_sendRawTransaction"]).times(6));
    liar.all_confirmed_under(lie()).await;
    assert_eq!(liar.site.count("lanes where mode <> 'active'").await, 0, "{}", liar.site.overview().await);
    assert_eq!(liar.site.count("operation_steps where nonce >= 50").await, 0);
}

/// Without a quorum for its transaction count a new key has no lane. It gets one as soon as the endpoints answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_lane_waits_for_the_quorum() {
    let silent = Rule::new(Fault::Status(500)).on(&["eth_getTransactionCount"]);
    let liar = Liar::start_under(2, 2, Mining::Quick, Some(silent)).await;
    liar.server.deploy("deploy", &liar.site.offerings[0]).await;
    let waits = "operations where blocked_reason like 'no_signer:%'";
    liar.site.until("it waits for a lane", async || liar.site.count(waits).await == 1).await;
    assert_eq!(liar.site.count("lanes").await, 0);
    liar.proxy.heal();
    liar.site.settled().await;
    assert_eq!(liar.site.statuses().await, [["confirmed", "1"]]);
}

/// Behind one address one node gives the head, and another one, which is further, the final block.
#[tokio::test(flavor = "multi_thread")]
async fn a_chain_whose_head_is_below_its_final_block_at_first_contact_is_followed() {
    let liar = Liar::start_under(1, 1, Mining::Quick, Some(Rule::new(Fault::StaleHead(8)))).await;
    assert_eq!(liar.site.count("chains where head_number = final_number and final_number > 0").await, 1);
    liar.proxy.heal();
    liar.server.deploy("deploy", &liar.site.offerings[0]).await;
    liar.site.settled().await;
    assert_eq!(liar.site.statuses().await, [["confirmed", "1"]]);
}
