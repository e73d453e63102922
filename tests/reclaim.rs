//! Escrows that are reclaimed: their money moves once, and nobody is paid again who was paid.

use muniment_activities::contract::registry::Roles;
use serde_json::json;
use world::{Database, KEYS, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{PayoutFixture, signer_of, wallet};
use crate::payout::set_roles;

/// Makes the first payout, with the allowance of the payer.
async fn allowed(fixture: &PayoutFixture) {
    let first = fixture.calculated("distributor", "3.00").await;
    fixture.executed(&first).await;
    fixture.reaches(&first, "completed").await;
}

/// A distribution whose first page failed with the money in escrow, and its operation; from then on the test makes the blocks.
async fn stuck_in_escrow(fixture: &PayoutFixture, euros: u64) -> (String, String) {
    let id = fixture.calculated("distributor", &format!("{euros}.00")).await;
    let before = fixture.cents(signer_of(KEYS[1])).await;
    fixture.site.stop_blocks().await;
    let op = fixture.executed(&id).await.text("/operations/0/id");
    let of = |state: &str| {
        format!(
            "operation_steps s join operations o on o.id = s.operation_id where o.subject_id = '{id}' and s.state = '{state}'"
        )
    };
    let in_state = async |state: &str| fixture.site.count(&of(state)).await == 1;
    fixture.site.all_in_pool(1).await;
    fixture.site.anvil.mine(1).await;
    fixture.site.until("it is declared", async || in_state("included").await && in_state("signed").await).await;
    // The first page is sent; the signer loses its role in the block that includes it.
    fixture.site.all_in_pool(1).await;
    set_roles(fixture, Roles(0)).await;
    fixture.site.mined_until("the revert is final", async || fixture.site.unfinished().await == 0).await;
    assert_eq!(fixture.cents(signer_of(KEYS[1])).await, before - euros * 100, "it is in escrow");
    set_roles(fixture, Roles::ALL).await;
    fixture.site.anvil.mine(4).await;
    (id, op)
}

on_both_databases! {
    async fn an_unfinishable_escrow_is_reclaimed_and_paid_again(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let first = fixture.calculated("distributor", "3.00").await;
        let too_early = fixture.server.post(&format!("/v1/distributions/{first}/reclaim"), "early", json!({ "reason": "x" })).await;
        assert_eq!(too_early.problem(), (409, "invalid_state".to_owned()));
        fixture.executed(&first).await;
        fixture.reaches(&first, "completed").await;
        let before = fixture.cents(signer_of(KEYS[1])).await;
        let (id, op) = stuck_in_escrow(&fixture, 30).await;
        let requested = fixture.server.post(&format!("/v1/distributions/{id}/reclaim"), "back", json!({ "reason": "wrong list" })).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "reclaim".to_owned()), "{requested:?}");
        fixture.approve(&requested).await;
        assert_eq!(fixture.server.retry("beside", &op).await.problem(), (409, "operation_in_progress".to_owned()));
        fixture.site.mined_until("it is returned", async || fixture.shown(&id).await.text("/status") == "partially_completed").await;
        assert_eq!(fixture.cents(signer_of(KEYS[1])).await, before);
        let ended = fixture.server.get(&format!("/blockchain/operations/{op}")).await;
        assert_eq!((ended.text("/status"), ended.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        assert!(fixture.parts(&id).await.iter().all(|part| part.3 == "failed"));
        assert_eq!(fixture.server.retry("late", &op).await.problem(), (409, "invalid_state".to_owned()));
        let again = fixture.server.post(&format!("/v1/distributions/{id}/reissue"), "anew", json!({ "reason": "the list is right" })).await;
        fixture.approve(&again).await;
        fixture.site.mined_until("everybody is paid", async || fixture.shown(&id).await.text("/status") == "completed").await;
        assert_eq!(fixture.sums_agree().await, 6);
    }

    async fn a_concurrent_retry_and_reclaim_move_the_escrow_once(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        allowed(&fixture).await;
        let operator = fixture.server.session().await;
        for round in 0..2 {
            let (before, euros) = (fixture.cents(signer_of(KEYS[1])).await, 30 + round * 3);
            let (id, op) = stuck_in_escrow(&fixture, euros).await;
            let path = format!("/v1/distributions/{id}/reclaim");
            let requested = fixture.server.post(&path, &format!("back-{round}"), json!({ "reason": "a test" })).await;
            assert_eq!(requested.status, 202, "{requested:?}");
            let (path, key) = (format!("/blockchain/operations/{op}/retry"), format!("again-{round}"));
            let again = operator.post(&path, &key, json!({ "reason": "a test" }));
            let (approved, retried) = futures::join!(fixture.approve(&requested), again);
            let (approved, retried) = (approved.text("/status"), retried.unwrap());
            let ended = match (approved.as_str(), retried.status) {
                ("executed", 409) => "partially_completed",
                ("execution_failed", 202) => "completed",
                other => panic!("{other:?}: {retried:?}"),
            };
            fixture.site.mined_until("it is over", async || fixture.shown(&id).await.text("/status") == ended).await;
            let paid = if ended == "completed" { euros * 100 } else { 0 };
            assert_eq!(fixture.cents(signer_of(KEYS[1])).await, before - paid, "{approved}: either paid or returned, never both");
            fixture.site.resume_blocks().await;
        }
        fixture.sums_agree().await;
    }

    async fn what_may_have_been_paid_before_a_reclaim_is_not_paid_again(database: Database) {
        let fixture = PayoutFixture::with(database, 3, |site| site.config.engine("payout_page_holders", 2)).await;
        allowed(&fixture).await;
        let (id, op) = stuck_in_escrow(&fixture, 30).await;
        // Paid on the chain, which a restored database may not know.
        let hex = if matches!(fixture.site.database, Database::Sqlite(_)) { "hex(calldata)" } else { "encode(calldata, 'hex')" };
        let page = format!("select {hex}, target from operation_steps where operation_id = '{op}' and name = 'payoutForDistribution' order by position");
        let [data, distributor] = fixture.site.rows(&page).await.swap_remove(0).try_into().unwrap();
        let nonce = fixture.site.anvil.rpc().number("eth_getTransactionCount", json!([signer_of(KEYS[2]), "latest"])).await;
        send(&fixture.site.anvil, KEYS[2], nonce, distributor.parse().unwrap(), data.parse().unwrap()).await;
        fixture.site.anvil.mine(1).await;
        let paid = fixture.cents(wallet(0)).await + fixture.cents(wallet(1)).await + fixture.cents(wallet(2)).await;
        assert!(paid > 300 && paid < 3_300, "{paid}: the first page is paid, and the second is not");
        let requested = fixture.server.post(&format!("/v1/distributions/{id}/reclaim"), "back", json!({ "reason": "it does not come back" })).await;
        fixture.approve(&requested).await;
        fixture.site.mined_until("it is returned", async || fixture.shown(&id).await.text("/status") == "partially_completed").await;
        assert!(fixture.parts(&id).await.iter().all(|part| part.3 == "held" && part.4 == "operator"));
        let again = fixture.server.post(&format!("/v1/distributions/{id}/reissue"), "anew", json!({ "reason": "x" })).await;
        assert_eq!(again.problem(), (409, "nothing_to_pay".to_owned()));
    }
}
