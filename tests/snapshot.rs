//! Snapshots: exactly the balances of the record date, computed by a job that may crash at any point.

use std::os::unix::process::ExitStatusExt;
use std::sync::OnceLock;

use alloy::primitives::{Address, Bytes, U256, hex};
use alloy::sol_types::SolCall;
use muniment_activities::token;
use serde_json::json;
use world::{Fault, FaultProxy, Rule, on_both_databases};

use crate::installation::{PATIENCE, PayoutFixture, Server, wallet};

alloy::sol! {
    function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data);
}

const SIGABRT: i32 = 6;

/// Sends units from one holder to another, past the platform.
async fn transfer(fixture: &PayoutFixture, from: usize, to: usize, units: u64) {
    let (rpc, sender) = (fixture.site.anvil.rpc(), wallet(from).to_checksum(None));
    rpc.call("anvil_impersonateAccount", json!([sender])).await;
    fixture.site.anvil.set_balance(&sender, u64::MAX).await;
    let call = safeTransferFromCall {
        from: wallet(from),
        to: wallet(to),
        id: U256::from(1),
        value: U256::from(units),
        data: Bytes::new(),
    };
    let sent = json!([{ "from": sender, "to": fixture.token, "data": hex::encode_prefixed(call.abi_encode()) }]);
    let hash = rpc.call("eth_sendTransaction", sent).await;
    fixture.site.mined(hash.as_str().unwrap()).await;
}

