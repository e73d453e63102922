//! A refused operation is abandoned, by one person or with an approval, and can be requested again and executed once.

use muniment_activities::contract::registry::Roles;
use serde_json::json;
use world::on_both_databases;

use super::ask::Asked;
use super::kind::{ALL, Kind};
use super::stage::{Node, Stage};
use super::traces::ONCE;

/// Abandoning an operation that issues or moves units or money needs an approval.
const BY_TWO: [Kind; 9] = [
    Kind::Mint,
    Kind::MintLocked,
    Kind::Force,
    Kind::Recover,
    Kind::Reinstate,
    Kind::Redeem,
    Kind::Pay,
    Kind::PayBatch,
    Kind::Escrow,
];

impl Stage {
    async fn give_up(&self, asked: &Asked) {
        for id in &asked.ids {
            let body = json!({ "resolution": "abandon", "reason": "a test" });
            let answer = self.day.server.act(&format!("abandon-{id}"), id, "reconcile", body).await;
            let by_two = BY_TWO.contains(&asked.kind);
            assert_eq!(answer.status, if by_two { 202 } else { 200 }, "{:?}: {answer:?}", asked.kind);
            let given_up = format!("operations where id = '{id}' and status = 'failed' and resolution = 'abandoned'");
            if by_two {
                assert_eq!(self.site().count(&given_up).await, 0, "{:?}: an approval is needed", asked.kind);
                assert_eq!(self.day.approve(&answer).await.status, 202, "{:?}", asked.kind);
            }
            self.site().until("it is abandoned", async || self.site().count(&given_up).await == 1).await;
            let again = self.day.server.retry(&format!("retry-{id}"), id).await;
            assert_eq!(again.problem(), (409, "invalid_state".to_owned()), "an abandoned operation stays abandoned");
        }
    }

    /// Requests the same again. Money is not executed again but put into another operation, holder by holder.
    async fn ask_anew(&self, asked: &Asked) -> Asked {
        if !matches!(asked.kind, Kind::Pay | Kind::PayBatch | Kind::Escrow) {
            return self.ask_under("anew", asked.kind, asked.round).await;
        }
        let distribution = self.distribution(asked.kind, asked.round);
        for (entitlement, ..) in self.day.parts(distribution).await {
            let reissued = self.day.decide(&format!("anew-{entitlement}"), distribution, &entitlement, "reissue").await;
            assert_eq!(self.day.approve(&reissued).await.text("/status"), "executed", "{:?}", asked.kind);
        }
        asked.clone()
    }
}

on_both_databases! {
    async fn a_refused_operation_is_abandoned_and_requested_again(database: Database) {
        let stage = Stage::new(Node::Anvil, database, 1).await;
        let site = stage.site();
        site.set_roles(Roles(0)).await;
        let refused = stage.ask_all(0).await;
        site.settled().await;
        for one in &refused {
            stage.give_up(one).await;
        }
        stage.is_undone(&refused).await;
        assert_eq!(site.count("operation_items where live").await, 0, "every live key is released");
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(4).await;
        let mut anew = Vec::with_capacity(ALL.len());
        for one in &refused {
            anew.push(stage.ask_anew(one).await);
        }
        site.settled().await;
        for one in &anew {
            assert_eq!(stage.traces(one).await, ONCE, "{:?}", one.kind);
        }
        assert_eq!(site.exactly_once().await.attention, 0);
        stage.day.sums_agree().await;
    }
}
