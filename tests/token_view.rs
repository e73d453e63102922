//! Token reads: each returns the chain's state at a named block, and concurrent reads ask the node once.

use alloy::primitives::{Address, U256, keccak256};
use chrono::{Duration, Utc};
use muniment_activities::chain::Chain;
use muniment_activities::config::ChainConfig;
use muniment_activities::token::view::{self, TokenRead, TransferCheck};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use muniment_workflows::engine::Engine;
use muniment_workflows::settings::Settings;
use muniment_workflows::token::view::{NoAnswer, TokenViews};
use serde_json::json;
use world::{Database, Fault, FaultProxy, Mining, Rule, on_both_databases};

use crate::installation::{Answer, CHAIN_ID, Installation, Terms, open_at, wallet};

/// The hash of a block from the node.
async fn hash_of(site: &Installation, answer: &Answer) -> serde_json::Value {
    let number = answer.body["block"]["number"].as_u64().unwrap();
    site.anvil.rpc().call("eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await["hash"].clone()
}

on_both_databases! {
    async fn each_read_equals_the_contract_at_its_block(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2), Terms::locked(1)]).await;
        let server = site.start().await;
        let token = site.minted(&server).await;
        let path = format!("/v1/offerings/{}/token", site.offerings[0]);
        let facts = server.anonymous().get(&path).await.unwrap();
        assert_eq!(facts.status, 200, "{facts:?}");
        let (supply, symbol) = (site.balance_of(token, wallet(0)).await + site.balance_of(token, wallet(1)).await, site.symbol_of(token).await);
        assert_eq!((facts.text("/offeringId"), facts.text("/tokenSymbol")), (keccak256(&site.offerings[0]).to_string(), symbol));
        assert_eq!((facts.text("/total_supply_base_units"), facts.text("/total_supply")), (supply.to_string(), "2001.00".to_owned()));
        assert_eq!((facts.body["partitions"][0]["isRestricted"].clone(), facts.body["paused"].clone()), (json!(false), json!(false)));
        assert_eq!((facts.body["block"]["hash"].clone(), facts.body["block"]["tag"].clone()), (hash_of(&site, &facts).await, json!("latest")));

        let (from, to) = (wallet(0).to_checksum(None), wallet(1).to_checksum(None));
        let ask = async |from: &str, to: &str, quantity: &str| {
            server.get(&format!("{path}/can-transfer?from={from}&to={to}&partition=1&quantity={quantity}")).await
        };
        let (stranger, nobody) = (Address::repeat_byte(9).to_checksum(None), Address::ZERO.to_checksum(None));
        for (to, quantity, code) in [
            (&to, "1000.00", "ok"), (&to, "1000.01", "insufficient_transferable"), (&stranger, "1.00", "to_not_whitelisted"),
            (&nobody, "1.00", "to_not_whitelisted"),
        ] {
            let answer = ask(&from, to, quantity).await;
            assert_eq!((answer.text("/reason_code"), answer.body["allowed"].clone()), (code.to_owned(), json!(code == "ok")), "{answer:?}");
            assert_eq!(answer.body["block"]["hash"], hash_of(&site, &answer).await);
            let reason = answer.text("/reason");
            assert!(!reason.is_empty() && !reason.contains(' '), "the contract's own word, as the document shows it: {reason}");
        }
        let balances = server.get(&format!("{path}/balances/{from}")).await;
        let units = site.balance_of(token, wallet(0)).await.to_string();
        for (name, value) in [("balance", "1000.00"), ("transferable", "1000.00"), ("locked", "0.00"), ("balance_base_units", &units),
            ("transferableBalance", &units), ("lockedBalanceOf", "0")] {
            assert_eq!(balances.text(&format!("/{name}")), value, "{balances:?}");
        }
        assert_eq!(site.freeze(&server, "freeze", 0).await.status, 202);
        site.settled().await;
        assert_eq!(server.get(&format!("{path}/frozen/{from}")).await.body["isFrozen"], json!(true));
        assert_eq!(ask(&from, &to, "1.00").await.text("/reason_code"), "from_frozen");
        assert_eq!(ask(&to, &from, "1.00").await.text("/reason_code"), "to_frozen");
        let body = site.about(json!({ "partition": "1" }));
        assert_eq!(server.post("/blockchain/restrict", "restrict", body).await.status, 202);
        site.settled().await;
        let restriction = format!("{path}/partitions/1/restriction");
        assert_eq!(server.anonymous().get(&restriction).await.unwrap().body["isRestricted"], json!(true));
        assert_eq!(ask(&to, &stranger, "1.00").await.text("/reason_code"), "partition_restricted");
    }

    async fn an_investor_reads_only_their_own_balance(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2), Terms::free(1)]).await;
        site.config.rate("token_read_per_minute", 12);
        let server = site.start().await;
        site.minted(&server).await;
        let ada = site.person(&server, "ada", Role::Investor).await;
        let own = ada.get("/v1/auth/me").await.text("/investor_id");
        site.write(&format!("update wallets set is_default = false, investor_id = '{own}' where address = '{:#x}'", wallet(0))).await;
        let path = format!("/v1/offerings/{}/token", site.offerings[0]);
        let (mine, other) = (wallet(0).to_checksum(None), wallet(1).to_checksum(None));
        let forbidden = (403, "forbidden".to_owned());
        for (of, whose) in [(mine.as_str(), (200, String::new())), (other.as_str(), forbidden)] {
            let transfer = format!("{path}/can-transfer?from={of}&to={other}&partition=1&quantity=1.00");
            for read in [format!("{path}/balances/{of}"), format!("{path}/frozen/{of}"), transfer] {
                assert_eq!(ada.get(&read).await.problem(), whose, "{read}");
                assert_eq!(server.anonymous().get(&read).await.unwrap().problem().0, 401);
            }
        }
        let issuer = site.person(&server, "ines", Role::Issuer).await;
        assert_eq!(issuer.get(&format!("{path}/balances/{other}")).await.problem().0, 403, "a token of another issuer");
        site.write(&format!("update users set issuer_id = (select issuer_id from offerings where id = '{}') where id = '{}'", site.offerings[0], issuer.id)).await;
        assert_eq!(issuer.get(&format!("{path}/balances/{other}")).await.status, 200);
        for (read, problem) in [
            (format!("{path}/balances/0x12"), (400, "invalid_parameter")),
            (format!("{path}/balances/{}", mine.to_uppercase()), (400, "invalid_parameter")),
            (format!("{path}/balances/{mine}?partition=2"), (400, "invalid_parameter")),
            (format!("{path}/balances/{mine}?colour=red"), (400, "unknown_parameter")),
            (format!("{path}/can-transfer?from={mine}&to={other}"), (400, "invalid_parameter")),
            (format!("{path}/can-transfer?from={mine}&to={other}&quantity=1.001"), (400, "invalid_parameter")),
            (format!("{path}/partitions/2/restriction"), (404, "not_found")),
            (format!("/v1/offerings/{}/token", site.offerings[1]), (409, "invalid_state")),
            ("/v1/offerings/off_01jc0000000000000000000000/token".to_owned(), (404, "not_found")),
        ] {
            let answer = server.get(&read).await;
            assert_eq!(answer.problem(), (problem.0, problem.1.to_owned()), "{read}");
        }
        // The bucket refills all the time, but slower than these requests.
        let mut last = ada.get(&format!("{path}/frozen/{mine}")).await;
        for _ in 0..40 {
            if last.status != 429 {
                assert_eq!(last.status, 200);
                last = ada.get(&format!("{path}/frozen/{mine}")).await;
            }
        }
        assert_eq!((last.problem(), last.headers.contains_key("retry-after")), ((429, "rate_limited".to_owned()), true));
        assert!(last.headers["ratelimit-policy"].to_str().unwrap().starts_with("\"token-read\""));
        assert_eq!(ada.get("/v1/investor/profile").await.status, 200, "other reads have a limit of their own");
        drop(server);
        site.config.node("http://127.0.0.1:1");
        let server = site.serve(site.launch(&["api"])).await;
        let away = server.anonymous().get(&path).await.unwrap();
        assert_eq!((away.problem(), away.headers.contains_key("retry-after")), ((503, "chain_unavailable".to_owned()), true));
        drop(server);
        // An endpoint that accepts connections and never answers.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        site.config.node(&format!("http://{}", silent.local_addr().unwrap()));
        site.config.chain("request_timeout_seconds", "1");
        let server = site.serve(site.launch(&["api"])).await;
        let late = server.anonymous().get(&path).await.unwrap();
        assert_eq!((late.problem(), late.headers.contains_key("retry-after")), ((504, "chain_timeout".to_owned()), true));
    }
}

