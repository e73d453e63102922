//! The embedded chain of the demo, kept beside its database.

use std::path::Path;
use std::sync::{Arc, Mutex};

use alloy_primitives::{B256, U256};
use muniment_activities::chain::Chain;
use muniment_activities::chain::simulate::At;
use muniment_activities::config::{ChainConfig, Finality, PayoutTokenConfig, Profile, Secret, SignerConfig};
use muniment_activities::contract::registry::Roles;
use muniment_activities::payout::coin;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use muniment_devchain::{Config, Devchain};
use muniment_domain::clock::Clock;
use serde_json::json;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{account, client};
use crate::failure::Failure;
use crate::server::serve;

const LISTEN_VARIABLE: &str = "MUNIMENT_DEVCHAIN_LISTEN";
const LISTEN_DEFAULT: &str = "127.0.0.1:8545";

/// A million of the demonstration coin, which has six decimals.
const MILLION: U256 = U256::from_limbs([1_000_000_000_000, 0, 0, 0]);
const GWEI: u64 = 1_000_000_000;
/// The most that the demo's platform offers for a unit of gas, and a base fee above it.
const FEE_CAP_GWEI: u64 = 20;
const HIGH_FEE_GWEI: u64 = 25;
/// Empty blocks after which a high base fee is back at its usual value.
const CALM_BLOCKS: u64 = 40;
/// Short times, so that the demo shows in seconds what takes hours on a real chain.
const BUMP_AFTER_BLOCKS: u64 = 2;
const STUCK_AFTER_BLOCKS: u64 = 15;

/// The running chain.
pub struct DemoChain {
    url: String,
    stop: CancellationToken,
    ended: CancellationToken,
    why: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

/// Opens the chain of the folder, or makes a new one, and serves it.
pub async fn start(folder: &Path, clock: Clock) -> Result<DemoChain, Failure> {
    let listen = std::env::var(LISTEN_VARIABLE).unwrap_or_else(|_| LISTEN_DEFAULT.to_owned());
    let listen = listen.parse().map_err(|_| {
        Failure::new(format!("{LISTEN_VARIABLE} is {listen:?}, but must be an address such as {LISTEN_DEFAULT}."))
    })?;
    let listener = serve::bind(listen, LISTEN_VARIABLE).await?;
    let url = format!("http://{}", listener.local_addr().map_err(Failure::new)?);
    let dir = Some(folder.to_owned());
    // Blocks use the clock of the platform, which people can move forward.
    let clock: muniment_devchain::Clock = Arc::new(move || u64::try_from(clock.now().timestamp()).unwrap_or(0));
    let chain = tokio::task::spawn_blocking(move || Devchain::open(Config { dir, clock, ..Config::default() }));
    let chain = chain.await.map_err(Failure::new)?;
    let chain = chain.map_err(|error| {
        Failure::new(format!("The embedded chain failed: {error}. MUNIMENT_DATA sets another folder."))
    })?;
    let (stop, ended, why) =
        (CancellationToken::new(), CancellationToken::new(), Arc::<Mutex<Option<String>>>::default());
    let (stopped, over, reason) = (stop.clone(), ended.clone(), why.clone());
    let task = tokio::spawn(async move {
        if let Err(error) = chain.serve(listener, stopped).await {
            *reason.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error.to_string());
        }
        over.cancel();
    });
    Ok(DemoChain { url, stop, ended, why, task })
}

impl DemoChain {
    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Runs until the process stops. Fails if the chain ends before.
    pub fn watch(&self, stop: CancellationToken) -> impl Future<Output = Result<(), Failure>> + use<> {
        let (ended, why) = (self.ended.clone(), self.why.clone());
        async move {
            tokio::select! {
                () = stop.cancelled() => Ok(()),
                () = ended.cancelled() => {
                    let why = why.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                    Err(Failure::new(why.unwrap_or_else(|| "the embedded chain stopped".to_owned())))
                }
            }
        }
    }

