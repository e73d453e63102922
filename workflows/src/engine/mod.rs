//! The engine: a database, the chains it works on and the keys it signs with. It runs operations of every kind and names none of them.

pub mod advance;
pub(crate) mod backoff;
pub(crate) mod catch_up;
pub(crate) mod chain_identity;
pub(crate) mod conclude;
pub mod effect;
pub mod execution;
pub mod failure;
pub mod finalise;
pub mod follow;
pub(crate) mod foreign;
pub mod kind;
pub mod lane;
pub mod ledger;
mod network;
pub mod observe;
pub(crate) mod page;
pub(crate) mod payout_limit;
mod payout_token;
pub mod platform;
pub mod prepare;
pub mod process;
pub mod queue;
pub mod rebroadcast;
pub mod start;
pub mod submit;
pub mod sweep;
pub mod timer;

use std::collections::BTreeMap;
use std::sync::Arc;

use alloy_primitives::Address;
use muniment_activities::policy::{Gate, Target};
use muniment_domain::contract::Kind;
use muniment_domain::db::Db;
use muniment_domain::lease::Holder;
use muniment_domain::operation::Operation;
use muniment_domain::{Error, contract};

pub use network::Network;
pub use start::StartError;

use crate::engine::kind::OperationKind;
use crate::engine::platform::Platform;
use crate::settings::Settings;

/// Everything that a move needs.
#[derive(Clone)]
pub struct Engine {
    /// The truth.
    pub db: Db,
    /// The limits.
    pub settings: Arc<Settings>,
    /// The chains, by id.
    pub networks: Arc<BTreeMap<i64, Network>>,
    /// This process, as a holder of leases.
    pub holder: Holder,
    /// What it runs: the kinds of operations, the jobs, the timers.
    pub platform: &'static Platform,
}

impl Engine {
    /// The chain that an operation is on.
    pub fn network(&self, chain_id: i64) -> Option<&Network> {
        self.networks.get(&chain_id)
    }

    /// What the engine asks of an operation's kind.
    pub fn kind(&self, op: &Operation) -> &'static dyn OperationKind {
        (self.platform.kind)(op.kind)
    }

    /// The gate of a chain for calls of these targets, with the contracts that the platform has there now.
    pub async fn gate(&self, network: &Network, targets: &[Address]) -> Result<Gate, Error> {
        let mut tx = self.db.read().await?;
        let mut gate = Gate::of(&network.chain.config);
        for coin in &network.chain.config.payout_tokens {
            gate = gate.with(coin.address, Target::Asset);
        }
        for (address, kind) in contract::for_gate(&mut tx, network.id(), targets).await? {
            match kind {
                Kind::Factory => gate = gate.with(address.0, Target::Factory),
                Kind::Token => gate = gate.with(address.0, Target::Token),
                Kind::Distributor => gate = gate.with(address.0, Target::Distributor),
                // The registry is the administrator's, never this server's.
                Kind::Registry => {}
            }
        }
        Ok(gate)
    }
}
