//! What the process is asked to be.

use std::path::PathBuf;

use muniment_domain::user::Role;

use crate::cli::import::Import;
use crate::failure::Failure;

/// The help.
pub const USAGE: &str = "\
muniment [--config FILE] [COMMAND]

Without a command everything runs on this machine, with an embedded chain and demo data in ./data.

  run        the REST interface and the engine
  api        the REST interface alone
  worker     the engine alone
  migrate    bring the database up to this binary
  doctor     check database, chains, contracts and signers, and say what to do
  audit verify
             compute the chain over the audit log again, and say where it does not fit
  admin key create --email ADDRESS --role ROLE [--name TEXT] [--scopes \"ops:read ops:write\"] [--days 365]
             create a key for a person (who is created if new) and print it once
  admin user create --email ADDRESS --role ROLE [--name TEXT]
             create a person of the staff, who sets the password by the token that is printed once
  admin keys rotate
             make the keys of tokens and seals that take over in 24 hours; nobody has to log in again, nothing is restarted
  admin lane list
             show every signer with its nonce and its mode
  admin lane pause|resume LANE REASON…
             stop a signer, or let it sign again; out of quarantine its counters are first lifted above the chain's
  admin lane import LANE [--apply [--acknowledge NAME]…]
             after a restore: show what the chain did with the signer's key that the database does not know, and write it down
  admin chain clear CHAIN_ID REASON…
             let work go on, on a chain that was halted
  openapi    print the document of the interface
  version    print the version

The file is FILE, or MUNIMENT_CONFIG; ops/muniment.toml shows every key. A key `section.name` can be set by
MUNIMENT_SECTION_NAME, such as MUNIMENT_DATABASE_URL, MUNIMENT_LISTEN or MUNIMENT_LOG.
";

/// The command line.
#[derive(Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The configuration file, if one is named here.
    pub config: Option<PathBuf>,
    /// What to do.
    pub command: Command,
}

/// What to do.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// Everything, on demo data.
    Demo,
    /// Interface and engine.
    Run,
    /// The interface.
    Api,
    /// The engine.
    Worker,
    /// The migrations.
    Migrate,
    /// The checks.
    Doctor,
    /// The chain over the audit log.
    VerifyAudit,
    /// A key for a person.
    CreateKey(NewKey),
    /// A person of the staff.
    CreateUser(NewUser),
    /// The next keys of tokens and seals.
    RotateKeys,
    /// What a person does to a lane or a chain.
    Intervene(Intervention),
    /// The document of the interface.
    OpenApi,
    /// The version.
    Version,
    /// The help.
    Help,
}

impl Command {
    /// Whether it prints an answer and ends, instead of running until it is told to stop.
    pub const fn ends_by_itself(&self) -> bool {
        !matches!(self, Self::Demo | Self::Run | Self::Api | Self::Worker)
    }
}

/// What a person does to a lane or a chain that the engine left to people.
#[derive(Debug, PartialEq, Eq)]
pub enum Intervention {
    /// Shows the lanes.
    ListLanes,
    /// Stops a lane, for a reason.
    Pause(String, String),
    /// Lets a lane sign again, for a reason.
    Resume(String, String),
    /// Brings in what a restored database has forgotten.
    Import(Import),
    /// Lets work go on, on a chain that was halted, for a reason.
    ClearChain(i64, String),
}

impl Intervention {
    fn parse(words: &[&str]) -> Result<Self, Failure> {
        let reason = |words: &[&str]| match words.join(" ") {
            reason if reason.is_empty() => Err(Failure::new("say the reason as well: it stands in the log")),
            reason => Ok(reason),
        };
        match words {
            ["lane", "list"] => Ok(Self::ListLanes),
            ["lane", "pause", lane, rest @ ..] => Ok(Self::Pause((*lane).to_owned(), reason(rest)?)),
            ["lane", "resume", lane, rest @ ..] => Ok(Self::Resume((*lane).to_owned(), reason(rest)?)),
            ["lane", "import", rest @ ..] => Ok(Self::Import(Import::parse(rest)?)),
            ["chain", "clear", chain, rest @ ..] => {
                let chain = chain.parse().map_err(|_| Failure::new("the chain is named by its id, a number"))?;
                Ok(Self::ClearChain(chain, reason(rest)?))
            }
            other => Err(Failure::new(format!("{:?} is no command of admin.\n\n{USAGE}", other.join(" ")))),
        }
    }
}

