#![doc = include_str!("../README.md")]

mod block;
mod call;
mod chain;
mod config;
mod error;
mod execute;
mod fault;
mod fees;
mod http;
mod journal;
mod logs;
mod mine;
mod pool;
mod record;
mod rpc;
mod schedule;
mod simulate;
mod state;
mod store;
mod transaction;
mod view;
mod writer;

use std::fs::File;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock, RwLock};

use serde_json::Value;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use config::{Clock, Config, DEV_ACCOUNTS, ether, system_clock};
pub use error::{Error, Result};

use chain::Chain;
use writer::{WriteQueue, Writer};

/// An open development chain; clones share it, and the last one that is dropped closes it.
#[derive(Clone)]
pub struct Devchain {
    inner: Arc<Inner>,
}

struct Inner {
    chain: RwLock<Chain>,
    write_queue: WriteQueue,
    clock: Clock,
    address: OnceLock<SocketAddr>,
    _lock: Option<File>,
}

impl Devchain {
    /// Opens the stored chain, or makes a new one.
    pub fn open(config: Config) -> Result<Self> {
        let opened = store::open(&config)?;
        let writer = Writer::new(opened.journal, config.clock.clone());
        let inner = Inner {
            chain: RwLock::new(opened.chain),
            write_queue: WriteQueue::new(writer),
            clock: config.clock,
            address: OnceLock::new(),
            _lock: opened.lock,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Answers one JSON-RPC request or batch without a network.
    ///
    /// It may wait for the disk: call it where blocking is allowed.
    pub fn handle(&self, request: Value) -> Value {
        rpc::handle(&self.inner, request)
    }

    /// Serves JSON-RPC over HTTP, and mines at intervals if so set, until `shutdown`.
    ///
    /// Requests in flight are answered first.
    pub async fn serve(&self, listener: TcpListener, shutdown: CancellationToken) -> Result<()> {
        let address = listener.local_addr().map_err(Error::Serve)?;
        // A chain that is served twice keeps the first address.
        let _ = self.inner.address.set(address);
        http::serve(self.clone(), listener, shutdown).await
    }

    /// The URL of the server, once it is served.
    pub fn url(&self) -> Option<String> {
        self.inner.address.get().map(|address| format!("http://{address}"))
    }
}
