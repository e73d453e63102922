//! A retry first passes the retry check on the chain, and happens once however often it is requested.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Installation, Terms};

const MANY: usize = 8;

on_both_databases! {
    async fn retrying_an_unsigned_operation_starts_over_once(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let shown = server.get(&format!("/blockchain/operations/{mint}")).await;
        assert_eq!((shown.text("/suggested_action/action"), shown.text("/error/stage")), ("retry".to_owned(), "preflight".to_owned()));
        assert_eq!(shown.body["steps"][0]["error"]["code"], "reverts");
        assert_eq!((&shown.body["error"]["retryable"], &shown.body["error"]["revert_reason"]), (&json!(true), &shown.body["error"]["message"]));
        assert!(!shown.text("/error/revert_reason").is_empty());
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(2).await;
        let path = format!("/blockchain/operations/{mint}/retry");
        let requested = (0..MANY).map(|number| {
            let (client, path) = (server.client(), path.clone());
            async move { client.post(&path, &format!("retry-{number}"), json!({ "reason": "again" })).await.unwrap() }
        });
        let answers = futures::future::join_all(requested).await;
        let accepted: Vec<_> = answers.iter().filter(|answer| answer.status == 202).collect();
        let refused = answers.iter().filter(|answer| answer.problem() == (409, "invalid_state".to_owned())).count();
        assert_eq!((accepted.len(), refused), (1, MANY - 1), "{answers:?}");
        assert_eq!(accepted[0].text("/status"), "pending");
        site.settled().await;
        let done = server.get(&format!("/blockchain/operations/{mint}")).await;
        assert_eq!((done.text("/status"), &done.body["attempts"]["cycle"]), ("confirmed".to_owned(), &json!(2)));
        assert_eq!(done.body["suggested_action"], Value::Null);
        let retried = done.body["history"].as_array().unwrap().iter().filter(|line| line["reason"] == "again").count();
        assert_eq!(retried, 1, "the history has actor and reason");
        let replays = futures::future::join_all((0..MANY).map(|number| server.retry_again(&mint, number))).await;
        assert_eq!(replays.iter().filter(|answer| answer.status == 202).count(), 1, "each key gets its first response: {replays:?}");
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn an_open_nonce_is_kept_and_a_late_success_is_proposed(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let deploy = site.stuck(&server).await;
        let told = server.get(&format!("/blockchain/operations/{deploy}")).await.text("/error/message");
        assert!(told.contains("below the cap"), "it says what stopped the fee: {told}");
        let same = server.retry("retry-1", &deploy).await;
        assert_eq!((same.status, same.text("/status")), (202, "submitted".to_owned()), "{same:?}");
        assert_eq!(site.count("attempts").await, 1, "the same bytes are sent");
        site.outbid().await;
        assert_eq!(server.state(&deploy).await.0, "dead_letter", "it is stuck again");
        site.anvil.mine(1).await;
        site.until("it is seen in a block", async || site.count("operation_steps where state = 'included'").await == 1).await;
        let early = server.retry("retry-2", &deploy).await;
        assert_eq!(early.problem(), (409, "nonce_still_open".to_owned()));
        site.finalised().await;
        let shown = server.get(&format!("/blockchain/operations/{deploy}")).await;
        assert_eq!(shown.text("/status"), "dead_letter", "a late success is proposed, never applied");
        assert_eq!(shown.text("/suggested_action/action"), "mark_confirmed");
        let found = server.retry("retry-3", &deploy).await;
        assert_eq!((found.status, found.text("/status")), (200, "confirmed".to_owned()), "{found:?}");
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn an_effect_of_another_agent_is_adopted(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        execute_elsewhere(&site, &mint).await;
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(4).await;
        assert_eq!(server.retry("retry", &mint).await.status, 202);
        site.settled().await;
        assert_eq!(server.state(&mint).await.0, "confirmed");
        assert_eq!(site.count("attempts").await, 1, "the mint was not signed again");
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn a_success_without_effect_is_not_retried(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let of = |set: &str| format!("update {set} where {} = '{mint}'", if set.starts_with("operations ") { "id" } else { "operation_id" });
        site.write(&of("operations set error_code = 'effect_mismatch', error_stage = 'effect'")).await;
        site.write(&of("operation_steps set state = 'final', outcome = 'reverted', block_number = 1")).await;
        assert_eq!(server.retry("retry", &mint).await.problem(), (409, "effect_mismatch".to_owned()));
        let shown = server.get(&format!("/blockchain/operations/{mint}")).await;
        assert_eq!(shown.text("/suggested_action/action"), "mark_confirmed");
    }

    async fn a_retry_uses_the_operators_fee_limit(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let deploy = site.stuck(&server).await;
        let offered = site.rows("select max_fee_per_gas from attempts").await[0][0].parse::<u128>().unwrap();
        let with = |fee: String| json!({ "reason": "again", "max_fee_per_gas": fee });
        for (fee, code) in [(offered.to_string(), "below_minimum"), (u128::MAX.to_string(), "above_maximum"), ("much".to_owned(), "fee_format")] {
            let refused = server.act(code, &deploy, "retry", with(fee)).await;
            assert_eq!(refused.field(), (422, "/max_fee_per_gas".to_owned(), code.to_owned()), "{refused:?}");
        }
        assert_eq!(server.state(&deploy).await.0, "dead_letter", "nothing was changed");
        let retried = server.act("more", &deploy, "retry", with((offered * 2).to_string())).await;
        assert_eq!(retried.status, 202, "{retried:?}");
        let raised = format!("attempts where kind = 'bump' and max_fee_per_gas = '{}' and sends > 0", offered * 2);
        site.until("the fee is raised", async || site.count(&raised).await == 1).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        site.set_roles(Roles(0)).await;
        site.anvil.mine(1).await;
        let mint = server.mint("mint", &site.offerings[0]).await.text("/operations/0/id");
        site.settled().await;
        assert_eq!(server.state(&mint).await.0, "failed");
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(1).await;
        let retried = server.act("mint-again", &mint, "retry", with("77000000000".to_owned())).await;
        assert_eq!(retried.status, 202, "{retried:?}");
        let signed = format!("attempts where operation_id = '{mint}' and max_fee_per_gas = '77000000000' and sends > 0");
        site.until("it is signed", async || site.count(&signed).await == 1).await;
        site.finalised().await;
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn a_retry_without_an_answer_from_the_chain_changes_nothing(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.write(&format!("update operation_steps set state = 'final', outcome = 'reverted', block_number = 1 where operation_id = '{mint}'")).await;
        proxy.add(Rule::new(Fault::Status(503)));
        let requested = server.retry("retry", &mint).await;
        assert_eq!(requested.problem(), (503, "chain_unavailable".to_owned()));
        assert_eq!(requested.headers["retry-after"], "15");
        assert_eq!(server.state(&mint).await.0, "failed");
        proxy.heal();
        site.set_roles(Roles::ALL).await;
        site.until("the same key is evaluated again", async || server.retry("retry", &mint).await.status == 202).await;
        site.settled().await;
        assert_eq!(server.state(&mint).await.0, "confirmed");
    }

    async fn unauthorised_and_invalid_retries_change_nothing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let reader = site.key_of(Role::Operator, "ops:read").await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let path = format!("/blockchain/operations/{mint}/retry");
        let good = json!({ "reason": "again" });
        for (key, status, code) in [(&auditor, 403, "role_forbidden"), (&reader, 403, "scope_insufficient"), (&String::new(), 401, "token_missing")] {
            let answer = server.client().with_key(key).post(&path, "retry", good.clone()).await.unwrap();
            assert_eq!(answer.problem(), (status, code.to_owned()));
        }
        for (body, pointer, code) in [
            (json!({}), "/reason", "required"),
            (json!({ "reason": "  " }), "/reason", "required"),
            (json!({ "reason": "x".repeat(501) }), "/reason", "above_maximum"),
            (json!({ "reason": 7 }), "/reason", "type_mismatch"),
            (json!({ "reason": "x", "force": true }), "/force", "unknown_field"),
        ] {
            let answer = server.post(&path, "retry", body).await;
            assert_eq!(answer.problem(), (422, "validation_failed".to_owned()), "{answer:?}");
            assert_eq!((answer.text("/errors/0/pointer"), answer.text("/errors/0/code")), (pointer.to_owned(), code.to_owned()));
        }
        let keyless = server.client().post_text(&path, None, good.to_string()).await.unwrap();
        assert_eq!(keyless.problem(), (400, "idempotency_key_required".to_owned()));
        for unknown in ["op_01jc0000000000000000000000", "op_7", "sub_01jc0000000000000000000000"] {
            assert_eq!(server.retry("retry", unknown).await.problem(), (404, "not_found".to_owned()), "{unknown}");
        }
        let confirmed = site.rows("select id from operations where status = 'confirmed'").await[0][0].clone();
        assert_eq!(server.retry("retry", &confirmed).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(server.state(&mint).await.0, "failed");
    }
}
