//! An endpoint that refuses what the others allow, or estimates too little gas: no operation fails by it.

use world::{Fault, Rule};

use crate::lying_node::Liar;

fn reverts() -> Rule {
    Rule::new(Fault::Error(3, "execution reverted: not today".into())).on(&["eth_call", "eth_estimateGas"])
}

fn denies_contracts() -> Rule {
    Rule::new(Fault::NoCode)
}

/// Two of three endpoints must agree, and they do without the first.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_of_three_refuses_is_signed() {
    for lie in [reverts(), denies_contracts()] {
        Liar::with_token(3, 2).await.all_confirmed_under(lie).await;
    }
}

/// A transaction with the gas of such an estimate would run out of it.
#[tokio::test(flavor = "multi_thread")]
async fn more_gas_than_one_estimates_is_paid_for() {
    for endpoints in [2, 3] {
        Liar::with_token(endpoints, 2).await.all_confirmed_under(Rule::new(Fault::HalfGas)).await;
    }
}

/// Two endpoints must agree, and one of them lies: the operation waits, and goes on when they agree.
#[tokio::test(flavor = "multi_thread")]
async fn what_one_of_two_refuses_waits_for_the_other() {
    let liar = Liar::with_token(2, 2).await;
    // The process has called the factory alone so far, and does not know yet that the token is a contract.
    for (number, lie) in [denies_contracts(), reverts()].into_iter().enumerate() {
        liar.proxy.add(lie);
        let answer = liar.site.freeze(&liar.server, &format!("freeze-{number}"), number).await;
        assert_eq!(answer.status, 202, "{answer:?}");
        let waits = "operations where blocked_reason like 'heads_disagree:%'";
        liar.site.until("it waits", async || liar.site.count(waits).await == 1).await;
        liar.proxy.heal();
        liar.site.settled().await;
    }
    assert_eq!(liar.site.statuses().await, [["confirmed", "3"]]);
    assert_eq!(liar.site.count("operations where faults > 0").await, 0);
}
