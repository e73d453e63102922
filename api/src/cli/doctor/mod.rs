//! `muniment doctor`: checks everything that the platform needs, and says what to do.

mod chain;
mod database;
mod key_file;
mod signer;

use muniment_activities::config::Profile;

use crate::config::Config;
use crate::failure::Failure;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Fine,
    /// It works, but needs attention.
    Warn,
    /// It cannot work.
    Fail,
}

/// One line of the table.
#[derive(Clone, Debug)]
pub struct Check {
    subject: String,
    verdict: Verdict,
    found: String,
    advice: Option<String>,
}

impl Check {
    /// All is well.
    pub fn fine(subject: impl Into<String>, found: impl Into<String>) -> Self {
        Self { subject: subject.into(), verdict: Verdict::Fine, found: found.into(), advice: None }
    }

    /// Something to look at, with what to do.
    pub fn warn(subject: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Warn, advice: Some(advice.into()), ..Self::fine(subject, found) }
    }

    /// Something that cannot work, with what to do.
    pub fn fail(subject: impl Into<String>, found: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { verdict: Verdict::Fail, ..Self::warn(subject, found, advice) }
    }
}

/// Runs every check and prints the table. A check that cannot be made is a line like any other. `demo` is there for the demo, with its
/// address if it runs.
pub async fn run(config: &Config, demo: Option<Option<&str>>) -> Result<(), Failure> {
    let (mut checks, db) = match demo {
        // One process has the file open; that it serves shows that it could open it.
        Some(Some(address)) => {
            (vec![Check::fine("demo", format!("runs at {address} and has {} open", config.database.url))], None)
        }
        Some(None) => {
            let (mut checks, db) = database::check(config).await;
            checks.insert(0, Check::warn("demo", "does not run", "start it with `muniment`"));
            (checks, db)
        }
        None => database::check(config).await,
    };
    if config.chains.is_empty() {
        checks.push(Check::fail(
            "chains",
            "none is configured",
            "add a [[chains]] section; ops/muniment.toml shows one",
        ));
    }
    if let Err(weak) = config.auth.check(config.profile) {
        checks.push(Check::fail("auth", "the login is weak", weak.to_string()));
    }
    if !config.mail.is_set() && config.profile == Profile::Production {
        checks.push(Check::warn(
            "mail",
            "no mails are sent: nobody can verify an address, accept an invitation or reset a password",
            "set mail.smtp_url or mail.command, mail.from and mail.page",
        ));
    }
    if config.limits.trusted_proxies.is_empty() && config.auth.public_url.starts_with("https://") {
        checks.push(Check::warn(
            "proxy",
            "none is trusted: behind one, all callers are one network, and one of them can use up the limits of all",
            "set limits.trusted_proxies to the address of the proxy that ends TLS",
        ));
    }
    for chain in &config.chains {
        let (found, reached) = chain::check(chain, db.as_ref(), demo.is_some()).await;
        checks.extend(found);
        checks.extend(signer::check(chain, config.profile, reached.as_ref()).await);
    }
    print!("{}", table(&checks));
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (warnings, failures) = (count(Verdict::Warn), count(Verdict::Fail));
    println!(
        "\n{}",
        [number(checks.len(), "check"), number(warnings, "warning"), number(failures, "failure")].join(", ")
    );
    if failures > 0 {
        Err(Failure::new(format!("{} failed. The table says what to do.", number(failures, "check"))))
    } else {
        Ok(())
    }
}

fn number(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn table(checks: &[Check]) -> String {
    let width = checks.iter().map(|check| check.subject.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for check in checks {
        let verdict = match check.verdict {
            Verdict::Fine => "ok  ",
            Verdict::Warn => "warn",
            Verdict::Fail => "FAIL",
        };
        text.push_str(&format!("{verdict}  {:width$}  {}\n", check.subject, check.found));
        if let Some(advice) = &check.advice {
            text.push_str(&format!("      {:width$}  → {advice}\n", ""));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_something_has_no_plural() {
        assert_eq!(
            [number(0, "check"), number(1, "warning"), number(2, "failure")],
            ["0 checks", "1 warning", "2 failures"]
        );
    }

    #[test]
    fn failed_check_says_what_to_do() {
        let checks = [Check::fine("database", "reachable"), Check::fail("chain x", "no answer", "start the node")];
        assert_eq!(
            table(&checks),
            "ok    database  reachable\nFAIL  chain x   no answer\n                → start the node\n"
        );
    }
}
