//! No fault: on a node with a finality delay, and on the embedded chain.

use world::{Database, on_both_databases};

use super::stage::{Node, Stage};

async fn all_is_done_once(node: Node, database: Database) {
    let stage = Stage::new(node, database, 1).await;
    let asked = stage.ask_all(0).await;
    // The same request again returns the same operation.
    for (first, again) in asked.iter().zip(stage.ask_all(0).await) {
        assert_eq!(first.ids, again.ids, "{:?}", first.kind);
    }
    stage.site().settled().await;
    stage.is_done(&asked, |_| 1).await;
    assert_eq!(stage.site().exactly_once().await.attention, 0);
    stage.day.sums_agree().await;
}

on_both_databases! {
    async fn each_kind_has_its_effect_once_on_anvil(database: Database) {
        all_is_done_once(Node::Anvil, database).await;
    }

    async fn each_kind_has_its_effect_once_on_the_embedded_chain(database: Database) {
        all_is_done_once(Node::Embedded, database).await;
    }
}