    /// Deploys the platform's contracts if they are missing, and gives the payer a million of the coin.
    pub async fn deploy_platform(&self) -> Result<ChainConfig, Failure> {
        let config = config(&self.url)?;
        // An incident of an earlier run may have left high fees, and without transactions there are no blocks in which they fall.
        let price: U256 =
            serde_json::from_value(client::call(&self.url, "eth_gasPrice", json!([])).await?).map_err(Failure::new)?;
        if price > U256::from(FEE_CAP_GWEI * GWEI) {
            lower_fees(&self.url).await?;
        }
        let chain = Chain::http(config.clone()).map_err(Failure::new)?;
        let (deployer, signer) = (open(account::DEPLOYER_KEY)?, open(account::SIGNER_KEY)?);
        let platform =
            Platform::deploy(&chain, &deployer, &[(signer.address(), Roles::ALL)]).await.map_err(Failure::new)?;
        platform.fund(&chain, &deployer, signer.address(), MILLION).await.map_err(Failure::new)?;
        Ok(config)
    }

    /// Stops the chain after the last request is answered.
    pub async fn stop(self) {
        self.stop.cancel();
        // Every block is on disk before it is served, so nothing is lost however the task ends.
        let _ = self.task.await;
    }
}

/// The demo's chain as the engine and `muniment doctor` know it. The contracts' addresses follow from the deployer.
pub fn config(url: &str) -> Result<ChainConfig, Failure> {
    let platform = Platform::of(open(account::DEPLOYER_KEY)?.address());
    let coin = PayoutTokenConfig { address: platform.coin, symbol: "DUSD".to_owned(), decimals: 6, payer: None };
    Ok(ChainConfig {
        name: "Muniment development chain".to_owned(),
        endpoints: vec![url.to_owned()],
        finality: Finality::Tag,
        poll_milliseconds: 250,
        block_seconds: 1,
        max_fee_per_gas_gwei_cap: FEE_CAP_GWEI,
        bump_after_seconds: BUMP_AFTER_BLOCKS,
        stuck_after_seconds: STUCK_AFTER_BLOCKS,
        signers: vec![SignerConfig::Raw { private_key: Secret::new(account::SIGNER_KEY.to_string()) }],
        factory: Some(platform.factory),
        registry: Some(platform.registry),
        distributor: Some(platform.distributor),
        payout_tokens: vec![coin],
        ..ChainConfig::default()
    })
}

fn open(key: B256) -> Result<Signer, Failure> {
    Signer::raw(key, Profile::Development).map_err(Failure::new)
}

/// Raises the fees of the chain above the platform's cap. New transactions then wait.
pub async fn raise_fees(chain: &str) -> Result<(), Failure> {
    client::call(chain, "devchain_setBaseFeeMin", json!([HIGH_FEE_GWEI * GWEI])).await.map(drop)
}

/// Lowers the fees to their usual value. Waiting transactions are then included at once.
pub async fn lower_fees(chain: &str) -> Result<(), Failure> {
    client::call(chain, "devchain_setBaseFeeMin", json!([0])).await?;
    client::call(chain, "anvil_mine", json!([CALM_BLOCKS])).await.map(drop)
}

/// Sends a transaction with the platform's key outside the platform, like a thief of the key.
pub async fn use_key_outside(url: &str) -> Result<(), Failure> {
    let config = config(url)?;
    let chain = Chain::http(config).map_err(Failure::new)?;
    let (deployer, signer) = (open(account::DEPLOYER_KEY)?, open(account::SIGNER_KEY)?);
    let platform = Platform::of(deployer.address());
    let held = coin::balance_of(&chain, platform.coin, account::stranger(), At::Latest).await.map_err(Failure::new)?;
    platform.fund(&chain, &signer, account::stranger(), held + U256::ONE).await.map_err(Failure::new)
}
