//! `muniment` without a command: everything on this machine, with its own chain and demo data.

mod account;
mod chain;
mod data;
mod invitation;
mod people;

use std::path::PathBuf;

use muniment_activities::config::Profile;
use muniment_domain::audit::{Act, acting};

use crate::auth::password::Passwords;
use crate::auth::totp;
use crate::cli::run::Running;
use crate::config::{Config, database};
use crate::failure::Failure;
use crate::server::serve;

/// Runs the demo until it is told to stop. A second start finds everything as the first one left it.
pub async fn run(mut config: Config) -> Result<(), Failure> {
    if !config.chains.is_empty() {
        return Err(Failure::new(
            "The configuration has chains, but the demo uses its own chain. Use `muniment run` instead.",
        ));
    }
    let folder = PathBuf::from(std::env::var_os("MUNIMENT_DATA").unwrap_or_else(|| "data".into()));
    std::fs::create_dir_all(&folder).map_err(|error| {
        Failure::new(format!(
            "The folder {} cannot be created: {error}. Set MUNIMENT_DATA to another folder.",
            folder.display()
        ))
    })?;
    let listener = serve::bind(config.listen, "MUNIMENT_LISTEN").await?;
    let served_at = listener.local_addr().map_err(Failure::new)?;
    config.profile = Profile::Development;
    config.auth.key_file = folder.join("auth.json");
    config.auth.staff_second_factor = false;
    config.database.url = format!("sqlite:{}", folder.join("muniment.db").display());
    let mut running = Running::new(&config);
    // The chain stops last, so that what is under way can still be looked at.
    let chain = chain::start(&folder).await?;
    running.add("devchain", chain.watch(running.stop()));
    config.chains = vec![chain.deploy_platform().await?];
    let db = database::open_current(&config).await?;
    let password = format!("demo-{}", totp::base32(&db.ids().bytes()).to_lowercase());
    let passwords = Passwords::new(&config.auth, db.ids().bytes())?;
    let hash = passwords
        .hash(password.clone(), db.ids().bytes())
        .await
        .map_err(|problem| Failure::new(problem.code.title()))?;
    let demo = acting(Act::host_command("muniment"), data::ensure(&db, config.chains[0].chain_id, &hash)).await?;
    running.start(&config, db.clone(), Some(listener), true).await?;
    println!("{}", invitation::text(served_at, chain.url(), &demo, &password));
    let ended = running.until_told().await;
    chain.stop().await;
    db.close().await;
    ended
}
