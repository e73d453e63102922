//! Claims of what the distributor withholds, for all holders of a distribution at once.

use alloy::primitives::{Address, B256, Bytes, hex, keccak256};
use muniment_activities::chain::simulate::Call;
use muniment_activities::payout::claim;
use muniment_activities::token;
use serde_json::{Value, json};
use world::{Database, KEYS, on_both_databases};

use crate::installation::{Answer, PayoutFixture, signer_of, wallet};
use crate::reconciliation::{kinds, report};

/// A distribution to five holders whose page left out the first three, because they were frozen then. Two accounts fit a page of claims.
async fn with_three_withheld(database: Database) -> (PayoutFixture, String) {
    with_three_withheld_of_pages(database, 5).await
}

/// The same; half as many accounts fit a page of claims.
async fn with_three_withheld_of_pages(database: Database, holders: u64) -> (PayoutFixture, String) {
    let fixture = PayoutFixture::with(database, 5, |site| site.config.engine("payout_page_holders", holders)).await;
    let id = fixture.calculated("distributor", "500.00").await;
    for holder in 1..=3 {
        fixture.send_foreign(token::freeze(Address::ZERO, fixture.token, wallet(holder), Bytes::new())).await;
    }
    fixture.executed(&id).await;
    fixture.reaches(&id, "partially_completed").await;
    assert_eq!(held(&fixture, &id).await, [1, 2, 3].map(wallet).into());
    (fixture, id)
}

async fn set_frozen(fixture: &PayoutFixture, holder: usize, frozen: bool) {
    let call = if frozen { token::freeze } else { token::unfreeze };
    fixture.send_foreign(call(Address::ZERO, fixture.token, wallet(holder), Bytes::new())).await;
    let shown = format!("token_accounts where frozen and wallet_address = '{:#x}'", wallet(holder));
    let as_set = async || fixture.site.count(&shown).await == i64::from(frozen);
    fixture.site.until("the ledger shows it", as_set).await;
}

/// The wallets whose money the contract keeps.
async fn held(fixture: &PayoutFixture, id: &str) -> std::collections::BTreeSet<Address> {
    let parts = fixture.parts(id).await.into_iter();
    parts.filter(|part| (part.3.as_str(), part.4.as_str()) == ("held", "withheld_frozen")).map(|part| part.1).collect()
}

async fn claim_with(fixture: &PayoutFixture, key: &str, id: &str, body: Value) -> Answer {
    fixture.server.post(&format!("/v1/distributions/{id}/claim-withheld"), key, body).await
}

async fn claim_all(fixture: &PayoutFixture, key: &str, id: &str) -> Answer {
    claim_with(fixture, key, id, json!({ "reason": "they are free again" })).await
}

/// Waits until the engine has nothing to do, and says what the distribution is then.
async fn ends(fixture: &PayoutFixture, id: &str) -> String {
    fixture.site.settled().await;
    fixture.shown(id).await.text("/status")
}

/// Claims for a holder with a key that the platform does not know: anyone may. Returns the transaction.
async fn claimed_by_stranger(fixture: &PayoutFixture, id: &str, holder: usize) -> String {
    let call = claim::one(signer_of(KEYS[3]), fixture.site.platform.distributor, keccak256(id), wallet(holder));
    fixture.send_as(KEYS[3], call).await
}

/// Claims for everybody; two people write off what is missing. Returns what they saw.
async fn written_off(fixture: &PayoutFixture, id: &str) -> Vec<String> {
    let op = claim_all(fixture, "claim", id).await.text("/operations/0/id");
    fixture.site.settled().await;
    assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "effect_mismatch".to_owned()));
    let body = json!({ "resolution": "abandon", "reason": "it was claimed otherwise" });
    let requested = fixture.server.act("abandon", &op, "reconcile", body).await;
    let shown = fixture.server.get(requested.headers["location"].to_str().unwrap()).await;
    fixture.approve(&requested).await;
    fixture.reaches(id, "partially_completed").await;
    let missing = shown.body["payload"]["missing"].as_array().unwrap().iter();
    missing.map(|line| line.as_str().unwrap().to_owned()).collect()
}

/// Sets what the distributor withholds of an account, as if other lines of it had been paid meanwhile.
async fn set_withheld(fixture: &PayoutFixture, id: &str, holder: usize, units: u8) {
    // The second slot: what is withheld, by distribution and account.
    let of_distribution = keccak256([keccak256(id), B256::with_last_byte(1)].concat());
    let slot = keccak256([wallet(holder).into_word(), of_distribution].concat());
    let written = json!([fixture.site.platform.distributor, slot, B256::with_last_byte(units)]);
    fixture.site.anvil.rpc().call("anvil_setStorageAt", written).await;
}

/// A wallet with code that passes each call on to the distributor.
async fn smart_wallet(fixture: &PayoutFixture) -> Address {
    let address = Address::repeat_byte(0x5a);
    let code = format!("0x365f5f375f5f365f5f73{}5af100", hex::encode(fixture.site.platform.distributor));
    fixture.site.anvil.rpc().call("anvil_setCode", json!([address, code])).await;
    address
}

