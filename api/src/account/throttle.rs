//! Slows down guessing. An attempt is counted before the outcome is known, for the account in one network, for the account, and for the
//! network. A known device is counted by itself: guesses from elsewhere do not make the owner wait.

use muniment_domain::attempt_counter;
use muniment_domain::db::Tx;
use muniment_domain::id::UserId;
use muniment_domain::login_attempt::{self, Outcome};
use muniment_domain::point::Point;
use muniment_domain::user::normal_email;

use super::device::Device;
use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::origin::Origin;

/// How many failures an account bears from one network or device before it waits.
const FREE: i64 = 5;
/// How many failures an account bears from all networks. It bounds who guesses from many.
const ACCOUNT_FREE: i64 = 100;
/// How many failures one network bears, which may be a whole office.
const NETWORK_FREE: i64 = 50;
/// The failure after which the owner gets a mail.
const TOLD_AT: i64 = 10;

/// An attempt that was counted.
pub struct Attempt {
    /// The counters that a success clears.
    own: Vec<String>,
    /// The counter that a success only takes one from: others guess there too.
    network: Option<String>,
    failures: i64,
}

impl Attempt {
    /// Counts an attempt on the account with this address, whether there is one or not.
    pub async fn on_email(app: &App, email: &str, origin: &Origin, device: &Device) -> Result<Self> {
        if let Some(device) = device.known_for(app, email) {
            return Self::begin(app, &[(format!("device:{device}"), FREE)], None, origin).await;
        }
        let (account, network) = (account(app, email), origin.network());
        let own = [(account.clone(), ACCOUNT_FREE), (format!("{account}:{network}"), FREE)];
        Self::begin(app, &own, Some(format!("network:{network}")), origin).await
    }

    /// Counts an attempt on the password of a user who has a session.
    pub async fn on_password(app: &App, user_id: &UserId, origin: &Origin) -> Result<Self> {
        Self::begin(app, &[(format!("person:{user_id}"), FREE)], None, origin).await
    }

    /// Counts an attempt on the codes of a user. A right password does not clear it: a code is short, and who guesses it has the password.
    pub async fn on_code(app: &App, user_id: &UserId, origin: &Origin) -> Result<Self> {
        let network = Some(format!("network:{}", origin.network()));
        Self::begin(app, &[(format!("code:{user_id}"), FREE)], network, origin).await
    }

    async fn begin(app: &App, own: &[(String, i64)], network: Option<String>, origin: &Origin) -> Result<Self> {
        let mut tx = app.db.begin().await?;
        let (mut until, mut failures) = (None, 0);
        for (subject, free) in own.iter().cloned().chain(network.clone().map(|subject| (subject, NETWORK_FREE))) {
            let counted = attempt_counter::count(&mut tx, &subject, free).await?;
            until = until.max(counted.waits_until);
            failures = if failures == 0 { counted.failures } else { failures };
        }
        let Some(until) = until else {
            tx.exclude_from_audit();
            tx.commit(Point::Account).await?;
            let own = own.iter().map(|(subject, _)| subject.clone()).collect();
            return Ok(Self { own, network, failures });
        };
        let wait = u64::try_from((until - tx.now()).num_seconds()).unwrap_or(0).max(1);
        // An attempt that is refused here is not counted, so more attempts do not lengthen the wait.
        drop(tx);
        let mut tx = app.db.begin().await?;
        login_attempt::insert(&mut tx, None, &origin.ip.to_string(), &origin.user_agent, Outcome::Throttled).await?;
        tx.exclude_from_audit();
        tx.commit(Point::Account).await?;
        let problem =
            Problem::new(Code::LoginThrottled, format!("Too many failed attempts. Try again in {wait} seconds."));
        Err(problem.with_retry_after(wait))
    }

    /// Whether the owner gets a mail about this failure.
    pub const fn is_told(&self) -> bool {
        self.failures == TOLD_AT
    }

    /// Takes the count back if the work fails: an overloaded server has judged nothing.
    pub async fn judged<T>(&self, app: &App, work: impl Future<Output = Result<T>>) -> Result<T> {
        let outcome = work.await;
        if outcome.is_err() {
            let mut tx = app.db.begin().await?;
            for subject in self.own.iter().chain(&self.network) {
                attempt_counter::decrement(&mut tx, subject).await?;
            }
            tx.exclude_from_audit();
            tx.commit(Point::Account).await?;
        }
        outcome
    }

    /// Takes the count back, in the commit of what the attempt was for.
    pub async fn succeeded(&self, tx: &mut Tx) -> Result<()> {
        for subject in &self.own {
            attempt_counter::reset(tx, subject).await?;
        }
        if let Some(subject) = &self.network {
            attempt_counter::decrement(tx, subject).await?;
        }
        Ok(())
    }
}

/// Clears what was counted for an account in all networks: its owner has shown the mailbox.
pub async fn lift(app: &App, tx: &mut Tx, email: &str) -> Result<()> {
    Ok(attempt_counter::reset_all(tx, &account(app, email)).await?)
}

/// A keyed hash of the address, so that the table is not a list of addresses. A rotation of the secrets starts the count again.
fn account(app: &App, email: &str) -> String {
    format!("account:{}", app.auth.secrets.text_mac("account", &[normal_email(email).as_bytes()]))
}
