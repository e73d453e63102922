//! Everybody is paid once by each route, whatever ends in the middle, vanishes from the chain, reverts there or is late.

use std::os::unix::process::ExitStatusExt;

use muniment_activities::registry::Roles;
use muniment_activities::token;
use muniment_domain::point::Point;
use serde_json::{Value, json};
use world::{Database, KEYS, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{PATIENCE, Payday, Server, signer_of, wallet};

const SIGABRT: i32 = 6;

/// The process ends on both sides of each write of a payout; the next one pays the rest, and nobody twice. Three holders are a page of two
/// and a page of one: straight from the payer that is `batchPayout` and `payout`.
async fn ends_everywhere(database: Database, method: &str) {
    let mut day = Payday::new(database, 3).await;
    let points = [Point::Accept, Point::Sign, Point::Send, Point::Answer, Point::Finalise];
    let plans: Vec<_> =
        points.iter().flat_map(|point| ["before", "after"].map(|side| format!("{point}.{side}:1"))).collect();
    for (number, plan) in plans.iter().enumerate() {
        let id = day.calculated(method, &format!("{}.01", 30 + number)).await;
        let submitted = day.act(&format!("submit-{id}"), &id, "submit").await;
        assert_eq!(submitted.status, 200, "{submitted:?}");
        day.server.process.kill();
        let process = day.site.launch(&["run"]).env("MUNIMENT_CRASH", plan).spawn();
        let Ok(server) = Server::of(process, &day.site.key).await else { panic!("{plan}: it does not listen") };
        day.server = server;
        let (key, path) = (format!("execute-{id}"), format!("/v1/distributions/{id}/execute"));
        _ = day.server.session().await.post(&path, &key, json!({})).await;
        let status = day.server.process.wait(PATIENCE).unwrap_or_else(|| panic!("{plan} was never reached"));
        assert_eq!(status.signal(), Some(SIGABRT), "{plan}: {status}\n{}", day.server.process.log());
        day.server = day.site.start().await;
        let again = day.act(&key, &id, "execute").await;
        assert_eq!(again.status, 202, "{plan}: {again:?}");
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 3 * (number + 1), "{plan}");
    }
    assert_eq!(day.site.count("operations where status <> 'confirmed'").await, 0);
}

/// No block comes any more but by the test's word.
async fn hold_blocks(day: &Payday) {
    day.site.anvil.rpc().call("evm_setIntervalMining", json!([0])).await;
    day.site.anvil.rpc().call("evm_setAutomine", json!([false])).await;
}

/// Waits for something of the chain's doing, a block at a time.
async fn mined_until(day: &Payday, what: &str, condition: impl AsyncFn() -> bool) {
    day.site
        .until(what, async || {
            day.site.anvil.mine(1).await;
            condition().await
        })
        .await;
}

/// Waits until so many steps of a distribution are in this state.
async fn in_state(day: &Payday, id: &str, state: &str, count: i64) {
    let of = format!(
        "operation_steps s join operations o on o.id = s.operation_id where o.subject_id = '{id}' and s.state = '{state}'"
    );
    day.site.until(&format!("{count} steps are {state}"), async || day.site.count(&of).await == count).await;
}

async fn sent(day: &Payday, id: &str, count: i64) {
    let of = format!(
        "attempts a join operations o on o.id = a.operation_id where o.subject_id = '{id}' and a.sends > 0 and a.open"
    );
    day.site.until("it is sent", async || day.site.count(&of).await == count).await;
}

/// Waits until a block would take something of the platform: the very next nonce is in the pool. A later one alone says nothing, and after
/// a reorganisation the node counts it all the same.
async fn in_pool(day: &Payday) {
    let (rpc, signer) = (day.site.anvil.rpc(), signer_of(KEYS[1]));
    let next = async || rpc.number("eth_getTransactionCount", json!([signer, "latest"])).await.to_string();
    let of_signer = |pool: &Value| {
        let by_address = pool["pending"].as_object().cloned().unwrap_or_default();
        by_address
            .into_iter()
            .find(|(address, _)| address.eq_ignore_ascii_case(&signer.to_string()))
            .map(|(_, txs)| txs)
    };
    day.site
        .until("it is in the pool", async || {
            let pool = rpc.call("txpool_content", json!([])).await;
            let next = next().await;
            of_signer(&pool).is_some_and(|transactions| transactions.get(&next).is_some())
        })
        .await;
}

