//! The soft cap of an offering whose units are minted while it is open.

use serde_json::json;
use world::{Database, on_both_databases};

use crate::installation::{OfferingFixture, in_days, wallet};
use crate::offering_change::{status, subscribed};

/// A rolling offering whose soft cap was paid when the mint of one of its two subscriptions was requested, and is not any more: the other
/// one has left. Returns the offering and the subscription in the mint.
async fn minting_at_the_soft_cap(database: Database) -> (OfferingFixture, String, String) {
    let fixture = OfferingFixture::new(database).await;
    let id = fixture.open(json!({ "issuance_policy": "rolling", "soft_cap": "3000.00" })).await;
    let (minting, other) = (subscribed(&fixture, &id, "1000.00").await, subscribed(&fixture, &id, "2000.00").await);
    let (owner, token) = (
        format!("(select id from investors where user_id = '{}')", fixture.investor.id),
        "0x00000000000000000000000000000000000000aa",
    );
    for sql in [
        format!(
            "update offerings set token_status = 'deployed', token_address = '{token}', token_tx_hash = '0x{}'",
            "7".repeat(64)
        ),
        format!(
            "insert into contracts (chain_id, address, kind, offering_id, next_op_number, created_at) select 31337, '{token}', 'token', id, 1, created_at from offerings"
        ),
        format!(
            "insert into wallets (id, investor_id, address, verified_at, created_at) select 'wal_01jc0000000000000000000000', id, '{:#x}', created_at, created_at from investors where id = {owner}",
            wallet(0)
        ),
        format!("update investors set kyc_status = 'approved', sanctions_status = 'clear' where id = {owner}"),
        format!(
            "update subscriptions set status = 'accepted', quantity = '100000', wallet_address = '{:#x}', received_amount = amount where id = '{minting}'",
            wallet(0)
        ),
    ] {
        fixture.api.write(&sql).await;
    }
    let ask = async |key: &str| {
        fixture.olga.client().post("/blockchain/trigger-mint", key, json!({ "offering_id": id })).await.unwrap()
    };
    assert_eq!(ask("early").await.problem(), (409, "invalid_state".to_owned()), "the soft cap is not paid");
    let set = |status: &str| {
        format!("update subscriptions set status = '{status}', received_amount = amount where id = '{other}'")
    };
    fixture.api.write(&set("binding")).await;
    let requested = ask("mint").await;
    assert_eq!(requested.status, 202, "{requested:?}");
    fixture.api.write(&set("refund_pending")).await;
    (fixture, id, minting)
}

on_both_databases! {
    async fn an_offering_does_not_fail_while_a_mint_of_it_is_unfinished(database: Database) {
        let (mut fixture, id, minting) = minting_at_the_soft_cap(database).await;
        fixture.at(in_days(61)).await;
        assert_eq!((fixture.status(&id).await, status(&fixture, &minting).await), ("open".to_owned(), "accepted".to_owned()));
        fixture.api.write("update operations set status = 'failed', resolution = 'abandoned', live_key = null").await;
        fixture.api.write("update operation_items set live = false").await;
        fixture.at(in_days(62)).await;
        assert_eq!((fixture.status(&id).await, status(&fixture, &minting).await), ("failed".to_owned(), "refund_pending".to_owned()));
    }

    async fn an_offering_with_minted_units_does_not_fail(database: Database) {
        let (mut fixture, id, minting) = minting_at_the_soft_cap(database).await;
        fixture.api.write("update operations set status = 'confirmed', live_key = null, tx_hash = '0x7777777777777777777777777777777777777777777777777777777777777777'").await;
        fixture.api.write("update operation_items set live = false").await;
        fixture.api.write(&format!("update subscriptions set status = 'minted', mint_operation_id = (select id from operations), mint_tx_hash = '0x7777777777777777777777777777777777777777777777777777777777777777' where id = '{minting}'")).await;
        fixture.at(in_days(61)).await;
        assert_eq!((fixture.status(&id).await, status(&fixture, &minting).await), ("closed".to_owned(), "minted".to_owned()));
    }
}
