//! Trial calls: what a quorum shows of them, and the gas with which they are tried.
use std::sync::Arc;

use alloy::primitives::{Address, B256, Bytes};
use muniment_activities::{
    chain::simulate::{At, Call, Simulation, SimulationRequest},
    config::ChainConfig,
    fault::Fault,
};
use serde_json::{Value, json};

use crate::node::{FakeNode, chain, chain_with};

#[tokio::test]
async fn a_simulation_is_what_the_quorum_shows() {
    let call = Call { from: Address::ZERO, to: Some(Address::repeat_byte(2)), data: Bytes::new() };
    let shows = |answer: Result<Value, Value>| {
        Arc::new(FakeNode::lying(move |method, _| (method == "eth_estimateGas").then(|| answer.clone())))
    };
    let reverts = |data: &str| shows(Err(json!({ "code": 3, "message": "execution reverted", "data": data })));
    let gas = |gas: &str| shows(Ok(json!(gas)));
    let down = || {
        let node = gas("0x1");
        *node.is_down.lock().unwrap() = Some("down".into());
        node
    };
    let agreed = async |quorum: usize, nodes: Vec<Arc<FakeNode>>| {
        let chain = chain_with(ChainConfig { quorum, ..ChainConfig::default() }, nodes);
        chain.agreed_simulation(&call, At::Latest).await
    };
    let data = |simulation: Option<Simulation>| match simulation {
        Some(Simulation::Reverts(revert)) => revert.data.to_string(),
        other => format!("{other:?}"),
    };
    let outvoted = agreed(2, vec![reverts("0xaa"), gas("0x5"), gas("0x6")]).await.unwrap();
    assert_eq!(outvoted, Some(Simulation::Gas(6)), "the most of those that agree");
    let outvoted = agreed(2, vec![gas("0x5"), reverts("0xaa"), reverts("0xaa")]).await.unwrap();
    assert_eq!(data(outvoted), "0xaa");
    assert_eq!(agreed(2, vec![gas("0x5"), reverts("0xaa")]).await.unwrap(), None);
    assert_eq!(agreed(2, vec![reverts("0xbb"), reverts("0xaa")]).await.unwrap(), None, "two different reverts");
    assert_eq!(agreed(2, vec![down(), reverts("0xaa")]).await.unwrap(), None, "too few have answered");
    assert!(agreed(2, vec![down(), down()]).await.is_err());
    let without_data = || shows(Err(json!({ "code": 3, "message": "execution reverted" })));
    for nodes in [vec![reverts("0xaa"), without_data()], vec![without_data(), reverts("0xaa")]] {
        assert_eq!(data(agreed(2, nodes).await.unwrap()), "0xaa", "some nodes leave it out");
    }
    let three = agreed(3, vec![without_data(), reverts("0xaa"), reverts("0xbb")]).await.unwrap();
    assert_eq!(three, None, "one without data does not join two different reverts");
    let absurd = agreed(2, vec![gas("0xffffffffff"), gas("0x5"), gas("0x6")]).await.unwrap();
    assert_eq!(absurd, Some(Simulation::Gas(6)), "more than the cap is another answer");
    assert_eq!(data(agreed(1, vec![down(), reverts("0xaa"), gas("0x5")]).await.unwrap()), "0xaa");
}

/// The block of a trial changes nothing: an estimate takes a node many executions.
#[tokio::test]
async fn a_call_is_estimated_only_if_the_known_gas_is_not_enough() {
    let call = Call { from: Address::ZERO, to: Some(Address::repeat_byte(2)), data: Bytes::new() };
    for (at, executions) in [(At::Latest, 0), (At::Hash(B256::repeat_byte(1)), 1)] {
        let node = Arc::new(FakeNode::lying(|method, params| match method {
            "eth_estimateGas" => Some(Ok(json!("0x9"))),
            "eth_call" if params[0]["gas"] == "0x5" => Some(Err(json!({ "code": -32000, "message": "out of gas" }))),
            "eth_call" => Some(Ok(json!("0x"))),
            _ => None,
        }));
        let chain = chain(vec![node.clone()]);
        let tried = async |known_gas| {
            let trial = SimulationRequest { call: call.clone(), at, known_gas };
            chain.simulate_all(&[trial]).await.remove(0).unwrap()
        };
        assert_eq!(tried(None).await, Simulation::Gas(9));
        assert_eq!((node.count("eth_call"), node.count("eth_estimateGas")), (executions, 1));
        assert_eq!(tried(Some(10)).await, Simulation::Gas(10), "it is enough");
        assert_eq!((node.count("eth_call"), node.count("eth_estimateGas")), (executions + 1, 1));
        assert_eq!(tried(Some(5)).await, Simulation::Gas(9), "it is not");
        assert_eq!((node.count("eth_call"), node.count("eth_estimateGas")), (2 * executions + 2, 2));
    }
}

#[tokio::test]
async fn the_only_endpoint_is_not_asked_twice_about_a_block_that_it_does_not_know() {
    let call = Call { from: Address::ZERO, to: Some(Address::repeat_byte(2)), data: Bytes::new() };
    for known_gas in [None, Some(5)] {
        let node = Arc::new(FakeNode::lying(|method, _| {
            (method == "eth_call").then(|| Err(json!({ "code": -32001, "message": "header not found" })))
        }));
        let trial = SimulationRequest { call: call.clone(), at: At::Hash(B256::repeat_byte(1)), known_gas };
        let trials = [trial.clone(), trial];
        let tried = chain(vec![node.clone()]).simulate_all(&trials).await;
        assert!(tried.iter().all(|one| *one == Err(Fault::UnknownBlock)), "{tried:?}");
        assert_eq!(node.count("eth_call"), trials.len(), "{known_gas:?}");
    }
}
