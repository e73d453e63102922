//! The command line.

use std::path::PathBuf;

use clap::builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use muniment_domain::id::LaneId;
use muniment_domain::user::Role;

#[cfg(feature = "devchain")]
use crate::cli::demo::Incident;
use crate::cli::import::Import;
use crate::cli::listen::Listen;
use crate::cli::trigger::Trigger;

const AFTER_HELP: &str = "\
Without a command, everything runs on this machine with an embedded chain and demo data in ./data.

ops/muniment.toml shows every key of the configuration file. The environment variable MUNIMENT_SECTION_NAME sets the
key `section.name`: for example MUNIMENT_DATABASE_URL, MUNIMENT_LISTEN or MUNIMENT_LOG.";

/// Runs the Muniment platform and administers it.
#[derive(Debug, PartialEq, Eq, Parser)]
#[command(name = "muniment", version, after_help = AFTER_HELP)]
pub struct Arguments {
    /// Read the configuration from this file.
    #[arg(long, value_name = "FILE", global = true, env = "MUNIMENT_CONFIG")]
    pub config: Option<PathBuf>,
    /// The command. Without one, the demo runs.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// A command.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum Command {
    /// Run everything on this machine with an embedded chain and demo data; the same as without a command.
    #[cfg(feature = "devchain")]
    Demo(Demo),
    /// Run the API and the engine.
    Run,
    /// Run the API only.
    Api,
    /// Run the engine only.
    Worker,
    /// Migrate the database to the schema of this binary.
    Migrate,
    /// Check the database, chains, contracts and signers, and print how to mend what fails.
    Doctor,
    /// Verify the audit log.
    #[command(subcommand)]
    Audit(Audit),
    /// Manage users, keys, lanes and chains from the host.
    #[command(subcommand)]
    Admin(Admin),
    /// Print the events of an API key as they happen, and forward them to a server of your own.
    Listen(Listen),
    /// Post a sample of an event to a server of your own, signed as a webhook.
    Trigger(Trigger),
    /// Print the OpenAPI document.
    #[command(name = "openapi")]
    OpenApi,
    /// Print the version.
    Version,
}

impl Command {
    /// Returns whether it prints an answer and ends, instead of running until it is stopped.
    pub fn ends_by_itself(&self) -> bool {
        match self {
            Self::Run | Self::Api | Self::Worker | Self::Listen(_) => false,
            #[cfg(feature = "devchain")]
            Self::Demo(demo) => demo.incident.is_some(),
            _ => true,
        }
    }
}

/// The options of the demo.
#[cfg(feature = "devchain")]
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Demo {
    /// Let this go wrong in the demo that runs in this folder, and end.
    #[arg(long, value_name = "NAME")]
    pub incident: Option<Incident>,
}

/// Commands on the audit log.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum Audit {
    /// Recompute the chain hashes of the audit log, compare the daily anchors, and print each difference.
    Verify,
}

/// Administration from the host.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum Admin {
    /// Manage API keys.
    #[command(subcommand)]
    Key(KeyCommand),
    /// Manage staff.
    #[command(subcommand)]
    User(UserCommand),
    /// Manage the secrets that sign tokens and encrypt seeds.
    #[command(subcommand)]
    Keys(KeysCommand),
    /// Manage the signers.
    #[command(subcommand)]
    Lane(LaneCommand),
    /// Manage the chains.
    #[command(subcommand)]
    Chain(ChainCommand),
}

/// Commands on API keys.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum KeyCommand {
    /// Create an API key, and its user if there is none, and print the key once.
    Create(NewKey),
}

/// The API key to create.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct NewKey {
    /// E-mail address of the key's user.
    #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
    pub email: String,
    /// Role of the user.
    #[arg(long, value_parser = role(|_| true))]
    pub role: Role,
    /// Name of the key.
    #[arg(long, value_name = "TEXT", default_value = "command line")]
    pub name: String,
    /// Scopes of the key, such as "ops:read ops:write"; all scopes if absent.
    #[arg(long)]
    pub scopes: Option<String>,
    /// Lifetime of the key in days.
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(i64).range(1..=3_650))]
    pub days: i64,
}

/// Commands on staff.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum UserCommand {
    /// Create a member of staff, and print once the token that sets the password.
    Create(NewUser),
}

/// The member of staff to create.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct NewUser {
    /// E-mail address of the user.
    #[arg(long, value_name = "ADDRESS", value_parser = email_address)]
    pub email: String,
    /// Role of the user; investors and issuers register themselves.
    #[arg(long, value_parser = role(Role::is_staff))]
    pub role: Role,
    /// Name of the user; the e-mail address if absent.
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
}

/// Commands on the secrets.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum KeysCommand {
    /// Create the next secrets, which take over in 24 hours; sessions stay valid and no process restarts.
    Rotate,
    /// Go on after the key file was lost, with the file that is there now or a new one; what only the lost one decrypts stays unreadable.
    AcceptLoss,
}

/// Commands on lanes.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum LaneCommand {
    /// List the lanes with signer, next nonce and mode.
    List,
    /// Stop a lane from signing; what it signed is still followed.
    Pause(LaneReason),
    /// Let a lane sign again; a quarantined lane first raises its counters above those of the chain.
    Resume(LaneReason),
    /// After a restore, list what the chain knows of the lane's signer and the database does not, and import it.
    Import(Import),
}

/// A lane, and why its mode changes.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct LaneReason {
    /// Id of the lane; `muniment admin lane list` prints it.
    #[arg(value_name = "LANE")]
    pub lane_id: LaneId,
    #[command(flatten)]
    pub reason: Reason,
}

/// Commands on chains.
#[derive(Debug, PartialEq, Eq, Subcommand)]
pub enum ChainCommand {
    /// Let work continue on a chain that was halted.
    Clear {
        /// Id of the chain, a number.
        chain_id: i64,
        #[command(flatten)]
        reason: Reason,
    },
}

/// Why something is done, in one or more words.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Reason {
    /// Reason, recorded in the audit log.
    #[arg(value_name = "REASON", required = true, value_parser = NonEmptyStringValueParser::new())]
    words: Vec<String>,
}

impl Reason {
    /// Returns the words as one text.
    pub fn text(&self) -> String {
        self.words.join(" ")
    }
}

fn email_address(text: &str) -> Result<String, &'static str> {
    if text.contains('@') { Ok(text.to_owned()) } else { Err("an e-mail address contains an @") }
}

fn role(allowed: fn(Role) -> bool) -> impl TypedValueParser<Value = Role> {
    let roles = Role::ALL.iter().copied().filter(move |role| allowed(*role));
    PossibleValuesParser::new(roles.map(Role::as_str)).try_map(|word| word.parse::<Role>())
}

#[cfg(test)]
mod tests;
