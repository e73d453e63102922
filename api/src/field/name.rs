//! Names, e-mail addresses and countries: their format, and how auditors see them.

use muniment_domain::country;

use crate::http::error::{Problem, Result};

/// The longest name of a person or an organisation.
pub const NAME_CHARACTERS_MAX: usize = 120;
const EMAIL_CHARACTERS_MAX: usize = 254;

/// Validates a name.
pub fn check_name(pointer: &'static str, name: &str) -> Result<()> {
    let length = name.trim().chars().count();
    if (1..=NAME_CHARACTERS_MAX).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::field(pointer, "name_format", format!("The name must have 1 to {NAME_CHARACTERS_MAX} characters.")))
}

/// Refuses what can be no address. Whether it is one, only a mail can tell.
pub fn check_email(pointer: &'static str, email: &str) -> Result<()> {
    let sound = email.split_once('@').is_some_and(|(local, domain)| {
        let named =
            !local.is_empty() && domain.split('.').count() > 1 && domain.split('.').all(|part| !part.is_empty());
        named && !domain.contains('@') && !email.chars().any(|c| c.is_whitespace() || c.is_control())
    });
    if sound && email.len() <= EMAIL_CHARACTERS_MAX {
        return Ok(());
    }
    Err(Problem::field(pointer, "email_format", "Use an e-mail address such as ada@example.com."))
}

/// Validates a country code.
pub fn check_country(pointer: &'static str, code: Option<&str>) -> Result<()> {
    if code.is_none_or(country::is_known) {
        return Ok(());
    }
    Err(Problem::field(pointer, "country_format", "Use an ISO 3166-1 country code such as DE."))
}

/// A name of which only the first letters are left.
pub fn masked_name(name: &str) -> String {
    name.split_whitespace()
        .filter_map(|word| word.chars().next())
        .map(|first| format!("{first}…"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// An address of which only the first letter and the domain are left.
pub fn masked_email(email: &str) -> String {
    let (local, domain) = email.split_once('@').unwrap_or_default();
    format!("{}…@{domain}", local.chars().take(1).collect::<String>())
}