on_both_databases! {
    async fn the_record_date_takes_a_snapshot_without_excluded_and_frozen_holders(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let mut body = fixture.body("direct_payout", "10.00").await;
        let soon = (chrono::Utc::now() + chrono::Duration::seconds(3)).to_rfc3339();
        body["record_date"] = json!(soon);
        body["payment_date"] = json!(soon);
        body["excluded_addresses"] = json!([wallet(0).to_checksum(None)]);
        let drafted = fixture.server.post("/v1/distributions", "draft", body).await;
        assert_eq!((drafted.status, drafted.text("/status")), (201, "draft".to_owned()), "{drafted:?}");
        assert_eq!(drafted.body["excluded_addresses"], json!([wallet(0).to_checksum(None)]));
        let id = drafted.text("/id");
        fixture.send_foreign(token::freeze(Address::ZERO, fixture.token, wallet(1), Bytes::new())).await;
        fixture.site.until("the ledger shows it", async || fixture.site.count("token_accounts where frozen").await == 1).await;
        fixture.reaches(&id, "snapshotted").await;
        assert_eq!(fixture.shown(&id).await.body["holder_count"], 3, "the proof covers all holders");
        assert_eq!(fixture.act("calculate", &id, "calculate").await.status, 200);
        let parts = fixture.parts(&id).await;
        let of = |n: usize| parts.iter().find(|part| part.1 == wallet(n)).map(|part| (part.3.as_str(), part.4.as_str()));
        assert_eq!((of(0), of(1), of(2)), (None, Some(("held", "frozen")), Some(("calculated", ""))));
        assert_eq!(parts.iter().map(|part| part.2).sum::<u64>(), 1_000, "the others share the whole total");
        assert_eq!(fixture.site.count("timers where subject_id like 'dist_%'").await, 0);
    }

    async fn leaving_out_a_holder_takes_a_second_person(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        for (number, left_out, wanted) in [(0, vec![0, 1], "awaiting_approval"), (1, vec![77], "approved")] {
            let mut body = fixture.body("direct_payout", "10.00").await;
            body["excluded_addresses"] = left_out.iter().map(|holder| json!(wallet(*holder).to_checksum(None))).collect();
            let id = fixture.server.post("/v1/distributions", &format!("draft-{number}"), body).await.text("/id");
            let key = |verb: &str| format!("{verb}-{number}");
            fixture.act(&key("snapshot"), &id, "snapshot").await;
            fixture.reaches(&id, "snapshotted").await;
            assert_eq!(fixture.act(&key("calculate"), &id, "calculate").await.status, 200);
            let submitted = fixture.act(&key("submit"), &id, "submit").await;
            assert_eq!(fixture.shown(&id).await.text("/status"), wanted, "{submitted:?}");
        }
    }

    async fn transfers_after_the_record_date_change_nothing(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let before = fixture.site.rows("select wallet_address, balance from holdings order by wallet_address").await;
        let body = fixture.body("direct_payout", "10.00").await;
        let record = body["record_date"].as_str().unwrap().to_owned();
        fixture.site.until("the record date is over", async || fixture.chain_time().await > record).await;
        transfer(&fixture, 0, 1, 500).await;
        let id = fixture.server.post("/v1/distributions", "draft", body).await.text("/id");
        assert_eq!(fixture.act("snapshot", &id, "snapshot").await.status, 202);
        fixture.reaches(&id, "snapshotted").await;
        let of = format!("select wallet_address, balance from snapshot_balances where distribution_id = '{id}' order by wallet_address");
        assert_eq!(fixture.site.rows(&of).await, before);
        // A later transfer counts at the next record date.
        let later = fixture.snapshotted("direct_payout", "11.00").await;
        let of = format!("select wallet_address, balance from snapshot_balances where distribution_id = '{later}' order by wallet_address");
        assert_ne!(fixture.site.rows(&of).await, before);
        let supply = fixture.site.rows("select distinct total_supply from snapshots").await;
        assert_eq!(supply.len(), 1, "{supply:?}");
    }

    async fn the_record_block_waits_while_an_endpoint_shows_a_later_block(database: Database) {
        let proxies = OnceLock::new();
        let fixture = PayoutFixture::with(database, 2, |site| {
            let proxies: &[FaultProxy; 2] = proxies.get_or_init(|| [21, 22].map(|seed| FaultProxy::start(site.anvil.url(), seed)));
            // Every block is final at once, as on the development chain.
            for proxy in proxies {
                proxy.add(Rule::new(Fault::EarlyFinality));
            }
            site.config.chain("endpoints", &format!("{:?}", proxies.each_ref().map(FaultProxy::url)));
        }).await;
        let (site, [still, _]) = (&fixture.site, proxies.get().unwrap());
        // A block with each transaction, and no other.
        site.stop_blocks().await;
        site.anvil.rpc().call("evm_setAutomine", json!([true])).await;
        let head = site.anvil.rpc().number("eth_blockNumber", json!([])).await;
        let followed = format!("chains where head_number = {head} and final_number = {head}");
        site.until("it is followed", async || site.count(&followed).await == 1).await;
        let rule = still.add(Rule::new(Fault::StandStill(head)).on(&[]));
        transfer(&fixture, 0, 1, 500).await;
        let body = fixture.body("direct_payout", "10.00").await;
        let id = fixture.server.post("/v1/distributions", "draft", body).await.text("/id");
        assert_eq!(fixture.act("snapshot", &id, "snapshot").await.status, 202);
        let waits = "distributions where problem_code = 'not_final' and problem_detail like 'not all endpoints show%'";
        site.until("it waits for the later block", async || site.count(waits).await == 1).await;
        assert_eq!(site.count(&followed).await, 1, "the follower does not know that block");
        still.remove(rule);
        fixture.reaches(&id, "snapshotted").await;
        let of = format!("select wallet_address, balance from snapshot_balances where distribution_id = '{id}' order by wallet_address");
        let held = site.rows("select wallet_address, balance from holdings order by wallet_address").await;
        assert_eq!(site.rows(&of).await, held);
        assert_ne!(held[0][1], held[1][1], "the transfer counts");
    }

    async fn crash_around_the_snapshot(database: Database) {
        let mut fixture = PayoutFixture::new(database, 3).await;
        for side in ["before", "after"] {
            let body = fixture.body("direct_payout", "10.00").await;
            let id = fixture.server.post("/v1/distributions", &format!("draft-{side}"), body).await.text("/id");
            fixture.server.process.kill();
            let plan = format!("snapshot.{side}:1");
            let process = fixture.site.launch(&["run"]).env("MUNIMENT_CRASH", &plan).spawn();
            let Ok(server) = Server::of(process, &fixture.site.key).await else { panic!("it does not listen") };
            fixture.server = server;
            assert_eq!(fixture.act(&format!("snapshot-{side}"), &id, "snapshot").await.status, 202);
            let status = fixture.server.process.wait(PATIENCE).unwrap();
            assert_eq!(status.signal(), Some(SIGABRT), "{plan}");
            fixture.server = fixture.site.start().await;
            fixture.reaches(&id, "snapshotted").await;
        }
        assert_eq!((fixture.site.count("snapshots").await, fixture.site.count("snapshot_balances").await), (2, 6));
        assert_eq!(fixture.site.count("events where type = 'distribution.snapshotted'").await, 2);
    }
}
