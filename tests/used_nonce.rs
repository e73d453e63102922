//! A used nonce is explained whatever made the engine miss its transaction: a cursor that stands behind it, or a key that another process has.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use world::{Database, Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Installation, Server, Terms, signer_of};
use crate::operator::stuck_lanes;

const SENT: &str = "attempts where sends > 0";
/// Submitted, without a transaction on the chain and without a next time.
const ASLEEP: &str = "operations o where status = 'submitted' and next_action_at is null and not exists (
    select 1 from operation_steps s where s.operation_id = o.id and s.state in ('signed', 'included'))";
const ADOPTED: &str = "operation_steps where state = 'included' and nonce is null";

/// Sets the cursor to the node's head, as if every block up to it had been walked.
async fn walk_past(site: &Installation) {
    let header = async |tag: &str| -> (i64, String) {
        let block: Value = site.anvil.rpc().call("eth_getBlockByNumber", json!([tag, false])).await;
        let number = block["number"].as_str().unwrap().trim_start_matches("0x").to_owned();
        (i64::from_str_radix(&number, 16).unwrap(), block["hash"].as_str().unwrap().to_owned())
    };
    let (head, last) = (header("latest").await, header("finalized").await);
    site.write("delete from chain_blocks").await;
    site.write(&format!(
        "update chains set head_number = {}, head_hash = '{}', final_number = {}, final_hash = '{}'",
        head.0, head.1, last.0, last.1
    ))
    .await;
}

/// An installation with one deployment sent and the process ended, and the lanes' keys.
async fn sent(database: Database, signers: usize) -> Installation {
    let mut site = Installation::with_signers(database, Mining::Manual, &[Terms::free(2)], signers).await;
    site.config.chain("bump_after_seconds", "600");
    let mut server: Server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.until("it is sent", async || site.count(SENT).await == 1).await;
    server.process.kill();
    site
}

/// Uses up the signer's next nonce without any transaction, so that nothing can explain it, and makes that final.
async fn use_up(site: &Installation, nonce: u64) {
    site.anvil.rpc().call("anvil_dropAllTransactions", json!([])).await;
    site.anvil.rpc().call("anvil_setNonce", json!([signer_of(KEYS[1]), format!("{:#x}", nonce + 1)])).await;
    site.anvil.mine(8).await;
}

/// A mint that a colleague executed and that was adopted, not final yet.
pub async fn adopted(database: Database) -> (Installation, Server) {
    let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.mined_until_settled().await;
    site.lanes("paused").await;
    let mint = server.mint("mint", &site.offerings[0]).await;
    assert_eq!(mint.status, 202, "{mint:?}");
    let id = site.rows("select id from operations where kind = 'mint'").await.concat().remove(0);
    let waits = "operations where status = 'pending' and blocked_reason like 'lane_paused%'";
    site.until("it waits for its lane", async || site.count(waits).await == 1).await;
    execute_elsewhere(&site, &id).await;
    site.anvil.mine(1).await;
    site.lanes("active").await;
    site.until("the transaction is adopted", async || site.count(ADOPTED).await == 1).await;
    (site, server)
}

/// A sent mint that a colleague executed, while its nonce was used by nothing that can be found. With the proxy before the chain.
async fn executed_elsewhere(database: Database) -> (Installation, FaultProxy, Server, String) {
    let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let proxy = FaultProxy::start(site.anvil.url(), 7);
    site.config.chain("endpoints", &format!("[{:?}]", proxy.url()));
    let mut server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.mined_until_settled().await;
    assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
    let id = site.rows("select id from operations where kind = 'mint'").await.concat().remove(0);
    site.until("it is sent", async || site.count("attempts where sends > 0 and nonce = 1").await == 1).await;
    server.process.kill();
    site.anvil.rpc().call("anvil_dropAllTransactions", json!([])).await;
    execute_elsewhere(&site, &id).await;
    site.anvil.mine(1).await;
    use_up(&site, 1).await;
    let server = site.start().await;
    (site, proxy, server, id)
}

fn close() -> Value {
    json!({ "resolution": "close_nonce", "reason": "No node explains it." })
}

/// Asks to close the nonce when the platform shows that nothing explains it, and approves as another operator.
async fn close_by_two(site: &Installation, server: &Server, id: &str) {
    let shown = "operations where status = 'submitted' and blocked_reason like 'nonce_unexplained:%'";
    site.until("it shows that nothing explains the nonce", async || site.count(shown).await == 1).await;
    let asked = server.act("close", id, "reconcile", close()).await;
    assert_eq!((asked.status, asked.text("/approval/action")), (202, "close_nonce".to_owned()), "{asked:?}");
    let second = site.second_person(server).await;
    assert_eq!(server.approve(&second, &asked).await.status, 202);
    let executed = "approvals where action = 'close_nonce' and status = 'executed'";
    site.until("the approval is executed", async || site.count(executed).await == 1).await;
}

