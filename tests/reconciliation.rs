//! Reconciliation: a healthy installation has no difference, each planted one is found, and a run survives a crash.

use std::os::unix::process::ExitStatusExt;

use alloy::primitives::{Address, Bytes};
use muniment_activities::contract::line::Line;
use muniment_activities::contract::registry::Roles;
use muniment_activities::token;
use muniment_activities::token::factory;
use muniment_activities::token::mint::MintPage;
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Fault, FaultProxy, KEYS, Mining, Rule, on_both_databases};

use crate::foreign_key::execute_elsewhere;
use crate::installation::{Installation, PATIENCE, PayoutFixture, Server, Terms, signer_of};

/// Commit points at which these tests end a process.
pub const ENDED_AT: &[Point] = &[Point::Reconcile];

const PATH: &str = "/blockchain/reconciliation-runs";
const SIGABRT: i32 = 6;

/// Two deployed and minted offerings.
async fn minted(site: &Installation, server: &Server) {
    for offering in &site.offerings {
        server.deploy(&format!("deploy-{offering}"), offering).await;
    }
    site.settled().await;
    for offering in &site.offerings {
        server.mint(&format!("mint-{offering}"), offering).await;
    }
    site.settled().await;
}

/// Runs a comparison to its end.
pub async fn report(site: &Installation, server: &Server, key: &str, body: Value) -> Value {
    let requested = server.post(PATH, key, body).await;
    assert_eq!((requested.status, requested.text("/status")), (202, "running".to_owned()), "{requested:?}");
    let location = requested.headers["location"].to_str().unwrap().to_owned();
    site.until("the run is over", async || server.get(&location).await.text("/status") != "running").await;
    let report = server.get(&format!("{location}?limit=100")).await.body;
    assert_eq!(report["status"], "completed", "{report}");
    report
}

/// What a comparison found, in alphabetical order.
pub fn kinds(report: &Value) -> Vec<String> {
    let found = report["findings"]["data"].as_array().unwrap();
    let all: Vec<_> = found.iter().map(|finding| finding["kind"].as_str().unwrap().to_owned()).collect();
    assert!(found.iter().all(|finding| !finding["suggested_action"].as_str().unwrap().is_empty()));
    assert_eq!(report["finding_count"], all.len());
    // Every known key is an agent here; agents that are not signers are reported at each comparison of the registry.
    let mut kinds: Vec<_> = all.into_iter().filter(|kind| kind != "agent_unknown").collect();
    kinds.sort();
    kinds
}

/// Calls the first offering's token as an agent that is not a signer of the platform.
async fn by_foreign_agent(site: &Installation, data: Bytes) {
    let token = site.tokens_of(&site.offerings[0]).await[0].address;
    let hash = site.sent_as(KEYS[2], token, data).await;
    site.read_up_to(&hash).await;
}

