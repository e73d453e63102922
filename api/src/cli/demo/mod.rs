#![doc = include_str!("README.md")]

mod account;
mod backup;
mod chain;
mod client;
mod data;
mod exhibit;
mod incident;
mod invitation;
mod people;
mod person;
mod running_demo;
mod saved;

use std::path::PathBuf;

use hyper::Method;
use muniment_activities::config::Profile;
use muniment_domain::audit::{Act, acting};
use muniment_domain::clock::Clock;

pub use incident::Incident;

use crate::auth::password::Passwords;
use crate::auth::totp;
use crate::cli::run::Running;
use crate::config::log::Log;
use crate::config::{Config, database};
use crate::failure::Failure;
use crate::server::serve;
use saved::{Saved, name};

/// Few holders on a page, so that a payout has more than one page.
const PAGE_HOLDERS: usize = 2;
/// How often the chain's side of a signer is read here: soon enough to be seen to move.
const OBSERVE_SECONDS: u64 = 5;
/// All people of the demo log in from one address.
const LOGINS_PER_MINUTE: u32 = 600;

/// Runs the demo until it is stopped. A second start continues where the first one ended. The preparation logs only problems; afterwards
/// everything is logged as configured.
pub async fn run(config: Config, log: &Log) -> Result<(), Failure> {
    if !config.chains.is_empty() {
        return Err(Failure::new(
            "The configuration has chains, but the demo uses its own chain. Use `muniment run` instead.",
        ));
    }
    let folder = folder();
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::new(format!(
            "The folder {} cannot be created: {error}. Set MUNIMENT_DATA to another folder.",
            folder.display()
        ))
    })?;
    let listener = serve::bind(config.listen, "MUNIMENT_LISTEN").await?;
    let api = format!("http://{}", listener.local_addr().map_err(Failure::new)?);
    let mut config = configured(config);
    config.api_url.clone_from(&api);
    let clock = Clock::ahead();
    let mut running = Running::new(&config);
    // The chain stops last, so that the engine can finish its calls.
    let chain = chain::start(&folder, clock.clone()).await?;
    let mut saved = Saved::open(&folder)?;
    if saved.is_there() {
        backup::take(&folder)?;
    }
    running.add("devchain", chain.watch(running.stop()));
    config.chains = vec![chain.deploy_platform().await?];
    let db = database::open_current_by(&config, clock).await?;
    let password = match saved.get(name::PASSWORD) {
        Some(known) => known.to_owned(),
        None => format!("demo-{}", totp::base32(&db.ids().bytes()).to_lowercase()),
    };
    let passwords = Passwords::new(&config.auth, db.ids().bytes())?;
    let hash = passwords
        .hash(password.clone(), db.ids().bytes())
        .await
        .map_err(|problem| Failure::new(problem.code.title()))?;
    let known = saved.get(name::KEY).map(str::to_owned);
    let made = data::ensure(&db, config.chains[0].chain_id, &hash, known.as_deref());
    // The password is saved first, so that people can log in wherever the process ends.
    saved.set(name::PASSWORD, &password)?;
    let demo = acting(Act::host_command("muniment"), made).await?;
    let [first, second] = demo.offerings.map(|offering| offering.id);
    let pid = std::process::id().to_string();
    for (name, value) in [
        (name::API, api.as_str()),
        (name::CHAIN, chain.url()),
        (name::KEY, &demo.key),
        (name::OFFERING, &first),
        (name::SECOND, &second),
        (name::PID, &pid),
    ] {
        saved.set(name, value)?;
    }
    running.start(&config, db.clone(), Some(listener), true).await?;
    exhibit::make(&db, &mut saved).await?;
    println!("{}\n", invitation::text(&api, chain.url(), &folder.display().to_string(), &demo.key, &password));
    log.as_configured()?;
    let ended = running.until_told().await;
    chain.stop().await;
    db.close().await;
    ended
}

/// Causes an incident in the demo.
pub async fn stage_incident(incident: Incident) -> Result<(), Failure> {
    incident::run(&folder(), incident).await
}

/// The folder of the demo's data.
fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("MUNIMENT_DATA").unwrap_or_else(|| "data".into()))
}

/// The configuration of the demo.
fn configured(mut config: Config) -> Config {
    let folder = folder();
    config.profile = Profile::Development;
    config.auth.key_file = folder.join("auth.json");
    config.auth.staff_second_factor = false;
    config.database.url = format!("sqlite:{}", folder.join("muniment.db").display());
    config.engine.payout_page_holders = PAGE_HOLDERS;
    config.engine.observe_seconds = OBSERVE_SECONDS;
    // Zero is no limit.
    if config.rates.login_per_minute > 0 {
        config.rates.login_per_minute = LOGINS_PER_MINUTE;
    }
    config
}

/// A demo on this machine, for `muniment doctor`.
pub struct ExistingDemo {
    /// Its configuration.
    pub config: Config,
    /// Its address, if it runs.
    pub running_at: Option<String>,
}

/// The demo of the folder, if nothing else is configured and there is one.
pub async fn existing(config: &Config) -> Result<Option<ExistingDemo>, Failure> {
    let saved = Saved::open(&folder())?;
    let (Some(api), Some(chain), true) = (saved.get(name::API), saved.get(name::CHAIN), config.chains.is_empty())
    else {
        return Ok(None);
    };
    let running_at = client::send(api, Method::GET, "/healthz", &[], None).await.is_ok().then(|| api.to_owned());
    let config = Config { chains: vec![chain::config(chain)?], ..configured(config.clone()) };
    Ok(Some(ExistingDemo { config, running_at }))
}
