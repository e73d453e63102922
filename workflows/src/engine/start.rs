//! The start of an engine, and its first contact with each chain.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use alloy_primitives::Address;
use muniment_activities::chain::account::Counts;
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::config::ConfigError;
use muniment_activities::fault::{Fault, FaultClass};
use muniment_activities::signer::Signer;
use muniment_activities::token::factory;
use muniment_domain::contract::Kind;
use muniment_domain::db::{Db, Tx};
use muniment_domain::lane::Lane;
use muniment_domain::lease::{self, Holder};
use muniment_domain::point::Point;
use muniment_domain::{Error, chain, contract, lane as lanes, migrate, payout_token as coins};

use crate::engine::platform::Platform;
use crate::engine::prepare::NO_SIGNER;
use crate::engine::{Engine, Network, lane, payout_token, queue, queue_tables};
use crate::settings::Settings;

/// Up to this height a chain can be without a final block.
const YOUNG_BLOCKS: u64 = 512;

/// The reason why the engine does not start, with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error("{0}")]
    Config(#[from] ConfigError),
    /// A chain could not be reached, or its answer is not usable.
    #[error("chain {chain_id}: {fault}")]
    Chain {
        /// The chain.
        chain_id: i64,
        /// The fault.
        fault: Fault,
    },
    /// The URL leads to another chain than before.
    #[error(
        "chain {chain_id} is not the chain that this database was used with: its genesis was {known}, but the endpoints now show {found}. \
         Correct the endpoint, or use another database for this chain. Nothing was signed."
    )]
    OtherChain {
        /// The chain.
        chain_id: i64,
        /// The genesis hash that was stored at first contact.
        known: String,
        /// The genesis hash now.
        found: String,
    },
    /// The database failed.
    #[error("{0}")]
    Domain(#[from] Error),
}

