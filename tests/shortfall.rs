//! A coin does not pay as it reports: nobody is paid twice, and two people can write off the missing payments.

use alloy::primitives::{Address, hex};
use serde_json::json;
use world::on_both_databases;

use crate::installation::PayoutFixture;

/// Code of a coin that pays everybody except two: one payee gets nothing and one a unit less, but every call returns true.
///
/// `transferFrom(from, to, value)` returns true. Unless `to` is the first of the two, the balance of `to` grows by the value, less one for the
/// second, and a `Transfer` event is emitted. Every other function returns the balance of its first argument plus a sufficient amount.
fn unreliable(unpaid: Address, short: Address) -> String {
    let transfer_topic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let (unpaid, short) = (hex::encode(unpaid), hex::encode(short));
    let other_functions = "60043554600160641b015f5260205ff3";
    let value = format!("60243573{short}1460443503");
    let enter = "806024355401602435555f52";
    format!(
        "0x5f3560e01c6323b872dd14601e57{other_functions}5b60243573{unpaid}14608f57{value}{enter}6024356004357f{transfer_topic}60205fa35b60015f5260205ff3"
    )
}

/// Where the code of the sound coin is kept.
const SOUND: Address = Address::repeat_byte(0x50);

/// Code of a coin that works, and reports one more `Transfer`, of a unit to 0x66, with each `transfer`.
fn talkative() -> String {
    let delegate = format!("365f5f375f5f365f73{}5af46025575f5ffd5b", hex::encode(SOUND));
    let transfer_topic = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
    let unless_transfer = "5f3560e01c63a9059cbb1415606157";
    let event = format!("60015f526066337f{transfer_topic}60205fa3");
    format!("0x{delegate}{unless_transfer}{event}5b3d5f5f3e3d5ff3")
}

on_both_databases! {
    async fn a_list_whose_last_page_fell_short_is_written_off(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (rpc, coin) = (fixture.site.anvil.rpc(), fixture.site.platform.coin);
        let id = fixture.calculated("distributor", "20.00").await;
        let sound = rpc.call("eth_getCode", json!([coin, "latest"])).await;
        rpc.call("anvil_setCode", json!([SOUND, sound])).await;
        rpc.call("anvil_setCode", json!([coin, talkative()])).await;
        let op = fixture.executed(&id).await.text("/operations/1/id");
        fixture.site.settled().await;
        assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "effect_mismatch".to_owned()));
        rpc.call("anvil_setCode", json!([coin, sound])).await;
        assert_eq!(fixture.server.retry("retry", &op).await.problem(), (409, "effect_mismatch".to_owned()));
        let body = json!({ "resolution": "abandon", "reason": "the coin reports too much" });
        let requested = fixture.server.act("abandon", &op, "reconcile", body).await;
        let shown = fixture.server.get(requested.headers["location"].to_str().unwrap()).await;
        let missing = &shown.body["payload"]["missing"];
        assert!(missing[0].as_str().unwrap().contains("a transfer of 1 units to"), "{missing}");
        assert_eq!(missing[1], "2 of 2 lines were paid and stay paid", "{missing}");
        fixture.approve(&requested).await;
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 2);
    }

    async fn two_people_write_off_a_shortfall_line_by_line(database: Database) {
        let fixture = PayoutFixture::with(database, 4, |site| site.config.engine("payout_page_holders", 4)).await;
        let first = fixture.calculated("direct_payout", "4.00").await;
        fixture.executed(&first).await;
        fixture.reaches(&first, "completed").await;
        let id = fixture.calculated("direct_payout", "40.00").await;
        let parts = fixture.parts(&id).await;
        let (rpc, coin) = (fixture.site.anvil.rpc(), fixture.site.platform.coin);
        let sound = rpc.call("eth_getCode", json!([coin, "latest"])).await;
        rpc.call("anvil_setCode", json!([coin, unreliable(parts[1].1, parts[2].1)])).await;
        let op = fixture.executed(&id).await.text("/operations/0/id");
        fixture.site.settled().await;
        assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "effect_mismatch".to_owned()));
        rpc.call("anvil_setCode", json!([coin, sound])).await;
        assert_eq!(fixture.server.retry("retry", &op).await.problem(), (409, "effect_mismatch".to_owned()));
        let hash = fixture.site.rows(&format!("select tx_hash from operation_steps where operation_id = '{op}'")).await[0][0].clone();
        let body = json!({ "resolution": "mark_confirmed", "tx_hash": hash, "reason": "it is there" });
        let proved = fixture.server.act("prove", &op, "reconcile", body).await;
        assert_eq!(proved.problem(), (422, "reconcile_verification_failed".to_owned()), "{proved:?}");
        let body = json!({ "resolution": "abandon", "reason": "the coin kept it" });
        let requested = fixture.server.act("abandon", &op, "reconcile", body).await;
        let shown = fixture.server.get(requested.headers["location"].to_str().unwrap()).await;
        let missing = shown.body["payload"]["missing"].as_array().unwrap().iter().map(|line| line.as_str().unwrap());
        let missing: Vec<_> = missing.collect();
        let units = |cents: u64| cents * 10_000;
        assert_eq!(missing[1..], [
            format!("line 1: {} got nothing of {} units", parts[1].1, units(parts[1].2)),
            format!("line 2: {} got {} of {} units", parts[2].1, units(parts[2].2) - 1, units(parts[2].2)),
            "2 of 4 lines were paid and stay paid".to_owned(),
        ]);
        fixture.approve(&requested).await;
        fixture.reaches(&id, "partially_completed").await;
        let now: Vec<_> = fixture.parts(&id).await.into_iter().map(|part| (part.3, part.4)).collect();
        let of = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
        assert_eq!(now, [of("paid", ""), of("failed", ""), of("held", "operator"), of("paid", "")]);
        let resolved = fixture.server.get(&format!("/blockchain/operations/{op}")).await;
        assert_eq!((resolved.text("/status"), resolved.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        // The coin works again: the payee who got nothing is paid once.
        let before = fixture.cents(parts[1].1).await;
        fixture.approve(&fixture.decide("reissue", &id, &parts[1].0, "reissue").await).await;
        fixture.site.settled().await;
        assert_eq!(fixture.cents(parts[1].1).await, before + parts[1].2);
        assert_eq!(fixture.site.count(&format!("payout_receipts where distribution_id = '{id}'")).await, 3);
        assert_eq!(fixture.server.retry("late", &op).await.problem(), (409, "invalid_state".to_owned()));
    }

    async fn an_executed_payment_is_not_written_off(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let first = fixture.calculated("direct_payout", "2.00").await;
        fixture.executed(&first).await;
        fixture.reaches(&first, "completed").await;
        let op = fixture.site.rows("select operation_id from operation_steps where name = 'batchPayout'").await[0][0].clone();
        // As after a receipt that an endpoint forged.
        fixture.site.write(&format!("update operations set status = 'failed', error_code = 'effect_mismatch' where id = '{op}'")).await;
        fixture.site.write(&format!("update operation_steps set outcome = 'reverted' where operation_id = '{op}'")).await;
        let body = json!({ "resolution": "abandon", "reason": "it is said to be missing" });
        let refused = fixture.server.act("abandon", &op, "reconcile", body).await;
        assert_eq!(refused.problem(), (409, "partial_effect".to_owned()), "{refused:?}");
    }
}
