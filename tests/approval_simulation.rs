//! What a pending approval would do at the head of its chain: shown before a person decides, and true of what then happens.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use alloy::primitives::Address;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::console::visitor::Visitor;
use crate::funding::set_coin;
use crate::installation::{Answer, Installation, PayoutFixture, Person, Server, Terms, signer_of, wallet};

/// The method by which calls run one after another.
const SEQUENCE: &[&str] = &["eth_simulateV1"];

fn path_of(requested: &Answer) -> String {
    assert_eq!(requested.status, 202, "{requested:?}");
    requested.headers["location"].to_str().unwrap().to_owned()
}

/// The simulation of a requested approval, as a person sees it.
async fn simulated(person: &Person, requested: &Answer) -> Answer {
    person.client().get(&format!("{}/simulation", path_of(requested))).await.unwrap()
}

/// The balances of a simulation: kind, account, before, after, change.
fn balances(answer: &Answer) -> Vec<[String; 5]> {
    let text = |balance: &Value, name: &str| balance[name].as_str().unwrap_or_default().to_owned();
    let all = answer.body["chains"][0]["balances"].as_array().unwrap();
    all.iter().map(|one| ["kind", "account", "before", "after", "change"].map(|name| text(one, name))).collect()
}

fn row(kind: &str, account: Option<Address>, before: &str, after: &str, change: &str) -> [String; 5] {
    let account = account.map(|account| account.to_checksum(None)).unwrap_or_default();
    [kind.to_owned(), account, before.to_owned(), after.to_owned(), change.to_owned()]
}

/// Requests a forced transfer from the first holder, who is frozen, to the second one.
async fn forced(site: &Installation, server: &Server) -> Answer {
    let token = site.minted(server).await;
    assert_eq!(site.freeze(server, "freeze", 0).await.status, 202);
    site.settled().await;
    assert!(site.is_frozen(token, wallet(0)).await);
    let (from, to) = (wallet(0).to_checksum(None), wallet(1).to_checksum(None));
    let mut body = site.about(json!({ "from": from, "to": to, "partition": "1", "quantity": "10.50",
        "document_sha256": "ab".repeat(32) }));
    body["reason_code"] = json!("court_order");
    server.post("/blockchain/force-transfer", "force", body).await
}

