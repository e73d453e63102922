//! The engine gave up, and it happened all the same: that is proposed, and done by a person's word.

use serde_json::json;
use world::on_both_databases;

use super::ask::Asked;
use super::kind::{ALL, Kind};
use super::stage::{Node, Stage};
use super::traces::NONE;

impl Stage {
    /// A dead letter whose transaction is final: proposed, and not told to anybody. What has more steps to come goes on by a retry.
    async fn is_proposed(&self, asked: &Asked) {
        for id in &asked.ids {
            let shown = self.day.server.get(&format!("/blockchain/operations/{id}")).await;
            let proposed = if asked.kind == Kind::Escrow { "retry" } else { "mark_confirmed" };
            assert_eq!(shown.text("/status"), "dead_letter", "{:?}: {shown:?}", asked.kind);
            assert_eq!(shown.text("/suggested_action/action"), proposed, "{:?}: {shown:?}", asked.kind);
        }
        assert_eq!(self.traces(asked).await.told, 0, "{:?}: a late success is proposed, never applied", asked.kind);
    }

    /// Does what is proposed until the operation is confirmed.
    async fn follow_proposals(&self, id: &str) {
        let (site, server) = (self.site(), &self.day.server);
        for number in 0.. {
            site.mined_until("somebody is needed, or it is done", async || {
                let open = format!("operation_steps where operation_id = '{id}' and state in ('signed', 'included')");
                let live = format!("operations where id = '{id}' and status in ('pending', 'submitted')");
                site.count(&open).await == 0 && site.count(&live).await == 0
            })
            .await;
            let shown = server.get(&format!("/blockchain/operations/{id}")).await;
            if shown.text("/status") == "confirmed" {
                return;
            }
            let answer = match shown.text("/suggested_action/action").as_str() {
                "retry" => server.retry(&format!("retry-{id}-{number}"), id).await,
                _ => {
                    let hash = shown.text("/suggested_action/tx_hash");
                    let body = json!({ "resolution": "mark_confirmed", "tx_hash": hash, "reason": "it is there" });
                    server.act(&format!("confirm-{id}-{number}"), id, "reconcile", body).await
                }
            };
            assert!([200, 202].contains(&answer.status), "{answer:?}");
        }
    }
}

on_both_databases! {
    async fn what_was_given_up_and_happened_is_proposed_and_confirmed_by_a_persons_word(database: Database) {
        let mut stage = Stage::new(Node::Anvil, database, 1).await;
        stage.day.server.process.kill();
        stage.day.site.impatient();
        stage.day.server = stage.day.site.start().await;
        let site = stage.site();
        site.hold_blocks().await;
        let mut all = Vec::new();
        // One after the other: only the lowest nonce of a lane can be stuck, what is behind it waits for it.
        for kind in ALL {
            let asked = stage.ask(kind, 0).await;
            site.settled().await;
            for id in &asked.ids {
                assert_eq!(stage.day.server.state(id).await, ("dead_letter".to_owned(), "stuck".to_owned()), "{kind:?}");
            }
            assert_eq!(stage.traces(&asked).await, NONE, "{kind:?}");
            site.finalised().await;
            stage.is_proposed(&asked).await;
            for id in &asked.ids {
                stage.follow_proposals(id).await;
            }
            all.push(asked);
        }
        stage.is_done(&all, |_| 1).await;
        assert_eq!(site.exactly_once().await.attention, 0);
        stage.day.sums_agree().await;
    }
}
