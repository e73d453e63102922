#![doc = include_str!("../README.md")]

mod access;
mod account;
mod alert;
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
mod console;
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
mod metrics;
mod network;
mod offering;
mod openapi;
mod operation;
mod operator;
mod policy;
mod pulse;
mod report;
mod secrets;
mod server;
mod subscription;
mod test_clock;
mod token;
mod user;
mod webhook;

use std::process::ExitCode;

use clap::Parser;
use cli::arguments::{Admin, Arguments, Audit, Command, KeyCommand, KeysCommand, UserCommand};
use cli::run::Roles;
use cli::{admin, doctor, intervene, listen, output, run, trigger};
use config::log::{Log, Start};
use config::{Config, database, log};
use failure::Failure;

/// Runs the command that the arguments name.
#[tokio::main]
pub async fn main() -> ExitCode {
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
        // It speaks to an API anywhere, so it needs no configuration of one.
        Some(Command::Listen(wanted)) => listen::run(&wanted).await?,
        Some(Command::Trigger(wanted)) => {
            let environment: Vec<_> = std::env::vars().collect();
            trigger::run(&wanted, Config::is_for_production(config.as_deref(), &environment)).await?;
        }
        Some(Command::OpenApi) => _ = output::print(&server::document::text())?,
        command => {
            let environment: Vec<_> = std::env::vars().collect();
            let production = Config::is_for_production(config.as_deref(), &environment);
            if starts_demo(command.as_ref()) && production {
                return Err(Failure::new(
                    "The production profile is set, but `muniment` without a command starts the demo. Use `muniment run`.",
                ));
            }
            let config = Config::load(config.as_deref(), &environment)?;
            let brief = command.as_ref().is_some_and(Command::ends_by_itself);
            // The demo prepares itself with thousands of lines, which would push its invitation off the screen.
            let quiet = starts_demo(command.as_ref()) && config.log == Config::default().log;
            let log = log::install(&config, if brief || quiet { Start::Warnings } else { Start::Configured })?;
            match command {
                None => demo(config, &log).await?,
                Some(command) => execute(command, config, &log).await?,
            }
        }
    }
    Ok(())
}

#[cfg_attr(not(feature = "devchain"), allow(unused_variables, reason = "only the demo has another log"))]
async fn execute(command: Command, config: Config, log: &Log) -> Result<(), Failure> {
    match command {
        Command::Run => run::run(config, Roles { api: true, worker: true }).await,
        Command::Api => run::run(config, Roles { api: true, worker: false }).await,
        Command::Worker => run::run(config, Roles { api: false, worker: true }).await,
        Command::Migrate => migrate(&config).await,
        #[cfg(feature = "devchain")]
        Command::Demo(cli::arguments::Demo { incident: Some(incident) }) => cli::demo::stage_incident(incident).await,
        #[cfg(feature = "devchain")]
        Command::Demo(cli::arguments::Demo { incident: None }) => demo(config, log).await,
        Command::Doctor => diagnose(config).await,
        Command::Audit(Audit::Verify) => audit::verify_all(&config).await,
        Command::Admin(command) => administer(&command, &config).await,
        Command::Listen(_) | Command::Trigger(_) | Command::OpenApi | Command::Version => Ok(()),
    }
}

async fn administer(command: &Admin, config: &Config) -> Result<(), Failure> {
    match command {
        Admin::Key(KeyCommand::Create(new)) => admin::create_key(config, new).await,
        Admin::User(UserCommand::Create(new)) => admin::create_user(config, new).await,
        Admin::Keys(KeysCommand::Rotate) => admin::rotate_keys(config),
        Admin::Keys(KeysCommand::AcceptLoss) => admin::accept_key_loss(config).await,
        Admin::Lane(command) => intervene::lanes(config, command).await,
        Admin::Chain(command) => intervene::chain(config, command).await,
    }
}

/// Whether the demo starts, or something is done to it.
fn starts_demo(command: Option<&Command>) -> bool {
    match command {
        None => true,
        #[cfg(feature = "devchain")]
        Some(Command::Demo(_)) => true,
        Some(_) => false,
    }
}

#[cfg(feature = "devchain")]
async fn diagnose(config: Config) -> Result<(), Failure> {
    match cli::demo::existing(&config).await? {
        Some(known) => doctor::run(&known.config, Some(known.running_at.as_deref())).await,
        None => doctor::run(&config, None).await,
    }
}

#[cfg(not(feature = "devchain"))]
async fn diagnose(config: Config) -> Result<(), Failure> {
    doctor::run(&config, None).await
}

#[cfg(feature = "devchain")]
async fn demo(config: Config, log: &Log) -> Result<(), Failure> {
    cli::demo::run(config, log).await
}

#[cfg(not(feature = "devchain"))]
async fn demo(_: Config, _: &Log) -> Result<(), Failure> {
    Err(Failure::new("This build has no embedded chain. Name a command: `muniment --help` lists them."))
}

async fn migrate(config: &Config) -> Result<(), Failure> {
    database::open_current(config).await?;
    println!("The database is at migration {}.", muniment_domain::migrate::newest_version());
    Ok(())
}
