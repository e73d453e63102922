//! The engine gave up on transactions that were not included. An operator may send the same bytes again; a late success is
//! proposed and applied by an operator. A move that could repeat or lose an effect is refused.

use serde_json::{Value, json};
use world::{Database, on_both_databases};

use super::ask::Asked;
use super::kind::{ALL, Kind};
use super::stage::{Node, Stage};
use super::traces::NONE;

fn wish(resolution: &str) -> Value {
    json!({ "resolution": resolution, "reason": "a test" })
}

impl Stage {
    /// No block comes, and the engine's limits are short. Only the lowest nonce of a lane can be stuck and the others wait for it, so
    /// the kinds are requested one after another.
    async fn impatient(database: Database) -> Self {
        let mut stage = Self::new(Node::Anvil, database, 1).await;
        stage.day.server.process.kill();
        stage.day.site.impatient();
        stage.day.server = stage.day.site.start().await;
        stage.day.site.stop_blocks().await;
        stage
    }

    /// A kind whose transaction is sent and that is a dead letter.
    async fn given_up(&self, kind: Kind) -> Asked {
        let asked = self.ask(kind, 0).await;
        self.site().outbid().await;
        for id in &asked.ids {
            assert_eq!(self.day.server.state(id).await, ("dead_letter".to_owned(), "stuck".to_owned()), "{kind:?}");
            self.refuses(id, wish("abandon"), (409, "nonce_still_open")).await;
        }
        assert_eq!(self.traces(&asked).await, NONE, "{kind:?}");
        asked
    }

    /// An operator's move on an operation is refused.
    async fn refuses(&self, id: &str, wish: Value, problem: (u16, &str)) {
        let refused = self.day.server.act(&format!("{}-{id}", problem.1), id, "reconcile", wish).await;
        assert_eq!(refused.problem(), (problem.0, problem.1.to_owned()), "{refused:?}");
    }

    /// The transaction is included after all. Until its block is final no decision is possible.
    async fn mined_late(&self, asked: &Asked) {
        let site = self.site();
        site.anvil.mine(1).await;
        let included = format!("operation_steps where operation_id = '{}' and state = 'included'", asked.ids[0]);
        site.until("it is seen in a block", async || site.count(&included).await == 1).await;
        let early = self.day.server.retry(&format!("early-{}", asked.ids[0]), &asked.ids[0]).await;
        assert_eq!(early.problem(), (409, "nonce_still_open".to_owned()));
        site.finalised().await;
    }

    /// A dead letter whose transaction is final: proposed and not reported. An operation with more steps continues by a retry.
    async fn is_proposed(&self, asked: &Asked, other: &str) {
        // One transaction does not prove an operation with several open steps.
        let (proposed, no_proof) = match asked.kind {
            Kind::Escrow => ("retry", (409, "invalid_state")),
            _ => ("mark_confirmed", (422, "reconcile_verification_failed")),
        };
        for id in &asked.ids {
            let shown = self.day.server.get(&format!("/blockchain/operations/{id}")).await;
            assert_eq!(shown.text("/status"), "dead_letter", "{:?}: {shown:?}", asked.kind);
            assert_eq!(shown.text("/suggested_action/action"), proposed, "{:?}: {shown:?}", asked.kind);
            self.refuses(id, wish("abandon"), (409, "partial_effect")).await;
            let mut proof = wish("mark_confirmed");
            proof["tx_hash"] = json!(other);
            self.refuses(id, proof, no_proof).await;
        }
        assert_eq!(self.traces(asked).await.told, 0, "{:?}: a late success is proposed, never applied", asked.kind);
    }

    /// Makes the proposed moves until the operation is confirmed.
    async fn follow_proposals(&self, id: &str) {
        let (site, server) = (self.site(), &self.day.server);
        for number in 0.. {
            site.mined_until("a move is needed, or it is confirmed", async || {
                let open = format!("operation_steps where operation_id = '{id}' and state in ('signed', 'included')");
                let live = format!("operations where id = '{id}' and status in ('pending', 'submitted')");
                site.count(&open).await == 0 && site.count(&live).await == 0
            })
            .await;
            let shown = server.get(&format!("/blockchain/operations/{id}")).await;
            if shown.text("/status") == "confirmed" {
                return;
            }
            let mut wish = wish(&shown.text("/suggested_action/action"));
            if wish["resolution"] == "mark_confirmed" {
                wish["tx_hash"] = shown.body["suggested_action"]["tx_hash"].clone();
            }
            let answer = server.act(&format!("proposed-{id}-{number}"), id, "reconcile", wish).await;
            assert!([200, 202].contains(&answer.status), "{answer:?}");
        }
    }

    async fn ends_well(&self, asked: &[Asked]) {
        self.is_done(asked, |_| 1).await;
        assert_eq!(self.site().exactly_once().await.attention, 0);
        self.day.sums_agree().await;
    }
}

on_both_databases! {
    async fn an_abandoned_operation_that_took_effect_is_proposed_and_confirmed(database: Database) {
        let stage = Stage::impatient(database).await;
        let of_another = "select tx_hash from operations where kind = 'deploy_token' and status = 'confirmed' limit 1";
        let (of_another, mut all) = (stage.site().rows(of_another).await[0][0].clone(), Vec::new());
        for kind in ALL {
            let asked = stage.given_up(kind).await;
            stage.mined_late(&asked).await;
            stage.is_proposed(&asked, &of_another).await;
            for id in &asked.ids {
                stage.follow_proposals(id).await;
            }
            all.push(asked);
        }
        stage.ends_well(&all).await;
    }

    async fn an_operation_abandoned_too_early_resumes_with_the_same_bytes(database: Database) {
        let stage = Stage::impatient(database).await;
        let mut all = Vec::new();
        for kind in ALL {
            let asked = stage.given_up(kind).await;
            for id in &asked.ids {
                let retried = stage.day.server.retry(&format!("retry-{id}"), id).await;
                assert_eq!((retried.status, retried.text("/status")), (202, "submitted".to_owned()), "{kind:?}: {retried:?}");
                stage.follow_proposals(id).await;
                let attempts = stage.site().count(&format!("attempts where operation_id = '{id}'")).await;
                assert_eq!(attempts, kind.facts().steps.len() as i64, "{kind:?}: other bytes");
            }
            all.push(asked);
        }
        stage.ends_well(&all).await;
    }
}