on_both_databases! {
    async fn everybody_who_can_be_paid_is_paid_page_by_page(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        assert_eq!(claim_all(&fixture, "frozen", &id).await.problem(), (409, "nothing_to_pay".to_owned()));
        for holder in 1..=3 {
            set_frozen(&fixture, holder, false).await;
        }
        let unknown = json!({ "reason": "x", "entitlement_ids": ["ent_01jc0000000000000000000000"] });
        let refused = claim_with(&fixture, "unknown", &id, unknown).await;
        assert_eq!((refused.status, refused.text("/errors/0/code")), (422, "not_found".to_owned()), "{refused:?}");
        let accepted = claim_all(&fixture, "free", &id).await;
        assert_eq!((accepted.status, accepted.text("/status")), (202, "executing".to_owned()), "{accepted:?}");
        assert_eq!(accepted.body["operations"].as_array().unwrap().len(), 2, "two accounts a page: {accepted:?}");
        assert_eq!(claim_all(&fixture, "twice", &id).await.problem(), (409, "nothing_to_pay".to_owned()));
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
        let steps = fixture.site.rows("select name, outcome from operation_steps where name like '%laim%'").await;
        assert_eq!(steps, [["batchClaimWithheld", "success"], ["batchClaimWithheld", "success"]]);
    }

    async fn every_invalid_field_of_a_claim_is_named_at_once(database: Database) {
        let fixture = PayoutFixture::new(database, 1).await;
        let id = fixture.calculated("distributor", "10.00").await;
        let refused = claim_with(&fixture, "bad", &id, json!({ "reason": " ", "entitlement_ids": ["x"] })).await;
        let named: Vec<_> = refused.body["errors"].as_array().unwrap().iter().map(|one| one["pointer"].as_str().unwrap()).collect();
        assert_eq!((refused.status, named), (422, vec!["/entitlement_ids", "/reason"]), "{refused:?}");
    }

    async fn a_holder_frozen_meanwhile_stays_held_and_the_others_are_paid(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        set_frozen(&fixture, 1, false).await;
        set_frozen(&fixture, 2, false).await;
        fixture.site.lanes("paused").await;
        let accepted = claim_all(&fixture, "claim", &id).await;
        assert_eq!(accepted.body["operations"].as_array().unwrap().len(), 1, "the third is frozen: {accepted:?}");
        set_frozen(&fixture, 2, true).await;
        fixture.site.lanes("active").await;
        assert_eq!(ends(&fixture, &id).await, "partially_completed");
        assert_eq!(held(&fixture, &id).await, [2, 3].map(wallet).into());
        assert_eq!(fixture.sums_agree().await, 3);
        set_frozen(&fixture, 2, false).await;
        let named = fixture.parts(&id).await.into_iter().find(|part| part.1 == wallet(2)).unwrap().0;
        let body = json!({ "reason": "free again", "entitlement_ids": [named] });
        assert_eq!(claim_with(&fixture, "named", &id, body).await.status, 202);
        assert_eq!(ends(&fixture, &id).await, "partially_completed");
        assert_eq!((held(&fixture, &id).await, fixture.sums_agree().await), ([wallet(3)].into(), 4));
    }

    async fn a_claim_that_a_stranger_made_is_adopted(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        for holder in 1..=3 {
            set_frozen(&fixture, holder, false).await;
        }
        // Anyone may claim, from any contract, and the payee is the same.
        let call = claim::one(signer_of(KEYS[3]), fixture.site.platform.distributor, keccak256(&id), wallet(1));
        let call = Call { to: Some(smart_wallet(&fixture).await), ..call };
        let hash = fixture.sent_as(KEYS[3], call).await;
        assert_eq!(fixture.site.included(&hash).await["status"], "0x1");
        assert_eq!(claim_all(&fixture, "first", &id).await.status, 202);
        assert_eq!(ends(&fixture, &id).await, "partially_completed");
        assert_eq!(held(&fixture, &id).await, [wallet(1)].into(), "the page paid the others");
        assert_eq!(claim_all(&fixture, "second", &id).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
        let receipt = format!("select tx_hash from payout_receipts where payee_address = '{:#x}'", wallet(1));
        assert_eq!(fixture.site.rows(&receipt).await, [[hash]]);
        let compared = report(&fixture.site, &fixture.server, "compared", json!({})).await;
        assert_eq!(kinds(&compared), [""; 0], "{compared}");
    }

    async fn a_later_claim_of_another_amount_is_not_adopted(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        set_frozen(&fixture, 1, false).await;
        let hash = claimed_by_stranger(&fixture, &id, 1).await;
        set_withheld(&fixture, &id, 1, 1).await;
        claimed_by_stranger(&fixture, &id, 1).await;
        assert_eq!(claim_all(&fixture, "claim", &id).await.status, 202);
        assert_eq!(ends(&fixture, &id).await, "partially_completed");
        assert_eq!(held(&fixture, &id).await, [2, 3].map(wallet).into());
        let receipt = format!("select tx_hash from payout_receipts where payee_address = '{:#x}'", wallet(1));
        assert_eq!(fixture.site.rows(&receipt).await, [[hash]]);
    }

    async fn a_claim_of_which_only_another_amount_is_left_goes_to_two_people(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        set_frozen(&fixture, 1, false).await;
        set_withheld(&fixture, &id, 1, 1).await;
        claimed_by_stranger(&fixture, &id, 1).await;
        let missing = written_off(&fixture, &id).await;
        assert!(missing[0].contains("1 units were claimed for"), "{missing:?}");
        let left = fixture.parts(&id).await.into_iter().find(|part| part.1 == wallet(1)).unwrap();
        assert_eq!((left.3.as_str(), left.4.as_str()), ("held", "operator"));
        assert_eq!(held(&fixture, &id).await, [2, 3].map(wallet).into());
    }

    async fn a_claimed_page_is_written_off_line_by_line(database: Database) {
        let (fixture, id) = with_three_withheld_of_pages(database, 6).await;
        for holder in 1..=3 {
            set_frozen(&fixture, holder, false).await;
        }
        set_withheld(&fixture, &id, 1, 1).await;
        // Nothing is left for the third, and no transaction claimed what was withheld.
        set_withheld(&fixture, &id, 3, 1).await;
        claimed_by_stranger(&fixture, &id, 3).await;
        let missing = written_off(&fixture, &id).await;
        let sum = fixture.parts(&id).await.into_iter().find(|part| part.1 == wallet(1)).unwrap().2 * 10_000;
        assert_eq!(missing[1..], [
            format!("line 0: {} got 1 of {sum} units", wallet(1).to_checksum(None)),
            "1 of 3 lines were paid and stay paid".to_owned(),
            "1 of 3 lines stay with the distributor and can be claimed again".to_owned(),
        ]);
        let parts = fixture.parts(&id).await;
        let of = |holder: usize| parts.iter().find(|part| part.1 == wallet(holder)).map(|part| (part.3.as_str(), part.4.as_str()));
        assert_eq!((of(1), of(2), of(3)), (Some(("held", "operator")), Some(("paid", "")), Some(("held", "withheld_frozen"))));
        let receipts = format!("payout_receipts where payee_address = '{:#x}'", wallet(2));
        assert_eq!(fixture.site.count(&receipts).await, 1);
        let reissued = fixture.server.post(&format!("/v1/distributions/{id}/reissue"), "again", json!({ "reason": "x" })).await;
        assert_eq!(reissued.problem(), (409, "nothing_to_pay".to_owned()), "{reissued:?}");
    }

    async fn two_lines_of_one_account_are_claimed_in_one_payment(database: Database) {
        let fixture = PayoutFixture::with(database, 3, |site| site.config.engine("payout_page_holders", 5)).await;
        let (site, server) = (&fixture.site, &fixture.server);
        let id = fixture.snapshotted("distributor", "300.00").await;
        // After the record date a wallet is lost, and its owner holds units in the other one already.
        let owner = site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(1))).await[0][0].clone();
        let second = format!("update wallets set investor_id = '{owner}', is_default = false where address = '{:#x}'", wallet(2));
        assert_eq!(site.write(&second).await, 1);
        let body = json!({ "offering_id": site.offerings[0], "investor_id": owner, "lost_address": wallet(1).to_checksum(None),
            "new_address": wallet(2).to_checksum(None), "evidence_document_sha256": "cd".repeat(32) });
        server.request_and_approve(&fixture.colleague, "/blockchain/recover", "recover", body).await;
        site.settled().await;
        assert_eq!(fixture.act("calculate", &id, "calculate").await.text("/status"), "calculated");
        fixture.send_foreign(token::freeze(Address::ZERO, fixture.token, wallet(2), Bytes::new())).await;
        fixture.executed(&id).await;
        fixture.reaches(&id, "partially_completed").await;
        set_frozen(&fixture, 2, false).await;
        assert_eq!(claim_all(&fixture, "claim", &id).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 3);
        let receipts = format!("payout_receipts where payee_address = '{:#x}'", wallet(2));
        assert_eq!(site.count(&receipts).await, 2);
        let compared = report(site, server, "compared", json!({})).await;
        assert_eq!(kinds(&compared), [""; 0], "{compared}");
    }

    async fn a_claim_that_was_given_up_can_be_made_again(database: Database) {
        let (fixture, id) = with_three_withheld(database).await;
        for holder in 1..=3 {
            set_frozen(&fixture, holder, false).await;
        }
        fixture.site.lanes("paused").await;
        let accepted = claim_all(&fixture, "first", &id).await;
        for page in accepted.body["operations"].as_array().unwrap() {
            let op = page["id"].as_str().unwrap();
            let over = fixture.server.act(&format!("over-{op}"), op, "cancel", json!({ "mode": "unsent", "reason": "a test" })).await;
            assert_eq!((over.status, over.text("/resolution")), (202, "abandoned".to_owned()), "{over:?}");
        }
        assert_eq!(held(&fixture, &id).await, [1, 2, 3].map(wallet).into(), "with the reason of before");
        assert_eq!(fixture.shown(&id).await.text("/status"), "partially_completed");
        fixture.site.lanes("active").await;
        assert_eq!(claim_all(&fixture, "second", &id).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
    }
}
