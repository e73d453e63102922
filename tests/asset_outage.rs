//! The payout coin stops while a list is in escrow: nobody is withheld, nobody else can take the escrow, and a person's retry pays all.

use alloy::primitives::{Address, B256, hex, keccak256};
use muniment_activities::contract::line::Line;
use muniment_activities::payout::distributor::{self, EscrowPage};
use serde_json::json;
use world::{KEYS, on_both_databases};

use crate::foreign_key::calls_of;
use crate::installation::{PayoutFixture, signer_of};

/// Where the code of the sound coin is kept during the outage.
const SOUND: Address = Address::repeat_byte(0x50);

/// Code of the coin in an outage: `transfer` reverts, and every other call goes to the sound code.
fn stopped() -> String {
    let is_transfer = "5f3560e01c63a9059cbb14603b57";
    let delegate = format!("365f5f375f5f365f73{}5af43d5f5f3e6037573d5ffd5b3d5ff3", hex::encode(SOUND));
    format!("0x{is_transfer}{delegate}5b5f5ffd")
}

/// Stops the coin, or lets it work again.
async fn set_coin(fixture: &PayoutFixture, code: &str) {
    fixture.site.anvil.rpc().call("anvil_setCode", json!([fixture.site.platform.coin, code])).await;
}

on_both_databases! {
    async fn a_page_that_the_coin_refuses_as_a_whole_is_paid_by_a_retry(database: Database) {
        let fixture = PayoutFixture::new(database, 5).await;
        let id = fixture.calculated("distributor", "500.00").await;
        let (rpc, coin) = (fixture.site.anvil.rpc(), fixture.site.platform.coin);
        let sound = rpc.call("eth_getCode", json!([coin, "latest"])).await.as_str().unwrap().to_owned();
        rpc.call("anvil_setCode", json!([SOUND, sound])).await;
        set_coin(&fixture, &stopped()).await;
        let op = fixture.executed(&id).await.text("/operations/1/id");
        fixture.site.settled().await;
        assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "asset_unavailable".to_owned()));
        let held: Vec<_> = fixture.parts(&id).await.into_iter().filter(|part| part.3 == "held").collect();
        assert_eq!(held, [], "an outage is nobody's fault");
        let shown = fixture.server.get(&format!("/blockchain/operations/{op}")).await;
        assert!(shown.text("/error/message").contains("refuses every payment"), "{shown:?}");
        set_coin(&fixture, &sound).await;
        assert_eq!(fixture.server.retry("retry", &op).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
    }

    async fn another_payout_key_cannot_take_an_open_escrow(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let id = fixture.calculated("distributor", "300.00").await;
        let (rpc, coin) = (fixture.site.anvil.rpc(), fixture.site.platform.coin);
        let sound = rpc.call("eth_getCode", json!([coin, "latest"])).await.as_str().unwrap().to_owned();
        rpc.call("anvil_setCode", json!([SOUND, sound])).await;
        set_coin(&fixture, &stopped()).await;
        let op = fixture.executed(&id).await.text("/operations/1/id");
        fixture.site.settled().await;
        set_coin(&fixture, &sound).await;
        // The whole escrow to one address, as the next page, with the tail of the real one and as the last page.
        let calls = calls_of(&fixture.site, &op).await;
        let page = calls.iter().find_map(|(_, data)| distributor::page_of(data)).unwrap();
        let thief = Address::repeat_byte(0x66);
        let not_declared = &keccak256("PageNotDeclared(bytes32,uint256,bytes32,bytes32)")[..4];
        for tail in [page.tail, B256::ZERO] {
            let lines = vec![Line::new(thief, 300 * 1_000_000).unwrap()];
            let wrong = EscrowPage { tail, lines, ..page.clone() };
            let call = distributor::pay(signer_of(KEYS[3]), fixture.site.platform.distributor, &wrong);
            let told = json!({ "jsonrpc": "2.0", "id": 1, "method": "eth_call",
                "params": [{ "from": call.from, "to": call.to, "data": call.data }, "latest"] });
            let told = rpc.post(told.to_string()).await.unwrap();
            assert!(told.contains(&hex::encode(not_declared)), "it is refused as no part of the list: {told}");
            let hash = fixture.sent_as(KEYS[3], call).await;
            let receipt = fixture.site.included(&hash).await;
            assert_eq!(receipt["status"], "0x0", "{receipt}");
        }
        assert_eq!(fixture.cents(thief).await, 0);
        assert_eq!(fixture.server.retry("retry", &op).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 3);
    }
}
