//! The state that every handler can use.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, Once};

use axum::extract::FromRef;
use muniment_activities::chain::Chain;
use muniment_activities::config::{ChainConfig, Profile};
use muniment_domain::Error;
use muniment_domain::db::Db;
use muniment_workflows::approval::simulation::Recent;
use muniment_workflows::engine::Engine;
use muniment_workflows::settings::Settings;
use muniment_workflows::token::view::TokenViews;
use tokio::sync::Semaphore;

use crate::anchor_file::AnchorFile;
use crate::auth::Auth;
use crate::config::rates::Rates;
use crate::config::{Config, Limits, Webhooks};
use crate::failure::Failure;
use crate::http::places::Places;
use crate::http::rate::Limiter;
use crate::metrics::Requests;

/// The state of the REST interface. Clones share it.
#[derive(Clone)]
pub struct App {
    /// The truth.
    pub db: Db,
    /// The eyes of guards: an engine that reads the chains and signs nothing.
    pub desk: Engine,
    /// The engine's limits, which decide how a request is cut into pages.
    pub settings: Arc<Settings>,
    /// The limits of this interface.
    pub limits: Arc<Limits>,
    /// The room for requests that are in work at once.
    pub room: Arc<Semaphore>,
    /// The bodies that are being received, by network.
    pub bodies: Places,
    /// Idempotency keys of requests in progress in this process.
    pub keys_in_use: Arc<Mutex<HashSet<String>>>,
    /// Whether the list of offerings is public.
    pub public_offering_list: bool,
    /// Where callers reach this interface, without a slash at the end.
    pub api_url: Arc<str>,
    /// How people log in.
    pub auth: Arc<Auth>,
    /// How often callers may ask.
    pub rates: Arc<Rates>,
    /// How often they did.
    pub limiter: Arc<Limiter>,
    /// The requests that were answered.
    pub requests: Requests,
    /// Whether a proxy that the configuration does not name was reported.
    pub proxy_reported: Arc<Once>,
    /// Recently read token values.
    pub token_views: Arc<TokenViews>,
    /// Recent simulations of approvals.
    pub simulations: Arc<Recent>,
    /// What this host saw of the audit log.
    pub anchor_file: AnchorFile,
    /// Where webhooks may lead.
    pub webhooks: Webhooks,
    /// Whether money is real here.
    pub production: bool,
    chains: Arc<Vec<ChainConfig>>,
}

impl App {
    /// The state for a configuration and its open database.
    pub async fn new(db: Db, config: &Config) -> Result<Self, Failure> {
        let chains = config.chains.iter().map(|chain| Chain::http(chain.clone()).map_err(Failure::new));
        let desk = Engine::reader(db.clone(), config.engine.clone(), chains.collect::<Result<_, _>>()?);
        Ok(Self {
            api_url: config.reached_at().into(),
            auth: Arc::new(Auth::new(config, &db).await?),
            rates: Arc::new(config.rates.clone()),
            limiter: Arc::default(),
            requests: Requests::default(),
            proxy_reported: Arc::new(Once::new()),
            token_views: Arc::new(TokenViews::new(config.rates.token_read_per_second)),
            simulations: Arc::default(),
            db,
            desk,
            settings: Arc::new(config.engine.clone()),
            limits: Arc::new(config.limits.clone()),
            room: Arc::new(Semaphore::new(config.limits.requests_max)),
            bodies: Places::default(),
            keys_in_use: Arc::default(),
            public_offering_list: config.public_offering_list,
            anchor_file: AnchorFile::of(config),
            webhooks: config.webhooks,
            production: config.profile == Profile::Production,
            chains: Arc::new(config.chains.clone()),
        })
    }

    /// Encrypts something that belongs to an owner, for a row.
    pub fn seal(&self, owner: &str, plain: &[u8]) -> muniment_domain::Result<String> {
        let (id, why) = (owner.to_owned(), "it cannot be encrypted".to_owned());
        self.auth.secrets.seal(owner, plain, self.db.ids().bytes()).ok_or(Error::Unreadable { what: "secret", id, why })
    }

    /// The chains of the configuration.
    pub fn chains(&self) -> &[ChainConfig] {
        &self.chains
    }

    /// The configuration of a chain.
    pub fn chain(&self, chain_id: i64) -> Option<&ChainConfig> {
        self.chains.iter().find(|chain| i64::try_from(chain.chain_id) == Ok(chain_id))
    }

    /// The id of the chain with this key.
    pub fn chain_of(&self, key: &str) -> Option<i64> {
        self.chains.iter().find(|chain| chain.key == key).and_then(|chain| i64::try_from(chain.chain_id).ok())
    }

    /// The name of a chain as people know it.
    pub fn network(&self, chain_id: i64) -> String {
        self.chain(chain_id).map_or_else(|| format!("Chain {chain_id}"), |chain| chain.name.clone())
    }
}

impl FromRef<App> for Arc<Limits> {
    fn from_ref(app: &App) -> Self {
        app.limits.clone()
    }
}
