//! The block with every kind of operation vanishes twice before it is final.

use world::on_both_databases;

use super::kind::ALL;
use super::stage::{Node, Stage};

on_both_databases! {
    async fn a_reorganised_transaction_is_sent_again_and_reported_once(database: Database) {
        let stage = Stage::new(Node::Anvil, database, 1).await;
        let site = stage.site();
        site.stop_blocks().await;
        let asked = stage.ask_all(0).await;
        let of_ours = "operation_steps s join operations o on o.id = s.operation_id where o.status = 'submitted' and s.state = 'included'";
        for _ in 0..2 {
            site.all_in_pool(ALL.len() as u64).await;
            stage.is_undone(&asked).await;
            site.anvil.mine(1).await;
            site.until("every kind is in a block", async || site.count(of_ours).await >= ALL.len() as i64).await;
            for one in &asked {
                let traces = stage.traces(one).await;
                assert_eq!((traces.books, traces.told), (0, 0), "{:?}: reported before it is final", one.kind);
            }
            site.anvil.reorg(1).await;
            site.until("the inclusion is withdrawn", async || site.count(of_ours).await == 0).await;
        }
        site.mined_until_settled().await;
        stage.is_done(&asked, |_| 1).await;
        let anew = "select operation_id from attempts where kind = 'original' group by operation_id, position having count(*) > 1";
        assert_eq!(site.rows(anew).await, Vec::<Vec<String>>::new(), "the same bytes are sent");
        assert_eq!(site.exactly_once().await.attention, 0);
        stage.day.sums_agree().await;
    }
}
