//! The engine: a database, the chains it works on and the keys it signs with.

pub mod advance;
pub(crate) mod backoff;
pub(crate) mod catch_up;
pub(crate) mod chain_identity;
pub(crate) mod conclude;
pub mod effect;
pub mod failure;
pub mod finalise;
pub mod follow;
pub(crate) mod foreign;
pub(crate) mod held;
pub mod intake;
pub mod keeper;
pub mod lane;
pub mod observe;
pub(crate) mod payout_limit;
pub mod poll;
pub mod prepare;
pub mod queue;
pub mod rebroadcast;
pub mod submit;
pub mod submitter;
pub mod sweep;
pub mod timer;
pub mod worker;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use alloy_primitives::Address;
use chrono::{DateTime, Duration, Utc};
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::config::ConfigError;
use muniment_activities::factory;
use muniment_activities::fault::{Fault, FaultClass};
use muniment_activities::fees::Fees;
use muniment_activities::policy::{Gate, Target};
use muniment_activities::signer::Signer;
use muniment_domain::contract::Kind;
use muniment_domain::db::Db;
use muniment_domain::lease::{self, Holder};
use muniment_domain::point::Point;
use muniment_domain::{Error, chain, contract, lane, migrate, payout_token};
use tokio::sync::{Mutex, Notify, watch};

use crate::engine::follow;
use crate::engine::queue;
use crate::settings::Settings;

/// How many shapes of calls are remembered.
const SHAPES_MAX: usize = 4096;
/// Up to this height a chain may have no final block yet.
const YOUNG_BLOCKS: u64 = 512;

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
}

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

