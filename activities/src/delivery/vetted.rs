//! Looks up a host and refuses it if any of its addresses is not allowed. The connection uses these addresses and no later look-up, so a
//! name cannot lead elsewhere between the check and the connection.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::time::timeout;

/// How long a look-up may take.
const LOOKUP: Duration = Duration::from_secs(5);

/// Finds the addresses of a host.
pub type Lookup = Arc<dyn Fn(String) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> + Send + Sync>;

/// Decides whether an address may be connected to.
pub type Allowed = fn(IpAddr) -> bool;

/// The look-up of the operating system.
pub fn system_lookup() -> Lookup {
    Arc::new(|host| {
        let found = async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        };
        found.boxed()
    })
}

/// Why a host has no addresses to connect to.
#[derive(Debug, thiserror::Error)]
pub enum Unvetted {
    /// One of its addresses is not allowed.
    #[error("the host has an address in a private or reserved network")]
    Forbidden,
    /// It was not found in time.
    #[error("the host was not found")]
    Unknown(#[from] io::Error),
}

/// The addresses of a host, if all of them are allowed.
pub async fn vet(lookup: &Lookup, host: &str, allowed: Allowed) -> Result<Vec<IpAddr>, Unvetted> {
    let found = timeout(LOOKUP, lookup(host.to_owned())).await;
    let found = found.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    if found.iter().all(|address| allowed(*address)) { Ok(found) } else { Err(Unvetted::Forbidden) }
}

/// The resolver of the client.
pub struct Vetted {
    pub lookup: Lookup,
    pub allowed: Allowed,
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, allowed) = (self.lookup.clone(), self.allowed);
        Box::pin(async move {
            let found = vet(&lookup, name.as_str(), allowed).await?;
            // The client puts the port of the URL here.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