on_both_databases! {
    async fn a_healthy_installation_has_no_difference(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(3), Terms::free(2)]).await;
        let server = site.start().await;
        minted(&site, &server).await;
        for other in [KEYS[2], KEYS[3]] {
            site.set_roles_of(other, Roles(0)).await;
        }
        let mined = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        site.until("it is final", async || site.count(&format!("chains where final_number >= {mined}")).await == 1).await;
        let all = report(&site, &server, "all", json!({})).await;
        assert_eq!(all["finding_count"], 0);
        assert_eq!(kinds(&all), [""; 0], "{all}");
        let parts = all["parts"].as_array().unwrap();
        let subjects: Vec<_> = parts.iter().map(|part| part["subject"]["type"].clone()).collect();
        assert_eq!(subjects, ["offering", "offering", "chain"]);
        let mut compared: Vec<_> = parts.iter().map(|part| part["compared"].as_i64().unwrap()).collect();
        compared.sort_unstable();
        assert_eq!(compared, [1, 2, 3]);
        for part in parts {
            let number = part["block_number"].as_u64().unwrap();
            let block = site.anvil.rpc().call("eth_getBlockByNumber", json!([format!("{number:#x}"), false])).await;
            assert_eq!(part["block_hash"], block["hash"], "one final block, by its hash");
        }
        let one = report(&site, &server, "one", json!({ "offering_id": site.offerings[1] })).await;
        assert_eq!((kinds(&one), one["parts"].as_array().unwrap().len()), (Vec::new(), 1));
        let listed = server.get(PATH).await.body;
        assert_eq!((&listed["pagination"]["total"], &listed["data"][0]["id"]), (&json!(2), &one["id"]));
        assert_eq!(site.count("events where type = 'reconciliation.difference_found'").await, 0);
        site.exactly_once().await;
    }

    async fn a_past_block_is_compared_with_its_holdings(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(2), Terms::free(0)]).await;
        let server = site.start().await;
        minted(&site, &server).await;
        let offering = site.offerings[0].clone();
        let number = |row: Vec<Vec<String>>| row[0][0].parse::<i64>().unwrap();
        let made = number(site.rows("select cast(min(token_block_number) as text) from offerings").await);
        let minted = number(site.rows("select cast(max(block_number) as text) from operation_steps where name = 'mintPage'").await);
        let at = |block: i64| json!({ "offering_id": offering, "at_block": block });
        let before = report(&site, &server, "before", at(minted - 1)).await;
        let after = report(&site, &server, "after", at(minted)).await;
        for (shown, block, holders) in [(&before, minted - 1, 0), (&after, minted, 2)] {
            let part = &shown["parts"][0];
            assert_eq!((kinds(shown), &part["block_number"], &part["compared"]), (Vec::new(), &json!(block), &json!(holders)));
        }
        // A wrong event is found at any later block.
        let first = "to_address = (select min(to_address) from token_events)";
        assert_eq!(site.write(&format!("update token_events set quantity = '1' where kind = 'transfer' and {first}")).await, 1);
        assert_eq!(kinds(&report(&site, &server, "planted", at(minted)).await), ["balance", "supply"]);
        assert_eq!(kinds(&report(&site, &server, "planted-before", at(minted - 1)).await), [""; 0]);
        for (number, (body, pointer)) in [
            (json!({ "at_block": minted }), "/offering_id"),
            (at(-1), "/at_block"),
            (at(minted + 1_000_000), "/at_block"),
            (at(made - 1), "/at_block"),
        ]
        .into_iter()
        .enumerate()
        {
            let refused = server.post(PATH, &format!("bad-{number}"), body).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer")), (422, pointer.to_owned()), "{refused:?}");
        }
    }

    async fn each_planted_difference_is_found(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::locked(2)]).await;
        let server = site.start().await;
        minted(&site, &server).await;
        let holding = "holdings where wallet_address = (select min(wallet_address) from holdings)";
        let [wallet, balance] = site.rows(&format!("select wallet_address, balance from {holding}")).await.remove(0).try_into().unwrap();
        let set = |column: &str, value: &str| format!("update holdings set {column} = '{value}' where wallet_address = '{wallet}'");
        site.write(&set("balance", "1")).await;
        let wrong = report(&site, &server, "balance", json!({})).await;
        // No more can be locked than is held.
        assert_eq!(kinds(&wrong), ["balance", "locked", "supply"]);
        let found = wrong["findings"]["data"].as_array().unwrap().iter().find(|found| found["kind"] == "balance").unwrap();
        assert_eq!((&found["expected"], &found["actual"], &found["severity"]), (&json!("1"), &json!(balance), &json!("critical")));
        assert_eq!((&found["of"]["id"], &wrong["counts"]["by_severity"]["critical"]), (&json!(site.offerings[0]), &json!(2)));
        site.write(&set("balance", &balance)).await;
        let lock = |units: &str| format!("update tranches set quantity = '{units}' where wallet_address = '{wallet}'");
        assert_eq!(site.write(&lock("1")).await, 1);
        assert_eq!(kinds(&report(&site, &server, "locked", json!({})).await), ["locked"]);
        site.write(&lock(&balance)).await;
        site.write("update operation_steps set op_number = 77 where op_number = 1").await;
        let ids = report(&site, &server, "ids", json!({ "offering_id": site.offerings[0] })).await;
        assert_eq!(kinds(&ids), ["confirmed_not_executed", "unknown_operation"]);
        let page = server.get(&format!("{PATH}/{}?limit=1&page=2", ids["id"].as_str().unwrap())).await.body;
        assert_eq!((page["findings"]["data"].as_array().unwrap().len(), &page["findings"]["pagination"]["total"]), (1, &json!(2)));
        site.write("update operation_steps set op_number = 1 where op_number = 77").await;
        assert_eq!(site.write("update offerings set committed_total = committed_total + 1").await, 1);
        assert_eq!(kinds(&report(&site, &server, "committed", json!({})).await), ["committed_total"]);
        site.write("update offerings set committed_total = committed_total - 1").await;
        for (roles, found) in [(Roles(7), "role_missing"), (Roles(0), "agent_missing")] {
            site.set_roles(roles).await;
            site.anvil.mine(4).await;
            site.until("the role is gone", async || {
                let key = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
                kinds(&report(&site, &server, &format!("{found}-{key}"), json!({})).await) == [found]
            })
            .await;
        }
        assert!(site.count("events where type = 'reconciliation.difference_found'").await >= 4);
    }

    async fn every_partition_of_the_token_is_compared(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let two = json!({ "offering_id": site.offerings[0], "partitions": [{}, {}] });
        assert_eq!(server.post("/blockchain/deploy-token", "deploy", two).await.status, 202);
        site.settled().await;
        site.write("update offerings set partition_id = 2").await;
        server.mint("mint", &site.offerings[0]).await;
        site.settled().await;
        site.write("update offerings set partition_id = 1").await;
        let about = json!({ "offering_id": site.offerings[0] });
        assert_eq!(kinds(&report(&site, &server, "healthy", about.clone()).await), [""; 0]);
        assert_eq!(site.write("update holdings set balance = '1' where partition_id = 2").await, 1);
        assert_eq!(kinds(&report(&site, &server, "planted", about).await), ["balance", "supply"]);
    }

    async fn payments_are_compared_with_the_transfers_of_the_coin(database: Database) {
        let fixture = PayoutFixture::new(database, 4).await;
        for (method, total) in [("direct_payout", "40.00"), ("distributor", "44.00")] {
            let id = fixture.calculated(method, total).await;
            fixture.executed(&id).await;
            fixture.reaches(&id, "completed").await;
        }
        let (site, server) = (&fixture.site, &fixture.server);
        let healthy = report(site, server, "healthy", json!({})).await;
        assert_eq!(kinds(&healthy), [""; 0], "{healthy}");
        let receipt = site.rows("select entitlement_id, units, payee_address from payout_receipts order by entitlement_id limit 1").await.remove(0);
        let [entitlement, units, payee] = receipt.try_into().unwrap();
        let set = |column: &str, value: &str| format!("update payout_receipts set {column} = '{value}' where entitlement_id = '{entitlement}'");
        site.write(&set("units", "1")).await;
        let less = report(site, server, "units", json!({})).await;
        assert_eq!(kinds(&less), ["payout_missing", "payout_total"], "{less}");
        assert_eq!(less["findings"]["data"][0]["subject"], entitlement);
        site.write(&set("units", &units)).await;
        // The sum is right, but another holder has it.
        site.write(&set("payee_address", &format!("{:#x}", Address::repeat_byte(9)))).await;
        assert_eq!(kinds(&report(site, server, "payee", json!({})).await), ["payout_missing"]);
        site.write(&set("payee_address", &payee)).await;
        let page = "where name = 'payoutForDistribution' and position = (select max(position) from operation_steps where name = 'payoutForDistribution')";
        // One page that is on the chain and one that is not.
        site.write(&format!("update operation_steps set outcome = 'reverted' {page}")).await;
        assert_eq!(kinds(&report(site, server, "stands", json!({})).await), ["executed_not_confirmed"]);
        site.write(&format!("update operation_steps set outcome = 'success' {page}")).await;
        let again = report(site, server, "again", json!({})).await;
        assert_eq!(kinds(&again), [""; 0], "{again}");
    }

    async fn foreign_transactions_are_found(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        minted(&site, &server).await;
        let (nobody, holder) = (Address::ZERO, site.rows("select min(wallet_address) from holdings").await[0][0].parse().unwrap());
        let page = MintPage { op_id: 9, partition: 1, release_at: 0, lines: vec![Line::new(Address::repeat_byte(7), 5).unwrap()] };
        by_foreign_agent(&site, token::mint_page(nobody, nobody, &page).data).await;
        let minted = report(&site, &server, "mint", json!({})).await;
        assert!(kinds(&minted).contains(&"unknown_operation".to_owned()), "{minted}");
        by_foreign_agent(&site, token::freeze(nobody, nobody, holder, Bytes::new()).data).await;
        // Each kind has numbers of its own, so the number of our mint is free for a forced transfer.
        let moved = Line::new(Address::repeat_byte(7), 1).unwrap();
        by_foreign_agent(&site, token::force_transfer(nobody, nobody, 1, 1, holder, moved, &[]).data).await;
        by_foreign_agent(&site, token::restrict(nobody, nobody, 1).data).await;
        let all = report(&site, &server, "all", json!({})).await;
        // An indexed event is no difference; that nobody here requested it is one.
        assert_eq!(kinds(&all), ["unknown_operation"; 2], "{all}");
        let found = all["findings"]["data"].as_array().unwrap();
        let agents: Vec<_> = found.iter().filter(|found| found["kind"] == "agent_unknown").map(|found| &found["subject"]).collect();
        let others: std::collections::BTreeSet<_> = [KEYS[2], KEYS[3]].map(|key| signer_of(key).to_checksum(None)).into();
        assert_eq!(agents.len(), 2);
        assert!(agents.iter().all(|agent| others.contains(agent.as_str().unwrap())), "{agents:?}");
        site.write("update token_accounts set frozen = false").await;
        site.write("update token_partitions set restricted = false").await;
        let missed = report(&site, &server, "missed", json!({})).await;
        assert_eq!(kinds(&missed), ["freeze", "restriction", "unknown_operation", "unknown_operation"], "{missed}");
        assert!(site.count("operations").await == 2, "a comparison changes nothing");
    }

    async fn an_agent_of_one_offering_is_known_by_it(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        minted(&site, &server).await;
        let (offering, key) = (site.offerings[0].clone(), factory::offering_id(&site.offerings[0]));
        for other in [KEYS[2], KEYS[3]] {
            site.set_roles_of(other, Roles(0)).await;
        }
        site.set_roles_for(key, KEYS[2], Roles::ISSUER).await;
        // Our signer has its roles in the one offering only, which is all that it needs.
        site.set_roles_for(key, KEYS[1], Roles::ALL).await;
        site.set_roles(Roles(0)).await;
        let mined = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        site.until("it is final", async || site.count(&format!("chains where final_number >= {mined}")).await == 1).await;
        let all = report(&site, &server, "all", json!({})).await;
        let found = all["findings"]["data"].as_array().unwrap();
        assert_eq!(found.len(), 1, "{all}");
        let stranger = format!("{} for {offering}", signer_of(KEYS[2]).to_checksum(None));
        assert_eq!((&found[0]["kind"], &found[0]["subject"], &found[0]["actual"]), (&json!("agent_unknown"), &json!(stranger), &json!("issuer")));
        site.set_roles_for(key, KEYS[1], Roles::ISSUER).await;
        let mined = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        site.until("it is final", async || site.count(&format!("chains where final_number >= {mined}")).await == 1).await;
        let less = report(&site, &server, "less", json!({})).await;
        let missing = less["findings"]["data"].as_array().unwrap().iter().find(|found| found["kind"] == "role_missing").cloned();
        assert_eq!(missing.unwrap()["actual"], "issuer", "{less}");
    }

    async fn executed_effects_of_failed_operations_are_found(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        site.set_roles(Roles::ALL).await;
        let hash = execute_elsewhere(&site, &mint).await;
        site.read_up_to(&hash).await;
        let found = report(&site, &server, "late", json!({ "offering_id": site.offerings[0] })).await;
        assert!(kinds(&found).contains(&"executed_not_confirmed".to_owned()), "{found}");
        assert_eq!(server.retry("retry", &mint).await.status, 202);
        site.settled().await;
        let after = report(&site, &server, "after", json!({ "offering_id": site.offerings[0] })).await;
        assert_eq!(kinds(&after), [""; 0], "{after}");
    }

    async fn a_run_continues_after_a_crash_and_an_outage_of_the_chain(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        let mut server = site.start().await;
        minted(&site, &server).await;
        server.process.kill();
        for plan in ["reconcile.before:1", "reconcile.after:2", "reconcile.before:4"] {
            let mut server = site.serve(site.launch(&["run"]).env("MUNIMENT_CRASH", plan)).await;
            let requested = server.post(PATH, plan, json!({})).await;
            assert_eq!(requested.status, 202, "{requested:?}");
            let status = server.process.wait(PATIENCE).unwrap_or_else(|| panic!("{plan} was never reached"));
            assert_eq!(status.signal(), Some(SIGABRT), "{plan}");
            let server = site.start().await;
            let path = format!("{PATH}/{}", requested.text("/id"));
            site.write("update reconciliation_runs set next_action_at = created_at where status = 'running'").await;
            site.until("the run is over", async || server.get(&path).await.text("/status") == "completed").await;
            let done = server.get(&path).await.body;
            assert_eq!((done["finding_count"].clone(), done["parts"].as_array().unwrap().len()), (json!(2), 3), "{done}");
        }
        let server = site.start().await;
        proxy.add(Rule::new(Fault::Status(503)).on(&["eth_call", "eth_getLogs"]));
        let requested = server.post(PATH, "away", json!({})).await;
        let path = format!("{PATH}/{}", requested.text("/id"));
        site.until("it waits", async || !server.get(&path).await.text("/error").is_empty()).await;
        assert_eq!(server.get(&path).await.text("/status"), "running");
        let twice = server.post(PATH, "twice", json!({})).await;
        assert_eq!(twice.problem(), (409, "operation_in_progress".to_owned()));
        proxy.heal();
        site.until("the run is over", async || server.get(&path).await.text("/status") == "completed").await;
        assert_eq!(server.get(&path).await.body["finding_count"], 2);
    }

    async fn unauthorised_and_invalid_runs_are_refused(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let server = site.start().await;
        let client = server.client().with_key(&auditor);
        assert_eq!(client.post(PATH, "x", json!({})).await.unwrap().problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(client.get(PATH).await.unwrap().status, 200, "an auditor may read");
        for (body, pointer) in [(json!({ "offering_id": "off_7" }), "/offering_id"), (json!({ "at": 7 }), "/at")] {
            let answer = server.post(PATH, "bad", body).await;
            assert_eq!((answer.status, answer.text("/errors/0/pointer")), (422, pointer.to_owned()), "{answer:?}");
        }
        let unknown = server.post(PATH, "unknown", json!({ "offering_id": "off_01jc0000000000000000000000" })).await;
        assert_eq!(unknown.problem(), (404, "not_found".to_owned()));
        for id in ["rec_01jc0000000000000000000000", "rec_7"] {
            assert_eq!(server.get(&format!("{PATH}/{id}")).await.problem(), (404, "not_found".to_owned()));
        }
        assert_eq!(server.get(&format!("{PATH}?limit=0")).await.problem(), (400, "invalid_parameter".to_owned()));
        let empty = report(&site, &server, "empty", json!({ "offering_id": site.offerings[0] })).await;
        assert_eq!(empty["parts"], json!([]), "an offering without a token has nothing to compare");
    }
}
