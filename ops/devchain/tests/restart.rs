//! A chain that is closed, cut or killed comes back as it was acknowledged.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod world;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use alloy::primitives::{Address, TxKind, U256, address};
use muniment_devchain::{Config, Devchain, Error};
use serde_json::{Value, json};
use world::contract::{self, command};
use world::folder::Folder;
use world::http::{Client, serve};
use world::wallet::{Tx, Wallet};

const NOBODY: Address = address!("00000000000000000000000000000000000ff1ce");

fn config(dir: &Path) -> Config {
    Config { dir: Some(dir.to_owned()), clock: Arc::new(|| 1_900_000_000), ..Config::default() }
}

fn ask(chain: &Devchain, method: &str, params: Value) -> Value {
    let response = chain.handle(json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    assert!(response.get("error").is_none(), "{method}: {response}");
    response["result"].clone()
}

/// Deploys, stores, reverts, pays; every kind of thing that a restart could lose.
fn live(chain: &Devchain) {
    let wallet = Wallet::new(0);
    let code = contract::init(&contract::runtime());
    let deploy = wallet.sign(Tx::new(0, TxKind::Create, code));
    ask(chain, "eth_sendRawTransaction", deploy.params());
    let contract: Address = serde_json::from_value(
        ask(chain, "eth_getTransactionReceipt", json!([deploy.hash]))["contractAddress"].clone(),
    )
    .unwrap();
    for nonce in 1..6 {
        let store = command(contract::STORE, &[U256::from(nonce % 3), U256::from(nonce)]);
        ask(chain, "eth_sendRawTransaction", wallet.sign(Tx::new(nonce, TxKind::Call(contract), store)).params());
    }
    let revert = command(contract::REVERT, &[]);
    ask(chain, "eth_sendRawTransaction", wallet.sign_legacy(Tx::new(6, TxKind::Call(contract), revert)).params());
    ask(chain, "anvil_setBalance", json!([NOBODY, "0x64"]));
    ask(chain, "evm_increaseTime", json!([86_400]));
    ask(chain, "eth_sendRawTransaction", wallet.sign(Tx::transfer(7, NOBODY, 5)).params());
}

/// Every read of the history.
fn memory(chain: &Devchain) -> BTreeMap<String, Value> {
    let mut memory = BTreeMap::new();
    let mut keep = |method: &str, params: Value| {
        let answer = ask(chain, method, params.clone());
        memory.insert(format!("{method}{params}"), answer.clone());
        answer
    };
    let head = u64::from_str_radix(&keep("eth_blockNumber", json!([])).as_str().unwrap()[2..], 16).unwrap();
    for number in 0..=head {
        let number = format!("{number:#x}");
        let block = keep("eth_getBlockByNumber", json!([number, true]));
        keep("eth_getBlockReceipts", json!([number]));
        for transaction in block["transactions"].as_array().unwrap() {
            keep("eth_getTransactionByHash", json!([transaction["hash"]]));
            let receipt = keep("eth_getTransactionReceipt", json!([transaction["hash"]]));
            if receipt["contractAddress"].is_string() {
                keep("eth_getCode", json!([receipt["contractAddress"], "latest"]));
            }
            for slot in 0..3 {
                keep(
                    "eth_getStorageAt",
                    json!([
                        transaction["to"].as_str().unwrap_or("0x0000000000000000000000000000000000000000"),
                        format!("{slot:#x}"),
                        number
                    ]),
                );
            }
        }
        keep("eth_getBalance", json!([NOBODY, number]));
        keep("eth_getBalance", json!([Wallet::new(0).address(), number]));
    }
    keep("eth_getLogs", json!([{ "fromBlock": "0x0" }]));
    keep("eth_feeHistory", json!(["0x400", "latest", [50]]));
    keep("eth_getBlockByNumber", json!(["pending", true]));
    memory
}

#[test]
fn a_restart_changes_nothing() {
    let folder = Folder::new("restart");
    let chain = Devchain::open(config(folder.path())).unwrap();
    live(&chain);
    let before = memory(&chain);
    drop(chain);
    let chain = Devchain::open(config(folder.path())).unwrap();
    assert_eq!(memory(&chain), before);
    ask(&chain, "eth_sendRawTransaction", Wallet::new(0).sign(Tx::transfer(8, NOBODY, 1)).params());
}

#[test]
fn a_chain_in_memory_tells_the_same_story() {
    let folder = Folder::new("same");
    let stored = Devchain::open(config(folder.path())).unwrap();
    let fleeting = Devchain::open(Config { dir: None, ..config(folder.path()) }).unwrap();
    live(&stored);
    live(&fleeting);
    assert_eq!(memory(&stored), memory(&fleeting));
}

#[test]
fn a_torn_last_record_is_cut_off_wherever_it_is_torn() {
    let folder = Folder::new("torn");
    let log = folder.path().join("devchain.log");
    let chain = Devchain::open(config(folder.path())).unwrap();
    live(&chain);
    let (before, short) = (memory(&chain), std::fs::read(&log).unwrap().len());
    ask(&chain, "eth_sendRawTransaction", Wallet::new(0).sign(Tx::transfer(8, NOBODY, 1)).params());
    drop(chain);
    let whole = std::fs::read(&log).unwrap();
    for cut in (short..whole.len()).step_by(7) {
        std::fs::write(&log, &whole[..cut]).unwrap();
        let chain = Devchain::open(config(folder.path())).unwrap();
        assert_eq!(memory(&chain), before, "cut at {cut} of {}", whole.len());
        assert_eq!(std::fs::read(&log).unwrap().len(), short);
    }
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let folder = Folder::new("refused");
    let chain = Devchain::open(config(folder.path())).unwrap();
    live(&chain);
    let error = Devchain::open(config(folder.path())).err().unwrap();
    assert!(matches!(error, Error::Locked { .. }), "{error}");
    drop(chain);
    let error = Devchain::open(Config { chain_id: 5, ..config(folder.path()) }).err().unwrap();
    assert!(matches!(error, Error::ChainId { stored: 31337, configured: 5 }), "{error}");
    let log = folder.path().join("devchain.log");
    let mut bytes = std::fs::read(&log).unwrap();
    bytes[3000] ^= 1;
    std::fs::write(&log, &bytes).unwrap();
    let error = Devchain::open(config(folder.path())).err().unwrap();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("same backup"), "{error}");
    assert_eq!(std::fs::read(&log).unwrap(), bytes);
}

