//! Somebody else signs with a platform key: the lane stops, the proof is kept, and nothing more is signed on it.

use alloy::consensus::{SignableTransaction, TxEip1559, TxEnvelope};
use alloy::eips::eip2718::Encodable2718;
use alloy::primitives::{Address, Bytes, TxKind, U256, hex};
use alloy::signers::SignerSync;
use alloy::signers::local::PrivateKeySigner;
use serde_json::json;
use world::{Anvil, Database, KEYS, Mining, on_both_databases};

use crate::installation::{Installation, Terms, signer_of};

/// Sends a transaction with a known key past the platform; its fee is above every fee of the platform.
pub async fn send(anvil: &Anvil, key: &str, nonce: u64, to: Address, input: Bytes) -> String {
    let signer: PrivateKeySigner = key.parse().unwrap();
    let fee = 500_000_000_000;
    let unsigned = TxEip1559 {
        chain_id: 31337,
        nonce,
        gas_limit: 3_000_000,
        max_fee_per_gas: fee,
        max_priority_fee_per_gas: fee,
        to: TxKind::Call(to),
        value: U256::ZERO,
        input,
        ..Default::default()
    };
    let signature = signer.sign_hash_sync(&unsigned.signature_hash()).unwrap();
    let bytes = TxEnvelope::from(unsigned.into_signed(signature)).encoded_2718();
    let hash = anvil.rpc().call("eth_sendRawTransaction", json!([hex::encode_prefixed(bytes)])).await;
    hash.as_str().unwrap().to_owned()
}

/// Target and data of an operation's steps, in order.
pub async fn calls_of(site: &Installation, operation_id: &str) -> Vec<(Address, Bytes)> {
    let hexadecimal =
        if matches!(site.database, Database::Sqlite(_)) { "hex(calldata)" } else { "encode(calldata, 'hex')" };
    let steps = format!(
        "select target, {hexadecimal} from operation_steps where operation_id = '{operation_id}' order by position"
    );
    let call = |row: Vec<String>| (row[0].parse().unwrap(), hex::decode(&row[1]).unwrap().into());
    site.rows(&steps).await.into_iter().map(call).collect()
}

/// Executes the call of an operation's only step with another agent's key.
pub async fn execute_elsewhere(site: &Installation, operation_id: &str) -> String {
    let (target, calldata) = calls_of(site, operation_id).await.remove(0);
    let count = json!([signer_of(KEYS[2]), "latest"]);
    let nonce = site.anvil.rpc().number("eth_getTransactionCount", count).await;
    send(&site.anvil, KEYS[2], nonce, target, calldata).await
}

async fn mode(site: &Installation) -> String {
    site.rows("select mode from lanes").await[0][0].clone()
}

on_both_databases! {
    async fn a_signer_used_elsewhere_stops_its_lane(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let server = site.start().await;
        server.deploy("deploy-0", &site.offerings[0]).await;
        site.settled().await;
        let foreign = send(&site.anvil, KEYS[1], 1, Address::repeat_byte(7), Bytes::new()).await;
        site.until("the lane is stopped", async || mode(&site).await == "quarantined").await;
        assert_eq!(site.rows("select tx_hash from foreign_transactions").await, [[foreign]]);
        assert_eq!(server.deploy("deploy-1", &site.offerings[1]).await.status, 202);
        let waits = "operations where status = 'pending' and faults = 0 and blocked_reason like 'lane_quarantined%'";
        site.until("the operation waits", async || site.count(waits).await == 1).await;
        site.anvil.mine(5).await;
        assert_eq!(site.count("attempts").await, 1, "nothing was signed");
        let shown = server.get("/blockchain/signers").await;
        assert_eq!(shown.body["data"][0]["lane_state"], "quarantined");
    }

    async fn a_nonce_taken_by_a_foreign_transaction_is_a_dead_letter_with_proof(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let server = site.start().await;
        server.deploy("deploy", &site.offerings[0]).await;
        let sent = "select tx_hash from attempts where sends > 0";
        site.until("it is sent", async || !site.rows(sent).await.is_empty()).await;
        let foreign = send(&site.anvil, KEYS[1], 0, Address::repeat_byte(7), Bytes::new()).await;
        site.anvil.mine(1).await;
        site.until("the lane is stopped", async || mode(&site).await == "quarantined").await;
        assert_eq!(site.statuses().await, [["submitted", "1"]], "no status change before it is final");
        site.finalised().await;
        let letter = site.rows("select status, error_code, error_message from operations").await.concat();
        assert_eq!(letter[..2], ["dead_letter", "nonce_consumed_externally"]);
        assert!(letter[2].contains(&foreign), "{letter:?}");
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.attention), (0, 1));
    }
}
