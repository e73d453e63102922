//! Sends the mails that links and alerts wait for, by a command of the machine that takes a message on its standard input, as sendmail
//! does, or by a mail server.
//!
//! 1. The row of a link or an alert is written in the commit of the change that needs it. So no request waits for a mail, and a crash loses none.
//! 2. This loop finds due rows, computes the token of each link and gives the message to the sender.
//! 3. A mail that fails is tried again later. A link that ended meanwhile is not sent.
//! 4. If the process ends between the send and the note of its success, the same mail is sent again, with the same link.

mod message;
mod sender;

use std::time::Duration;

use muniment_activities::config::Profile;
use muniment_domain::alert::{self, Outcome};
use muniment_domain::db::Db;
use muniment_domain::email_link;
use muniment_domain::point::Point;
use tokio_util::sync::CancellationToken;

use self::sender::{Sender, Unsent};
use crate::account::email;
use crate::app::App;
use crate::config::mail::Mail;
use crate::failure::Failure;
use crate::secrets::Secrets;

const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How many mails one look takes.
const LOOK_MAX: i64 = 20;

/// Sends due mails until it is told to stop. Without a command or a server, development writes each link to the log.
pub async fn run(mail: Mail, profile: Profile, app: App, stop: CancellationToken) -> Result<(), Failure> {
    if !mail.is_set() && profile == Profile::Production {
        tracing::warn!("mails are not sent: neither mail.command nor mail.smtp_url is set");
        stop.cancelled().await;
        return Ok(());
    }
    let sender = Sender::new(&mail)?;
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        let sent = async {
            send_links(&mail, &sender, &app.auth.secrets, &app.db).await?;
            send_alerts(&mail, &sender, &app.db).await
        };
        if let Err(error) = sent.await {
            tracing::warn!(error.cause = %error, "the database is not available, mails wait");
        }
    }
    Ok(())
}

async fn send_links(mail: &Mail, sender: &Sender, secrets: &Secrets, db: &Db) -> muniment_domain::Result<()> {
    let due = email_link::due(&mut db.read().await?, LOOK_MAX).await?;
    for due in due {
        let mut tx = db.begin().await?;
        // Noted before it is tried: what always fails waits longer each time, and of two processes one has it.
        if !email_link::begin_try(&mut tx, &due.link).await? {
            continue;
        }
        tx.commit(Point::Housekeeping).await?;
        let token = email::token(secrets, &due.link.id);
        if matches!(sender, Sender::Nobody) {
            tracing::info!(mail.to = %due.email, mail.purpose = %due.link.purpose, mail.token = token, "mail");
        }
        match sender.send(&due.email, &mail.message(&due, &token)).await {
            Ok(()) => {
                let mut tx = db.begin().await?;
                email_link::sent(&mut tx, &due.link.id).await?;
                tx.commit(Point::Housekeeping).await?;
            }
            Err(Unsent { cause, .. }) => {
                tracing::warn!(
                    mail.link = due.link.id.as_str(),
                    error.cause = cause,
                    "a mail was not sent and is tried again"
                )
            }
        }
    }
    Ok(())
}

/// A try whose end is not known is left as it is: it is due again in an hour.
async fn send_alerts(mail: &Mail, sender: &Sender, db: &Db) -> muniment_domain::Result<()> {
    let due = alert::due(&mut db.read().await?, LOOK_MAX).await?;
    for due in due {
        let mut tx = db.begin().await?;
        if !alert::begin_try(&mut tx, &due).await? {
            continue;
        }
        tx.commit(Point::Housekeeping).await?;
        if matches!(sender, Sender::Nobody) {
            tracing::info!(mail.cause = due.cause, mail.events = due.waiting.values().sum::<i64>(), "an alert");
        }
        let outcome = match sender.send(&due.email, &mail.alert(&due)).await {
            Ok(()) => Outcome::Sent,
            Err(Unsent { is_doubtful, cause }) => {
                tracing::warn!(
                    mail.alert = due.id.as_str(),
                    error.cause = cause,
                    "an alert was not sent and is tried again"
                );
                if is_doubtful {
                    continue;
                }
                Outcome::Refused
            }
        };
        let mut tx = db.begin().await?;
        alert::finish(&mut tx, &due, outcome).await?;
        tx.commit(Point::Housekeeping).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