on_both_databases! {
    async fn a_used_nonce_that_nothing_explains_is_closed_by_two_people(database: Database) {
        let site = sent(database, 1).await;
        let mut server = site.start().await;
        let id = site.rows("select id from operations").await.concat().remove(0);
        let early = server.act("early", &id, "reconcile", close()).await;
        assert_eq!(early.problem(), (409, "nonce_still_open".to_owned()));
        server.process.kill();
        use_up(&site, 0).await;
        let server = site.start().await;
        close_by_two(&site, &server, &id).await;
        assert_eq!(stuck_lanes(&site).await, [("nonce_unexplained".to_owned(), id.clone())], "operators are told once");
        let letter = site.rows("select status, error_code from operations").await.concat();
        assert_eq!(letter, ["dead_letter", "nonce_closed"]);
        assert_eq!(site.count("attempts where open").await, 0, "its transaction is not sent again");
        assert_eq!(server.retry("retry", &id).await.status, 202);
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts where nonce = 1").await, 1, "it went on under a new nonce");
    }

    async fn an_operation_that_was_executed_elsewhere_is_adopted_when_its_nonce_is_closed(database: Database) {
        let (site, _proxy, server, id) = executed_elsewhere(database).await;
        close_by_two(&site, &server, &id).await;
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (1, 0));
    }

    async fn a_closed_nonce_says_that_the_operation_is_executed_where_its_transaction_is_not_found(database: Database) {
        let (site, proxy, server, id) = executed_elsewhere(database).await;
        proxy.add(Rule::new(Fault::NothingFound));
        close_by_two(&site, &server, &id).await;
        let letter = site.rows("select status, error_message from operations where kind = 'mint'").await.concat();
        assert_eq!(letter[0], "dead_letter");
        assert!(letter[1].contains("mark it confirmed with its hash"), "{letter:?}");
        proxy.heal();
        // The ledger was shown nothing either, and reads the token again first.
        let asked = AtomicUsize::new(0);
        site.mined_until("the retry is accepted", async || {
            server.retry_again(&id, asked.fetch_add(1, Ordering::Relaxed)).await.status < 300
        })
        .await;
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn a_transaction_in_a_block_that_was_walked_past_is_confirmed(database: Database) {
        let site = sent(database, 1).await;
        site.anvil.mine(8).await;
        walk_past(&site).await;
        let server = site.start().await;
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert!(server.process.log().contains("was found by its nonce"), "{}", server.process.log());
    }

    async fn a_foreign_transaction_in_a_block_that_was_walked_past_is_proved(database: Database) {
        let site = sent(database, 1).await;
        site.anvil.rpc().call("anvil_dropAllTransactions", json!([])).await;
        let to = alloy::primitives::Address::repeat_byte(7);
        let foreign = crate::foreign_key::send(&site.anvil, KEYS[1], 0, to, Default::default()).await;
        site.anvil.mine(8).await;
        walk_past(&site).await;
        let _server = site.start().await;
        site.mined_until_settled().await;
        let letter = site.rows("select status, error_code, error_message from operations").await.concat();
        assert_eq!(letter[..2], ["dead_letter", "nonce_consumed_externally"]);
        assert!(letter[2].contains(&foreign), "{letter:?}");
    }

    async fn a_transaction_of_a_key_that_was_taken_out_is_confirmed(database: Database) {
        let mut site = sent(database, 2).await;
        let signer = site.rows("select signer from lanes join attempts on attempts.lane_id = lanes.id").await.concat();
        let other = KEYS[1..=2].iter().find(|key| signer_of(key).to_string().to_lowercase() != signer[0]).unwrap();
        site.config.chain("signers", &format!("[{{ kind = \"raw\", private_key = \"{other}\" }}]"));
        let _server = site.start().await;
        site.mined_until_settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn an_adopted_transaction_that_a_reorganisation_removes_is_made_again(database: Database) {
        let (site, _server) = adopted(database).await;
        site.anvil.reorg(1).await;
        site.anvil.rpc().call("anvil_dropAllTransactions", json!([])).await;
        // The block of the transaction may not have been followed before it was replaced. Then the final block of its height shows it.
        site.anvil.mine(3).await;
        site.until("the adoption is withdrawn", async || site.count(ADOPTED).await == 0).await;
        // The commit that took it back also woke the operation, which does not wait for the sweep to miss it.
        assert_eq!(site.count(ASLEEP).await, 0);
        site.finalised().await;
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (1, 0));
    }

    async fn an_adopted_transaction_is_confirmed_after_an_absence(database: Database) {
        let (site, mut server) = adopted(database).await;
        server.process.kill();
        // More blocks than the follower walks.
        site.anvil.mine(700).await;
        let server = site.start().await;
        site.mined_until_settled().await;
        assert!(server.process.log().contains("caught up after a long absence"), "{}", server.process.log());
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (1, 0));
    }
}
