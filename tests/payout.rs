//! Payouts with obstacles: nobody is paid twice or missed, and no payee waits for another.

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::line::Line;
use muniment_activities::contract::registry::{self, Roles};
use muniment_activities::payout::direct::{self, PayoutPage};
use muniment_activities::{payout::coin, token};
use serde_json::json;
use world::{KEYS, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{PayoutFixture, signer_of, wallet};

async fn freeze(fixture: &PayoutFixture, holder: usize) {
    fixture.send_foreign(token::freeze(Address::ZERO, fixture.token, wallet(holder), Bytes::new())).await;
}

/// Unfreezes a wallet and waits until the ledger shows it, because a release reads the ledger.
async fn unfreeze(fixture: &PayoutFixture, wallet: Address) {
    fixture.send_foreign(token::unfreeze(Address::ZERO, fixture.token, wallet, Bytes::new())).await;
    unfrozen_in_ledger(fixture, wallet).await;
}

async fn unfrozen_in_ledger(fixture: &PayoutFixture, wallet: Address) {
    let frozen = format!("token_accounts where frozen and wallet_address = '{wallet:#x}'");
    fixture.site.until("the ledger shows it", async || fixture.site.count(&frozen).await == 0).await;
}

/// Another agent freezes or unfreezes a holder, in the next block before all transactions of the platform.
async fn set_frozen_in_next_block(fixture: &PayoutFixture, holder: usize, frozen: bool) {
    let (agent, call) = (signer_of(KEYS[2]), if frozen { token::freeze } else { token::unfreeze });
    let data = call(agent, fixture.token, wallet(holder), Bytes::new()).data;
    let nonce = fixture.site.anvil.rpc().number("eth_getTransactionCount", json!([agent, "latest"])).await;
    send(&fixture.site.anvil, KEYS[2], nonce, fixture.token, data).await;
}

/// Sets the roles of the platform's signer, in the next block before all transactions of the platform.
pub async fn set_roles(fixture: &PayoutFixture, roles: Roles) {
    let owner = signer_of(KEYS[0]);
    let call = registry::set_roles(owner, fixture.site.platform.registry, signer_of(KEYS[1]), roles);
    let nonce = fixture.site.anvil.rpc().number("eth_getTransactionCount", json!([owner, "latest"])).await;
    send(&fixture.site.anvil, KEYS[0], nonce, call.to.unwrap(), call.data).await;
}

on_both_databases! {
    async fn a_frozen_payee_is_held_and_the_others_of_its_page_are_paid(database: Database) {
        let fixture = PayoutFixture::with(database, 5, |site| site.config.engine("payout_page_holders", 5)).await;
        let id = fixture.calculated("direct_payout", "500.00").await;
        freeze(&fixture, 2).await;
        fixture.executed(&id).await;
        fixture.reaches(&id, "partially_completed").await;
        let parts = fixture.parts(&id).await;
        let frozen = parts.iter().find(|p| p.1 == wallet(2)).unwrap().clone();
        assert_eq!((frozen.3.as_str(), frozen.4.as_str()), ("held", "frozen"));
        assert_eq!(fixture.sums_agree().await, 4);
        // A frozen holder's payment can be neither released nor paid again.
        let still = fixture.decide("still", &id, &frozen.0, "release").await;
        assert_eq!(still.problem(), (409, "invalid_state".to_owned()));
        assert!(still.text("/detail").contains(&wallet(2).to_checksum(None)), "{still:?}");
        assert_eq!(fixture.parts(&id).await.into_iter().find(|p| p.1 == wallet(2)).unwrap(), frozen);
        unfreeze(&fixture, wallet(2)).await;
        assert_eq!(fixture.decide("release", &id, &frozen.0, "release").await.status, 200);
        freeze(&fixture, 2).await;
        let again = format!("token_accounts where frozen and wallet_address = '{:#x}'", wallet(2));
        fixture.site.until("the ledger shows it", async || fixture.site.count(&again).await == 1).await;
        assert_eq!(fixture.decide("early", &id, &frozen.0, "reissue").await.problem(), (409, "invalid_state".to_owned()));
        let path = format!("/v1/distributions/{id}/reissue");
        let named = json!({ "reason": "x", "entitlement_ids": [frozen.0] });
        assert_eq!(fixture.server.post(&path, "named", named).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(fixture.server.post(&path, "all", json!({ "reason": "x" })).await.problem(), (409, "nothing_to_pay".to_owned()));
        unfreeze(&fixture, wallet(2)).await;
        let requested = fixture.decide("reissue", &id, &frozen.0, "reissue").await;
        fixture.approve(&requested).await;
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
    }

    async fn a_page_too_large_for_one_transaction_is_split(database: Database) {
        let mut fixture = PayoutFixture::new(database, 5).await;
        fixture.server.process.kill();
        // Gas for two payees but not for three.
        fixture.site.config.engine("payout_page_holders", 5);
        fixture.site.config.chain("gas_cap", "125000");
        fixture.server = fixture.site.start().await;
        let id = fixture.calculated("direct_payout", "500.00").await;
        let page = fixture.executed(&id).await.text("/operations/1/id");
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
        let whole = fixture.server.get(&format!("/blockchain/operations/{page}")).await;
        assert_eq!((whole.text("/status"), whole.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        assert_eq!(whole.text("/error/code"), "page_split");
        let pages = "select o.status, o.error_code, cast((select count(*) from operation_items i where i.operation_id = o.id) as text) \
                     from operations o where o.kind = 'payout' order by o.batch_index";
        // The allowance; a page of five, then pages of two and three; the three become one and two.
        let expected = [["confirmed", "", "0"], ["failed", "page_split", "5"], ["confirmed", "", "2"], ["failed", "page_split", "3"],
            ["confirmed", "", "1"], ["confirmed", "", "2"]];
        assert_eq!(fixture.site.rows(pages).await, expected);
    }

    async fn the_lane_takes_operations_without_a_wake(database: Database) {
        let fixture = PayoutFixture::with(database, 70, |site| site.config.engine("payout_page_holders", 1)).await;
        // More operations than one finished operation wakes: they wait for the allowance, then run at once. The sweep would come too late.
        let mut last = String::new();
        for total in ["70.00", "140.00"] {
            let id = fixture.calculated("direct_payout", total).await;
            assert!(fixture.executed(&id).await.body["operations"].as_array().unwrap().len() >= 70);
            fixture.reaches(&id, "completed").await;
            last = id;
        }
        assert_eq!(fixture.sums_agree().await, 140);
        // As if one had paid in 141 pages.
        fixture.site.write(&format!("update operations set subject_id = '{last}' where kind = 'payout'")).await;
        let shown = fixture.shown(&last).await;
        let newest = fixture.site.rows("select id from operations where kind = 'payout' order by id desc limit 1").await[0][0].clone();
        assert_eq!((shown.body["operations"].as_array().unwrap().len(), shown.text("/operations/99/id")), (100, newest));
        assert_eq!(fixture.site.count("operations where status <> 'confirmed'").await, 0);
    }

    async fn an_entitlement_kept_by_the_distributor_is_claimed_when_payable(database: Database) {
        let fixture = PayoutFixture::new(database, 5).await;
        let id = fixture.calculated("distributor", "500.00").await;
        freeze(&fixture, 2).await;
        fixture.executed(&id).await;
        fixture.reaches(&id, "partially_completed").await;
        let kept = fixture.parts(&id).await.into_iter().find(|p| p.1 == wallet(2)).unwrap();
        assert_eq!((kept.3.as_str(), kept.4.as_str()), ("held", "withheld_frozen"));
        assert_eq!(fixture.decide("exclude", &id, &kept.0, "exclude").await.problem(), (409, "partial_effect".to_owned()));
        assert_eq!(fixture.sums_agree().await, 4);
        // A frozen holder cannot claim, nor an investor whose identity is not approved.
        let refused = (409, "invalid_state".to_owned());
        assert_eq!(fixture.decide("still", &id, &kept.0, "release").await.problem(), refused);
        unfreeze(&fixture, wallet(2)).await;
        let owner = format!("where id = (select investor_id from wallets where address = '{:#x}')", wallet(2));
        fixture.site.write(&format!("update investors set kyc_status = 'suspended' {owner}")).await;
        assert_eq!(fixture.decide("suspended", &id, &kept.0, "release").await.problem(), refused);
        fixture.site.write(&format!("update investors set kyc_status = 'approved' {owner}")).await;
        let claimed = fixture.decide("release", &id, &kept.0, "release").await;
        assert_eq!((claimed.status, claimed.text("/type")), (202, "distributor_payout".to_owned()), "{claimed:?}");
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 5);
        let report = json!({ "report_sha256": "ab".repeat(32) });
        let declared = fixture.server.post(&format!("/v1/distributions/{id}/declare-audit"), "audit", report).await;
        assert_eq!((declared.status, declared.text("/type")), (202, "audit_declaration".to_owned()), "{declared:?}");
        fixture.site.settled().await;
        assert_eq!(fixture.shown(&id).await.text("/audit_declaration/report_sha256"), "ab".repeat(32));
    }

    async fn two_payouts_sharing_one_payer_pay_everybody_once_after_a_retry(database: Database) {
        let fixture = PayoutFixture::new(database, 4).await;
        let first = fixture.calculated("direct_payout", "600000.00").await;
        let second = fixture.calculated("direct_payout", "700000.00").await;
        // The payer can fund either distribution, but not both.
        fixture.site.lanes("paused").await;
        for id in [&first, &second] {
            fixture.executed(id).await;
        }
        fixture.site.lanes("active").await;
        fixture.site.settled().await;
        let failed = fixture.site.rows("select id from operations where status = 'failed' order by id").await.concat();
        assert!(!failed.is_empty(), "{:?}", fixture.site.statuses().await);
        fixture.fund(signer_of(KEYS[1]), 1_000_000).await;
        for op in failed {
            let body = json!({ "reason": "the payer has money now" });
            let retried = fixture.server.post(&format!("/blockchain/operations/{op}/retry"), &format!("retry-{op}"), body).await;
            assert_eq!(retried.status, 202, "{retried:?}");
        }
        for id in [&first, &second] {
            fixture.reaches(id, "completed").await;
        }
        assert_eq!(fixture.sums_agree().await, 8);
    }

    async fn a_retry_requests_an_abandoned_allowance_again(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        for (number, method) in ["direct_payout", "distributor"].into_iter().enumerate() {
            let id = fixture.calculated(method, "20.00").await;
            fixture.site.lanes("paused").await;
            let executed = fixture.executed(&id).await;
            let [allowance, page] = [0, 1].map(|n| executed.text(&format!("/operations/{n}/id")));
            let over = fixture.server.act(&format!("over-{number}"), &allowance, "cancel", json!({ "mode": "unsent", "reason": "a test" })).await;
            assert_eq!((over.status, over.text("/resolution")), (202, "abandoned".to_owned()), "{over:?}");
            fixture.site.lanes("active").await;
            fixture.site.settled().await;
            assert_eq!(fixture.server.state(&page).await, ("failed".to_owned(), "reverts".to_owned()));
            let retried = fixture.server.retry(&format!("retry-{number}"), &page).await;
            assert_eq!(retried.status, 202, "{retried:?}");
            fixture.reaches(&id, "completed").await;
            assert_eq!(fixture.site.count("payout_allowances").await, number as i64 + 1);
        }
        assert_eq!(fixture.sums_agree().await, 4);
    }

    async fn payouts_that_are_executed_together_share_one_allowance(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        for method in ["direct_payout", "distributor"] {
            let ids = [fixture.calculated(method, "20.00").await, fixture.calculated(method, "30.00").await];
            fixture.site.lanes("paused").await;
            for id in &ids {
                fixture.executed(id).await;
            }
            fixture.site.lanes("active").await;
            for id in &ids {
                fixture.reaches(id, "completed").await;
            }
        }
        // Some coins refuse a second one.
        let approved = "select target, cast(count(*) as text) from operation_steps where name = 'approve' group by target, calldata";
        let coin = format!("{:#x}", fixture.site.platform.coin);
        assert_eq!(fixture.site.rows(approved).await, [[coin.clone(), "1".to_owned()], [coin, "1".to_owned()]]);
        assert_eq!(fixture.sums_agree().await, 8);
    }

    async fn retrying_a_reverted_page_pays_every_payable_holder(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let first = fixture.calculated("direct_payout", "2.00").await;
        fixture.executed(&first).await;
        fixture.reaches(&first, "completed").await;
        let id = fixture.calculated("direct_payout", "20.00").await;
        fixture.site.stop_blocks().await;
        let op = fixture.executed(&id).await.text("/operations/0/id");
        fixture.site.all_in_pool(1).await;
        set_frozen_in_next_block(&fixture, 1, true).await;
        fixture.site.mined_until("the revert is final", async || fixture.site.unfinished().await == 0).await;
        assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "reverted".to_owned()));
        assert_eq!((fixture.shown(&id).await.text("/status"), fixture.sums_agree().await), ("executing".to_owned(), 2));
        // After signing only a retry splits it: the frozen holder is held, and the other is paid.
        assert_eq!(fixture.server.retry("again", &op).await.status, 202);
        let is = async |status: &str| fixture.shown(&id).await.text("/status") == status;
        fixture.site.mined_until("the other one is paid", async || is("partially_completed").await).await;
        assert_eq!(fixture.server.state(&op).await, ("failed".to_owned(), "page_split".to_owned()));
        let held = fixture.parts(&id).await.into_iter().find(|part| part.1 == wallet(1)).unwrap();
        assert_eq!((held.3.as_str(), held.4.as_str(), fixture.sums_agree().await), ("held", "frozen", 3));
        set_frozen_in_next_block(&fixture, 1, false).await;
        let frozen = format!("token_accounts where frozen and wallet_address = '{:#x}'", wallet(1));
        fixture.site.mined_until("the holder is unfrozen", async || fixture.site.count(&frozen).await == 0).await;
        assert_eq!(fixture.decide("release", &id, &held.0, "release").await.status, 200);
        fixture.approve(&fixture.decide("reissue", &id, &held.0, "reissue").await).await;
        fixture.site.mined_until("everybody is paid", async || is("completed").await).await;
        assert_eq!(fixture.sums_agree().await, 4);
    }

    async fn one_bad_page_of_fifty_is_a_dead_letter_and_the_others_are_paid(database: Database) {
        let fixture = PayoutFixture::new(database, 100).await;
        let first = fixture.calculated("direct_payout", "100.00").await;
        fixture.site.lanes("paused").await;
        let executed = fixture.executed(&first).await;
        assert_eq!(executed.body["operations"].as_array().unwrap().len(), 51, "the allowance, and fifty pages");
        // Another agent's key uses the operation number of one page for another page; each kind of call has numbers of its own.
        let bad = executed.text("/operations/25/id");
        let number = fixture.site.rows(&format!("select cast(op_number as text) from operation_steps where operation_id = '{bad}'")).await;
        let (stranger, asset) = (signer_of(KEYS[2]), fixture.site.platform.coin);
        fixture.fund(stranger, 1).await;
        fixture.send_as(KEYS[2], coin::approve(stranger, asset, fixture.token)).await;
        let lines = [7, 8].map(|byte| Line::new(Address::repeat_byte(byte), 1).unwrap()).to_vec();
        let page = PayoutPage { op_id: number[0][0].parse().unwrap(), asset, lines };
        fixture.send_as(KEYS[2], direct::pay(stranger, fixture.token, &page)).await;
        fixture.site.lanes("active").await;
        fixture.site.settled().await;
        assert_eq!(fixture.server.state(&bad).await, ("dead_letter".to_owned(), "op_id_conflict".to_owned()));
        let conflict = fixture.server.get(&format!("/blockchain/operations/{bad}")).await;
        assert_eq!(conflict.body["error"]["retryable"], false, "the retry check would refuse it");
        assert_eq!((fixture.sums_agree().await, fixture.shown(&first).await.text("/status")), (98, "executing".to_owned()));
        let give_up = json!({ "resolution": "abandon", "reason": "its number is taken" });
        let requested = fixture.server.act("abandon", &bad, "reconcile", give_up).await;
        assert_eq!(fixture.approve(&requested).await.status, 202);
        fixture.reaches(&first, "partially_completed").await;
        let failed: Vec<_> = fixture.parts(&first).await.into_iter().filter(|part| part.3 == "failed").collect();
        assert_eq!(failed.len(), 2);
        // One approval for both, as one list.
        let path = format!("/v1/distributions/{first}/reissue");
        for (body, pointer, code) in [
            (json!({ "reason": " " }), "/reason", "required"),
            (json!({ "reason": "x", "entitlement_ids": [] }), "/entitlement_ids", "count_out_of_range"),
            (json!({ "reason": "x", "entitlement_ids": ["ent_7"] }), "/entitlement_ids", "id_format"),
            (json!({ "reason": "x", "entitlement_ids": ["ent_01jc0000000000000000000000"] }), "/entitlement_ids", "not_found"),
        ] {
            let refused = fixture.server.post(&path, code, body).await;
            assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), (pointer.to_owned(), code.to_owned()), "{refused:?}");
        }
        let requested = fixture.server.post(&path, "all", json!({ "reason": "a test" })).await;
        let shown = fixture.server.get(requested.headers["location"].to_str().unwrap()).await;
        assert_eq!(shown.body["payload"]["lines"].as_array().unwrap().len(), 2, "{shown:?}");
        assert_eq!(fixture.server.post(&path, "twice", json!({ "reason": "x" })).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(fixture.approve(&requested).await.text("/status"), "executed");
        fixture.reaches(&first, "completed").await;
        assert_eq!(fixture.server.post(&path, "late", json!({ "reason": "x" })).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(fixture.sums_agree().await, 100);
    }

    async fn payments_kept_for_a_lost_wallet_go_to_its_successor(database: Database) {
        let fixture = PayoutFixture::new(database, 4).await;
        for (holder, method) in [(1, "direct_payout"), (2, "distributor")] {
            let id = fixture.calculated(method, &format!("4{holder}.00")).await;
            freeze(&fixture, holder).await;
            fixture.executed(&id).await;
            fixture.reaches(&id, "partially_completed").await;
            let (lost, new) = (wallet(holder), Address::repeat_byte(0x50 + u8::try_from(holder).unwrap()));
            let before = fixture.cents(lost).await;
            let owner = fixture.site.rows(&format!("select investor_id from wallets where address = '{lost:#x}'")).await;
            let body = json!({ "offering_id": fixture.site.offerings[0], "investor_id": owner[0][0], "lost_address": lost.to_checksum(None),
                "new_address": new.to_checksum(None), "evidence_document_sha256": "cd".repeat(32) });
            fixture.approve(&fixture.server.post("/blockchain/recover", method, body).await).await;
            fixture.site.settled().await;
            assert_eq!(fixture.site.successor_of(fixture.token, lost).await, new);
            // A recovery does not remove a freeze.
            unfreeze(&fixture, new).await;
            let kept = fixture.parts(&id).await.into_iter().find(|part| part.1 == lost).unwrap();
            assert_eq!(kept.3, "held");
            let released = fixture.decide(&format!("release-{holder}"), &id, &kept.0, "release").await;
            if method == "direct_payout" {
                assert_eq!(released.status, 200, "{released:?}");
                fixture.approve(&fixture.decide("reissue", &id, &kept.0, "reissue").await).await;
            } else {
                assert_eq!((released.status, released.text("/type")), (202, "distributor_payout".to_owned()), "{released:?}");
            }
            fixture.reaches(&id, "completed").await;
            assert_eq!((fixture.cents(lost).await, fixture.cents(new).await), (before, kept.2), "{method}");
        }
        assert_eq!(fixture.sums_agree().await, 8);
    }

    async fn a_concurrent_cancel_and_execution_leave_one_outcome(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (operator, mut paid) = (fixture.server.session().await, 0);
        for number in 0..4 {
            let id = fixture.calculated("direct_payout", &format!("1{number}.00")).await;
            assert_eq!(fixture.act(&format!("submit-{id}"), &id, "submit").await.status, 200);
            let path = |verb: &str| format!("/v1/distributions/{id}/{verb}");
            let (execute, cancel, key) = (path("execute"), path("cancel"), format!("race-{id}"));
            let called_off = json!({ "reason": "called off" });
            let (executed, cancelled) =
                futures::join!(operator.post(&execute, &key, json!({})), operator.post(&cancel, &key, called_off));
            let (executed, cancelled) = (executed.unwrap(), cancelled.unwrap());
            match (executed.status, cancelled.status) {
                (202, 409) => {
                    fixture.reaches(&id, "completed").await;
                    paid += 2;
                }
                (409, 200) => assert_eq!(fixture.shown(&id).await.text("/status"), "cancelled"),
                other => panic!("{other:?}: {executed:?} {cancelled:?}"),
            }
        }
        assert_eq!(fixture.sums_agree().await, paid);
    }
}
