//! Slows down guessing: failures are counted for the account and for the network before the outcome is known.

use muniment_domain::attempt_counter;
use muniment_domain::db::Tx;
use muniment_domain::login_attempt::{self, Outcome};
use muniment_domain::point::Point;
use muniment_domain::user::normal_email;

use crate::app::App;
use crate::code::Code;
use crate::http::error::{Problem, Result};
use crate::http::origin::Origin;

/// How many failures an account bears before it waits.
const ACCOUNT_FREE: i64 = 5;
/// How many failures one network bears, which may be a whole office.
const NETWORK_FREE: i64 = 50;
/// The failure after which the owner gets a mail.
const TOLD_AT: i64 = 10;

/// An attempt that was counted.
pub struct Attempt {
    account: String,
    network: String,
    failures: i64,
}

impl Attempt {
    /// Counts an attempt on the account with this address, whether there is one or not.
    pub async fn on_email(app: &App, email: &str, origin: &Origin) -> Result<Self> {
        // A keyed hash of the address, so that the table is not a list of addresses. A rotation of the secrets starts the count again.
        let code = app.auth.secrets.text_mac("account", &[normal_email(email).as_bytes()]);
        Self::begin(app, format!("account:{code}"), origin).await
    }

    /// Counts an attempt on the second factor or password of a partly authenticated user.
    pub async fn on_user(app: &App, user_id: &str, origin: &Origin) -> Result<Self> {
        Self::begin(app, format!("person:{user_id}"), origin).await
    }

    async fn begin(app: &App, account: String, origin: &Origin) -> Result<Self> {
        let network = format!("network:{}", origin.network());
        let mut tx = app.db.begin().await?;
        let waits = [
            attempt_counter::count(&mut tx, &account, ACCOUNT_FREE).await?,
            attempt_counter::count(&mut tx, &network, NETWORK_FREE).await?,
        ];
        let Some(until) = waits.iter().filter_map(|counted| counted.waits_until).max() else {
            tx.exclude_from_audit();
            tx.commit(Point::Account).await?;
            return Ok(Self { account, network, failures: waits[0].failures });
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

    /// Takes the count back, in the commit of what the attempt was for.
    pub async fn succeeded(&self, tx: &mut Tx) -> Result<()> {
        attempt_counter::reset(tx, &self.account).await?;
        attempt_counter::decrement(tx, &self.network).await?;
        Ok(())
    }
}