/// One payment whose blocks vanish twice, after another one that made the allowance.
async fn survives_reorganisations(database: Database, method: &str) {
    let day = Payday::new(database, 3).await;
    let first = day.calculated(method, "3.00").await;
    day.executed(&first).await;
    day.reaches(&first, "completed").await;
    let id = day.calculated(method, "30.00").await;
    hold_blocks(&day).await;
    day.executed(&id).await;
    let steps = "operation_steps s join operations o on o.id = s.operation_id where o.subject_id";
    let included = format!("{steps} = '{id}' and s.state = 'included'");
    for _ in 0..2 {
        in_pool(&day).await;
        day.site.anvil.mine(1).await;
        day.site.until("it is in a block", async || day.site.count(&included).await > 0).await;
        assert_eq!(day.shown(&id).await.text("/totals/paid"), "0.00", "nothing is told before it is final");
        day.site.anvil.reorg(1).await;
        day.site.until("it is taken back", async || day.site.count(&included).await == 0).await;
    }
    mined_until(&day, "everybody is paid", async || day.shown(&id).await.text("/status") == "completed").await;
    assert_eq!(day.sums_agree().await, 6);
    let twice =
        "select operation_id from attempts where kind = 'original' group by operation_id, position having count(*) > 1";
    assert_eq!(day.site.rows(twice).await, Vec::<Vec<String>>::new(), "the same bytes, not others");
}

/// Gives the platform's signer its roles or takes them, in the next block and before all that the platform sends.
async fn roles(day: &Payday, roles: Roles) {
    let owner = signer_of(KEYS[0]);
    let call = muniment_activities::registry::set_roles(owner, day.site.platform.registry, signer_of(KEYS[1]), roles);
    let nonce = day.site.anvil.rpc().number("eth_getTransactionCount", json!([owner, "latest"])).await;
    send(&day.site.anvil, KEYS[0], nonce, call.to.unwrap(), call.data).await;
}

/// A holder is frozen or freed by another agent, in the next block and before all that the platform sends.
async fn frozen(day: &Payday, holder: usize, frozen: bool) {
    let (agent, token) = (signer_of(KEYS[2]), day.token);
    let nothing = alloy::primitives::Bytes::new();
    let call = match frozen {
        true => token::freeze(agent, token, wallet(holder), nothing),
        false => token::unfreeze(agent, token, wallet(holder), nothing),
    };
    let nonce = day.site.anvil.rpc().number("eth_getTransactionCount", json!([agent, "latest"])).await;
    send(&day.site.anvil, KEYS[2], nonce, token, call.data).await;
}

async fn retried(day: &Payday, op: &str, key: &str) {
    let retried = day.server.retry(key, op).await;
    assert_eq!(retried.status, 202, "{retried:?}");
}

