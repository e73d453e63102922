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

/// The host leads to an address that is not allowed.
#[derive(Debug, thiserror::Error)]
#[error("the host has an address in a private or reserved network")]
pub struct Forbidden;

/// The resolver of the client.
pub struct Vetted {
    pub lookup: Lookup,
    pub allowed: fn(IpAddr) -> bool,
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, allowed) = ((self.lookup)(name.as_str().to_owned()), self.allowed);
        Box::pin(async move {
            let found = timeout(LOOKUP, found).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
            if !found.iter().all(|address| allowed(*address)) {
                return Err(Forbidden.into());
            }
            // The client puts the port of the URL here.
            let addresses: Addrs = Box::new(found.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}
