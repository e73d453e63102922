//! A line that the contract refuses does not delay the others: its page is split once, before anything is signed.

use std::os::unix::process::ExitStatusExt;

use alloy::primitives::{Address, Bytes};
use muniment_activities::chain::simulate::Call;
use muniment_activities::contract::registry::Roles;
use muniment_activities::token;
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::json;
use world::{Database, KEYS, Mining, on_both_databases};

use crate::foreign_key::send;
use crate::installation::{Answer, Installation, PATIENCE, Server, Terms, signer_of};

/// A mint of one page with five holders. While it waits for its lane, another agent freezes the first wallets.
async fn frozen(database: Database, count: usize) -> (Installation, Server, Answer) {
    let site = Installation::new(database, Mining::Quick, &[Terms::locked(5)]).await;
    let server = site.start().await;
    server.deploy("deploy", &site.offerings[0]).await;
    site.settled().await;
    site.write("update lanes set mode = 'paused'").await;
    let accepted = server.mint("mint", &site.offerings[0]).await;
    by_another_agent(&site, token::freeze, &format!("subscriptions order by id limit {count}")).await;
    (site, server, accepted)
}

/// Another agent freezes or unfreezes each of these wallets.
async fn by_another_agent(site: &Installation, call: fn(Address, Address, Address, Bytes) -> Call, of: &str) {
    let contract: Address = site.rows("select token_address from offerings").await[0][0].parse().unwrap();
    let agent = json!([signer_of(KEYS[2]), "latest"]);
    let mut nonce = site.anvil.rpc().number("eth_getTransactionCount", agent).await;
    for wallet in site.rows(&format!("select wallet_address from {of}")).await {
        let data = call(Address::ZERO, contract, wallet[0].parse().unwrap(), Bytes::new()).data;
        send(&site.anvil, KEYS[2], nonce, contract, data).await;
        nonce += 1;
    }
    site.anvil.mine(1).await;
}

async fn resume_lanes(site: &Installation) {
    site.write("update lanes set mode = 'active'").await;
}

async fn minted(site: &Installation) -> i64 {
    site.count("subscriptions where status = 'minted'").await
}

