//! The daily payout limit: earlier payouts of the day count, whichever process signed them.

use alloy::primitives::{Address, Bytes, U256};
use alloy::sol;
use alloy::sol_types::SolCall;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::token::factory;
use muniment_domain::operation::{Kind, NewStep, Status};
use muniment_domain::point::Point;
use muniment_domain::{Error, contract, operation, payout_day};
use muniment_workflows::engine::queue;
use serde_json::json;
use world::{Database, KEYS, Mining, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{CHAIN_ID, EngineFixture, Installation, Terms, new_operation, signer_of};

sol! {
    function implementation() returns (address);
    function mint(address to, uint256 amount);
    function approve(address spender, uint256 amount) returns (bool);
    function payout(uint256 opId, address asset, address to, uint256 amount) returns (bool);
}

/// A token, and a signer that owns coins and lets the token pay them out.
async fn funded(database: Database) -> (Installation, Address) {
    let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
    let ask =
        json!([{ "to": site.platform.factory, "data": Bytes::from(implementationCall {}.abi_encode()) }, "latest"]);
    let answer = site.anvil.rpc().call("eth_call", ask).await;
    let implementation =
        implementationCall::abi_decode_returns(&answer.as_str().unwrap().parse::<Bytes>().unwrap()).unwrap();
    let token = factory::predict_token(site.platform.factory, implementation, factory::offering_id(&site.offerings[0]));
    // Before the platform uses the key: from then on nobody else may use it.
    let own = mintCall { to: signer_of(KEYS[1]), amount: U256::from(1_000) }.abi_encode();
    send(&site.anvil, KEYS[1], 0, site.platform.coin, own.into()).await;
    let allow = approveCall { spender: token, amount: U256::from(1_000) }.abi_encode();
    send(&site.anvil, KEYS[1], 1, site.platform.coin, allow.into()).await;
    site.anvil.mine(1).await;
    let fixture = engine_fixture(&site).await;
    fixture.deploy(&site.offerings[0]).await;
    site.mined_until_settled().await;
    fixture.close().await;
    (site, token)
}

async fn engine_fixture(site: &Installation) -> EngineFixture {
    site.engine_fixture(|chain| chain.payout_ceiling_daily = Some(U256::from(100))).await
}

/// Requests a payout and waits until it is signed or refused; returns its error.
async fn pay(site: &Installation, fixture: &EngineFixture, token: Address, amount: u64) -> Option<String> {
    let mut tx = fixture.engine.db.begin().await.unwrap();
    let number = contract::reserve_op_numbers(&mut tx, CHAIN_ID, token, 1).await.unwrap();
    let (asset, to) = (site.platform.coin, Address::repeat_byte(9));
    let call = payoutCall { opId: U256::from(number), asset, to, amount: U256::from(amount) };
    let calldata = Bytes::from(call.abi_encode());
    let step = NewStep {
        name: "payout",
        target: token,
        payload_hash: Some(payload_hash(&calldata)),
        calldata: calldata.to_vec(),
        op_number: Some(number),
    };
    let new = new_operation(Kind::Payout, &site.offerings[0], vec![step]);
    let op = operation::insert(&mut tx, new).await.unwrap();
    queue::first_wake(&mut tx, &op).await.unwrap();
    tx.commit(Point::Accept).await.unwrap();
    site.until("it is signed or refused", async || fixture.operation(&op.id).await.status != Status::Pending).await;
    fixture.operation(&op.id).await.error_code
}

on_both_databases! {
    async fn payouts_of_the_day_count_after_a_restart(database: Database) {
        let (site, token) = funded(database).await;
        let (over, before) = (Some("policy_payout_ceiling".to_owned()), site.count("attempts").await);
        let first = engine_fixture(&site).await;
        assert_eq!(pay(&site, &first, token, 40).await, None);
        assert_eq!(pay(&site, &first, token, 40).await, None);
        assert_eq!(pay(&site, &first, token, 21).await, over);
        first.close().await;
        let second = engine_fixture(&site).await;
        assert_eq!(pay(&site, &second, token, 40).await, over);
        assert_eq!(pay(&site, &second, token, 20).await, None);
        assert_eq!(pay(&site, &second, token, 1).await, over);
        assert_eq!(site.count("attempts").await, before + 3, "a payout above the limit is not signed");
        assert_eq!(site.rows("select signed from payout_days").await, [["100"]]);
        // Yesterday's payouts do not count against today's limit.
        site.write("update payout_days set day = day - 1").await;
        assert_eq!(pay(&site, &second, token, 100).await, None);
        second.close().await;
    }

    async fn concurrent_payouts_do_not_exceed_the_daily_limit(database: Database) {
        let (site, token) = funded(database).await;
        let fixture = engine_fixture(&site).await;
        let raise = async |read: Option<u64>, sum: u64| {
            let mut tx = fixture.engine.db.begin().await.unwrap();
            let raised = payout_day::set_sum(&mut tx, CHAIN_ID, token, 7, read.map(U256::from), U256::from(sum)).await;
            if raised.is_ok() {
                tx.commit(Point::Sign).await.unwrap();
            }
            raised
        };
        raise(None, 5).await.unwrap();
        assert!(matches!(raise(None, 6).await, Err(Error::Stale { .. })));
        raise(Some(5), 9).await.unwrap();
        assert!(matches!(raise(Some(5), 8).await, Err(Error::Stale { .. })));
        assert_eq!(site.rows("select signed from payout_days where day = 7").await, [["9"]]);
        fixture.close().await;
    }
}
