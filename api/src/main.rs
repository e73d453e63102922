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

use arguments::{Admin, Arguments, Audit, Command, KeyCommand, KeysCommand, UserCommand};
use clap::Parser;
use config::Config;
use failure::Failure;
use run::Roles;

#[tokio::main]
async fn main() -> ExitCode {
    match start(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("muniment: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn start(Arguments { config, command }: Arguments) -> Result<(), Failure> {
    match command {
        Some(Command::Version) => println!("muniment {}", env!("CARGO_PKG_VERSION")),
        Some(Command::OpenApi) => print!("{}", openapi::text()),
        command => {
            let environment: Vec<_> = std::env::vars().collect();
            let config = Config::load(config.as_deref(), &environment)?;
            log::install(&config, command.as_ref().is_some_and(Command::ends_by_itself))?;
            match command {
                None => demo(config).await?,
                Some(command) => execute(command, config).await?,
            }
        }
    }
    Ok(())
}

async fn execute(command: Command, config: Config) -> Result<(), Failure> {
    match command {
        Command::Run => run::run(config, Roles { api: true, worker: true }).await,
        Command::Api => run::run(config, Roles { api: true, worker: false }).await,
        Command::Worker => run::run(config, Roles { api: false, worker: true }).await,
        Command::Migrate => migrate(&config).await,
        Command::Doctor => doctor::run(&config).await,
        Command::Audit(Audit::Verify) => audit::verify_all(&config).await,
        Command::Admin(command) => administer(&command, &config).await,
        Command::OpenApi | Command::Version => Ok(()),
    }
}

async fn administer(command: &Admin, config: &Config) -> Result<(), Failure> {
    match command {
        Admin::Key(KeyCommand::Create(new)) => admin::create_key(config, new).await,
        Admin::User(UserCommand::Create(new)) => admin::create_user(config, new).await,
        Admin::Keys(KeysCommand::Rotate) => admin::rotate_keys(config),
        Admin::Lane(command) => intervene::lanes(config, command).await,
        Admin::Chain(command) => intervene::chain(config, command).await,
    }
}

#[cfg(feature = "devchain")]
async fn demo(config: Config) -> Result<(), Failure> {
    demo::run(config).await
}

#[cfg(not(feature = "devchain"))]
async fn demo(_: Config) -> Result<(), Failure> {
    Err(Failure::new("This build has no embedded chain. Name a command: `muniment --help` lists them."))
}

async fn migrate(config: &Config) -> Result<(), Failure> {
    database::open_current(config).await?;
    println!("The database is at migration {}.", muniment_domain::migrate::newest_version());
    Ok(())
}
