#![doc = include_str!("../README.md")]

mod access;
mod account;
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

use cli::arguments::{Arguments, Command, USAGE};
use cli::run::Roles;
use cli::{admin, doctor, intervene, run};
use config::{Config, database, log};
use failure::Failure;

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
        Command::OpenApi => print!("{}", server::document::text()),
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
        Command::Demo => cli::demo::run(config).await,
        #[cfg(not(feature = "devchain"))]
        Command::Demo => Err(Failure::new(format!("This build has no embedded chain. Give a command.\n\n{USAGE}"))),
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