on_both_databases! {
    async fn an_unfreeze_shows_that_the_address_was_frozen_again_since(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        site.minted(&server).await;
        site.freeze(&server, "freeze", 0).await;
        site.settled().await;
        let about = site.about(json!({ "address": wallet(0).to_checksum(None) }));
        let requested = server.post("/blockchain/unfreeze", "unfreeze", about).await;
        assert_eq!(simulated(&second, &requested).await.body["changes"], json!([]));
        assert_eq!(site.freeze(&server, "again", 0).await.status, 202);
        site.settled().await;
        let changes = simulated(&second, &requested).await.body["changes"].clone();
        assert_eq!((changes.as_array().unwrap().len(), &changes[0]["what"]), (1, &json!("wallet.frozen")), "{changes}");
    }

    async fn a_forced_transfer_shows_the_balances_that_it_then_makes(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(2)]).await;
        let server = site.start().await;
        let second = site.second_person(&server).await;
        let requested = forced(&site, &server).await;
        let answer = simulated(&second, &requested).await;
        assert_eq!((answer.status, answer.text("/outcome"), answer.text("/chains/0/outcome")), (200, "succeeds".into(), "succeeds".into()), "{answer:?}");
        assert_eq!(balances(&answer), [
            row("units", Some(wallet(0)), "1000.00", "989.50", "-10.50"),
            row("units", Some(wallet(1)), "1001.00", "1011.50", "10.50"),
            row("supply", None, "2001.00", "2001.00", "0.00"),
        ], "{answer:?}");
        let sent = &answer.body["chains"][0];
        assert_eq!((sent["transactions_total"].clone(), sent["transactions"][0]["function"].clone()), (json!(1), json!("forceTransfer")));
        assert!(sent["transactions"][0]["gas_used"].as_u64().unwrap() > 21_000 && sent["block_number"].as_u64().unwrap() > 0);
        let symbol = site.rows("select token_symbol from offerings").await.concat();
        assert_eq!((sent["balances"][0]["symbol"].as_str(), sent["balances"][0]["partition"].as_str()), (Some(symbol[0].as_str()), Some("1")));
        let gas = sent["transactions"][0]["gas_used"].as_u64().unwrap();
        let cost: u64 = sent["cost_wei"].as_str().unwrap().parse().unwrap();
        assert!(cost >= gas && sent["coin"] == "ETH", "a unit of gas costs at least one wei: {answer:?}");
        let named = format!("select i.legal_name from investors i join wallets w on w.investor_id = i.id where w.address = '{:#x}'", wallet(0));
        let holder = site.rows(&named).await.concat()[0].clone();
        assert_eq!((sent["balances"][0]["display_name"].as_str(), &sent["balances"][2]["display_name"]), (Some(holder.as_str()), &Value::Null));
        assert_eq!(answer.body["changes"], json!([]), "nothing has changed since: {answer:?}");
        site.write(&format!("update holdings set updated_at = '2099-01-01T00:00:00+00:00' where wallet_address = '{:#x}'", wallet(1))).await;
        let changes = simulated(&second, &requested).await.body["changes"].clone();
        assert_eq!((changes.as_array().unwrap().len(), &changes[0]["what"], &changes[0]["account"]), (1, &json!("balance"), &json!(wallet(1).to_checksum(None))));
        // It is a look, and nothing of it stays.
        assert_eq!(site.count("operations where kind = 'force_transfer'").await, 0);
        assert_eq!(server.get(&path_of(&requested)).await.body["version"], json!(1));

        let auditor = site.person(&server, "auditor", Role::Auditor).await;
        let masked = simulated(&auditor, &requested).await;
        assert_eq!(masked.text("/outcome"), "succeeds");
        let name = masked.text("/chains/0/balances/0/display_name");
        assert!(name.contains('…') && name != holder, "an auditor sees a masked name: {name}");
        for role in [Role::Investor, Role::Issuer] {
            let outsider = site.person(&server, role.as_str(), role).await;
            assert_eq!(simulated(&outsider, &requested).await.problem(), (403, "role_forbidden".to_owned()));
        }
        server.approve(&second, &requested).await;
        site.settled().await;
        let token = site.tokens_of(&site.offerings[0]).await[0].address;
        let held = [site.balance_of(token, wallet(0)).await, site.balance_of(token, wallet(1)).await];
        assert_eq!(held.map(|units| units.to_string()), ["98950", "101150"]);
        assert_eq!(simulated(&second, &requested).await.problem(), (409, "approval_not_pending".to_owned()));
        assert_eq!(site.exactly_once().await.attention, 0);
    }

    async fn a_mint_shows_each_holder_and_the_supply(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        site.config.mint_threshold("1.00");
        let server = site.start().await;
        let second = site.second_person(&server).await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        let requested = server.mint("mint", &site.offerings[0]).await;
        let answer = simulated(&second, &requested).await;
        assert_eq!(answer.text("/outcome"), "succeeds", "{answer:?}");
        // The page lists the holders by subscription, whose ids are chance.
        let mut shown = balances(&answer);
        shown[..2].sort_by_key(|one| one[3].clone());
        assert_eq!(shown, [
            row("units", Some(wallet(0)), "0.00", "1000.00", "1000.00"),
            row("units", Some(wallet(1)), "0.00", "1001.00", "1001.00"),
            row("supply", None, "0.00", "2001.00", "2001.00"),
        ]);
        server.approve(&second, &requested).await;
        site.settled().await;
        let facts = server.get(&format!("/v1/offerings/{}/token", site.offerings[0])).await;
        assert_eq!(facts.text("/total_supply"), "2001.00");
    }

    async fn a_payout_shows_the_payer_and_the_holders_and_why_it_would_fail(database: Database) {
        let fixture = PayoutFixture::with(database, 3, |site| site.config.payout_threshold("1.00")).await;
        let payer = signer_of(KEYS[1]);
        let before = fixture.cents(payer).await;
        let id = fixture.calculated("direct_payout", "30.00").await;
        let requested = fixture.act("submit", &id, "submit").await;
        let answer = simulated(&fixture.colleague, &requested).await;
        assert_eq!(answer.text("/outcome"), "succeeds", "{answer:?}");
        let functions: Vec<_> = answer.body["chains"][0]["transactions"].as_array().unwrap().iter().map(|one| one["function"].clone()).collect();
        // The second page needs the allowance that the first call gives: each call sees what the earlier ones changed.
        assert_eq!((functions.len(), functions[0].clone()), (3, json!("approve")), "{answer:?}");
        let shown = balances(&answer);
        let units = |cents: u64| format!("{}.{:02}0000", cents / 100, cents % 100);
        assert_eq!(shown[0], row("coins", Some(payer), &units(before), &units(before - 3_000), "-30.000000"), "{answer:?}");
        let paid: f64 = shown[1..].iter().map(|one| one[4].parse::<f64>().unwrap()).sum();
        assert_eq!((shown.len(), paid), (4, 30.0), "the holders get all of it");

        set_coin(&fixture, 1_000).await;
        // The next look is of a later moment.
        let poor = async || simulated(&fixture.colleague, &requested).await.text("/outcome") == "reverts";
        fixture.site.until("the simulation sees the poor payer", poor).await;
        let answer = simulated(&fixture.colleague, &requested).await;
        let reason = format!("{} owns 0 units of the payout asset; 10010000 are needed.", payer.to_checksum(None));
        assert_eq!(answer.text("/chains/0/detail"), reason, "{answer:?}");
        // The page that reverts moves nothing; the other one still pays its holder.
        assert_eq!(balances(&answer)[0], row("coins", Some(payer), "10.000000", "0.010000", "-9.990000"));
        assert_eq!(fixture.server.get(&path_of(&requested)).await.text("/status"), "pending");
        set_coin(&fixture, before).await;
        fixture.approve(&requested).await;
        let executed = fixture.act("execute", &id, "execute").await;
        assert_eq!(executed.status, 202, "{executed:?}");
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.cents(payer).await, before - 3_000);
    }

    async fn an_action_that_asks_the_chain_is_not_tried_and_says_so(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let give_up = json!({ "resolution": "abandon", "reason": "the offering is over" });
        let requested = server.act("abandon", &mint, "reconcile", give_up).await;
        let second = site.second_person(&server).await;
        let untried = simulated(&second, &requested).await;
        assert_eq!((untried.status, untried.text("/outcome"), untried.body["chains"].clone()), (200, "unknown".to_owned(), json!([])), "{untried:?}");
        assert!(untried.text("/untried_because").starts_with("The engine checks the chain"), "{untried:?}");
        let mut visitor = Visitor::with_role(&site, &server, "watcher", Role::Operator).await;
        let page = visitor.get(&path_of(&requested).replace("/v1/", "/console/")).await.text;
        assert!(page.contains("The engine checks the chain") && !page.contains("It sends nothing to a chain."), "{page}");
    }

    async fn a_chain_that_does_not_answer_leaves_an_honest_page(database: Database) {
        let proxy = OnceLock::new();
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        site.config.node(proxy.get_or_init(|| FaultProxy::start(site.anvil.url(), 3)).url());
        // Longer than the limit of a simulation, so that this one ends the call.
        site.config.chain("request_timeout_seconds", "10");
        let (server, proxy) = (site.start().await, proxy.get().unwrap());
        let requested = forced(&site, &server).await;
        let second = site.second_person(&server).await;
        let silence = proxy.add(Rule::new(Fault::Delay(Duration::from_secs(60))).on(SEQUENCE));
        let asked = Instant::now();
        let silent = simulated(&second, &requested).await;
        assert!(asked.elapsed() < Duration::from_secs(20), "it has a time limit: {:?}", asked.elapsed());
        assert_eq!((silent.status, silent.text("/outcome")), (200, "unknown".to_owned()), "{silent:?}");
        assert!(silent.text("/chains/0/detail").contains("did not answer within 3 seconds") && proxy.hits(silence) > 0, "{silent:?}");
        assert_eq!(balances(&silent), Vec::<[String; 5]>::new());
        let mut visitor = Visitor::with_role(&site, &server, "watcher", Role::Operator).await;
        let page = visitor.get(&path_of(&requested).replace("/v1/", "/console/")).await;
        assert_eq!(page.status, 200);
        for words in ["It could not be simulated.", "did not answer within 3 seconds", "Approve, and run it"] {
            assert!(page.text.contains(words), "{words}: {}", page.text);
        }
        proxy.heal();
        // A node without the method says whether the call passes, and nothing of balances.
        proxy.add(Rule::new(Fault::Error(-32601, "the method does not exist".to_owned())).on(SEQUENCE));
        let passes = async || simulated(&second, &requested).await.text("/outcome") == "succeeds";
        site.until("the first call is tried alone", passes).await;
        let alone = simulated(&second, &requested).await;
        assert!(alone.text("/chains/0/balances_unknown").contains("eth_simulateV1"), "{alone:?}");
        assert_eq!((balances(&alone).len(), alone.body["chains"][0]["transactions"][0]["gas_used"].clone()), (0, Value::Null));
        proxy.heal();
        let known = async || !balances(&simulated(&second, &requested).await).is_empty();
        site.until("the balances are known again", known).await;
        server.approve(&second, &requested).await;
        site.settled().await;
        assert_eq!(site.exactly_once().await.attention, 0);
    }
}
