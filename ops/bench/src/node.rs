//! The node: the embedded development chain with its data on disk, or anvil.

use alloy::primitives::Address;
use muniment_devchain::{Config, Devchain};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use world::{Anvil, Mining, Rpc};

/// The kind of node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// The embedded development chain.
    Devchain,
    /// Anvil.
    Anvil,
}

impl NodeKind {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Devchain => "devchain",
            Self::Anvil => "anvil",
        }
    }
}

/// A running node. It is stopped when the value is dropped.
pub struct Node {
    /// Its kind.
    pub kind: NodeKind,
    /// Its URL.
    pub url: String,
    _running: Running,
}

enum Running {
    Devchain { stop: CancellationToken, _folder: TempDir },
    Anvil { _node: Anvil },
}

impl Node {
    /// Starts a new node. The embedded chain always mines each transaction at once.
    pub async fn start(kind: NodeKind, mining: Mining) -> Self {
        match kind {
            NodeKind::Devchain => devchain().await,
            NodeKind::Anvil => Self::of(Anvil::start(mining)),
        }
    }

    /// This anvil.
    pub fn of(node: Anvil) -> Self {
        Self { kind: NodeKind::Anvil, url: node.url().to_owned(), _running: Running::Anvil { _node: node } }
    }

    /// A client.
    pub fn rpc(&self) -> Rpc {
        Rpc::new(&self.url)
    }

    /// Gives an account more native currency than it can spend.
    pub async fn fund(&self, address: Address) {
        self.rpc().call("anvil_setBalance", json!([address, "0x21e19e0c9bab2400000"])).await;
    }
}

async fn devchain() -> Node {
    let folder = tempfile::tempdir().expect("the temporary folder is writable");
    let config = Config { dir: Some(folder.path().to_owned()), ..Config::default() };
    let chain = Devchain::open(config).expect("a fresh chain opens");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("the loopback has a free port");
    let url = format!("http://{}", listener.local_addr().expect("a bound listener has an address"));
    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move { chain.serve(listener, stopped).await });
    Node { kind: NodeKind::Devchain, url, _running: Running::Devchain { stop, _folder: folder } }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Devchain { stop, .. } = self {
            stop.cancel();
        }
    }
}
