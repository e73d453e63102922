//! Another agent executes the same calls first: an effect with an operation number on the chain is adopted and not repeated.

use std::collections::BTreeMap;

use muniment_activities::chain::simulate::Call;
use muniment_activities::payout::coin;
use serde_json::json;
use world::{KEYS, on_both_databases};

use super::ask::Asked;
use super::kind::{Again, Kind};
use super::stage::{Node, Stage};
use crate::foreign_key::calls_of;
use crate::installation::signer_of;

impl Stage {
    /// Executes every call of these operations with another agent's key; that agent has money and lets our contracts pull it. Returns
    /// the last transaction of each.
    async fn executed_elsewhere(&self, asked: &[Asked]) -> BTreeMap<String, String> {
        let (site, other) = (self.site(), signer_of(KEYS[2]));
        self.day.fund(other, 1_000).await;
        let payers = [self.token(3).await, self.token(4).await, site.platform.distributor];
        for spender in payers {
            self.day.send_as(KEYS[2], coin::approve(other, site.platform.coin, spender)).await;
        }
        let mut hashes = BTreeMap::new();
        for id in asked.iter().flat_map(|one| &one.ids) {
            for (target, data) in calls_of(site, id).await {
                let hash = self.day.send_as(KEYS[2], Call { from: other, to: Some(target), data }).await;
                hashes.insert(id.clone(), hash);
            }
        }
        hashes
    }
}

/// How often the chain finally executes the call of a row.
fn executed(kind: Kind) -> usize {
    if kind.facts().again == Again::Harmless { 2 } else { 1 }
}

on_both_databases! {
    async fn an_effect_of_another_agent_is_adopted_and_not_repeated(database: Database) {
        let stage = Stage::new(Node::Anvil, database, 1).await;
        let site = stage.site();
        site.lanes("paused").await;
        let asked = stage.ask_all(0).await;
        stage.is_undone(&asked).await;
        let hashes = stage.executed_elsewhere(&asked).await;
        site.lanes("active").await;
        site.settled().await;
        for one in &asked {
            for id in &one.ids {
                let shown = stage.day.server.get(&format!("/blockchain/operations/{id}")).await;
                let signed = shown.body["candidates"].as_array().unwrap().len();
                let state = (shown.text("/status"), shown.text("/error/code"));
                match one.kind.facts().again {
                    Again::Adopted => assert_eq!((state.0.as_str(), signed), ("confirmed", 0), "{:?}: {shown:?}", one.kind),
                    Again::Harmless => assert_eq!((state.0.as_str(), signed), ("confirmed", 1), "{:?}: {shown:?}", one.kind),
                    Again::Refused => {
                        assert_eq!((state, signed), (("failed".to_owned(), "reverts".to_owned()), 0), "{:?}", one.kind);
                        let proof = json!({ "resolution": "mark_confirmed", "tx_hash": hashes[id], "reason": "another agent did it" });
                        let proved = stage.day.server.act(&format!("proof-{id}"), id, "reconcile", proof).await;
                        assert_eq!((proved.status, proved.text("/resolution")), (200, "confirmed_external".to_owned()), "{proved:?}");
                    }
                }
            }
        }
        stage.is_done(&asked, executed).await;
        assert_eq!(site.count("operations where status <> 'confirmed' and resolution is null").await, 0);
        stage.day.sums_agree().await;
    }
}
