//! The embedded chain of the demo, kept beside its database.

use std::path::Path;
use std::sync::{Arc, Mutex};

use alloy_primitives::U256;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Finality, PayoutTokenConfig, Profile, Secret, SignerConfig};
use muniment_activities::contract::registry::Roles;
use muniment_activities::platform::Platform;
use muniment_activities::signer::Signer;
use muniment_devchain::{Config, Devchain};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::account;
use crate::failure::Failure;
use crate::server::serve;

const LISTEN_VARIABLE: &str = "MUNIMENT_DEVCHAIN_LISTEN";
const LISTEN_DEFAULT: &str = "127.0.0.1:8545";

/// The chain under way.
pub struct DemoChain {
    url: String,
    stop: CancellationToken,
    ended: CancellationToken,
    why: Arc<Mutex<Option<String>>>,
    task: JoinHandle<()>,
}

/// Opens the chain of the folder, or makes a new one, and serves it.
pub async fn start(folder: &Path) -> Result<DemoChain, Failure> {
    let listen = std::env::var(LISTEN_VARIABLE).unwrap_or_else(|_| LISTEN_DEFAULT.to_owned());
    let listen = listen.parse().map_err(|_| {
        Failure::new(format!("{LISTEN_VARIABLE} is {listen:?}, but must be an address such as {LISTEN_DEFAULT}."))
    })?;
    let listener = serve::bind(listen, LISTEN_VARIABLE).await?;
    let url = format!("http://{}", listener.local_addr().map_err(Failure::new)?);
    let dir = Some(folder.to_owned());
    let chain = tokio::task::spawn_blocking(move || Devchain::open(Config { dir, ..Config::default() }));
    let chain = chain.await.map_err(Failure::new)?;
    let chain = chain.map_err(|error| {
        Failure::new(format!("The embedded chain failed: {error}. MUNIMENT_DATA sets another folder."))
    })?;
    let (stop, ended, why) =
        (CancellationToken::new(), CancellationToken::new(), Arc::<Mutex<Option<String>>>::default());
    let (told, over, reason) = (stop.clone(), ended.clone(), why.clone());
    let task = tokio::spawn(async move {
        if let Err(error) = chain.serve(listener, told).await {
            *reason.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(error.to_string());
        }
        over.cancel();
    });
    Ok(DemoChain { url, stop, ended, why, task })
}

impl DemoChain {
    /// Where it answers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A role that ends with the others, or fails when the chain ends before them.
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

    /// Makes sure that the platform's contracts are there, and says how the engine finds them.
    pub async fn deploy_platform(&self) -> Result<ChainConfig, Failure> {
        let mut config = ChainConfig {
            name: "Muniment development chain".to_owned(),
            endpoints: vec![self.url.clone()],
            finality: Finality::Tag,
            poll_milliseconds: 250,
            block_seconds: 1,
            signers: vec![SignerConfig::Raw { private_key: Secret::new(account::SIGNER_KEY.to_string()) }],
            ..ChainConfig::default()
        };
        let chain = Chain::http(config.clone()).map_err(Failure::new)?;
        let open = |key| Signer::raw(key, Profile::Development).map_err(Failure::new);
        let (deployer, signer) = (open(account::DEPLOYER_KEY)?, open(account::SIGNER_KEY)?);
        let platform =
            Platform::deploy(&chain, &deployer, &[(signer.address(), Roles::ALL)]).await.map_err(Failure::new)?;
        config.factory = Some(platform.factory);
        config.registry = Some(platform.registry);
        config.distributor = Some(platform.distributor);
        // A coin to be paid in, and a payer who has a million of it.
        let (symbol, decimals, payer) = ("DUSD".to_owned(), 6, None);
        config.payout_tokens = vec![PayoutTokenConfig { address: platform.coin, symbol, decimals, payer }];
        let million = U256::from(1_000_000_000_000u64);
        platform.fund(&chain, &deployer, signer.address(), million).await.map_err(Failure::new)?;
        Ok(config)
    }

    /// Ends it, after the last request is answered.
    pub async fn stop(self) {
        self.stop.cancel();
        // It wrote every block before it showed it; however it ends, nothing is lost.
        let _ = self.task.await;
    }
}