/// The key to create.
#[derive(Debug, PartialEq, Eq)]
pub struct NewKey {
    /// Whose.
    pub email: String,
    /// What the person is, if new.
    pub role: Role,
    /// What the key is called.
    pub name: String,
    /// What it allows; none for all that there is.
    pub scopes: Option<String>,
    /// How long it lives.
    pub days: i64,
}

/// The person to create.
#[derive(Debug, PartialEq, Eq)]
pub struct NewUser {
    /// Their address.
    pub email: String,
    /// Their name; the address where none is given.
    pub name: String,
    /// What they will be.
    pub role: Role,
}

impl NewUser {
    fn parse(options: &[&str]) -> Result<Self, Failure> {
        let (mut email, mut role, mut name) = (None, None, None);
        for pair in options.chunks(2) {
            match pair {
                ["--email", value] => email = Some((*value).to_owned()),
                ["--role", value] => role = Some(value.parse::<Role>().map_err(Failure::new)?),
                ["--name", value] => name = Some((*value).to_owned()),
                other => {
                    return Err(Failure::new(format!(
                        "{:?} is no option of admin user create.\n\n{USAGE}",
                        other.join(" ")
                    )));
                }
            }
        }
        let missing = |option: &str| Failure::new(format!("admin user create needs {option}"));
        let (email, role) = (email.ok_or_else(|| missing("--email"))?, role.ok_or_else(|| missing("--role"))?);
        if !email.contains('@') || !role.is_staff() {
            return Err(Failure::new(
                "--email needs an address, and --role one of operator, admin, auditor: others register",
            ));
        }
        Ok(Self { name: name.unwrap_or_else(|| email.clone()), email, role })
    }
}

impl Arguments {
    /// Reads the words after the program's name.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let mut config = None;
        let mut rest = Vec::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--config" => {
                    config = Some(words.next().ok_or_else(|| Failure::new("--config needs a file"))?.into());
                }
                "--help" | "-h" => return Ok(Self { config, command: Command::Help }),
                "--version" | "-V" => return Ok(Self { config, command: Command::Version }),
                _ => rest.push(word),
            }
        }
        let rest: Vec<_> = rest.iter().map(String::as_str).collect();
        let command = match rest.as_slice() {
            [] => Command::Demo,
            ["run"] => Command::Run,
            ["api"] => Command::Api,
            ["worker"] => Command::Worker,
            ["migrate"] => Command::Migrate,
            ["doctor"] => Command::Doctor,
            ["audit", "verify"] => Command::VerifyAudit,
            ["openapi"] => Command::OpenApi,
            ["version"] => Command::Version,
            ["help"] => Command::Help,
            ["admin", "key", "create", options @ ..] => Command::CreateKey(NewKey::parse(options)?),
            ["admin", "user", "create", options @ ..] => Command::CreateUser(NewUser::parse(options)?),
            ["admin", "keys", "rotate"] => Command::RotateKeys,
            ["admin", words @ ..] => Command::Intervene(Intervention::parse(words)?),
            other => return Err(Failure::new(format!("{:?} is no command.\n\n{USAGE}", other.join(" ")))),
        };
        Ok(Self { config, command })
    }
}

impl NewKey {
    fn parse(options: &[&str]) -> Result<Self, Failure> {
        let (mut email, mut role, mut scopes) = (None, None, None);
        let (mut name, mut days) = ("command line".to_owned(), 365);
        for pair in options.chunks(2) {
            let [option, value] = pair else { return Err(Failure::new(format!("{} needs a value", pair[0]))) };
            match *option {
                "--email" => email = Some((*value).to_owned()),
                "--role" => role = Some(value.parse::<Role>().map_err(Failure::new)?),
                "--name" => name = (*value).to_owned(),
                "--scopes" => scopes = Some((*value).to_owned()),
                "--days" => days = value.parse().map_err(|_| Failure::new("--days needs a number"))?,
                other => return Err(Failure::new(format!("{other} is no option of admin key create.\n\n{USAGE}"))),
            }
        }
        let missing = |option: &str| Failure::new(format!("admin key create needs {option}"));
        let (email, role) = (email.ok_or_else(|| missing("--email"))?, role.ok_or_else(|| missing("--role"))?);
        if !email.contains('@') || !(1..=3_650).contains(&days) {
            return Err(Failure::new("--email needs an address and --days a number from 1 to 3650"));
        }
        Ok(Self { email, role, name, scopes, days })
    }
}

#[cfg(test)]
mod tests;
