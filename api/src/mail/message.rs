//! The texts of mails. A mail never contains text that users wrote, such as names, so that nobody can send messages through it.

use chrono::Utc;
use muniment_domain::alert;
use muniment_domain::email_link::{Due, Purpose};
use muniment_domain::event_type::CATALOG;

use crate::config::mail::Mail;

impl Mail {
    /// The mail of a link.
    pub(super) fn message(&self, due: &Due, token: &str) -> String {
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
        let page = &self.page;
        let until = due.link.expires_at.format("%Y-%m-%d %H:%M UTC");
        let join = self.join();
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
        let purpose = due.link.purpose;
        let body = format!("{text}\r\n\r\n{page}{join}purpose={purpose}&{field}={value}\r\n\r\n{end}\r\n");
        self.whole(&due.email, &due.link.id, subject, &body)
    }

    /// The mail about events.
    pub(super) fn alert(&self, due: &alert::Due) -> String {
        let total: i64 = due.waiting.values().sum();
        let subject = match due.is_digest() {
            true => format!("{total} events of the last day"),
            false => format!("{total} {} {}", if total == 1 { "event" } else { "events" }, due.cause),
        };
        let lines = due.waiting.iter().map(|(name, count)| {
            let about = CATALOG.iter().find(|kind| kind.name == name).map_or("", |kind| kind.about);
            format!("{count} x {name}: {about}\r\n")
        });
        let (page, join) = (&self.page, self.join());
        let body = format!(
            "{}\r\nThe last one:\r\n\r\n{page}{join}purpose=alert&about={}\r\n\r\nYour alert settings decide which mails you get.\r\n",
            lines.collect::<String>(),
            due.event_id,
        );
        // The same after a crash, so that a mail program can recognise a mail that came twice.
        self.whole(&due.email, &format!("{}.{}", due.id, due.event_id), &subject, &body)
    }

    fn join(&self) -> char {
        if self.page.contains('?') { '&' } else { '?' }
    }

    fn whole(&self, to: &str, id: &str, subject: &str, body: &str) -> String {
        let from = &self.from;
        let host = from.rsplit('@').next().unwrap_or_default();
        let date = Utc::now().to_rfc2822();
        format!(
            "From: {from}\r\nTo: {to}\r\nSubject: {subject}\r\nDate: {date}\r\nMessage-ID: <{id}@{host}>\r\nAuto-Submitted: auto-generated\r\n\
            MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\r\n{body}",
        )
    }
}
