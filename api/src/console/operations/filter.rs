//! The filter of the list. It lives in the address, and what is typed becomes part of it.

use chrono::{DateTime, Duration, SecondsFormat, Utc};
use muniment_domain::id::{OfferingId, OperationId};
use muniment_domain::operation::{Kind, Status};

use super::PATH;

/// The parameters of the page, in the order in which they are shown.
const NAMES: [&str; 8] = ["status", "type", "offering_id", "signer", "q", "age", "error_code", "after"];
/// The typed text.
const TYPED: &str = "typed";
/// The typed words that were not understood.
const STRANGE: &str = "strange";

/// The filter.
pub struct Filter {
    parts: Vec<(&'static str, String)>,
    typed: Option<String>,
    /// The words that were not understood.
    pub strange: Option<String>,
    now: DateTime<Utc>,
}

/// A part as the page shows it.
pub struct Token {
    /// The name of the part.
    pub name: String,
    /// Its value.
    pub value: String,
    /// The address without it.
    pub without: String,
}

impl Filter {
    /// Reads the query of the page. Unknown words are shown and do not filter anything.
    pub fn read(query: &str, now: DateTime<Utc>) -> Self {
        let mut filter = Self { parts: Vec::new(), typed: None, strange: None, now };
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let value = value.trim().to_owned();
            let known = NAMES.iter().find(|known| **known == name);
            match known {
                _ if name == TYPED => filter.typed = Some(value),
                _ if name == STRANGE => filter.strange = Some(value),
                Some(name) if filter.takes(name, &value) => filter.set(name, value),
                Some(_) => filter.strange = Some(value),
                None => {}
            }
        }
        filter
    }

    fn set(&mut self, name: &'static str, value: String) {
        self.parts.retain(|(known, _)| *known != name);
        if !value.is_empty() {
            self.parts.push((name, value));
        }
    }

    /// Whether the API takes this value, so that a page of an old address is never an error.
    fn takes(&self, name: &str, value: &str) -> bool {
        let hex = |digits: usize| {
            value.len() == digits + 2 && value.starts_with("0x") && value[2..].bytes().all(|b| b.is_ascii_hexdigit())
        };
        match name {
            "status" => value == "attention" || value.parse::<Status>().is_ok(),
            "type" => value.parse::<Kind>().is_ok(),
            "offering_id" => OfferingId::from(value).is_sound(),
            "after" => OperationId::from(value).is_sound(),
            "signer" => hex(40),
            "q" => hex(64),
            "age" => hours(value).is_some(),
            "error_code" => {
                !value.is_empty() && value.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            }
            _ => false,
        }
    }

    /// The tab.
    pub fn status(&self) -> &str {
        self.value("status").unwrap_or_default()
    }

    fn value(&self, wanted: &str) -> Option<&str> {
        self.parts.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value.as_str())
    }

    /// The address for the typed filter; none if nothing was typed or understood.
    pub fn typed_path(&self) -> Option<String> {
        let typed = self.typed.as_deref().filter(|typed| !typed.is_empty())?;
        if OperationId::from(typed).is_sound() {
            return Some(format!("{PATH}/{typed}"));
        }
        let mut next = Self { parts: self.parts.clone(), typed: None, strange: None, now: self.now };
        next.set("after", String::new());
        for word in typed.split_whitespace() {
            let (named, value) = word.split_once(':').map_or((None, word), |(name, value)| (Some(name), value));
            let value = value.to_lowercase();
            let fits = |name: &&'static str| named.is_none_or(|named| named == *name) && self.takes(name, &value);
            match NAMES.iter().find(|name| fits(name)) {
                Some(name) => next.set(name, value),
                // The API would refuse an unknown word. Here it is shown in the bar and does not filter.
                None => return Some(format!("{}{}strange={}", next.path(), next.joint(), encode(word))),
            }
        }
        Some(next.path())
    }

    /// The address with another value.
    pub fn with(&self, name: &'static str, value: &str) -> String {
        let mut next = Self { parts: self.parts.clone(), typed: None, strange: None, now: self.now };
        if name != "after" {
            next.set("after", String::new());
        }
        next.set(name, value.to_owned());
        next.path()
    }

    /// The address without a part.
    pub fn without(&self, name: &'static str) -> String {
        self.with(name, "")
    }

    /// The address of this page.
    pub fn path(&self) -> String {
        let parts: Vec<_> = self.parts.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
        if parts.is_empty() { PATH.to_owned() } else { format!("{PATH}?{}", parts.join("&")) }
    }

    fn joint(&self) -> char {
        if self.parts.is_empty() { '?' } else { '&' }
    }

    /// The parts that the bar shows. The tabs show the status.
    pub fn tokens(&self) -> Vec<Token> {
        let shown = self.parts.iter().filter(|(name, _)| !["status", "after"].contains(name));
        shown
            .map(|(name, value)| Token {
                name: crate::console::wording::word(name.trim_end_matches("_id")).to_lowercase(),
                value: crate::console::wording::short_hex(value),
                without: self.without(name),
            })
            .collect()
    }

    /// The parts that a search keeps, as hidden fields.
    pub fn hidden(&self) -> Vec<(&'static str, String)> {
        self.parts.iter().filter(|(name, _)| *name != "after").cloned().collect()
    }

    /// Whether this is the first page.
    pub fn is_first(&self) -> bool {
        self.value("after").is_none()
    }

    /// The same for the API.
    pub fn api_query(&self) -> String {
        let mut query = String::new();
        for (name, value) in &self.parts {
            let (name, value) = match (*name, value.as_str()) {
                ("status", "attention") => ("needs_attention", "true".to_owned()),
                ("age", age) => ("created_from", created_from(age, self.now).unwrap_or_default()),
                (name, value) => (name, value.to_owned()),
            };
            query.push_str(&format!("&{name}={}", encode(&value)));
        }
        query
    }
}

/// The moment that an age such as `24h` names.
pub fn created_from(age: &str, now: DateTime<Utc>) -> Option<String> {
    Some((now - Duration::hours(hours(age)?)).to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// `24h` and `7d` in hours.
fn hours(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let number: i64 = number.parse().ok().filter(|number| (1..=10_000).contains(number))?;
    match unit {
        "h" => Some(number),
        "d" => Some(number * 24),
        _ => None,
    }
}

fn encode(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Option<String> {
        Filter::read(&format!("status=failed&typed={}", encode(text)), DateTime::UNIX_EPOCH).typed_path()
    }

    #[test]
    fn what_is_typed_becomes_part_of_the_address() {
        assert_eq!(typed("mint 24h").as_deref(), Some("/console/operations?status=failed&type=mint&age=24h"));
        assert_eq!(typed("status:pending").as_deref(), Some("/console/operations?status=pending"));
        assert_eq!(typed("reverts").as_deref(), Some("/console/operations?status=failed&error_code=reverts"));
        assert_eq!(typed("Mint;").as_deref(), Some("/console/operations?status=failed&strange=Mint%3B"));
        let id = "op_01jc8yq3k5e9v8w2m4n6p7r9st";
        assert_eq!(typed(id), Some(format!("/console/operations/{id}")));
        assert_eq!(typed(" "), None);
    }

    #[test]
    fn a_malformed_part_is_shown_and_not_sent() {
        let filter = Filter::read("status=melted&signer=0x12&age=3d", DateTime::UNIX_EPOCH);
        assert_eq!(filter.strange.as_deref(), Some("0x12"));
        assert_eq!(filter.api_query(), "&created_from=1969-12-29T00%3A00%3A00Z");
    }
}
