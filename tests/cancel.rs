//! Cancelling and speeding up: an operator's moves on a sent or unsent transaction.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms};

fn lane_mode(mode: &str) -> Value {
    json!({ "mode": mode, "reason": "not wanted" })
}

async fn sent(site: &Installation, what: &str) {
    let sent = format!("attempts where {what} and sends > 0");
    site.until("it is sent", async || site.count(&sent).await == 1).await;
}

async fn command(server: &Server, id: &str) -> Value {
    server.get(&format!("/blockchain/operations/{id}")).await.body["wishes"][0].clone()
}

on_both_databases! {
    async fn an_unsigned_operation_is_cancelled_at_once_and_can_be_requested_again(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let lane = server.get("/blockchain/signers").await.text("/data/0/id");
        let paused = server.post(&format!("/blockchain/signers/{lane}/pause"), "pause", json!({ "reason": "wait" })).await;
        assert_eq!((paused.status, paused.text("/lane_state")), (200, "paused".to_owned()));
        let deploy = server.deploy("deploy-1", &site.offerings[0]).await.text("/id");
        assert_eq!(server.act("noop", &deploy, "cancel", lane_mode("noop")).await.problem(), (409, "invalid_state".to_owned()));
        let over = server.act("unsent", &deploy, "cancel", lane_mode("unsent")).await;
        assert_eq!((over.status, over.text("/status"), over.text("/resolution")), (202, "failed".to_owned(), "abandoned".to_owned()));
        assert_eq!(over.text("/error/code"), "cancelled_by_operator");
        assert_eq!(over.body["needs_attention"], false);
        let again = server.act("unsent-2", &deploy, "cancel", lane_mode("unsent")).await;
        assert_eq!(again.problem(), (409, "invalid_state".to_owned()));
        let resumed = server.post(&format!("/blockchain/signers/{lane}/resume"), "resume", json!({ "reason": "go" })).await;
        assert_eq!((resumed.status, resumed.text("/lane_state")), (200, "active".to_owned()), "{resumed:?}");
        assert_eq!(server.deploy("deploy-2", &site.offerings[0]).await.status, 202);
        site.settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn an_operation_is_abandoned_after_its_nonce_is_cancelled(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let deploy = site.stuck(&server).await;
        let early = server.act("early", &deploy, "reconcile", json!({ "resolution": "abandon", "reason": "no" })).await;
        assert_eq!(early.problem(), (409, "nonce_still_open".to_owned()));
        assert_eq!(server.act("unsent", &deploy, "cancel", lane_mode("unsent")).await.problem(), (409, "invalid_state".to_owned()));
        let requested = server.act("noop", &deploy, "cancel", lane_mode("noop")).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        sent(&site, "kind = 'cancel'").await;
        let twice = server.act("noop-2", &deploy, "cancel", lane_mode("noop")).await;
        assert_eq!(twice.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(site.count("attempts where kind = 'cancel'").await, 1, "requested twice, signed once");
        assert_eq!(command(&server, &deploy).await["outcome"], "racing");
        site.finalised().await;
        let gone = server.act("noop-3", &deploy, "cancel", lane_mode("noop")).await;
        assert_eq!(gone.problem(), (409, "invalid_state".to_owned()));
        let over = server.act("abandon", &deploy, "reconcile", json!({ "resolution": "abandon", "reason": "no" })).await;
        assert_eq!((over.status, over.text("/resolution")), (200, "abandoned".to_owned()), "{over:?}");
        assert_eq!(site.exactly_once().await.deployed, 0);
    }

    async fn a_cancel_that_waits_is_raised_and_stays_a_cancel(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        for (key, value) in [("bump_after_seconds", "1"), ("bump_percent", "30"), ("stuck_after_seconds", "3600")] {
            site.config.chain(key, value);
        }
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        site.all_in_pool(1).await;
        assert_eq!(server.act("noop", &deploy, "cancel", lane_mode("noop")).await.status, 202);
        site.until("the cancel is raised", async || {
            site.mine_above_offers().await;
            site.count("attempts where kind = 'cancel' and sends > 0").await > 1
        })
        .await;
        site.anvil.set_base_fee(1).await;
        site.finalised().await;
        assert_eq!(server.state(&deploy).await, ("failed".to_owned(), "cancelled_by_operator".to_owned()));
        assert_eq!(site.exactly_once().await.deployed, 0);
    }

    async fn a_speed_up_keeps_the_nonce_and_is_stored_before_it_is_sent(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.config.chain("bump_after_seconds", "3600");
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        sent(&site, "kind = 'original'").await;
        for (percent, code) in [(json!(12), "below_minimum"), (json!(1001), "above_maximum"), (json!("15"), "type_mismatch")] {
            let answer = server.act("bad", &deploy, "speed-up", json!({ "bump_percent": percent })).await;
            assert_eq!((answer.status, answer.text("/errors/0/code")), (422, code.to_owned()), "{answer:?}");
        }
        let requested = server.act("speed", &deploy, "speed-up", json!({ "bump_percent": 50 })).await;
        assert_eq!((requested.status, requested.text("/status")), (202, "submitted".to_owned()), "{requested:?}");
        sent(&site, "kind = 'bump'").await;
        let fees = site.rows("select max_fee_per_gas from attempts order by number").await;
        let [old, new] = [&fees[0][0], &fees[1][0]].map(|fee| fee.parse::<u128>().unwrap());
        assert!(new * 2 >= old * 3, "{old} {new}");
        assert_eq!(site.rows("select distinct cast(nonce as text) from attempts").await, [["0"]]);
        assert_eq!(command(&server, &deploy).await["outcome"], "replaced");
        site.finalised().await;
        assert_eq!(server.state(&deploy).await.0, "confirmed");
        let late = server.act("late", &deploy, "speed-up", json!({})).await;
        assert_eq!(late.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_fee_at_its_limit_is_not_raised(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.config.chain("max_fee_per_gas_gwei_cap", "1");
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        sent(&site, "kind = 'original'").await;
        let requested = server.act("speed", &deploy, "speed-up", json!({})).await;
        assert_eq!(requested.problem(), (409, "fee_cap_reached".to_owned()));
        assert_eq!(site.count("commands").await, 0);
    }

    async fn a_retry_and_a_cancel_at_once_leave_one_outcome(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        let path = |act: &str| format!("/blockchain/operations/{mint}/{act}");
        let (one, other) = (server.client(), server.client());
        let (retry, cancel) = (path("retry"), path("cancel"));
        let (retried, cancelled) = tokio::join!(
            one.post(&retry, "retry", json!({ "reason": "again" })),
            other.post(&cancel, "cancel", lane_mode("unsent"))
        );
        let (retried, cancelled) = (retried.unwrap(), cancelled.unwrap());
        assert_eq!(retried.status, 202, "{retried:?}");
        site.settled().await;
        let end = server.state(&mint).await.0;
        assert_eq!(end, if cancelled.status == 202 { "failed" } else { "confirmed" }, "{cancelled:?}");
        site.exactly_once().await;
    }

    async fn a_retried_operation_is_not_ended_by_one_person(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let mint = site.mint_refused(&server, 0).await;
        site.lanes("paused").await;
        assert_eq!(server.retry("retry", &mint).await.status, 202);
        let by_key = server.act("key", &mint, "cancel", lane_mode("unsent")).await;
        assert_eq!(by_key.problem(), (403, "role_forbidden".to_owned()));
        let path = format!("/blockchain/operations/{mint}/cancel");
        let requested = server.session().await.post(&path, "person", lane_mode("unsent")).await.unwrap();
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "abandon".to_owned()), "{requested:?}");
        assert_eq!(server.state(&mint).await.0, "pending", "no outcome is final yet");
        assert_eq!(server.approve(&second, &requested).await.status, 202);
        let gone = format!("operations where id = '{mint}' and status = 'failed' and resolution = 'abandoned'");
        site.until("the outcome is final", async || site.count(&gone).await == 1).await;
        assert_eq!(site.count("operation_items where live").await, 0, "its subscriptions are released");
        // Requested while it waited and signed before the approval: then nothing unsent is left to abandon.
        let again = server.mint("again", &site.offerings[0]).await.text("/operations/0/id");
        let waits = format!("operations where id = '{again}' and blocked_reason is not null");
        site.until("it waits for its lane", async || site.count(&waits).await == 1).await;
        site.write(&format!("update operations set cycle = 2 where id = '{again}'")).await;
        let path = format!("/blockchain/operations/{again}/cancel");
        let requested = server.session().await.post(&path, "late", lane_mode("unsent")).await.unwrap();
        assert_eq!(requested.status, 202, "{requested:?}");
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        site.lanes("active").await;
        site.settled().await;
        server.approve(&second, &requested).await;
        let refused = "approvals where status = 'execution_failed' and error_code = 'invalid_state'";
        site.until("it is refused", async || site.count(refused).await == 1).await;
        assert_eq!(server.state(&again).await.0, "confirmed");
    }

    async fn a_caller_without_permission_cannot_cancel(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        for act in ["cancel", "speed-up", "reconcile", "retry"] {
            let path = format!("/blockchain/operations/{deploy}/{act}");
            let answer = server.client().with_key(&auditor).post(&path, "x", lane_mode("noop")).await.unwrap();
            assert_eq!(answer.problem(), (403, "role_forbidden".to_owned()), "{act}");
        }
        for body in [json!({ "mode": "burn", "reason": "x" }), json!({ "reason": "x" }), json!({ "mode": "noop" })] {
            let answer = server.act("x", &deploy, "cancel", body).await;
            assert_eq!(answer.problem(), (422, "validation_failed".to_owned()));
        }
        assert_eq!(site.count("commands").await, 0);
    }
}
