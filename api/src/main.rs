#![doc = include_str!("../README.md")]

mod access;
mod account;
mod anchor_file;
mod api_key;
mod app;
mod approval;
mod audit;
mod auth;
mod change;
mod cli;
mod code;
mod compliance;
mod config;
mod distribution;
mod docs;
mod error_page;
mod failure;
mod field;
#[cfg(test)]
mod fuzz_test;
mod http;
mod investor;
mod issuer;
mod mail;
mod offering;
mod openapi;
mod operation;
mod operator;
mod policy;
mod report;
mod secrets;
mod server;
mod subscription;
mod token;
mod user;
mod webhook;

use std::process::ExitCode;

use clap::Parser;
use cli::arguments::{Admin, Arguments, Audit, Command, KeyCommand, KeysCommand, UserCommand};
use cli::run::Roles;
use cli::{admin, doctor, intervene, run};
use config::{Config, database, log};
use failure::Failure;

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
        Some(Command::OpenApi) => print!("{}", server::document::text()),
        command => {
            let environment: Vec<_> = std::env::vars().collect();
            let production = Config::is_for_production(config.as_deref(), &environment);
            if command.is_none() && production {
                return Err(Failure::new(
                    "The production profile is set, but `muniment` without a command starts the demo. Use `muniment run`.",
                ));
            }
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
    cli::demo::run(config).await
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
