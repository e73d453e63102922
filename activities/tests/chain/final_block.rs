//! The final block is read less often the further it is behind the head.
use std::sync::{Arc, atomic::Ordering};

use muniment_activities::{
    chain::Chain,
    config::{ChainConfig, Finality},
};
use serde_json::Value;

use crate::node::{FakeNode, chain, chain_with};

#[tokio::test]
async fn a_follower_reads_the_final_block_less_often_the_further_it_is_behind() {
    const LOOKS: u64 = 40;
    let counted = Finality::Confirmations;
    for (finality, behind, reads) in
        [(Finality::Tag, 2, 40), (counted(31), 31, 40), (counted(32), 32, 20), (counted(64), 64, 10)]
    {
        let node = Arc::new(FakeNode { behind, ..FakeNode::new() });
        node.head.store(1_000, Ordering::SeqCst);
        let chain = chain_with(ChainConfig { finality, ..ChainConfig::default() }, vec![node.clone()]);
        chain.check_endpoints().await.unwrap();
        let calls = chain.calls();
        assert_eq!(follow(&chain, &node, LOOKS).await, reads, "{finality:?}");
        assert_eq!(chain.calls() - calls, LOOKS + reads, "{finality:?}");
    }
    for (behind, reads) in [(64, 10), (96, 7), (900, 5)] {
        let node = Arc::new(FakeNode { behind, ..FakeNode::new() });
        node.head.store(1_000, Ordering::SeqCst);
        let chain = chain(vec![node.clone()]);
        assert_eq!(follow(&chain, &node, LOOKS).await, reads, "{behind} behind");
        // A look that fails is no look at the final block, and the ordinary read always has it.
        *node.is_down.lock().unwrap() = Some("restarting".into());
        for _ in 0..8 {
            assert!(chain.next_heads().await.is_err());
        }
        *node.is_down.lock().unwrap() = None;
        assert!(chain.next_heads().await.unwrap().finalized.is_some());
        assert!(chain.heads().await.unwrap().finalized.is_some());
    }
}

/// The number of these looks, a block each, that read the final block.
async fn follow(chain: &Chain, node: &FakeNode, looks: u64) -> u64 {
    let mut reads = 0;
    for _ in 0..looks {
        let head = node.head.fetch_add(1, Ordering::SeqCst) + 1;
        let heads = chain.next_heads().await.unwrap();
        assert_eq!(heads.latest.number, head);
        if let Some(header) = heads.finalized {
            assert_eq!(header.number, head - node.behind);
            reads += 1;
        }
    }
    reads
}

#[tokio::test]
async fn a_quorum_keeps_its_final_block_until_the_next_one_is_read() {
    let nodes: Vec<_> = (0..2).map(|_| Arc::new(FakeNode { behind: 64, ..FakeNode::new() })).collect();
    let chain = chain_with(ChainConfig { quorum: 2, ..ChainConfig::default() }, nodes.clone());
    let mut seen = Vec::new();
    for head in 1_000..1_008 {
        for node in &nodes {
            node.head.store(head, Ordering::SeqCst);
        }
        seen.push(chain.next_heads().await.unwrap().finalized.unwrap().number);
    }
    assert_eq!(seen, [936, 936, 936, 936, 940, 940, 940, 940]);
    // Without an agreement it is asked for again at the next look.
    nodes[1].lies(|_, params| (params[0] == "finalized").then_some(Ok(Value::Null)));
    nodes[0].head.store(1_008, Ordering::SeqCst);
    assert_eq!(chain.next_heads().await.unwrap().finalized.unwrap().number, 940);
    *nodes[1].lie.lock().unwrap() = None;
    nodes[0].head.store(1_009, Ordering::SeqCst);
    assert_eq!(chain.next_heads().await.unwrap().finalized.unwrap().number, 943);
}
