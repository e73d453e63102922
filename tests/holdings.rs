//! Holdings follow the chain, including transfers past the platform, and only after finality.

use alloy::primitives::{Address, Bytes, U256, hex};
use alloy::sol;
use alloy::sol_types::SolCall;
use serde_json::{Value, json};
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms, signer_of, wallet};

sol! {
    function safeTransferFrom(address from, address to, uint256 id, uint256 amount, bytes data);
    function batchWhitelist(uint256 partition, address[] holders, bool allowed);
    function freezeAddress(address account, bytes data);
    function setHolderRedemption(bool allowed);
    function redeemOwn(uint256 partition, uint256 amount);
}

/// An installation with one token, minted to three holders.
async fn minted(database: Database, mining: Mining, terms: Terms) -> (Installation, Server, Address) {
    let site = Installation::new(database, mining, &[terms]).await;
    let server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.settled().await;
    assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
    site.settled().await;
    let [token] = site.tokens_of(&site.offerings[0]).await.try_into().unwrap();
    (site, server, token.address)
}

/// Sends a call from any account; the node impersonates it.
async fn call(site: &Installation, from: Address, to: Address, call: impl SolCall) {
    let rpc = site.anvil.rpc();
    rpc.call("anvil_setBalance", json!([from, "0xde0b6b3a7640000"])).await;
    rpc.call("anvil_impersonateAccount", json!([from])).await;
    let transaction =
        json!([{ "from": from, "to": to, "gas": "0x7a120", "data": hex::encode_prefixed(call.abi_encode()) }]);
    rpc.call("eth_sendTransaction", transaction).await;
}

async fn give(site: &Installation, token: Address, from: usize, to: usize, units: u64) {
    let (from, to) = (wallet(from), wallet(to));
    let transfer = safeTransferFromCall { from, to, id: U256::from(1), amount: U256::from(units), data: Bytes::new() };
    call(site, from, token, transfer).await;
}

async fn holder(site: &Installation, server: &Server, number: usize) -> Value {
    let listed = server.get(&format!("/v1/offerings/{}/holders", site.offerings[0])).await;
    let address = wallet(number).to_checksum(None);
    let found = listed.body["data"].as_array().unwrap().iter().find(|h| h["wallet_address"] == address.as_str());
    found.cloned().unwrap_or_default()
}

async fn units(site: &Installation, server: &Server, number: usize) -> u64 {
    holder(site, server, number).await["base_units"].as_str().map_or(0, |text| text.parse().unwrap())
}

on_both_databases! {
    async fn transfers_outside_the_platform_appear_in_holdings(database: Database) {
        let (site, server, token) = minted(database, Mining::Quick, Terms::free(3)).await;
        let (before, all) = (units(&site, &server, 1).await, units(&site, &server, 0).await);
        give(&site, token, 0, 1, 7).await;
        site.until("the gift is shown", async || units(&site, &server, 1).await == before + 7).await;
        assert_eq!(units(&site, &server, 0).await, all - 7);
        assert_eq!(site.balance_of(token, wallet(1)).await, U256::from(before + 7));
        // A holder without units is removed; a new holder has no known owner.
        let list = batchWhitelistCall { partition: U256::from(1), holders: vec![wallet(9)], allowed: true };
        call(&site, signer_of(world::KEYS[3]), token, list).await;
        give(&site, token, 0, 9, all - 7).await;
        site.until("the last unit is gone", async || holder(&site, &server, 0).await.is_null()).await;
        let newcomer = holder(&site, &server, 9).await;
        assert_eq!((&newcomer["investor_id"], &newcomer["frozen"]), (&Value::Null, &json!(false)));
        assert!(newcomer["first_acquired_at"].is_string());
        // Another agent freezes a holder past the platform.
        let freeze = freezeAddressCall { account: wallet(1), data: Bytes::new() };
        call(&site, signer_of(world::KEYS[3]), token, freeze).await;
        site.until("the freeze is shown", async || holder(&site, &server, 1).await["frozen"] == true).await;
        let listed = server.get(&format!("/v1/offerings/{}/holders", site.offerings[0])).await;
        let found = server.get(&format!("/v1/offerings/{}/holders?q={}", site.offerings[0], &wallet(1).to_checksum(None)[2..12])).await;
        assert_eq!((&found.body["pagination"]["total"], found.text("/data/0/wallet_address")), (&json!(1), wallet(1).to_checksum(None)));
        let nobody = server.get(&format!("/v1/offerings/{}/holders?q=%25", site.offerings[0])).await;
        assert_eq!(nobody.body["pagination"]["total"], 0, "a percent sign is no pattern: {nobody:?}");
        assert!(listed.body["as_of"]["block"].as_i64().unwrap() > 0, "{}", listed.body);
        let shares = listed.body["data"].as_array().unwrap().iter().map(|h| h["percentage"].as_str().unwrap());
        let sum: f64 = shares.map(|share| share.parse::<f64>().unwrap()).sum();
        assert!((99.99..=100.0).contains(&sum), "{sum}");
    }

    async fn a_redemption_by_a_holder_lowers_holding_and_supply(database: Database) {
        let (site, server, token) = minted(database, Mining::Quick, Terms::free(2)).await;
        let before = units(&site, &server, 0).await;
        let own = || redeemOwnCall { partition: U256::from(1), amount: U256::from(300) };
        // The issuer has not allowed it yet, so the first one reverts.
        call(&site, wallet(0), token, own()).await;
        call(&site, signer_of(world::KEYS[3]), token, setHolderRedemptionCall { allowed: true }).await;
        call(&site, wallet(0), token, own()).await;
        site.until("the redemption is shown", async || units(&site, &server, 0).await == before - 300).await;
        assert_eq!(site.balance_of(token, wallet(0)).await, U256::from(before - 300));
        let run = server.post("/blockchain/reconciliation-runs", "run", json!({ "offering_id": site.offerings[0] })).await;
        let path = run.headers["location"].to_str().unwrap().to_owned();
        site.until("the run is done", async || server.get(&path).await.text("/status") == "completed").await;
        let found = server.get(&path).await.body["findings"]["data"].as_array().unwrap().clone();
        assert!(found.iter().all(|found| found["kind"] == "agent_unknown"), "supply and balances agree: {found:?}");
    }

    async fn a_transfer_appears_only_when_it_is_final(database: Database) {
        let (site, server, token) = minted(database, Mining::Quick, Terms::free(2)).await;
        let rpc = site.anvil.rpc();
        rpc.call("evm_setIntervalMining", json!([0])).await;
        rpc.call("evm_setAutomine", json!([false])).await;
        let before = units(&site, &server, 1).await;
        give(&site, token, 0, 1, 5).await;
        site.anvil.mine(1).await;
        assert_eq!(units(&site, &server, 1).await, before);
        rpc.call("anvil_reorg", json!([1, []])).await;
        rpc.call("anvil_dropAllTransactions", json!([])).await;
        let read = async || server.get(&format!("/v1/offerings/{}/holders", site.offerings[0])).await.body["as_of"]["block"].as_i64();
        let seen = read().await;
        site.anvil.mine(6).await;
        site.until("later blocks are read", async || read().await > seen.map(|block| block + 2)).await;
        assert_eq!(units(&site, &server, 1).await, before);
        assert_eq!(site.balance_of(token, wallet(1)).await, U256::from(before));
    }
}
