//! Names, e-mail addresses and countries: their format, and how auditors see them.

use muniment_domain::country;

use crate::http::error::{Problem, Result};

/// The longest name of a person or an organisation.
pub const NAME_CHARACTERS_MAX: usize = 120;
const EMAIL_CHARACTERS_MAX: usize = 254;
const LOCAL_PART_BYTES_MAX: usize = 64;
const LABEL_BYTES_MAX: usize = 63;

/// Whether a character cannot be seen, or turns the writing direction: two texts with it can look the same.
pub fn is_hidden(character: char) -> bool {
    matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Validates a name.
pub fn check_name(pointer: &'static str, name: &str) -> Result<()> {
    let length = name.trim().chars().count();
    if name.chars().any(is_hidden) {
        let detail = "The name has a character that cannot be seen or that turns the writing direction.";
        return Err(Problem::field(pointer, "name_format", detail));
    }
    if (1..=NAME_CHARACTERS_MAX).contains(&length) && !name.chars().any(char::is_control) {
        return Ok(());
    }
    Err(Problem::field(pointer, "name_format", format!("The name must have 1 to {NAME_CHARACTERS_MAX} characters.")))
}

/// Refuses everything but one plain mailbox: no list, group, comment, quote or display name can reach the mail command.
pub fn check_email(pointer: &'static str, email: &str) -> Result<()> {
    let sound = email.split_once('@').is_some_and(|(local, domain)| is_local_part(local) && is_domain(domain));
    if sound && email.len() <= EMAIL_CHARACTERS_MAX {
        return Ok(());
    }
    Err(Problem::field(pointer, "email_format", "Use one e-mail address such as ada@example.com."))
}

/// A dot-atom of RFC 5322.
fn is_local_part(local: &str) -> bool {
    let is_atom = |atom: &str| {
        !atom.is_empty() && atom.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&b))
    };
    local.len() <= LOCAL_PART_BYTES_MAX && !local.starts_with('-') && local.split('.').all(is_atom)
}

/// A host name with a dot in it, in ASCII: an international name is sent in its `xn--` form.
fn is_domain(domain: &str) -> bool {
    let is_label = |label: &str| {
        (1..=LABEL_BYTES_MAX).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let named = domain.rsplit('.').next().is_some_and(|last| last.bytes().any(|b| b.is_ascii_alphabetic()));
    domain.contains('.') && domain.split('.').all(is_label) && named
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