on_both_databases! {
    async fn refused_lines_fail_and_the_others_are_minted(database: Database) {
        let (site, server, accepted) = frozen(database, 2).await;
        resume_lanes(&site).await;
        let (page, batch) = (accepted.text("/operations/0/id"), accepted.text("/batch_id"));
        site.settled().await;
        assert_eq!(minted(&site).await, 3);
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (1, 1));
        let whole = server.get(&format!("/blockchain/operations/{page}")).await;
        assert_eq!((whole.text("/status"), whole.text("/resolution")), ("failed".to_owned(), "abandoned".to_owned()));
        assert_eq!(whole.text("/error/code"), "page_split");
        let of_batch = format!("select status, error_code, cast(batch_index as text) from operations where batch_id = '{batch}' order by batch_index");
        assert_eq!(site.rows(&of_batch).await, [["failed", "page_split", "0"], ["confirmed", "", "1"], ["failed", "reverts", "2"]]);
        let left = "operation_items i join operations o on o.id = i.operation_id where i.live and o.error_code = 'reverts'";
        assert_eq!(site.count(left).await, 2, "the refused lines wait in their own operation");
        let again = server.mint("mint", &site.offerings[0]).await;
        assert_eq!(again.text("/batch_id"), batch, "the same key gets the same response");
        let more = server.mint("more", &site.offerings[0]).await;
        assert_eq!(more.problem(), (409, "nothing_to_mint".to_owned()));
    }

    async fn a_suspended_investor_is_left_out_of_a_page_that_waits(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let server = site.start().await;
        let olga = site.person(&server, "olga", Role::Operator).await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        site.lanes("paused").await;
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        let [investor, subscription] = site.rows("select investor_id, id from subscriptions order by id").await.swap_remove(1).try_into().unwrap();
        let stopped = olga.post(&format!("/v1/investors/{investor}/suspend"), json!({ "reason_code": "fraud" })).await;
        assert_eq!(stopped.status, 200, "{stopped:?}");
        resume_lanes(&site).await;
        site.settled().await;
        let pages = "select status, error_code from operations where kind = 'mint' order by batch_index";
        assert_eq!(site.rows(pages).await, [["failed", "page_split"], ["confirmed", ""]]);
        assert_eq!((minted(&site).await, server.get(&format!("/v1/subscriptions/{subscription}")).await.text("/status")), (2, "accepted".to_owned()));
        assert_eq!(server.mint("again", &site.offerings[0]).await.problem(), (409, "nothing_to_mint".to_owned()));
        // After the reinstatement another mint takes the subscription, whose page is taken out as a whole in the same way.
        let set = async |status: &str| site.write(&format!("update investors set kyc_status = '{status}' where id = '{investor}'")).await;
        for is_stopped in [true, false] {
            set("approved").await;
            site.lanes("paused").await;
            assert_eq!(server.mint(&format!("later-{is_stopped}"), &site.offerings[0]).await.status, 202);
            if is_stopped {
                let path = format!("/v1/investors/{investor}/suspend");
                assert_eq!(olga.post(&path, json!({ "reason_code": "fraud" })).await.status, 200);
            }
            resume_lanes(&site).await;
            site.settled().await;
            assert_eq!(minted(&site).await, if is_stopped { 2 } else { 3 });
        }
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (2, 0));
    }

    async fn a_refused_page_is_not_retried_for_an_investor_who_is_not_approved(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles(Roles::ALL).await;
        let investor = site.rows("select investor_id from subscriptions order by id").await[0][0].clone();
        let set = async |status: &str| site.write(&format!("update investors set kyc_status = '{status}' where id = '{investor}'")).await;
        set("suspended").await;
        let refused = server.retry("early", &mint).await;
        assert_eq!(refused.problem(), (409, "invalid_state".to_owned()), "{refused:?}");
        assert!(refused.text("/detail").contains(&investor), "{refused:?}");
        set("approved").await;
        assert_eq!(server.retry("late", &mint).await.status, 202);
        site.settled().await;
        assert_eq!(minted(&site).await, 2);
    }

    async fn one_bad_page_of_fifty_fails_alone_and_is_minted_by_a_retry(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::locked(100)]).await;
        site.config.engine("mint_page_holders", 2);
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        site.settled().await;
        site.lanes("paused").await;
        let accepted = server.mint("mint", &site.offerings[0]).await;
        assert_eq!(accepted.body["operations"].as_array().unwrap().len(), 50);
        let bad = accepted.text("/operations/25/id");
        let wallets = format!("operation_items where operation_id = '{bad}'");
        by_another_agent(&site, token::freeze, &wallets).await;
        resume_lanes(&site).await;
        site.settled().await;
        assert_eq!((server.state(&bad).await, minted(&site).await), (("failed".to_owned(), "reverts".to_owned()), 98));
        assert_eq!(site.exactly_once().await.attention, 1);
        by_another_agent(&site, token::unfreeze, &wallets).await;
        assert_eq!(server.retry("retry", &bad).await.status, 202);
        site.settled().await;
        assert_eq!((server.state(&bad).await.0, minted(&site).await), ("confirmed".to_owned(), 100));
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (50, 0));
    }

    async fn a_page_with_only_refused_lines_is_not_split(database: Database) {
        let (site, _server, _) = frozen(database, 5).await;
        resume_lanes(&site).await;
        site.settled().await;
        assert_eq!(site.rows("select status, error_code from operations where kind = 'mint'").await, [["failed", "reverts"]]);
    }

    async fn crash_around_splitting_a_page(database: Database) {
        let (site, mut server, _) = frozen(database, 1).await;
        server.process.kill();
        resume_lanes(&site).await;
        for side in ["before", "after"] {
            let plan = format!("{}.{side}:1", Point::Refuse);
            let mut process = site.launch(&["run"]).env("MUNIMENT_CRASH", &plan).spawn();
            assert_eq!(process.wait(PATIENCE).unwrap().signal(), Some(6), "{plan}\n{}", process.log());
            let halves = site.count("operations where kind = 'mint'").await;
            assert_eq!(halves, if side == "before" { 1 } else { 3 });
        }
        let _server = site.start().await;
        site.settled().await;
        assert_eq!(minted(&site).await, 4);
        let report = site.exactly_once().await;
        assert_eq!((report.minted, report.attention), (1, 1));
        assert_eq!(site.count("operations where kind = 'mint'").await, 3);
    }
}
