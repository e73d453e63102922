//! Payouts when something stands in the way: nobody is paid twice, nobody is missed, and nobody waits for somebody else.

use alloy::primitives::{Address, Bytes};
use muniment_activities::{coin, token};
use serde_json::json;
use world::{KEYS, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Payday, signer_of, wallet};

async fn freeze(day: &Payday, holder: usize) {
    day.stranger(token::freeze(Address::ZERO, day.token, wallet(holder), Bytes::new())).await;
}

async fn unfreeze(day: &Payday, holder: usize) {
    day.stranger(token::unfreeze(Address::ZERO, day.token, wallet(holder), Bytes::new())).await;
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

    async fn a_page_that_another_agent_executed_is_adopted(database: Database) {
        let day = Payday::new(database, 2).await;
        let first = day.calculated("direct_payout", "10.00").await;
        day.executed(&first).await;
        day.reaches(&first, "completed").await;
        let other = signer_of(KEYS[2]);
        day.fund(other, 1_000).await;
        let second = day.calculated("direct_payout", "20.00").await;
        day.site.lanes("paused").await;
        let executed = day.executed(&second).await;
        let call = coin::approve(other, day.site.platform.coin, day.token);
        day.send_as(KEYS[2], call).await;
        execute_elsewhere(&day.site, &executed.text("/operations/0/id")).await;
        day.site.lanes("active").await;
        day.reaches(&second, "completed").await;
        assert_eq!(day.sums_agree().await, 4);
        assert_eq!(day.site.count("attempts a join operations o on o.id = a.operation_id where o.kind = 'payout'").await, 2);
    }
}