/// Why the engine does not start, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration cannot work.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A chain could not be reached or is another one.
    #[error("chain {chain_id}: {fault}")]
    Chain {
        /// Which.
        chain_id: i64,
        /// What it said.
        fault: Fault,
    },
    /// Another chain stands behind the URL.
    #[error(
        "chain {chain_id} is not the one this database was used with: its genesis was {known}, the endpoints now show {found}. Correct \
         the endpoint, or use a database of its own for this chain. Nothing was signed."
    )]
    OtherChain {
        /// Which.
        chain_id: i64,
        /// What was stored at first contact.
        known: String,
        /// What is there now.
        found: String,
    },
    /// The database failed.
    #[error("{0}")]
    Domain(#[from] Error),
}

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

    fn of(chain: Chain, signers: BTreeMap<Address, Signer>) -> Self {
        Self {
            chain,
            signers,
            sent: Notify::new(),
            followed_here: AtomicBool::new(false),
            followed: Notify::new(),
            room: watch::Sender::new(0),
            pass_blocks: AtomicU64::new(follow::BLOCKS_PER_PASS),
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

impl Engine {
    /// Migrates, makes contact with every chain and notes its lanes and contracts. A chain that cannot be reached does not stop the
    /// others: its operations wait. A chain that is another one than before stops the start.
    pub async fn start(db: Db, settings: Settings, chains: Vec<(Chain, Vec<Signer>)>) -> Result<Self, StartError> {
        migrate::run(&db).await?;
        queue::migrate(&db).await?;
        if !db.is_shared() {
            lease::clear(&db).await?;
        }
        let mut networks = BTreeMap::new();
        for (chain, signers) in chains {
            let signers = signers.into_iter().map(|s| (s.address(), s)).collect();
            let network = Network::of(chain, signers);
            networks.insert(network.id(), network);
        }
        let holder = Holder::new(&db);
        let engine = Self { db, settings: Arc::new(settings), networks: Arc::new(networks), holder };
        for network in engine.networks.values() {
            match engine.meet(network).await {
                Err(StartError::Chain { chain_id, fault }) if fault.class() != FaultClass::Fatal => {
                    tracing::error!(chain.id = chain_id, "no contact yet; the chain's operations wait: {fault}");
                }
                met => met?,
            }
        }
        Ok(engine)
    }

    /// An engine without keys and without loops: it asks the chains what a person's decision needs to know. It makes no contact now, so
    /// that the interface starts while a chain is away.
    pub fn reader(db: Db, settings: Settings, chains: Vec<Chain>) -> Self {
        let network = |chain: Chain| Network::of(chain, BTreeMap::new());
        let networks = chains.into_iter().map(network).map(|network| (network.id(), network)).collect();
        let holder = Holder::new(&db);
        Self { db, settings: Arc::new(settings), networks: Arc::new(networks), holder }
    }

    /// The chain that an operation is on.
    pub fn network(&self, chain_id: i64) -> Option<&Network> {
        self.networks.get(&chain_id)
    }

    /// First contact, or the proof that it is still the same chain.
    pub async fn meet(&self, network: &Network) -> Result<(), StartError> {
        let chain_id = network.id();
        let fault = |fault| StartError::Chain { chain_id, fault };
        let contact = network.chain.contact().await.map_err(fault)?;
        let heads = network.chain.heads().await.map_err(fault)?;
        let mut counts = Vec::new();
        for address in network.signers.keys() {
            counts.push((*address, network.chain.transaction_count(*address, Tag::Latest).await.map_err(fault)?));
        }
        let implementation = implementation(network).await.map_err(fault)?;
        let coins = crate::payout::payer::coins(network).await?;
        let mut tx = self.db.begin().await?;
        // Following begins at the head: nothing of ours can be below it, because no lane existed.
        let head = (heads.latest.number.cast_signed(), heads.latest.hash);
        let last = match heads.finalized {
            Some(header) => (header.number.cast_signed(), header.hash),
            // A young chain has no final block but its first. Taking the head for one would halt the chain at the next reorganisation.
            None if heads.latest.number <= YOUNG_BLOCKS => (0, contact.genesis),
            None => return Err(fault(Fault::Incomplete("it names no final block".to_owned()))),
        };
        chain::meet(&mut tx, chain_id, contact.genesis, head, last).await?;
        let known = chain::find(&mut tx, chain_id).await?.map(|c| c.genesis_hash.0).unwrap_or(contact.genesis);
        if known != contact.genesis {
            return Err(StartError::OtherChain {
                chain_id,
                known: known.to_string(),
                found: contact.genesis.to_string(),
            });
        }
        for (address, count) in counts {
            let lane = lane::ensure(&mut tx, chain_id, address, count.cast_signed()).await?;
            // Before the first move of this process, so that no wake overtakes the look at the key.
            crate::engine::lane::doubt(&mut tx, &lane, count).await?;
        }
        let config = &network.chain.config;
        for (address, kind) in [
            (config.factory, Kind::Factory),
            (config.registry, Kind::Registry),
            (config.distributor, Kind::Distributor),
        ] {
            if let Some(address) = address {
                contract::configure(&mut tx, chain_id, address, kind).await?;
            }
        }
        if let (Some(factory), Some(implementation)) = (network.chain.config.factory, implementation) {
            contract::set_implementation(&mut tx, chain_id, factory, implementation).await?;
        }
        for coin in &coins {
            payout_token::ensure(&mut tx, coin).await?;
        }
        chain::set_gas_cap(&mut tx, chain_id, network.chain.config.gas_cap.cast_signed()).await?;
        tx.commit(Point::Contact).await?;
        Ok(())
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

/// The code that every token of the configured factory is a clone of. A factory that is none has no answer, which `doctor` tells.
async fn implementation(network: &Network) -> Result<Option<Address>, Fault> {
    let Some(factory) = network.chain.config.factory else { return Ok(None) };
    match factory::implementation(&network.chain, factory).await {
        Ok(implementation) => Ok(Some(implementation)),
        Err(Fault::Refused(why)) => {
            tracing::error!(chain.id = network.id(), "the factory does not answer as one: {why}");
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}