/// A coin reverts on this call, which is an answer that can be cached.
fn transfer_of(coin: Address) -> TokenRead<TransferCheck> {
    view::can_transfer(coin, Address::ZERO, Address::ZERO, 1, U256::ZERO, Default::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reads_ask_the_node_once_per_block() {
    let site = Installation::new(Database::fresh(world::Engine::Sqlite).await, Mining::Manual, &[Terms::free(1)]).await;
    let config = ChainConfig { endpoints: vec![site.anvil.url().to_owned()], ..ChainConfig::default() };
    let db = open_at(&site.database.url(), Clock::System).await;
    let engine = Engine::reader(db, Settings::default(), vec![Chain::http(config).unwrap()]);
    let network = engine.network(CHAIN_ID).unwrap();
    let (reads, mut now) = (TokenViews::new(0), Utc::now());
    let ask = async |reads: &TokenViews, now| {
        let head = reads.head(network, 0, now).await?;
        reads.ask(network, &head, transfer_of(site.platform.coin), now).await.map(|verdict| (head.number, verdict.code))
    };
    let calls = |method: &str| network.chain.calls_by_method().get(method).copied().unwrap_or_default();
    view::newest_header(&network.chain, 0).await.unwrap();
    let before = calls("eth_getBlockByNumber");
    let many = futures::future::join_all((0..50).map(|_| ask(&reads, now))).await;
    let first = many[0].as_ref().unwrap().0;
    assert!(many.iter().all(|answer| matches!(answer, Ok((number, "unknown_revert")) if *number == first)), "{many:?}");
    assert_eq!((calls("eth_call"), calls("eth_getBlockByNumber") - before), (1, 1));
    site.anvil.mine(1).await;
    assert_eq!(ask(&reads, now).await.unwrap().0, first, "within the same second it is the same block");
    now += Duration::seconds(1);
    assert_eq!(ask(&reads, now).await.unwrap().0, first + 1);
    assert_eq!((calls("eth_call"), calls("eth_getBlockByNumber") - before), (2, 2));
    // A process has a limit of reads per second; cached reads do not count.
    let busy = TokenViews::new(2);
    assert!(ask(&busy, now).await.is_ok() && ask(&busy, now).await.is_ok());
    let other = view::is_frozen(site.platform.coin, Address::ZERO);
    let head = busy.head(network, 0, now).await.unwrap();
    assert!(matches!(busy.ask(network, &head, other, now).await, Err(NoAnswer::Busy)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_is_not_cached() {
    let site = Installation::new(Database::fresh(world::Engine::Sqlite).await, Mining::Manual, &[Terms::free(1)]).await;
    let proxy = FaultProxy::start(site.anvil.url(), 1);
    let config = ChainConfig { endpoints: vec![proxy.url().to_owned()], ..ChainConfig::default() };
    let engine = Engine::reader(
        open_at(&site.database.url(), Clock::System).await,
        Settings::default(),
        vec![Chain::http(config).unwrap()],
    );
    let (network, reads, now) = (engine.network(CHAIN_ID).unwrap(), TokenViews::new(0), Utc::now());
    let head = reads.head(network, 0, now).await.unwrap();
    let ask = async || reads.ask(network, &head, transfer_of(site.platform.coin), now).await;
    let rule = proxy.add(Rule::new(Fault::Status(500)).on(&["eth_call"]).times(1));
    assert!(matches!(ask().await, Err(NoAnswer::Fault(_))));
    assert_eq!(proxy.hits(rule), 1);
    let requested = async || (ask().await.is_ok(), proxy.calls("eth_call"));
    // The node's count includes the lost request.
    assert_eq!([requested().await, requested().await], [(true, 2), (true, 2)]);
}
