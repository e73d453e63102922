//! The `[mail]` section of the configuration.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The `[mail]` section of the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mail {
    /// The command with its arguments, without quotes between them; empty for none.
    pub command: String,
    /// The mail server that sends mails; empty for none.
    pub smtp_url: SmtpUrl,
    /// Whom mails are from: an address.
    pub from: String,
    /// The page of the portal that handles `?purpose=…&token=…`.
    pub page: String,
}

/// The URL of a mail server. It can hold a password, so its `Debug` and JSON forms are redacted.
#[derive(Clone, Default, Deserialize)]
#[serde(transparent)]
pub struct SmtpUrl(String);

impl SmtpUrl {
    /// The URL itself. None if no server is set.
    pub fn get(&self) -> Option<&str> {
        (!self.0.is_empty()).then_some(self.0.as_str())
    }
}

impl From<&str> for SmtpUrl {
    fn from(url: &str) -> Self {
        Self(url.to_owned())
    }
}

impl fmt::Debug for SmtpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "" } else { "[redacted]" })
    }
}

impl Serialize for SmtpUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{self:?}"))
    }
}

impl Mail {
    /// Whether mails are sent at all.
    pub fn is_set(&self) -> bool {
        !self.command.is_empty() || self.smtp_url.get().is_some()
    }

    /// Refuses settings that would send useless mails.
    pub fn check(&self) -> Result<(), Failure> {
        if !self.is_set() {
            return Ok(());
        }
        if !self.command.is_empty() && self.smtp_url.get().is_some() {
            return Err(Failure::new("mail.command and mail.smtp_url are both set. Keep the one that sends mails."));
        }
        let schemes = ["smtp://", "smtps://"];
        if self.smtp_url.get().is_some_and(|url| !schemes.iter().any(|scheme| url.starts_with(scheme))) {
            return Err(Failure::new("mail.smtp_url must be a URL such as smtps://user:password@mail.example.com."));
        }
        let is_address = self.from.contains('@') && !self.from.contains(|c: char| c.is_whitespace() || c.is_control());
        let is_page = ["https://", "http://"].iter().any(|scheme| self.page.starts_with(scheme));
        match (is_address, is_page && !self.page.contains(char::is_whitespace)) {
            (false, _) => {
                Err(Failure::new("Mails are sent, so mail.from must be an address such as no-reply@example.com."))
            }
            (_, false) => Err(Failure::new(
                "Mails are sent, so mail.page must be the portal's page for links, such as https://portal.example/account.",
            )),
            _ => Ok(()),
        }
    }
}