impl Engine {
    /// Migrates the database, contacts every chain and stores its lanes and contracts. The operations of a chain that cannot be reached
    /// wait. A chain with another genesis than before stops the start.
    pub async fn start_with(
        platform: &'static Platform,
        db: Db,
        settings: Settings,
        chains: Vec<(Chain, Vec<Signer>)>,
    ) -> Result<Self, StartError> {
        migrate::run(&db).await?;
        queue_tables::migrate(&db).await?;
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
        let engine = Self { db, settings: Arc::new(settings), networks: Arc::new(networks), holder, platform };
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

    /// An engine without keys and loops, for the checks behind a person's decisions. It does not contact the chains now, so that the API
    /// starts during an outage.
    pub fn reader_with(platform: &'static Platform, db: Db, settings: Settings, chains: Vec<Chain>) -> Self {
        let network = |chain: Chain| Network::of(chain, BTreeMap::new());
        let networks = chains.into_iter().map(network).map(|network| (network.id(), network)).collect();
        let holder = Holder::new(&db);
        Self { db, settings: Arc::new(settings), networks: Arc::new(networks), holder, platform }
    }

    /// Makes first contact, or checks that it is still the same chain.
    pub async fn meet(&self, network: &Network) -> Result<(), StartError> {
        let chain_id = network.id();
        let fault = |fault| StartError::Chain { chain_id, fault };
        let contact = network.chain.check_endpoints().await.map_err(fault)?;
        let heads = network.chain.heads().await.map_err(fault)?;
        let mut counts = Vec::new();
        for address in network.signers.keys() {
            counts.push((*address, network.chain.transaction_counts(*address, Tag::Latest).await.map_err(fault)?));
        }
        let implementation = implementation(network).await.map_err(fault)?;
        let payout_tokens = payout_token::configured(network).await?;
        let mut tx = self.db.begin().await?;
        let is_known = chain::find(&mut tx, chain_id).await?.is_some();
        let last = match heads.finalized {
            Some(header) => (header.number.cast_signed(), header.hash),
            // On a young chain only the first block is final. Using the head would halt the chain at the next reorganisation.
            None if heads.latest.number <= YOUNG_BLOCKS => (0, contact.genesis),
            // A chain that was met before keeps the final block that it has.
            None if is_known => (0, contact.genesis),
            None => return Err(fault(Fault::Incomplete("the chain has no final block".to_owned()))),
        };
        // Following starts at the head: no transaction of the platform can be below it, because no lane existed. Behind one address can be
        // several nodes, and the head be that of one that lags behind the final block of another.
        let latest = (heads.latest.number.cast_signed(), heads.latest.hash);
        let head = if latest.0 > last.0 { latest } else { last };
        chain::insert(&mut tx, chain_id, contact.genesis, head, last).await?;
        let known = chain::find(&mut tx, chain_id).await?.map(|c| c.genesis_hash.0).unwrap_or(contact.genesis);
        if known != contact.genesis {
            return Err(StartError::OtherChain {
                chain_id,
                known: known.to_string(),
                found: contact.genesis.to_string(),
            });
        }
        // Before the first move of this process, so that no wake signs before the key is checked.
        let mut has_lanes = true;
        for (address, counts) in counts {
            match meet_key(&mut tx, chain_id, address, counts).await? {
                Some(lane) => lane::quarantine_if_ahead(&mut tx, &lane, counts.believed()).await?,
                None => {
                    has_lanes = false;
                    tracing::warn!(chain.id = chain_id, lane.signer = %address, "a new lane begins when the quorum shows the key's nonce");
                }
            }
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
        for coin in &payout_tokens {
            coins::ensure(&mut tx, coin).await?;
        }
        chain::set_gas_cap(&mut tx, chain_id, network.chain.config.gas_cap.cast_signed()).await?;
        tx.commit(Point::Contact).await?;
        network.has_lanes.store(has_lanes, Ordering::Relaxed);
        Ok(())
    }

    /// Begins the lanes of the keys that the first contact could not count, as soon as the quorum can.
    pub async fn begin_missing_lanes(&self, network: &Network) -> Result<(), Error> {
        let chain_id = network.id();
        if network.has_lanes.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mut tx = self.db.read().await?;
        if chain::find(&mut tx, chain_id).await?.is_none() {
            return Ok(());
        }
        let known = lanes::of_chain(&mut tx, chain_id).await?;
        drop(tx);
        let missing = network.signers.keys().filter(|address| known.iter().all(|lane| lane.signer.0 != **address));
        let (mut agreed, mut has_lanes) = (Vec::new(), true);
        for address in missing {
            match network.chain.transaction_counts(*address, Tag::Latest).await {
                Ok(counts) if counts.agreed.is_some() => agreed.push((*address, counts)),
                _ => has_lanes = false,
            }
        }
        if !agreed.is_empty() {
            let mut tx = self.db.begin().await?;
            for (address, counts) in agreed {
                meet_key(&mut tx, chain_id, address, counts).await?;
            }
            queue::release(&mut tx, chain_id, NO_SIGNER).await?;
            tx.commit(Point::Contact).await?;
        }
        network.has_lanes.store(has_lanes, Ordering::Relaxed);
        Ok(())
    }
}

/// The lane of a key. A new one begins at the nonce that the quorum shows: one endpoint alone could begin it with a gap.
async fn meet_key(tx: &mut Tx, chain_id: i64, address: Address, counts: Counts) -> Result<Option<Lane>, Error> {
    if let Some(agreed) = counts.agreed {
        return Ok(Some(lanes::ensure(tx, chain_id, address, agreed.cast_signed()).await?));
    }
    Ok(lanes::of_chain(tx, chain_id).await?.into_iter().find(|lane| lane.signer.0 == address))
}

/// The implementation that every token of the configured factory clones. None if the address is not a factory, which `doctor` reports.
async fn implementation(network: &Network) -> Result<Option<Address>, Fault> {
    let Some(factory) = network.chain.config.factory else { return Ok(None) };
    match factory::implementation(&network.chain, factory).await {
        Ok(implementation) => Ok(Some(implementation)),
        Err(Fault::Refused(why)) => {
            tracing::error!(chain.id = network.id(), "the configured factory is not a factory: {why}");
            Ok(None)
        }
        Err(fault) => Err(fault),
    }
}
