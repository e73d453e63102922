//! A TCP relay on the loopback between the engine and its database, which a test can cut, stall or close.
//!
//! The most important fault: the database commits and its response is lost.

use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::stage::Stage;

const OPEN: u8 = 0;
const CLOSED: u8 = 1;
const DEAF: u8 = 2;

/// A running relay; dropping it closes the relay.
pub struct Wire {
    address: SocketAddr,
    shared: Arc<Shared>,
    _stage: Stage,
}

struct Shared {
    target: SocketAddr,
    state: AtomicU8,
    changed: Notify,
    withheld: AtomicU64,
    /// How often the existing connections were swallowed.
    swallowed: AtomicU64,
    /// The connection that sends this next becomes half-open.
    victim: Mutex<Option<Vec<u8>>>,
}

impl Wire {
    /// A relay to this address, open.
    pub fn to(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback has a free port");
        listener.set_nonblocking(true).expect("a listener can be made asynchronous");
        let address = listener.local_addr().expect("a bound listener has an address");
        let state = AtomicU8::new(OPEN);
        let shared = Shared {
            target,
            state,
            changed: Notify::new(),
            withheld: AtomicU64::new(0),
            swallowed: AtomicU64::new(0),
            victim: Mutex::new(None),
        };
        let shared = Arc::new(shared);
        let stage = Stage::run(accept(listener, shared.clone()));
        Self { address, shared, _stage: stage }
    }

    /// A relay before the server of this URL, and the URL that goes through it.
    pub fn before(url: &str) -> (Self, String) {
        let (_, rest) = url.split_once("://").expect("a URL has a scheme");
        let host = rest.split('/').next().expect("a URL has a host");
        let host = host.rsplit('@').next().expect("a host follows the user");
        let wire = Self::to(host.parse().expect("the host is an address with its port"));
        let through = url.replace(host, &wire.address.to_string());
        (wire, through)
    }

    /// Its own address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection and refuses new ones.
    pub fn close(&self) {
        self.set(CLOSED);
    }

    /// Requests go through, answers do not: a commit happens and its answer is lost.
    pub fn deafen(&self) {
        self.set(DEAF);
    }

    /// Works again for new connections; stalled ones break, because their responses are lost.
    pub fn open(&self) {
        self.set(OPEN);
    }

    /// Existing connections become half-open, as after a failover behind a load balancer: nothing comes through any more, and nobody closes
    /// them. New ones work.
    pub fn swallow(&self) {
        self.shared.swallowed.fetch_add(1, Ordering::SeqCst);
        self.shared.changed.notify_waiters();
    }

    /// The connection that sends this text next becomes half-open before the server has it. All others work.
    pub fn swallow_sender_of(&self, text: &str) {
        *self.shared.victim() = Some(text.as_bytes().to_vec());
    }

    /// Whether that connection is still to come.
    pub fn awaits_sender(&self) -> bool {
        self.shared.victim().is_some()
    }

    /// Bytes of withheld responses: proof that the fault took effect.
    pub fn withheld_bytes(&self) -> u64 {
        self.shared.withheld.load(Ordering::SeqCst)
    }

    fn set(&self, state: u8) {
        self.shared.state.store(state, Ordering::SeqCst);
        self.shared.changed.notify_waiters();
    }
}

impl Shared {
    fn victim(&self) -> std::sync::MutexGuard<'_, Option<Vec<u8>>> {
        self.victim.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether these bytes are those of the connection to swallow, which is one only.
    fn is_victim(&self, bytes: &[u8]) -> bool {
        self.victim().take_if(|text| bytes.windows(text.len()).any(|part| part == text.as_slice())).is_some()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let listener = tokio::net::TcpListener::from_std(listener).expect("the stage has a runtime");
    let mut relays = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        relays.spawn(relay(near, shared.clone()));
        while relays.try_join_next().is_some() {}
    }
}

async fn relay(mut near: TcpStream, shared: Arc<Shared>) {
    let Ok(mut far) = TcpStream::connect(shared.target).await else { return };
    let (mut request, mut answer) = (vec![0; 16 * 1024], vec![0; 16 * 1024]);
    let (mut deaf, born) = (false, shared.swallowed.load(Ordering::SeqCst));
    loop {
        let changed = shared.changed.notified();
        if shared.swallowed.load(Ordering::SeqCst) != born {
            return swallow(near, far).await;
        }
        match shared.state.load(Ordering::SeqCst) {
            CLOSED => return,
            DEAF => deaf = true,
            _ if deaf => return,
            _ => {}
        }
        tokio::select! {
            () = changed => {}
            read = near.read(&mut request) => match read {
                Ok(length) if shared.is_victim(&request[..length]) => return swallow(near, far).await,
                Ok(length) if length > 0 && far.write_all(&request[..length]).await.is_ok() => {}
                _ => return,
            },
            read = far.read(&mut answer) => match read {
                Ok(length) if length > 0 && deaf => {
                    shared.withheld.fetch_add(length as u64, Ordering::SeqCst);
                }
                Ok(length) if length > 0 && near.write_all(&answer[..length]).await.is_ok() => {}
                _ => return,
            },
        }
    }
}

/// The server is gone, and the client is not told.
async fn swallow(mut near: TcpStream, far: TcpStream) {
    drop(far);
    let mut sent = [0; 1024];
    while near.read(&mut sent).await.is_ok_and(|length| length > 0) {}
}
