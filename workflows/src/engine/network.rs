//! One chain as the engine works on it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex as StdMutex, PoisonError};

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Utc};
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::fault::Fault;
use muniment_activities::fees::Fees;
use muniment_activities::signer::Signer;
use tokio::sync::{Mutex, Notify, watch};

use crate::engine::Engine;

/// How many shapes of calls are remembered.
const SHAPES_MAX: usize = 4096;
/// How many blocks the follower takes in at once, while no endpoint objects.
pub const BLOCKS_PER_PASS: u64 = 64;

/// One chain with the keys that this process signs with there.
pub struct Network {
    /// Its endpoints.
    pub chain: Chain,
    /// The keys, each a lane of its own.
    pub signers: BTreeMap<Address, Signer>,
    /// Rung after a send, so that the follower looks at once.
    pub sent: Notify,
    /// Whether it is this process that follows the chain.
    pub followed_here: AtomicBool,
    /// Rung after the cursor moved, so that what is final is settled at once.
    pub followed: Notify,
    /// Changes when blocks have taken in transactions of ours: their lanes have room.
    pub room: watch::Sender<u64>,
    /// How many blocks the follower takes in at once; fewer after a fault, so that an endpoint that limits its answers is not asked for
    /// the same ones for ever.
    pub pass_blocks: AtomicU64,
    /// What the market asked for last, and when: one question serves all operations of a second.
    market: Mutex<Option<(DateTime<Utc>, Fees)>>,
    /// Addresses that were seen to have code; it never goes away.
    contracts: Mutex<BTreeSet<Address>>,
    /// The gas that calls were found to need, by contract, function and length.
    known_gas: StdMutex<HashMap<CallShape, u64>>,
}

/// Calls of one shape need nearly the same gas.
type CallShape = (Address, [u8; 4], usize);

fn shape(target: Address, data: &[u8]) -> Option<CallShape> {
    Some((target, data.first_chunk().copied()?, data.len()))
}

impl Network {
    /// The chain's id as the database holds it.
    pub fn id(&self) -> i64 {
        self.chain.config.chain_id.cast_signed()
    }

    /// Whether a contract stands at an address. A call to an empty one succeeds and does nothing.
    pub async fn has_code(&self, address: Address) -> Result<bool, Fault> {
        if self.contracts.lock().await.contains(&address) {
            return Ok(true);
        }
        let found = !self.chain.code(address, Tag::Latest).await?.is_empty();
        if found {
            self.contracts.lock().await.insert(address);
        }
        Ok(found)
    }

    pub(super) fn of(chain: Chain, signers: BTreeMap<Address, Signer>) -> Self {
        Self {
            chain,
            signers,
            sent: Notify::new(),
            followed_here: AtomicBool::new(false),
            followed: Notify::new(),
            room: watch::Sender::new(0),
            pass_blocks: AtomicU64::new(BLOCKS_PER_PASS),
            market: Mutex::default(),
            contracts: Mutex::default(),
            known_gas: StdMutex::default(),
        }
    }

    /// The gas that a call of this shape was found to need, with a little room for those that differ by a few bytes.
    pub fn known_gas(&self, target: Address, data: &[u8]) -> Option<u64> {
        let known = self.known_gas.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&shape(target, data)?).copied()
    }

    /// Remembers an estimate for the next call of its shape.
    pub fn learn_gas(&self, target: Address, data: &[u8], estimate: u64) {
        let Some(shape) = shape(target, data) else { return };
        let mut known = self.known_gas.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SHAPES_MAX {
            known.clear();
        }
        known.insert(shape, estimate.saturating_add(estimate / 20));
    }

    /// What the market asks for now.
    pub async fn fees(&self, engine: &Engine) -> Result<Fees, Fault> {
        let now = engine.db.clock().now();
        let mut market = self.market.lock().await;
        match *market {
            Some((asked, fees)) if (Duration::zero()..Duration::seconds(1)).contains(&(now - asked)) => Ok(fees),
            _ => {
                let fees = self.chain.fees().await?;
                *market = Some((now, fees));
                Ok(fees)
            }
        }
    }
}
