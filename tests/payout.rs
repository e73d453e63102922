//! Payouts when something stands in the way: nobody is paid twice, nobody is missed, and nobody waits for somebody else.

use alloy::primitives::{Address, Bytes};
use muniment_activities::direct_payout::{self, PayoutPage};
use muniment_activities::line::Line;
use muniment_activities::{coin, token};
use serde_json::json;
use world::{KEYS, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Payday, signer_of, wallet};

async fn freeze(day: &Payday, holder: usize) {
    day.stranger(token::freeze(Address::ZERO, day.token, wallet(holder), Bytes::new())).await;
}

async fn unfreeze(day: &Payday, holder: usize) {
    day.stranger(token::unfreeze(Address::ZERO, day.token, wallet(holder), Bytes::new())).await;
}

/// A holder is frozen or freed by another agent, in the next block and before all that the platform sends.
async fn frozen_next(day: &Payday, holder: usize, frozen: bool) {
    let (agent, call) = (signer_of(KEYS[2]), if frozen { token::freeze } else { token::unfreeze });
    let data = call(agent, day.token, wallet(holder), Bytes::new()).data;
    let nonce = day.site.anvil.rpc().number("eth_getTransactionCount", json!([agent, "latest"])).await;
    send(&day.site.anvil, KEYS[2], nonce, day.token, data).await;
}

on_both_databases! {
    async fn a_frozen_payee_is_held_and_the_others_of_its_page_are_paid(database: Database) {
        let day = Payday::with(database, 5, |site| site.config.engine("payout_page_holders", 5)).await;
        let id = day.calculated("direct_payout", "500.00").await;
        freeze(&day, 2).await;
        day.executed(&id).await;
        day.reaches(&id, "partially_completed").await;
        let parts = day.parts(&id).await;
        let frozen = parts.iter().find(|p| p.1 == wallet(2)).unwrap().clone();
        assert_eq!((frozen.3.as_str(), frozen.4.as_str()), ("held", "frozen"));
        assert_eq!(day.sums_agree().await, 4);
        unfreeze(&day, 2).await;
        assert_eq!(day.decide("release", &id, &frozen.0, "release").await.status, 200);
        let asked = day.decide("reissue", &id, &frozen.0, "reissue").await;
        day.approve(&asked).await;
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 5);
    }

    async fn what_the_distributor_keeps_is_held_and_claimed_when_it_can_be_paid(database: Database) {
        let day = Payday::new(database, 5).await;
        let id = day.calculated("distributor", "500.00").await;
        freeze(&day, 2).await;
        day.executed(&id).await;
        day.reaches(&id, "partially_completed").await;
        let kept = day.parts(&id).await.into_iter().find(|p| p.1 == wallet(2)).unwrap();
        assert_eq!((kept.3.as_str(), kept.4.as_str()), ("held", "withheld_frozen"));
        assert_eq!(day.decide("exclude", &id, &kept.0, "exclude").await.problem(), (409, "partial_effect".to_owned()));
        assert_eq!(day.sums_agree().await, 4);
        unfreeze(&day, 2).await;
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

    async fn a_payer_without_money_pays_after_a_retry_and_nobody_twice(database: Database) {
        let day = Payday::new(database, 4).await;
        let payer = signer_of(KEYS[1]);
        let id = day.calculated("direct_payout", "2000000.00").await;
        day.executed(&id).await;
        day.site.settled().await;
        let failed = day.site.rows("select id from operations where status = 'failed' order by id").await.concat();
        assert!(!failed.is_empty(), "{:?}", day.site.statuses().await);
        assert_eq!(day.shown(&id).await.text("/status"), "executing", "a person has to decide first");
        day.fund(payer, 2_000_000).await;
        for op in failed {
            let body = json!({ "reason": "the payer has money now" });
            let retried = day.server.post(&format!("/blockchain/operations/{op}/retry"), &format!("retry-{op}"), body).await;
            assert_eq!(retried.status, 202, "{retried:?}");
        }
        day.reaches(&id, "completed").await;
        assert_eq!(day.sums_agree().await, 4);
    }

    async fn a_page_that_reverted_on_the_chain_is_paid_after_a_retry(database: Database) {
        let day = Payday::new(database, 2).await;
        let first = day.calculated("direct_payout", "2.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let id = day.calculated("direct_payout", "20.00").await;
        day.site.hold_blocks().await;
        let op = day.executed(&id).await.text("/operations/0/id");
        day.site.all_in_pool(1).await;
        frozen_next(&day, 1, true).await;
        day.site.mined_until("the revert is final", async || day.site.unfinished().await == 0).await;
        assert_eq!(day.server.state(&op).await, ("failed".to_owned(), "reverted".to_owned()));
        assert_eq!((day.shown(&id).await.text("/status"), day.sums_agree().await), ("executing".to_owned(), 2));
        // A page that was signed once stays whole: while its holder is frozen it is refused before it costs anything.
        assert_eq!(day.server.retry("too-early", &op).await.status, 202);
        day.site.settled().await;
        assert_eq!(day.server.state(&op).await.0, "failed");
        frozen_next(&day, 1, false).await;
        day.site.mined_until("the holder is free", async || !day.site.is_frozen(day.token, wallet(1)).await).await;
        assert_eq!(day.server.retry("again", &op).await.status, 202);
        day.site.mined_until("everybody is paid", async || day.shown(&id).await.text("/status") == "completed").await;
        assert_eq!(day.sums_agree().await, 4);
    }

    async fn one_bad_page_of_fifty_ends_at_a_person_and_the_others_are_paid(database: Database) {
        let day = Payday::new(database, 100).await;
        let first = day.calculated("direct_payout", "100.00").await;
        day.site.lanes("paused").await;
        let executed = day.executed(&first).await;
        assert_eq!(executed.body["operations"].as_array().unwrap().len(), 51, "the allowance, and fifty pages");
        // Somebody with an agent's key uses the number of one page for something else.
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
        assert_eq!((day.sums_agree().await, day.shown(&first).await.text("/status")), (98, "executing".to_owned()));
        let give_up = json!({ "resolution": "abandon", "reason": "its number is taken" });
        let asked = day.server.act("abandon", &bad, "reconcile", give_up).await;
        assert_eq!(day.approve(&asked).await.status, 202);
        day.reaches(&first, "partially_completed").await;
        let failed: Vec<_> = day.parts(&first).await.into_iter().filter(|part| part.3 == "failed").collect();
        assert_eq!(failed.len(), 2);
        for part in failed {
            let asked = day.decide(&format!("reissue-{}", part.0), &first, &part.0, "reissue").await;
            assert_eq!(day.approve(&asked).await.text("/status"), "executed");
        }
        day.reaches(&first, "completed").await;
        assert_eq!(day.sums_agree().await, 100);
    }

    async fn what_was_kept_for_a_lost_wallet_goes_to_its_successor_and_never_to_it(database: Database) {
        let day = Payday::new(database, 4).await;
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
            // A recovery launders no freeze.
            day.stranger(token::unfreeze(Address::ZERO, day.token, new, Bytes::new())).await;
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

    async fn of_a_cancel_and_an_execution_at_once_one_wins(database: Database) {
        let day = Payday::new(database, 2).await;
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
