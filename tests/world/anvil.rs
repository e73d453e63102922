//! A real node: anvil, from the npm packages of the contracts.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::log::Log;
use crate::rpc::quantity;
use crate::{Rpc, repository};

const START_SECONDS: u64 = 90;

/// Private keys of anvil's first four accounts, each with 10,000 ether; known to everyone.
pub const KEYS: [&str; 4] = [
    "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80",
    "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    "0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a",
    "0x7c852118294e51e653712a81e05800f419141751be58f605c371e15141b007a6",
];

/// When a block comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mining {
    /// With each transaction. The last ones never become final, as no block follows them.
    Instant,
    /// With each transaction and every second, so that everything becomes final.
    Mixed,
    /// As `Mixed`, four times as fast, for tests that wait for finality again and again.
    Quick,
    /// Every so many seconds: transactions wait in the pool.
    Every(u64),
    /// When the test says so.
    Manual,
}

/// A running node; dropping it ends the node.
pub struct Anvil {
    /// None where another value ends the process.
    child: Option<Child>,
    url: String,
    log: Log,
    /// The node's folder for old states; a killed node does not delete it.
    _states: Option<TempDir>,
}

impl Anvil {
    /// A node whose `finalized` block is two behind its head.
    pub fn start(mining: Mining) -> Self {
        let mut args = vec!["--slots-in-an-epoch".to_owned(), "1".to_owned()];
        match mining {
            Mining::Instant => {}
            Mining::Mixed => args.extend(["--block-time", "1", "--mixed-mining"].map(str::to_owned)),
            Mining::Quick => args.extend(["--block-time", "0.25", "--mixed-mining"].map(str::to_owned)),
            Mining::Every(seconds) => args.extend(["--block-time".to_owned(), seconds.to_string()]),
            Mining::Manual => args.push("--no-mining".to_owned()),
        }
        Self::with(&args)
    }

    /// A node with these arguments besides its port.
    pub fn with(args: &[String]) -> Self {
        Self::on("0", args)
    }

    /// A node on this port, in place of one that has ended.
    pub fn on(port: &str, args: &[String]) -> Self {
        let states = tempfile::Builder::new().prefix("muniment-anvil.").tempdir().expect("a folder can be made");
        let mut child = Command::new(path())
            .args(["--host", "127.0.0.1", "--port", port])
            .arg("--cache-path")
            .arg(states.path())
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("anvil can be run");
        let mut log = Log::default();
        log.follow(child.stdout.take().expect("stdout is piped"));
        log.follow(child.stderr.take().expect("stderr is piped"));
        let listening = log.line_with("Listening on ", Duration::from_secs(START_SECONDS));
        let address = listening.as_deref().and_then(|line| line.split("Listening on ").nth(1));
        let Some(address) = address else {
            let _ = child.kill();
            panic!("anvil did not start.\n{}", log.text());
        };
        Self { child: Some(child), url: format!("http://{}", address.trim()), log, _states: Some(states) }
    }

    /// A node that accepts anvil's calls, such as the embedded chain.
    pub fn at(url: &str) -> Self {
        Self { child: None, url: url.to_owned(), log: Log::default(), _states: None }
    }

    /// The node's URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client of the node itself, past every fault.
    pub fn rpc(&self) -> Rpc {
        Rpc::new(&self.url)
    }

    /// Mines so many blocks.
    pub async fn mine(&self, blocks: u64) {
        self.rpc().call("anvil_mine", json!([quantity(blocks)])).await;
    }

    /// Replaces the last blocks by as many empty ones; their transactions are dropped.
    pub async fn reorg(&self, depth: u64) {
        self.rpc().call("anvil_reorg", json!([depth, []])).await;
    }

    /// Replaces the last blocks by as many others, of which the last contains this signed transaction.
    pub async fn reorg_with(&self, depth: u64, raw: &str) {
        self.rpc().call("anvil_reorg", json!([depth, [[raw, depth - 1]]])).await;
    }

    /// Takes a transaction out of the pool.
    pub async fn evict(&self, hash: &str) {
        self.rpc().call("anvil_dropTransaction", json!([hash])).await;
    }

    /// Sets the base fee of the next block.
    pub async fn set_base_fee(&self, wei: u64) {
        self.rpc().call("anvil_setNextBlockBaseFeePerGas", json!([quantity(wei)])).await;
    }

    /// An account's ether, in wei.
    pub async fn set_balance(&self, address: &str, wei: u64) {
        self.rpc().call("anvil_setBalance", json!([address, quantity(wei)])).await;
    }

    /// All state, to be loaded into a second node by `--load-state` or [`Anvil::load`].
    pub async fn dump(&self) -> Value {
        self.rpc().call("anvil_dumpState", json!([])).await
    }

    /// The state of another node.
    pub async fn load(&self, state: Value) {
        self.rpc().call("anvil_loadState", json!([state])).await;
    }

    /// The output so far.
    pub fn log(&self) -> String {
        self.log.text()
    }
}

impl Drop for Anvil {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn path() -> PathBuf {
    if let Some(path) = std::env::var_os("MUNIMENT_ANVIL") {
        return path.into();
    }
    let machine = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let package = format!("contracts/node_modules/@foundry-rs/anvil-linux-{machine}/bin/anvil");
    let path = repository().join(package);
    assert!(path.exists(), "anvil is missing: run `ops/test`, or `npm ci` in contracts/");
    path
}