on_both_databases! {
    async fn around_each_write_of_a_payout_straight_from_the_payer(database: Database) {
        ends_everywhere(database, "direct_payout").await;
    }

    async fn around_each_write_of_a_payout_through_the_distributor(database: Database) {
        ends_everywhere(database, "distributor").await;
    }

    async fn pages_whose_block_is_gone_are_sent_again_and_told_once(database: Database) {
        survives_reorganisations(database, "direct_payout").await;
    }

    async fn an_escrow_whose_block_is_gone_is_declared_once_and_paid_once(database: Database) {
        survives_reorganisations(database, "distributor").await;
    }

    async fn a_page_that_reverted_on_the_chain_is_paid_after_a_retry(database: Database) {
        let day = Payday::new(database, 2).await;
        let first = day.calculated("direct_payout", "2.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let id = day.calculated("direct_payout", "20.00").await;
        hold_blocks(&day).await;
        let op = day.executed(&id).await.text("/operations/0/id");
        sent(&day, &id, 1).await;
        frozen(&day, 1, true).await;
        mined_until(&day, "the revert is final", async || day.site.unfinished().await == 0).await;
        assert_eq!(day.server.state(&op).await, ("failed".to_owned(), "reverted".to_owned()));
        assert_eq!((day.shown(&id).await.text("/status"), day.sums_agree().await), ("executing".to_owned(), 2));
        // A page that was signed once stays whole: while its holder is frozen it is refused before it costs anything.
        retried(&day, &op, "too-early").await;
        day.site.settled().await;
        assert_eq!(day.server.state(&op).await.0, "failed");
        frozen(&day, 1, false).await;
        mined_until(&day, "the holder is free", async || !day.site.is_frozen(day.token, wallet(1)).await).await;
        retried(&day, &op, "again").await;
        mined_until(&day, "everybody is paid", async || day.shown(&id).await.text("/status") == "completed").await;
        assert_eq!(day.sums_agree().await, 4);
    }

    async fn what_is_in_escrow_is_finished_and_never_given_up(database: Database) {
        let day = Payday::new(database, 3).await;
        let first = day.calculated("distributor", "3.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let id = day.calculated("distributor", "30.00").await;
        hold_blocks(&day).await;
        let op = day.executed(&id).await.text("/operations/0/id");
        sent(&day, &id, 1).await;
        day.site.anvil.mine(1).await;
        in_state(&day, &id, "included", 1).await;
        // The first page is out; the signer loses its role in the very block that takes it.
        in_state(&day, &id, "signed", 1).await;
        sent(&day, &id, 2).await;
        roles(&day, Roles(0)).await;
        mined_until(&day, "the revert is final", async || day.site.unfinished().await == 0).await;
        assert_eq!(day.server.state(&op).await, ("failed".to_owned(), "reverted".to_owned()));
        let body = json!({ "resolution": "abandon", "reason": "forget it" });
        let refused = day.server.act("abandon", &op, "reconcile", body).await;
        assert_eq!(refused.problem(), (409, "partial_effect".to_owned()), "{refused:?}");
        roles(&day, Roles::ALL).await;
        day.site.anvil.mine(4).await;
        retried(&day, &op, "retry").await;
        mined_until(&day, "everybody is paid", async || day.shown(&id).await.text("/status") == "completed").await;
        assert_eq!(day.sums_agree().await, 6);
        let declared = format!("operation_steps where operation_id = '{op}' and name = 'createDistribution' and state = 'final'");
        assert_eq!(day.site.count(&declared).await, 1, "the sum went into escrow once");
    }

    async fn a_payout_that_was_late_is_proposed_and_paid_by_a_persons_word(database: Database) {
        let mut day = Payday::new(database, 2).await;
        let first = day.calculated("direct_payout", "2.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let id = day.calculated("direct_payout", "20.00").await;
        day.server.process.kill();
        day.site.impatient();
        day.server = day.site.start().await;
        hold_blocks(&day).await;
        let op = day.executed(&id).await.text("/operations/0/id");
        day.site.settled().await;
        assert_eq!(day.server.state(&op).await, ("dead_letter".to_owned(), "stuck".to_owned()));
        day.site.finalised().await;
        let shown = day.server.get(&format!("/blockchain/operations/{op}")).await;
        assert_eq!((shown.text("/status"), shown.text("/suggested_action/action")), ("dead_letter".to_owned(), "mark_confirmed".to_owned()));
        assert_eq!(day.shown(&id).await.text("/totals/paid"), "0.00", "a late success is proposed, never applied");
        let hash = shown.text("/suggested_action/tx_hash");
        let body = json!({ "resolution": "mark_confirmed", "tx_hash": hash, "reason": "it is there" });
        let confirmed = day.server.act("confirm", &op, "reconcile", body).await;
        assert_eq!((confirmed.status, confirmed.text("/status")), (200, "confirmed".to_owned()), "{confirmed:?}");
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 4);
    }
}
