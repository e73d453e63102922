//! Starts the chosen roles side by side and stops them together.

use std::time::Duration;

use muniment_activities::chain::Chain;
use muniment_activities::config::Profile;
use muniment_activities::signer::Signer;
use muniment_domain::db::Db;
use muniment_domain::row_security;
use muniment_workflows::engine::Engine;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::cli::known_key;
use crate::config::{Config, database};
use crate::failure::Failure;
use crate::metrics::{self, Requests};
use crate::server::serve;
use crate::{audit, mail, secrets, webhook};

/// The roles of a process.
#[derive(Clone, Copy, Debug)]
pub struct Roles {
    /// The REST interface.
    pub api: bool,
    /// The engine.
    pub worker: bool,
}

/// A role's name and how it ended.
type Ended = (&'static str, Result<(), Failure>);

/// The roles under way.
pub struct Running {
    set: JoinSet<Ended>,
    stop: CancellationToken,
    drain: Duration,
}

/// Runs these roles until the process is told to stop.
pub async fn run(config: Config, roles: Roles) -> Result<(), Failure> {
    if roles.api {
        config.auth.check(config.profile)?;
    }
    // Before anything else, so that a port that is taken changes nothing.
    let listener = if roles.api { Some(serve::bind(config.listen, "MUNIMENT_LISTEN").await?) } else { None };
    let db = database::open_when_there(&config).await?;
    if config.profile == Profile::Production && row_security::applies(&db).await? == Some(false) {
        return Err(Failure::new(
            "The database role is a superuser or has BYPASSRLS, so row security does not protect investors' data. In production use a role that \
             owns the tables and is neither.",
        ));
    }
    let mut running = Running::new(&config);
    running.start(&config, db.clone(), listener, roles.worker).await?;
    let ended = running.until_told().await;
    db.close().await;
    ended
}

impl Running {
    /// Nothing yet.
    pub fn new(config: &Config) -> Self {
        let drain = Duration::from_secs(config.limits.shutdown_seconds);
        Self { set: JoinSet::new(), stop: CancellationToken::new(), drain }
    }

    /// Ends when all are to stop.
    pub fn stop(&self) -> CancellationToken {
        self.stop.clone()
    }

    /// Adds a role.
    pub fn add(&mut self, name: &'static str, role: impl Future<Output = Result<(), Failure>> + Send + 'static) {
        self.set.spawn(async move { (name, role.await) });
    }

    /// Adds the API if it has a listener, and the engine if this process runs it.
    pub async fn start(
        &mut self,
        config: &Config,
        db: Db,
        api: Option<TcpListener>,
        worker: bool,
    ) -> Result<(), Failure> {
        let metrics = match config.metrics_listen.as_str() {
            "" => None,
            address => Some(metrics_listener(address).await?),
        };
        // Before the engine: nothing is signed where the key file is missing or another one.
        let app = match api {
            Some(_) => Some(App::new(db.for_requests(config.database.connections_max), config).await?),
            None => None,
        };
        let mut requests = Requests::default();
        if worker {
            let engine = Engine::start(db.clone(), config.engine.clone(), chains(config)?).await?;
            let stop = self.stop();
            self.add("worker", async move { engine.run(stop).await.map_err(Failure::new) });
        }
        if let Some((app, listener)) = app.zip(api) {
            requests = app.requests.clone();
            self.add("secrets", secrets::follow(app.auth.secrets.clone(), self.stop()));
            app.anchor_file.check()?;
            self.add("anchor", audit::anchor::run(app.clone(), app.anchor_file.clone(), self.stop()));
            let (courier, stop) = (webhook::courier(db.clone(), &app.auth.secrets, config.webhooks)?, self.stop());
            self.add("webhooks", async move { courier.run(stop).await.map_err(Failure::new) });
            self.add("mail", mail::run(config.mail.clone(), config.profile, app.clone(), self.stop()));
            self.add("api", serve::serve(app, listener, self.stop()));
        }
        if let Some(listener) = metrics {
            self.add("metrics", metrics::serve(db, requests, listener, self.stop()));
        }
        Ok(())
    }

    /// Waits for a signal, then lets every role finish, within a bound. A role that ends by itself is a failure of all.
    pub async fn until_told(mut self) -> Result<(), Failure> {
        let mut terminate = signal(SignalKind::terminate()).map_err(Failure::new)?;
        let ended = tokio::select! {
            ended = self.set.join_next() => Err(too_early(ended)),
            _ = terminate.recv() => Ok("SIGTERM"),
            signal = tokio::signal::ctrl_c() => signal.map(|()| "SIGINT").map_err(Failure::new),
        };
        match &ended {
            Ok(signal) => tracing::info!(process.signal = signal, "stopping"),
            Err(failure) => tracing::error!(error.cause = %failure, "stopping, because a role stopped"),
        }
        self.stop.cancel();
        if tokio::time::timeout(self.drain, self.drained()).await.is_err() {
            // The next start finds and finishes unfinished work, so nothing is lost.
            tracing::warn!(
                process.drain_seconds = self.drain.as_secs(),
                "stopped before all work in progress was finished"
            );
        }
        ended.map(|_| ())
    }

    async fn drained(&mut self) {
        while let Some(ended) = self.set.join_next().await {
            match ended {
                Ok((name, Ok(()))) => tracing::info!(role.name = name, "stopped"),
                Ok((name, Err(failure))) => {
                    tracing::error!(role.name = name, error.cause = %failure, "stopped with an error")
                }
                Err(error) => tracing::error!(error.cause = %error, "a role panicked while it stopped"),
            }
        }
    }
}

async fn metrics_listener(address: &str) -> Result<TcpListener, Failure> {
    const KEY: &str = "MUNIMENT_METRICS_LISTEN";
    let parsed = address.parse().map_err(|_| {
        Failure::new(format!(
            "metrics_listen ({KEY}) is {address:?}. Write an address with a port, such as 127.0.0.1:9464."
        ))
    })?;
    serve::bind(parsed, KEY).await
}

fn too_early(ended: Option<Result<Ended, tokio::task::JoinError>>) -> Failure {
    match ended {
        Some(Ok((name, Err(failure)))) => Failure::new(format!("The role {name} failed: {failure}")),
        Some(Ok((name, Ok(())))) => Failure::new(format!("The role {name} stopped unexpectedly.")),
        Some(Err(error)) => Failure::new(format!("A role panicked: {error}")),
        None => Failure::new("No role was started."),
    }
}

/// The configured chains with their keys. A key that everybody knows is refused where the chain may hold value.
pub fn chains(config: &Config) -> Result<Vec<(Chain, Vec<Signer>)>, Failure> {
    let mut chains = Vec::new();
    for chain in &config.chains {
        let mut signers = Vec::new();
        for signer in &chain.signers {
            let opened = Signer::open(signer, config.profile)
                .map_err(|fault| Failure::new(format!("A signer of the chain {} failed: {fault}.", chain.key)))?;
            if config.profile == Profile::Production && known_key::is_public(opened.address()) {
                return Err(Failure::new(format!(
                    "The signer {} of the chain {} has a publicly known development key. Create your own key.",
                    opened.address(),
                    chain.key
                )));
            }
            signers.push(opened);
        }
        chains.push((Chain::http(chain.clone()).map_err(Failure::new)?, signers));
    }
    Ok(chains)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        Running { set: JoinSet::new(), stop: CancellationToken::new(), drain: Duration::from_secs(60) }
    }

    #[tokio::test]
    async fn a_role_that_fails_stops_the_others_and_its_reason_is_told() {
        let mut running = running();
        let stop = running.stop();
        let stopped = stop.clone();
        running.add("api", async move {
            stopped.cancelled().await;
            Err(Failure::new("it only ends because of the other role"))
        });
        running.add("worker", async { Err(Failure::new("the queue is broken")) });
        let failure = running.until_told().await.unwrap_err();
        assert_eq!(failure.to_string(), "The role worker failed: the queue is broken");
        assert!(stop.is_cancelled());
    }

    #[tokio::test]
    async fn a_role_that_panics_or_only_ends_is_a_failure_as_well() {
        let mut panicked = running();
        panicked.add("worker", async { panic!("the reason") });
        let failure = panicked.until_told().await.unwrap_err().to_string();
        assert!(failure.starts_with("A role panicked: ") && failure.contains("the reason"), "{failure}");

        let mut ended = running();
        ended.add("mail", async { Ok(()) });
        assert_eq!(ended.until_told().await.unwrap_err().to_string(), "The role mail stopped unexpectedly.");
    }
}
