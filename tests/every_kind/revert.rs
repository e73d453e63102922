//! The contract refuses: before signing, in the block, and at each step of several. Nothing is changed, an operator
//! is notified, and after the cause is removed a retry executes it once.

use muniment_activities::contract::registry::Roles;
use serde_json::json;
use world::on_both_databases;

use super::ask::Asked;
use super::kind::{ALL, Kind};
use super::stage::{Node, Stage};

impl Stage {
    /// Checks that every operation failed for this reason, has no effect, and tells an operator what to do.
    async fn is_refused(&self, asked: &[Asked], code: &str) {
        for id in asked.iter().flat_map(|one| &one.ids) {
            let shown = self.day.server.get(&format!("/blockchain/operations/{id}")).await;
            assert_eq!(
                (shown.text("/status"), shown.text("/error/code")),
                ("failed".to_owned(), code.to_owned()),
                "{shown:?}"
            );
            assert_eq!(shown.body["needs_attention"], json!(true));
            assert_eq!(shown.text("/suggested_action/action"), "retry");
        }
        self.is_undone(asked).await;
    }

    /// Retries every operation.
    async fn retry(&self, asked: &[Asked], key: &str) {
        for id in asked.iter().flat_map(|one| &one.ids) {
            let retried = self.day.server.retry(&format!("{key}-{id}"), id).await;
            assert_eq!(retried.status, 202, "{retried:?}");
        }
    }

    /// Restores the signer's roles and waits until the platform has read them.
    async fn reinstated(&self) {
        self.site().set_roles(Roles::ALL).await;
        self.site().anvil.mine(4).await;
    }

    async fn settled(&self) {
        self.site().mined_until_settled().await;
    }

    /// Each step of a payment through the distributor reverts in its block, and the payment continues where it stopped.
    async fn each_step_reverts(&self, escrow: &Asked) {
        let (site, id) = (self.site(), &escrow.ids[0]);
        for step in 0..Kind::Escrow.facts().steps.len() {
            let open = format!("attempts where operation_id = '{id}' and position = {step} and open and sends > 0");
            site.until("the step is sent", async || site.count(&open).await == 1).await;
            site.all_in_pool(1).await;
            site.set_roles(Roles(0)).await;
            self.settled().await;
            assert_eq!(self.day.server.state(id).await, ("failed".to_owned(), "reverted".to_owned()), "step {step}");
            if step > 0 {
                let give_up = json!({ "resolution": "abandon", "reason": "forget it" });
                let refused = self.day.server.act(&format!("abandon-{step}"), id, "reconcile", give_up).await;
                assert_eq!(
                    refused.problem(),
                    (409, "partial_effect".to_owned()),
                    "an escrow must be finished: {refused:?}"
                );
            }
            self.reinstated().await;
            self.retry(std::slice::from_ref(escrow), &format!("step-{step}")).await;
            let signed =
                format!("operation_steps where operation_id = '{id}' and position = {step} and state = 'signed'");
            site.until("it is signed again", async || site.count(&signed).await == 1).await;
            site.all_in_pool(1).await;
            site.anvil.mine(1).await;
        }
        self.settled().await;
    }
}

on_both_databases! {
    async fn a_revert_changes_nothing_and_a_retry_executes_once(database: Database) {
        let stage = Stage::new(Node::Anvil, database, 2).await;
        let site = stage.site();
        site.stop_blocks().await;
        let first = stage.ask_all(0).await;
        site.all_in_pool(ALL.len() as u64).await;
        // Its higher fee puts it first in the block, so a transaction that passed simulation reverts.
        site.set_roles(Roles(0)).await;
        stage.settled().await;
        stage.is_refused(&first, "reverted").await;
        // The signer may make no call now, so nothing is signed.
        let nonce = site.rows("select cast(next_nonce as text) from lanes").await;
        let second = stage.ask_all(1).await;
        site.settled().await;
        stage.is_refused(&second, "reverts").await;
        assert_eq!(site.rows("select cast(next_nonce as text) from lanes").await, nonce, "no nonce was used");
        stage.reinstated().await;
        let (escrow, others): (Vec<_>, Vec<_>) = second.into_iter().partition(|one| one.kind == Kind::Escrow);
        stage.retry(&first, "first").await;
        stage.retry(&others, "second").await;
        stage.settled().await;
        stage.retry(&escrow, "third").await;
        stage.each_step_reverts(&escrow[0]).await;
        stage.is_done(&[first, others, escrow].concat(), |_| 1).await;
        assert_eq!(site.exactly_once().await.attention, 0);
        stage.day.sums_agree().await;
    }
}
