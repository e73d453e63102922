//! The `[mail]` section of the configuration.

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The `[mail]` section of the configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Mail {
    /// The command with its arguments, without quotes between them; empty for none.
    pub command: String,
    /// Whom mails are from: an address.
    pub from: String,
    /// The page of the portal that handles `?purpose=…&token=…`.
    pub page: String,
}

impl Mail {
    /// Refuses settings that would send useless mails.
    pub fn check(&self) -> Result<(), Failure> {
        if self.command.is_empty() {
            return Ok(());
        }
        let is_address = self.from.contains('@') && !self.from.contains(|c: char| c.is_whitespace() || c.is_control());
        let is_page = ["https://", "http://"].iter().any(|scheme| self.page.starts_with(scheme));
        match (is_address, is_page && !self.page.contains(char::is_whitespace)) {
            (false, _) => {
                Err(Failure::new("mail.command is set, so mail.from must be an address such as no-reply@example.com."))
            }
            (_, false) => Err(Failure::new(
                "mail.command is set, so mail.page must be the portal's page for links, such as https://portal.example/account.",
            )),
            _ => Ok(()),
        }
    }
}
