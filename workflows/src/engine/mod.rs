//! The engine: a database, the chains it works on and the keys it signs with. It runs operations of every kind and names none of them.

pub mod advance;
pub(crate) mod backoff;
mod blocks;
pub(crate) mod catch_up;
pub(crate) mod chain_identity;
pub mod commits;
pub(crate) mod conclude;
mod decide;
pub mod effect;
pub mod execution;
pub mod failure;
pub mod finalise;
pub mod follow;
pub(crate) mod foreign;
mod gather;
pub(crate) mod inclusion;
pub mod kind;
pub(crate) mod known_events;
pub(crate) mod known_gas;
pub mod lane;
pub mod ledger;
pub(crate) mod market;
mod network;
pub mod observe;
pub(crate) mod page;
pub(crate) mod payout_limit;
mod payout_token;
pub mod platform;
pub(crate) mod position;
pub mod prepare;
pub mod process;
pub mod queue;
pub mod queue_state;
pub mod queue_tables;
pub mod rebroadcast;
pub mod record;
pub mod refusal;
mod room;
pub mod send;
pub mod start;
pub mod submit;
pub mod sweep;
pub mod timer;
pub mod used_nonce;
mod verdicts;
pub(crate) mod wait;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::Address;
use muniment_activities::signer::policy::{PolicyGate, Target};
use muniment_domain::contract::Kind;
use muniment_domain::db::Db;
use muniment_domain::lease::Holder;
use muniment_domain::operation::Operation;
use muniment_domain::point::Point;
use muniment_domain::{Error, contract};

pub use network::Network;
pub use start::StartError;

use crate::engine::commits::{Patience, Writes};
use crate::engine::kind::OperationKind;
use crate::engine::platform::Platform;
use crate::settings::Settings;

/// How long the writes that no send waits for wait for each other under load.
const UNDER_LOAD: Duration = Duration::from_millis(40);

/// The dependencies of every move.
#[derive(Clone)]
pub struct Engine {
    /// The database.
    pub db: Db,
    /// The engine's settings.
    pub settings: Arc<Settings>,
    /// The chains, by id.
    pub networks: Arc<BTreeMap<i64, Network>>,
    /// This process, as a holder of leases.
    pub holder: Holder,
    /// The kinds of operations, the jobs and the timers.
    pub platform: &'static Platform,
}

impl Engine {
    /// The chain with this id, if it is configured.
    pub fn network(&self, chain_id: i64) -> Option<&Network> {
        self.networks.get(&chain_id)
    }

    /// Commits what a move on a chain writes after this time at most, with the writes of other moves that wait by then.
    pub(crate) async fn commit(
        &self,
        chain_id: i64,
        point: Point,
        patience: impl Into<Patience>,
        writes: Arc<dyn Writes>,
    ) -> Result<(), Error> {
        match self.network(chain_id) {
            Some(network) => network.commits.write(&self.db, point, patience, writes).await,
            None => commits::alone(&self.db, point, writes.as_ref()).await,
        }
    }

    /// The same for writes that no send waits for. While operations wait for room in the lanes, they wait for each other.
    pub(crate) async fn commit_soon(&self, chain_id: i64, point: Point, writes: Arc<dyn Writes>) -> Result<(), Error> {
        let is_loaded = self.network(chain_id).is_some_and(|network| network.room.is_awaited());
        self.commit(chain_id, point, if is_loaded { UNDER_LOAD } else { Duration::ZERO }, writes).await
    }

    /// The implementation of an operation's kind.
    pub fn kind(&self, op: &Operation) -> &'static dyn OperationKind {
        (self.platform.kind)(op.kind)
    }

    /// The signing policy of a chain for calls of these targets, with the platform's current contracts.
    pub async fn gate(&self, network: &Network, targets: &[Address]) -> Result<PolicyGate, Error> {
        let mut tx = self.db.read().await?;
        let mut gate = PolicyGate::of(&network.chain.config);
        for coin in &network.chain.config.payout_tokens {
            gate = gate.with(coin.address, Target::Asset);
        }
        for (address, kind) in contract::for_policy_gate(&mut tx, network.id(), targets).await? {
            match kind {
                Kind::Factory => gate = gate.with(address.0, Target::Factory),
                Kind::Token => gate = gate.with(address.0, Target::Token),
                Kind::Distributor => gate = gate.with(address.0, Target::Distributor),
                // The registry belongs to the administrator. This server never calls it.
                Kind::Registry => {}
            }
        }
        Ok(gate)
    }
}
