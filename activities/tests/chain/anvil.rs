//! Starts anvil and deploys the platform's contracts to it.
use std::{
    path::PathBuf,
    process::Stdio,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use alloy::primitives::{Address, B256, U256, b256};
use muniment_activities::{
    chain::{
        Chain, Tag, gas,
        receipt::Receipt,
        send::SendResult,
        simulate::{At, Call, Simulation},
    },
    config::{ChainConfig, Profile},
    contract::registry::Roles,
    platform::Platform,
    signer::{
        Signer,
        policy::{PolicyGate, Target},
        transaction::{Signed, Transaction},
    },
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

const OPERATOR: B256 = b256!("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80");
const DEPLOYER: B256 = b256!("2a871d0798f97d79848a013d4936a73bf4cc922c825d33c1cf7073dff6d409c6");

pub struct Anvil {
    pub chain: Chain,
    pub operator: Signer,
    pub deployer: Signer,
    pub platform: Platform,
    nonce: AtomicU64,
    _process: Child,
}

/// An anvil process and a chain over it.
pub async fn start(arguments: &[&str]) -> (Chain, Child) {
    let binary = std::env::var_os("MUNIMENT_ANVIL").map(PathBuf::from).unwrap_or_else(|| {
        let contracts = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../contracts");
        let arch = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
        let os = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
        contracts.join(format!("node_modules/@foundry-rs/anvil-{os}-{arch}/bin/anvil"))
    });
    let mut process = Command::new(&binary)
        .args(["--port", "0"])
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap_or_else(|error| {
            panic!("anvil does not start from {} ({error}): run `npm ci` in contracts/", binary.display())
        });
    let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
    let address = loop {
        let line = lines.next_line().await.unwrap().expect("anvil ended before it listened");
        if let Some(address) = line.strip_prefix("Listening on ") {
            break address.to_owned();
        }
    };
    // Anvil blocks if nobody reads its output.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let config =
        ChainConfig { endpoints: vec![format!("http://{address}")], poll_milliseconds: 50, ..ChainConfig::default() };
    (Chain::http(config).unwrap(), process)
}

/// Anvil is asked over plain HTTP, but reqwest wants a TLS configuration all the same.
fn no_tls() -> rustls::ClientConfig {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}

/// Sets the balance of an account, which only a development node allows.
pub async fn fund(chain: &Chain, account: Address) {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"anvil_setBalance","params":["{account}","0x56bc75e2d63100000"]}}"#
    );
    let client = reqwest::Client::builder().tls_backend_preconfigured(no_tls()).no_proxy().build().unwrap();
    let url = &chain.config.endpoints[0];
    let answer = client.post(url).header("content-type", "application/json").body(body).send().await.unwrap();
    assert!(answer.status().is_success());
}

impl Anvil {
    pub async fn with_platform() -> Anvil {
        let (chain, process) = start(&[]).await;
        let operator = Signer::raw(OPERATOR, Profile::Development).unwrap();
        let deployer = Signer::raw(DEPLOYER, Profile::Development).unwrap();
        let platform = Platform::deploy(&chain, &deployer, &[(operator.address(), Roles::ALL)]).await.unwrap();
        Anvil { chain, operator, deployer, platform, nonce: AtomicU64::new(0), _process: process }
    }

    pub async fn gas(&self, call: &Call) -> u64 {
        match self.chain.simulate(call, At::Latest).await.unwrap() {
            Simulation::Gas(gas) => gas,
            Simulation::Reverts(revert) => panic!("{revert:?}"),
        }
    }

    /// Signs a call as the operator without a simulation.
    pub async fn sign(&self, call: &Call, nonce: u64, gas_limit: u64) -> Signed {
        let fees = self.chain.fees().await.unwrap();
        let transaction = Transaction {
            to: call.to,
            data: call.data.clone(),
            ..Transaction::cancel(31337, self.operator.address(), nonce, gas_limit, fees)
        };
        let mut gate = PolicyGate::of(&self.chain.config).with(self.platform.factory, Target::Factory);
        if let Some(to) = call.to.filter(|to| *to != self.platform.factory) {
            gate = gate.with(to, Target::Token);
        }
        let permit = gate.check(self.operator.address(), &transaction, U256::ZERO).unwrap();
        self.operator.sign(&permit).await.unwrap()
    }

    /// Sends a call with that gas limit and waits for its receipt.
    pub async fn execute_with(&self, call: &Call, gas_limit: u64) -> Receipt {
        let signed = self.sign(call, self.nonce.fetch_add(1, Ordering::SeqCst), gas_limit).await;
        let sent = self.chain.send(std::slice::from_ref(&signed.raw)).await;
        assert_eq!(sent, [SendResult::Accepted(signed.hash)]);
        // Anvil answers before it mines.
        for _ in 0..200 {
            if let Some(receipt) = self.chain.receipts(&[signed.hash]).await.unwrap().remove(0) {
                return receipt;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("anvil did not mine {}", signed.hash);
    }

    pub async fn execute(&self, call: &Call) -> Receipt {
        let limit = gas::limit(self.gas(call).await, self.chain.config.gas_cap).unwrap();
        self.execute_with(call, limit).await
    }

    pub async fn next_nonce(&self) -> u64 {
        self.chain.transaction_count(self.operator.address(), Tag::Pending).await.unwrap()
    }
}
