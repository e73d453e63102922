//! What sends deliveries: the database, the secrets, and the client of the webhooks.

use std::time::Duration;

use muniment_activities::delivery::{Allowed, Poster};
use muniment_domain::db::Db;
use muniment_domain::lease::Holder;
use muniment_domain::webhook::secret::Secret;
use muniment_domain::webhook::{Endpoint, network};
use muniment_domain::{Error, Result};

use crate::delivery::lookup::lookup;

/// What only the holder of the secrets can do.
pub struct Vault {
    /// The signature header over an id, a time and a body, by every secret that signs now. None if a secret cannot be read.
    pub sign: Sign,
    /// The extra headers of an endpoint. None if they cannot be read.
    pub headers: Unseal,
}

/// Opens the extra headers of an endpoint, by name.
pub type Unseal = Box<dyn Fn(&Endpoint) -> Option<Vec<(String, String)>> + Send + Sync>;

/// Signs a message: its id, the time of the attempt in Unix seconds, and its body.
pub type Sign = Box<dyn Fn(&[Secret], (&str, i64, &str)) -> Option<String> + Send + Sync>;

/// What sends deliveries.
pub struct Courier {
    pub(super) db: Db,
    pub(super) holder: Holder,
    pub(super) vault: Vault,
    pub(super) poster: Poster,
    pub(super) allow_insecure: bool,
}

impl Courier {
    /// With a limit of time for one request. Insecure means http and private networks, for development.
    pub fn new(db: Db, vault: Vault, timeout: Duration, allow_insecure: bool) -> Result<Self> {
        let allowed: Allowed = if allow_insecure { |_| true } else { network::is_global };
        let poster = Poster::new(timeout, lookup(), allowed).map_err(Error::Worker)?;
        Ok(Self { holder: Holder::new(&db), db, vault, poster, allow_insecure })
    }
}
