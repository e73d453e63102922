//! The chain: the embedded one, on the disk as the demo has it, or anvil.

use alloy::primitives::Address;
use muniment_devchain::{Config, Devchain};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use world::{Anvil, Mining, Rpc};

/// Which chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The embedded one.
    Devchain,
    /// The one from the contracts' packages.
    Anvil,
}

impl Kind {
    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Devchain => "devchain",
            Self::Anvil => "anvil",
        }
    }
}

/// A running chain; it ends with the value.
pub struct Node {
    /// Which.
    pub kind: Kind,
    /// Where it answers.
    pub url: String,
    _running: Running,
}

enum Running {
    Devchain { stop: CancellationToken, _folder: TempDir },
    Anvil { _node: Anvil },
}

impl Node {
    /// A fresh one. The embedded chain mines with each transaction, whatever is asked for.
    pub async fn start(kind: Kind, mining: Mining) -> Self {
        match kind {
            Kind::Devchain => devchain().await,
            Kind::Anvil => {
                let node = Anvil::start(mining);
                Self { kind, url: node.url().to_owned(), _running: Running::Anvil { _node: node } }
            }
        }
    }

    /// A client.
    pub fn rpc(&self) -> Rpc {
        Rpc::new(&self.url)
    }

    /// Gives an account more than it can spend.
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
    let told = stop.clone();
    tokio::spawn(async move { chain.serve(listener, told).await });
    Node { kind: Kind::Devchain, url, _running: Running::Devchain { stop, _folder: folder } }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Self::Devchain { stop, .. } = self {
            stop.cancel();
        }
    }
}
