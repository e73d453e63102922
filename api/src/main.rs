#![doc = include_str!("../README.md")]

mod accept;
mod access_token;
mod act;
mod address;
mod admin;
mod amount;
mod answer;
mod api_key;
mod app;
mod approval;
mod arguments;
mod audit;
mod auth;
mod body;
mod bulk_retry;
mod cancel;
mod cause;
mod code;
mod config;
mod csrf;
mod csv;
mod database;
#[cfg(feature = "devchain")]
mod demo;
mod deploy;
mod distribution;
mod docs;
mod doctor;
mod error;
mod failure;
mod force_transfer;
mod freeze;
#[cfg(test)]
mod fuzz_test;
mod health;
mod holder;
mod idempotency;
#[cfg(test)]
mod idempotency_test;
mod import;
mod instant;
mod intervene;
mod investor;
mod issuer;
mod json;
mod known_key;
mod lock;
mod log;
mod mail;
mod media;
mod member;
mod mint;
mod offering;
mod openapi;
mod operation;
mod origin;
mod override_by;
mod pages;
mod password;
mod permission;
#[cfg(test)]
mod permission_test;
mod policy;
mod principal;
mod rate;
mod reconcile;
mod reconciliation;
mod recover;
mod report;
mod request_id;
mod restrict;
mod retry;
mod router;
mod run;
mod secrets;
mod serve;
mod signer;
mod speed_up;
mod submission;
mod subscription;
mod token_view;
mod totp;
mod trace;
mod unfreeze;
mod unique;
mod unlock;
mod unrestrict;
mod user;
mod version;
mod webhook;

use std::process::ExitCode;

use arguments::{Arguments, Command, USAGE};
use config::Config;
use failure::Failure;
use run::Roles;

#[tokio::main]
async fn main() -> ExitCode {
    // Named before anything signs: were a second crypto backend ever built in, the library would panic at its first use.
    let _ = jsonwebtoken::crypto::aws_lc::DEFAULT_PROVIDER.install_default();
    match start().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("muniment: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn start() -> Result<(), Failure> {
    let Arguments { config, command } = Arguments::parse(std::env::args().skip(1))?;
    match command {
        Command::Help => print!("{USAGE}"),
        Command::Version => println!("muniment {}", env!("CARGO_PKG_VERSION")),
        Command::OpenApi => print!("{}", openapi::text()),
        command => {
            let environment: Vec<_> = std::env::vars().collect();
            let file = config.or_else(|| std::env::var_os("MUNIMENT_CONFIG").map(Into::into));
            let config = Config::load(file.as_deref(), &environment)?;
            log::install(&config, command.ends_by_itself())?;
            execute(command, config).await?;
        }
    }
    Ok(())
}

async fn execute(command: Command, config: Config) -> Result<(), Failure> {
    match command {
        #[cfg(feature = "devchain")]
        Command::Demo => demo::run(config).await,
        #[cfg(not(feature = "devchain"))]
        Command::Demo => Err(Failure::new(format!("This build has no embedded chain. Name a command.\n\n{USAGE}"))),
        Command::Run => run::run(config, Roles { api: true, worker: true }).await,
        Command::Api => run::run(config, Roles { api: true, worker: false }).await,
        Command::Worker => run::run(config, Roles { api: false, worker: true }).await,
        Command::Migrate => migrate(&config).await,
        Command::Doctor => doctor::run(&config).await,
        Command::VerifyAudit => audit::verify_all(&config).await,
        Command::CreateKey(new) => admin::create_key(&config, &new).await,
        Command::CreateUser(new) => admin::create_user(&config, &new).await,
        Command::RotateKeys => admin::rotate_keys(&config),
        Command::Intervene(asked) => intervene::intervene(&config, &asked).await,
        Command::Help | Command::OpenApi | Command::Version => Ok(()),
    }
}

async fn migrate(config: &Config) -> Result<(), Failure> {
    database::open_current(config).await?;
    println!("The database is at migration {}.", muniment_domain::migrate::newest_version());
    Ok(())
}
