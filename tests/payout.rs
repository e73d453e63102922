//! Payouts with obstacles: nobody is paid twice or missed, and no payee waits for another.

use alloy::primitives::{Address, Bytes};
use muniment_activities::direct_payout::{self, PayoutPage};
use muniment_activities::line::Line;
use muniment_activities::registry::{self, Roles};
use muniment_activities::{coin, token};
use serde_json::json;
use world::{KEYS, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{PayoutFixture, signer_of, wallet};

async fn freeze(day: &PayoutFixture, holder: usize) {
    day.send_foreign(token::freeze(Address::ZERO, day.token, wallet(holder), Bytes::new())).await;
}

/// Unfreezes a wallet and waits until the ledger shows it, because a release reads the ledger.
async fn unfreeze(day: &PayoutFixture, wallet: Address) {
    day.send_foreign(token::unfreeze(Address::ZERO, day.token, wallet, Bytes::new())).await;
    unfrozen_in_ledger(day, wallet).await;
}

async fn unfrozen_in_ledger(day: &PayoutFixture, wallet: Address) {
    let frozen = format!("token_accounts where frozen and wallet_address = '{wallet:#x}'");
    day.site.until("the ledger shows it", async || day.site.count(&frozen).await == 0).await;
}

/// Another agent freezes or unfreezes a holder, in the next block before all transactions of the platform.
async fn set_frozen_in_next_block(day: &PayoutFixture, holder: usize, frozen: bool) {
    let (agent, call) = (signer_of(KEYS[2]), if frozen { token::freeze } else { token::unfreeze });
    let data = call(agent, day.token, wallet(holder), Bytes::new()).data;
    let nonce = day.site.anvil.rpc().number("eth_getTransactionCount", json!([agent, "latest"])).await;
    send(&day.site.anvil, KEYS[2], nonce, day.token, data).await;
}

/// Sets the roles of the platform's signer, in the next block before all transactions of the platform.
async fn set_roles(day: &PayoutFixture, roles: Roles) {
    let owner = signer_of(KEYS[0]);
    let call = registry::set_roles(owner, day.site.platform.registry, signer_of(KEYS[1]), roles);
    let nonce = day.site.anvil.rpc().number("eth_getTransactionCount", json!([owner, "latest"])).await;
    send(&day.site.anvil, KEYS[0], nonce, call.to.unwrap(), call.data).await;
}

/// A distribution whose first page failed with the money in escrow, and its operation; from then on the test makes the blocks.
async fn stuck_in_escrow(day: &PayoutFixture, euros: u64) -> (String, String) {
    let id = day.calculated("distributor", &format!("{euros}.00")).await;
    let before = day.cents(signer_of(KEYS[1])).await;
    day.site.stop_blocks().await;
    let op = day.executed(&id).await.text("/operations/0/id");
    let of = |state: &str| {
        format!(
            "operation_steps s join operations o on o.id = s.operation_id where o.subject_id = '{id}' and s.state = '{state}'"
        )
    };
    let in_state = async |state: &str| day.site.count(&of(state)).await == 1;
    day.site.all_in_pool(1).await;
    day.site.anvil.mine(1).await;
    day.site.until("it is declared", async || in_state("included").await && in_state("signed").await).await;
    // The first page is sent; the signer loses its role in the block that includes it.
    day.site.all_in_pool(1).await;
    set_roles(day, Roles(0)).await;
    day.site.mined_until("the revert is final", async || day.site.unfinished().await == 0).await;
    assert_eq!(day.cents(signer_of(KEYS[1])).await, before - euros * 100, "it is in escrow");
    set_roles(day, Roles::ALL).await;
    day.site.anvil.mine(4).await;
    (id, op)
}

on_both_databases! {
    async fn a_frozen_payee_is_held_and_the_others_of_its_page_are_paid(database: Database) {
        let day = PayoutFixture::with(database, 5, |site| site.config.engine("payout_page_holders", 5)).await;
        let id = day.calculated("direct_payout", "500.00").await;
        freeze(&day, 2).await;
        day.executed(&id).await;
        day.reaches(&id, "partially_completed").await;
        let parts = day.parts(&id).await;
        let frozen = parts.iter().find(|p| p.1 == wallet(2)).unwrap().clone();
        assert_eq!((frozen.3.as_str(), frozen.4.as_str()), ("held", "frozen"));
        assert_eq!(day.sums_agree().await, 4);
        // A frozen holder's payment can be neither released nor paid again.
        let still = day.decide("still", &id, &frozen.0, "release").await;
        assert_eq!(still.problem(), (409, "invalid_state".to_owned()));
        assert!(still.text("/detail").contains(&wallet(2).to_checksum(None)), "{still:?}");
        assert_eq!(day.parts(&id).await.into_iter().find(|p| p.1 == wallet(2)).unwrap(), frozen);
        unfreeze(&day, wallet(2)).await;
        assert_eq!(day.decide("release", &id, &frozen.0, "release").await.status, 200);
        freeze(&day, 2).await;
        let again = format!("token_accounts where frozen and wallet_address = '{:#x}'", wallet(2));
        day.site.until("the ledger shows it", async || day.site.count(&again).await == 1).await;
        assert_eq!(day.decide("early", &id, &frozen.0, "reissue").await.problem(), (409, "invalid_state".to_owned()));
        let path = format!("/v1/distributions/{id}/reissue");
        let named = json!({ "reason": "x", "entitlement_ids": [frozen.0] });
        assert_eq!(day.server.post(&path, "named", named).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(day.server.post(&path, "all", json!({ "reason": "x" })).await.problem(), (409, "nothing_to_pay".to_owned()));
        unfreeze(&day, wallet(2)).await;
        let requested = day.decide("reissue", &id, &frozen.0, "reissue").await;
        day.approve(&requested).await;
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 5);
    }

    async fn a_page_too_large_for_one_transaction_is_split(database: Database) {
        let mut day = PayoutFixture::new(database, 5).await;
        day.server.process.kill();
        // Gas for two payees but not for three.
        day.site.config.engine("payout_page_holders", 5);
        day.site.config.chain("gas_cap", "125000");
        day.server = day.site.start().await;
        let id = day.calculated("direct_payout", "500.00").await;
        let page = day.executed(&id).await.text("/operations/1/id");
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 5);
        let whole = day.server.get(&format!("/blockchain/operations/{page}")).await;
        assert_eq!((whole.text("/status"), whole.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        assert_eq!(whole.text("/error/code"), "page_split");
        let pages = "select o.status, o.error_code, cast((select count(*) from operation_items i where i.operation_id = o.id) as text) \
                     from operations o where o.kind = 'payout' order by o.batch_index";
        // The allowance; a page of five, then pages of two and three; the three become one and two.
        let expected = [["confirmed", "", "0"], ["failed", "page_split", "5"], ["confirmed", "", "2"], ["failed", "page_split", "3"],
            ["confirmed", "", "1"], ["confirmed", "", "2"]];
        assert_eq!(day.site.rows(pages).await, expected);
    }

    async fn the_lane_takes_operations_without_a_wake(database: Database) {
        let day = PayoutFixture::with(database, 70, |site| site.config.engine("payout_page_holders", 1)).await;
        // More operations than one finished operation wakes: they wait for the allowance, then run at once. The sweep would come too late.
        for total in ["70.00", "140.00"] {
            let id = day.calculated("direct_payout", total).await;
            assert!(day.executed(&id).await.body["operations"].as_array().unwrap().len() >= 70);
            day.reaches(&id, "completed").await;
        }
        assert_eq!(day.sums_agree().await, 140);
        assert_eq!(day.site.count("operations where status <> 'confirmed'").await, 0);
    }

    async fn an_entitlement_kept_by_the_distributor_is_claimed_when_payable(database: Database) {
        let day = PayoutFixture::new(database, 5).await;
        let id = day.calculated("distributor", "500.00").await;
        freeze(&day, 2).await;
        day.executed(&id).await;
        day.reaches(&id, "partially_completed").await;
        let kept = day.parts(&id).await.into_iter().find(|p| p.1 == wallet(2)).unwrap();
        assert_eq!((kept.3.as_str(), kept.4.as_str()), ("held", "withheld_frozen"));
        assert_eq!(day.decide("exclude", &id, &kept.0, "exclude").await.problem(), (409, "partial_effect".to_owned()));
        assert_eq!(day.sums_agree().await, 4);
        // A frozen holder cannot claim, nor an investor whose identity is not approved.
        let refused = (409, "invalid_state".to_owned());
        assert_eq!(day.decide("still", &id, &kept.0, "release").await.problem(), refused);
        unfreeze(&day, wallet(2)).await;
        let owner = format!("where id = (select investor_id from wallets where address = '{:#x}')", wallet(2));
        day.site.write(&format!("update investors set kyc_status = 'suspended' {owner}")).await;
        assert_eq!(day.decide("suspended", &id, &kept.0, "release").await.problem(), refused);
        day.site.write(&format!("update investors set kyc_status = 'approved' {owner}")).await;
        let claimed = day.decide("release", &id, &kept.0, "release").await;
        assert_eq!((claimed.status, claimed.text("/type")), (202, "distributor_payout".to_owned()), "{claimed:?}");
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 5);
        let report = json!({ "report_sha256": "ab".repeat(32) });
        let declared = day.server.post(&format!("/v1/distributions/{id}/declare-audit"), "audit", report).await;
        assert_eq!((declared.status, declared.text("/type")), (202, "audit_declaration".to_owned()), "{declared:?}");
        day.site.settled().await;
        assert_eq!(day.shown(&id).await.text("/audit_declaration/report_hash"), format!("0x{}", "ab".repeat(32)));
    }

    async fn two_payouts_sharing_one_payer_pay_everybody_once_after_a_retry(database: Database) {
        let day = PayoutFixture::new(database, 4).await;
        let first = day.calculated("direct_payout", "600000.00").await;
        let second = day.calculated("direct_payout", "700000.00").await;
        // The payer can fund either distribution, but not both.
        day.site.lanes("paused").await;
        for id in [&first, &second] {
            day.executed(id).await;
        }
        day.site.lanes("active").await;
        day.site.settled().await;
        let failed = day.site.rows("select id from operations where status = 'failed' order by id").await.concat();
        assert!(!failed.is_empty(), "{:?}", day.site.statuses().await);
        day.fund(signer_of(KEYS[1]), 1_000_000).await;
        for op in failed {
            let body = json!({ "reason": "the payer has money now" });
            let retried = day.server.post(&format!("/blockchain/operations/{op}/retry"), &format!("retry-{op}"), body).await;
            assert_eq!(retried.status, 202, "{retried:?}");
        }
        for id in [&first, &second] {
            day.reaches(id, "completed").await;
        }
        assert_eq!(day.sums_agree().await, 8);
    }

    async fn retrying_a_page_requests_an_abandoned_allowance_again(database: Database) {
        let day = PayoutFixture::new(database, 2).await;
        let id = day.calculated("direct_payout", "20.00").await;
        day.site.lanes("paused").await;
        let executed = day.executed(&id).await;
        let [allowance, page] = [0, 1].map(|n| executed.text(&format!("/operations/{n}/id")));
        let over = day.server.act("over", &allowance, "cancel", json!({ "mode": "unsent", "reason": "a test" })).await;
        assert_eq!((over.status, over.text("/resolution")), (202, "abandoned".to_owned()), "{over:?}");
        day.site.lanes("active").await;
        day.site.settled().await;
        assert_eq!(day.server.state(&page).await, ("failed".to_owned(), "reverts".to_owned()));
        let retried = day.server.retry("retry", &page).await;
        assert_eq!(retried.status, 202, "{retried:?}");
        day.reaches(&id, "completed").await;
        assert_eq!((day.sums_agree().await, day.site.count("payout_allowances").await), (2, 1));
    }

    async fn retrying_a_reverted_page_pays_every_payable_holder(database: Database) {
        let day = PayoutFixture::new(database, 2).await;
        let first = day.calculated("direct_payout", "2.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let id = day.calculated("direct_payout", "20.00").await;
        day.site.stop_blocks().await;
        let op = day.executed(&id).await.text("/operations/0/id");
        day.site.all_in_pool(1).await;
        set_frozen_in_next_block(&day, 1, true).await;
        day.site.mined_until("the revert is final", async || day.site.unfinished().await == 0).await;
        assert_eq!(day.server.state(&op).await, ("failed".to_owned(), "reverted".to_owned()));
        assert_eq!((day.shown(&id).await.text("/status"), day.sums_agree().await), ("executing".to_owned(), 2));
        // After signing only a retry splits it: the frozen holder is held, and the other is paid.
        assert_eq!(day.server.retry("again", &op).await.status, 202);
        let is = async |status: &str| day.shown(&id).await.text("/status") == status;
        day.site.mined_until("the other one is paid", async || is("partially_completed").await).await;
        assert_eq!(day.server.state(&op).await, ("failed".to_owned(), "page_split".to_owned()));
        let held = day.parts(&id).await.into_iter().find(|part| part.1 == wallet(1)).unwrap();
        assert_eq!((held.3.as_str(), held.4.as_str(), day.sums_agree().await), ("held", "frozen", 3));
        set_frozen_in_next_block(&day, 1, false).await;
        let frozen = format!("token_accounts where frozen and wallet_address = '{:#x}'", wallet(1));
        day.site.mined_until("the holder is unfrozen", async || day.site.count(&frozen).await == 0).await;
        assert_eq!(day.decide("release", &id, &held.0, "release").await.status, 200);
        day.approve(&day.decide("reissue", &id, &held.0, "reissue").await).await;
        day.site.mined_until("everybody is paid", async || is("completed").await).await;
        assert_eq!(day.sums_agree().await, 4);
    }

    async fn an_unfinishable_escrow_is_reclaimed_and_paid_again(database: Database) {
        let day = PayoutFixture::new(database, 3).await;
        let first = day.calculated("distributor", "3.00").await;
        let too_early = day.server.post(&format!("/v1/distributions/{first}/reclaim"), "early", json!({ "reason": "x" })).await;
        assert_eq!(too_early.problem(), (409, "invalid_state".to_owned()));
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let before = day.cents(signer_of(KEYS[1])).await;
        let (id, op) = stuck_in_escrow(&day, 30).await;
        let requested = day.server.post(&format!("/v1/distributions/{id}/reclaim"), "back", json!({ "reason": "wrong list" })).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "reclaim".to_owned()), "{requested:?}");
        day.approve(&requested).await;
        assert_eq!(day.server.retry("beside", &op).await.problem(), (409, "operation_in_progress".to_owned()));
        day.site.mined_until("it is returned", async || day.shown(&id).await.text("/status") == "partially_completed").await;
        assert_eq!(day.cents(signer_of(KEYS[1])).await, before);
        let ended = day.server.get(&format!("/blockchain/operations/{op}")).await;
        assert_eq!((ended.text("/status"), ended.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        assert!(day.parts(&id).await.iter().all(|part| part.3 == "failed"));
        assert_eq!(day.server.retry("late", &op).await.problem(), (409, "invalid_state".to_owned()));
        let again = day.server.post(&format!("/v1/distributions/{id}/reissue"), "anew", json!({ "reason": "the list is right" })).await;
        day.approve(&again).await;
        day.site.mined_until("everybody is paid", async || day.shown(&id).await.text("/status") == "completed").await;
        assert_eq!(day.sums_agree().await, 6);
    }

    async fn a_concurrent_retry_and_reclaim_move_the_escrow_once(database: Database) {
        let day = PayoutFixture::new(database, 3).await;
        let first = day.calculated("distributor", "3.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let operator = day.server.session().await;
        for round in 0..2 {
            let (before, euros) = (day.cents(signer_of(KEYS[1])).await, 30 + round * 3);
            let (id, op) = stuck_in_escrow(&day, euros).await;
            let path = format!("/v1/distributions/{id}/reclaim");
            let requested = day.server.post(&path, &format!("back-{round}"), json!({ "reason": "a test" })).await;
            assert_eq!(requested.status, 202, "{requested:?}");
            let (path, key) = (format!("/blockchain/operations/{op}/retry"), format!("again-{round}"));
            let again = operator.post(&path, &key, json!({ "reason": "a test" }));
            let (approved, retried) = futures::join!(day.approve(&requested), again);
            let (approved, retried) = (approved.text("/status"), retried.unwrap());
            let ended = match (approved.as_str(), retried.status) {
                ("executed", 409) => "partially_completed",
                ("execution_failed", 202) => "completed",
                other => panic!("{other:?}: {retried:?}"),
            };
            day.site.mined_until("it is over", async || day.shown(&id).await.text("/status") == ended).await;
            let paid = if ended == "completed" { euros * 100 } else { 0 };
            assert_eq!(day.cents(signer_of(KEYS[1])).await, before - paid, "{approved}: either paid or returned, never both");
            day.site.resume_blocks().await;
        }
        day.sums_agree().await;
    }

    async fn one_bad_page_of_fifty_is_a_dead_letter_and_the_others_are_paid(database: Database) {
        let day = PayoutFixture::new(database, 100).await;
        let first = day.calculated("direct_payout", "100.00").await;
        day.site.lanes("paused").await;
        let executed = day.executed(&first).await;
        assert_eq!(executed.body["operations"].as_array().unwrap().len(), 51, "the allowance, and fifty pages");
        // Another agent's key uses the operation number of one page for another call.
        let bad = executed.text("/operations/25/id");
        let number = day.site.rows(&format!("select cast(op_number as text) from operation_steps where operation_id = '{bad}'")).await;
        let (stranger, asset) = (signer_of(KEYS[2]), day.site.platform.coin);
        day.fund(stranger, 1).await;
        day.send_as(KEYS[2], coin::approve(stranger, asset, day.token)).await;
        let lines = vec![Line::new(Address::repeat_byte(7), 1).unwrap()];
        let page = PayoutPage { op_id: number[0][0].parse().unwrap(), asset, lines };
        day.send_as(KEYS[2], direct_payout::pay(stranger, day.token, &page)).await;
        day.site.lanes("active").await;
        day.site.settled().await;
        assert_eq!(day.server.state(&bad).await, ("dead_letter".to_owned(), "op_id_conflict".to_owned()));
        let conflict = day.server.get(&format!("/blockchain/operations/{bad}")).await;
        assert_eq!(conflict.body["error"]["retryable"], false, "the retry check would refuse it");
        assert_eq!((day.sums_agree().await, day.shown(&first).await.text("/status")), (98, "executing".to_owned()));
        let give_up = json!({ "resolution": "abandon", "reason": "its number is taken" });
        let requested = day.server.act("abandon", &bad, "reconcile", give_up).await;
        assert_eq!(day.approve(&requested).await.status, 202);
        day.reaches(&first, "partially_completed").await;
        let failed: Vec<_> = day.parts(&first).await.into_iter().filter(|part| part.3 == "failed").collect();
        assert_eq!(failed.len(), 2);
        // One approval for both, as one list.
        let path = format!("/v1/distributions/{first}/reissue");
        for (body, pointer, code) in [
            (json!({ "reason": " " }), "/reason", "required"),
            (json!({ "reason": "x", "entitlement_ids": [] }), "/entitlement_ids", "count_out_of_range"),
            (json!({ "reason": "x", "entitlement_ids": ["ent_7"] }), "/entitlement_ids", "id_format"),
            (json!({ "reason": "x", "entitlement_ids": ["ent_01jc0000000000000000000000"] }), "/entitlement_ids", "not_found"),
        ] {
            let refused = day.server.post(&path, code, body).await;
            assert_eq!((refused.text("/errors/0/pointer"), refused.text("/errors/0/code")), (pointer.to_owned(), code.to_owned()), "{refused:?}");
        }
        let requested = day.server.post(&path, "all", json!({ "reason": "a test" })).await;
        let shown = day.server.get(requested.headers["location"].to_str().unwrap()).await;
        assert_eq!(shown.body["payload"]["lines"].as_array().unwrap().len(), 2, "{shown:?}");
        assert_eq!(day.server.post(&path, "twice", json!({ "reason": "x" })).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(day.approve(&requested).await.text("/status"), "executed");
        day.reaches(&first, "completed").await;
        assert_eq!(day.server.post(&path, "late", json!({ "reason": "x" })).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(day.sums_agree().await, 100);
    }

    async fn payments_kept_for_a_lost_wallet_go_to_its_successor(database: Database) {
        let day = PayoutFixture::new(database, 4).await;
        for (holder, method) in [(1, "direct_payout"), (2, "distributor")] {
            let id = day.calculated(method, &format!("4{holder}.00")).await;
            freeze(&day, holder).await;
            day.executed(&id).await;
            day.reaches(&id, "partially_completed").await;
            let (lost, new) = (wallet(holder), Address::repeat_byte(0x50 + u8::try_from(holder).unwrap()));
            let before = day.cents(lost).await;
            let owner = day.site.rows(&format!("select investor_id from wallets where address = '{lost:#x}'")).await;
            let body = json!({ "offering_id": day.site.offerings[0], "investor_id": owner[0][0], "lost_address": lost.to_checksum(None),
                "new_address": new.to_checksum(None), "evidence_document_sha256": "cd".repeat(32) });
            day.approve(&day.server.post("/blockchain/recover", method, body).await).await;
            day.site.settled().await;
            assert_eq!(day.site.successor_of(day.token, lost).await, new);
            // A recovery does not remove a freeze.
            unfreeze(&day, new).await;
            let kept = day.parts(&id).await.into_iter().find(|part| part.1 == lost).unwrap();
            assert_eq!(kept.3, "held");
            let released = day.decide(&format!("release-{holder}"), &id, &kept.0, "release").await;
            if method == "direct_payout" {
                assert_eq!(released.status, 200, "{released:?}");
                day.approve(&day.decide("reissue", &id, &kept.0, "reissue").await).await;
            } else {
                assert_eq!((released.status, released.text("/type")), (202, "distributor_payout".to_owned()), "{released:?}");
            }
            day.reaches(&id, "completed").await;
            assert_eq!((day.cents(lost).await, day.cents(new).await), (before, kept.2), "{method}");
        }
        assert_eq!(day.sums_agree().await, 8);
    }

    async fn a_concurrent_cancel_and_execution_leave_one_outcome(database: Database) {
        let day = PayoutFixture::new(database, 2).await;
        let (operator, mut paid) = (day.server.session().await, 0);
        for number in 0..4 {
            let id = day.calculated("direct_payout", &format!("1{number}.00")).await;
            assert_eq!(day.act(&format!("submit-{id}"), &id, "submit").await.status, 200);
            let path = |verb: &str| format!("/v1/distributions/{id}/{verb}");
            let (execute, cancel, key) = (path("execute"), path("cancel"), format!("race-{id}"));
            let called_off = json!({ "reason": "called off" });
            let (executed, cancelled) =
                futures::join!(operator.post(&execute, &key, json!({})), operator.post(&cancel, &key, called_off));
            let (executed, cancelled) = (executed.unwrap(), cancelled.unwrap());
            match (executed.status, cancelled.status) {
                (202, 409) => {
                    day.reaches(&id, "completed").await;
                    paid += 2;
                }
                (409, 200) => assert_eq!(day.shown(&id).await.text("/status"), "cancelled"),
                other => panic!("{other:?}: {executed:?} {cancelled:?}"),
            }
        }
        assert_eq!(day.sums_agree().await, paid);
    }
}
