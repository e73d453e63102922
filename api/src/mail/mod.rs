//! Sends the mails that links wait for, by a command of the machine that takes a message on its standard input, as sendmail does.
//!
//! 1. The row of a link is written in the commit of the change that needs it. So no request waits for a mail, and a crash loses none.
//! 2. This loop finds due rows, computes the token of each and gives the message to the command.
//! 3. A mail that fails is tried again later. A link that ended meanwhile is not sent.
//! 4. If the process ends between the command and the note of its success, the same mail is sent again, with the same link.

use std::process::Stdio;
use std::time::Duration;

use chrono::Utc;
use muniment_activities::config::Profile;
use muniment_domain::db::Db;
use muniment_domain::email_link::{self, Due, Purpose};
use muniment_domain::point::Point;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::account::email;
use crate::app::App;
use crate::config::mail::Mail;
use crate::failure::Failure;
use crate::secrets::Secrets;

const LOOK_EVERY: Duration = Duration::from_secs(1);
const COMMAND_SECONDS: u64 = 30;
/// How many mails one look takes.
const LOOK_MAX: i64 = 20;

impl Mail {
    fn message(&self, due: &Due, token: &str) -> String {
        let (subject, text) = match due.link.purpose {
            Purpose::VerifyEmail => {
                ("Confirm your e-mail address", "Follow this link to confirm that this address is yours:")
            }
            Purpose::ResetPassword if due.link.registered_again => (
                "You have an account",
                "Somebody tried to register with your address, which already has an account. If it was you and you forgot your password, set a new one here:",
            ),
            Purpose::ResetPassword => (
                "Set a new password",
                "Somebody requested a new password for your account. If it was you, set it here:",
            ),
            Purpose::Invitation => ("You are invited", "An account was created for you. Set your password here:"),
            Purpose::Notice if due.is_of_the_account() => (
                "Failed logins",
                "Somebody tried many times to log in to your account with a wrong password. If it was not you: nobody got in. Set a new password if you use the old one elsewhere, and check your sessions:",
            ),
            Purpose::Notice => (
                "An admin wants to approve their own request",
                "The only admin requested an action that needs two admins. After one day the admin can approve it alone. Check it, and reject it if it is wrong:",
            ),
        };
        let (from, to, page) = (&self.from, &due.email, &self.page);
        let host = from.rsplit('@').next().unwrap_or_default();
        let (date, until) = (Utc::now().to_rfc2822(), due.link.expires_at.format("%Y-%m-%d %H:%M UTC"));
        let join = if page.contains('?') { '&' } else { '?' };
        // A notice opens nothing, so it has no token: it names what it is about.
        let (field, value, end) = match &due.link.subject_id {
            Some(subject) if due.is_of_the_account() => {
                ("about", subject.as_str(), "You do not have to answer.".to_owned())
            }
            Some(subject) => (
                "about",
                subject.as_str(),
                format!("You can reject it until it is executed, at the latest until {until}."),
            ),
            None => {
                let end = "If you did not expect this mail, ignore it.";
                ("token", token, format!("The link works once, until {until}. {end}"))
            }
        };
        // A mail never contains text that users wrote, such as names, so that nobody can send messages through it.
        format!(
            "From: {from}\r\nTo: {to}\r\nSubject: {subject}\r\nDate: {date}\r\nMessage-ID: <{id}@{host}>\r\nAuto-Submitted: auto-generated\r\n\
            MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{text}\r\n\r\n{page}{join}purpose={purpose}&{field}={value}\r\n\r\n{end}\r\n",
            id = due.link.id,
            purpose = due.link.purpose,
        )
    }

    async fn send(&self, message: &str) -> Result<(), String> {
        let mut words = self.command.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let sent = async {
            let mut child = command.spawn()?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(message.as_bytes()).await?;
            }
            child.wait().await
        };
        match tokio::time::timeout(Duration::from_secs(COMMAND_SECONDS), sent).await {
            Ok(Ok(status)) if status.success() => Ok(()),
            Ok(Ok(status)) => Err(format!("the command ended with {status}")),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("the command took longer than {COMMAND_SECONDS} s")),
        }
    }
}

/// Sends due mails until it is told to stop. Without a command, development writes each mail to the log.
pub async fn run(mail: Mail, profile: Profile, app: App, stop: CancellationToken) -> Result<(), Failure> {
    if mail.command.is_empty() && profile == Profile::Production {
        tracing::warn!("mails are not sent: mail.command is not set");
        stop.cancelled().await;
        return Ok(());
    }
    while stop.run_until_cancelled(tokio::time::sleep(LOOK_EVERY)).await.is_some() {
        if let Err(error) = send_due(&mail, &app.auth.secrets, &app.db).await {
            tracing::warn!(error.cause = %error, "the database is not available, mails wait");
        }
    }
    Ok(())
}

async fn send_due(mail: &Mail, secrets: &Secrets, db: &Db) -> muniment_domain::Result<()> {
    let due = email_link::due(&mut db.read().await?, LOOK_MAX).await?;
    for due in due {
        let mut tx = db.begin().await?;
        // Noted before it is tried: what always fails waits longer each time, and of two processes one has it.
        if !email_link::begin_try(&mut tx, &due.link).await? {
            continue;
        }
        tx.commit(Point::Housekeeping).await?;
        let token = email::token(secrets, &due.link.id);
        let sent = if mail.command.is_empty() {
            tracing::info!(mail.to = %due.email, mail.purpose = %due.link.purpose, mail.token = token, "mail");
            Ok(())
        } else {
            mail.send(&mail.message(&due, &token)).await
        };
        match sent {
            Ok(()) => {
                let mut tx = db.begin().await?;
                email_link::sent(&mut tx, &due.link.id).await?;
                tx.commit(Point::Housekeeping).await?;
            }
            Err(cause) => {
                tracing::warn!(mail.link = due.link.id, error.cause = cause, "a mail was not sent and is tried again")
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