/// Not a test of its own: the process that the test below kills.
#[test]
fn child() {
    let Some(dir) = std::env::var_os("DEVCHAIN_CHILD") else { return };
    let served = serve(config(Path::new(&dir)));
    std::fs::write(Path::new(&dir).join("address"), &served.address).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_is_killed() {
    let folder = Folder::new("killed");
    let mut nonce = 0;
    let mut seen: BTreeMap<String, Value> = BTreeMap::new();
    for round in 0..12_u64 {
        let _ = std::fs::remove_file(folder.path().join("address"));
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["child", "--exact", "--nocapture"])
            .env("DEVCHAIN_CHILD", folder.path())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut client = connect(folder.path());
        for (hash, receipt) in &seen {
            assert_eq!(&client.ok("eth_getTransactionReceipt", json!([hash])), receipt, "round {round}");
        }
        let mined = client.ok("eth_getTransactionCount", json!([Wallet::new(0).address(), "latest"]));
        let mined = u64::from_str_radix(&mined.as_str().unwrap()[2..], 16).unwrap();
        // At most the one that was on its way may be mined without having been acknowledged.
        assert!((nonce..=nonce + 1).contains(&mined), "round {round}: {mined} mined, {nonce} acknowledged");
        nonce = mined;
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20 + round * 13));
            process.kill().unwrap();
            process.wait().unwrap();
        });
        while let Some((hash, receipt)) = send(&mut client, nonce) {
            seen.insert(hash, receipt);
            nonce += 1;
        }
        killer.join().unwrap();
    }
    assert!(seen.len() > 12, "only {} transactions were in flight", seen.len());
}

fn connect(dir: &Path) -> Client {
    for _ in 0..500 {
        if let Ok(address) = std::fs::read_to_string(dir.join("address"))
            && let Ok(client) = Client::connect(&address)
        {
            return client;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the child does not serve");
}

/// Sends one transaction and reads its receipt, unless the node dies before.
fn send(client: &mut Client, nonce: u64) -> Option<(String, Value)> {
    let raw = Wallet::new(0).sign(Tx::transfer(nonce, NOBODY, 1));
    let call = |method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }).to_string()
    };
    let sent = client.post(&call("eth_sendRawTransaction", raw.params())).ok()?;
    assert_eq!(sent["result"], json!(raw.hash), "{sent}");
    let receipt = client.post(&call("eth_getTransactionReceipt", json!([raw.hash])));
    // Acknowledged is acknowledged, also when the receipt cannot be read any more.
    Some((raw.hash.to_string(), receipt.ok()?["result"].clone()))
}
