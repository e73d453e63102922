//! The checks of a new or changed webhook endpoint: its URL, its event types and its headers.

use std::collections::BTreeMap;
use std::time::Duration;

use muniment_activities::delivery::{Unvetted, vet};
use muniment_domain::event_type::{self, CATALOG};
use muniment_domain::id::OfferingId;
use muniment_domain::webhook::{Owner, network, url};
use muniment_workflows::delivery::lookup;

use crate::app::App;
use crate::http::error::{Problem, Result};
use crate::http::pointer::step;

const DESCRIPTION_CHARACTERS_MAX: usize = 500;
const TYPES_MAX: usize = 100;
const OFFERINGS_MAX: usize = 100;
const HEADERS_MAX: usize = 5;
const HEADER_CHARACTERS_MAX: usize = 512;
const PER_MINUTE_MAX: i64 = 6_000;
/// The maximum duration of a host lookup. A delivery must look up the host again.
const LOOKUP: Duration = Duration::from_secs(2);

/// Headers that belong to the connection, to the platform or to the owner's credentials.
const RESERVED: &[&str] = &[
    "authorization",
    "connection",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
    "via",
    "forwarded",
    // The services that hand out a machine's own credentials ask for one of these.
    "metadata",
    "metadata-flavor",
];
const RESERVED_BEGINNINGS: &[&str] =
    &["webhook-", "content-", "proxy-", "sec-", "x-forwarded-", "x-aws-", "x-google-metadata-", "x-amz-"];

/// Refuses an address that is not of the open internet, by its text and by what its name leads to.
pub async fn check_url(app: &App, text: &str) -> Result<()> {
    let insecure = app.webhooks.allow_insecure;
    let forbidden =
        |why: &str| Problem::field("/url", "url_forbidden", format!("The endpoint URL is not allowed: {why}."));
    let (host, _) = url::check(text, insecure).map_err(forbidden)?;
    if insecure {
        return Ok(());
    }
    // A name that is not known yet may be made later; one that leads to a neighbour is refused at once.
    match tokio::time::timeout(LOOKUP, vet(&lookup(), &host, network::is_global)).await {
        Ok(Err(Unvetted::Forbidden)) => Err(forbidden("its host is in a private or reserved network")),
        _ => Ok(()),
    }
}

/// The event types as they are stored. Each is visible to the owner, or a pattern of visible types.
pub fn check_types(owner: &Owner, types: &[String]) -> Result<String> {
    if types.is_empty() || types.len() > TYPES_MAX {
        let detail = format!("Name 1 to {TYPES_MAX} event types, or * for all.");
        return Err(Problem::field("/event_types", "required", detail));
    }
    for (index, wanted) in types.iter().enumerate() {
        if !CATALOG.iter().any(|kind| owner.may_see(kind) && event_type::belongs(kind.name, wanted)) {
            let detail = "You receive no events of this type. GET /v1/webhooks/event-types lists all types.";
            return Err(Problem::field(format!("/event_types/{index}"), "event_type_unknown", detail));
        }
        if types[..index].contains(wanted) {
            return Err(Problem::field(format!("/event_types/{index}"), "duplicate", "The event type is named twice."));
        }
    }
    Ok(types.join(" "))
}

/// The offerings as they are stored.
pub fn check_offerings(offerings: Option<&[OfferingId]>) -> Result<Option<String>> {
    let Some(offerings) = offerings else { return Ok(None) };
    if offerings.is_empty() || offerings.len() > OFFERINGS_MAX {
        let detail = format!("Name 1 to {OFFERINGS_MAX} offerings, or null for all.");
        return Err(Problem::field("/offering_ids", "required", detail));
    }
    for (index, offering) in offerings.iter().enumerate() {
        if !offering.is_sound() {
            return Err(Problem::field(
                format!("/offering_ids/{index}"),
                "reference_format",
                "Use an id such as off_01k….",
            ));
        }
    }
    Ok(Some(offerings.join(" ")))
}

/// Refuses a description that is too long to be one.
pub fn check_description(text: &str) -> Result<()> {
    if text.chars().count() <= DESCRIPTION_CHARACTERS_MAX {
        return Ok(());
    }
    let detail = format!("The description can have at most {DESCRIPTION_CHARACTERS_MAX} characters.");
    Err(Problem::field("/description", "too_long", detail))
}

/// Refuses a pace that is none.
pub fn check_rate(per_minute: Option<i64>) -> Result<()> {
    if per_minute.is_none_or(|rate| (1..=PER_MINUTE_MAX).contains(&rate)) {
        return Ok(());
    }
    Err(Problem::field(
        "/rate_limit_per_minute",
        "out_of_range",
        format!("The limit must be 1 to {PER_MINUTE_MAX} requests per minute."),
    ))
}

/// Refuses headers that are not the owner's to set.
pub fn check_headers(headers: &BTreeMap<String, String>) -> Result<()> {
    if headers.len() > HEADERS_MAX {
        return Err(Problem::field("/headers", "too_long", format!("At most {HEADERS_MAX} headers are allowed.")));
    }
    for (name, value) in headers {
        let pointer = format!("/headers{}", step(name));
        let lower = name.to_ascii_lowercase();
        let token = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !token || !(1..=64).contains(&name.len()) {
            return Err(Problem::field(
                pointer,
                "header_format",
                "A header name has at most 64 letters, digits and hyphens.",
            ));
        }
        if RESERVED.contains(&lower.as_str()) || RESERVED_BEGINNINGS.iter().any(|start| lower.starts_with(start)) {
            return Err(Problem::field(pointer, "header_reserved", "This header cannot be set."));
        }
        let visible = value.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
        if !visible || value.len() > HEADER_CHARACTERS_MAX {
            let detail = format!("A header value can have at most {HEADER_CHARACTERS_MAX} visible ASCII characters.");
            return Err(Problem::field(pointer, "header_format", detail));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &str, value: &str) -> Result<(), String> {
        check_headers(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
            .map_err(|problem| problem.body("", "/", "")["errors"][0]["code"].to_string())
    }

    #[test]
    fn headers_are_one_line_and_not_reserved() {
        assert_eq!(headers("X-Portal", "one two"), Ok(()));
        for (name, value, code) in [
            ("Host", "a", "header_reserved"),
            ("Webhook-Signature", "a", "header_reserved"),
            ("content-length", "1", "header_reserved"),
            ("Authorization", "a", "header_reserved"),
            ("Proxy-Authorization", "a", "header_reserved"),
            ("X-Forwarded-For", "127.0.0.1", "header_reserved"),
            ("Metadata", "true", "header_reserved"),
            ("Metadata-Flavor", "Google", "header_reserved"),
            ("X-Google-Metadata-Request", "True", "header_reserved"),
            ("X-aws-ec2-metadata-token", "a", "header_reserved"),
            ("X-aws-ec2-metadata-token-ttl-seconds", "60", "header_reserved"),
            ("x y", "a", "header_format"),
            ("x", "a\r\nHost: b", "header_format"),
        ] {
            assert_eq!(headers(name, value), Err(format!("\"{code}\"")), "{name}");
        }
    }

    #[test]
    fn event_type_must_be_visible_to_the_owner() {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let investor = Owner::Investor("inv_1".into());
        assert_eq!(
            check_types(&investor, &list(&["subscription.*", "wallet.frozen"])).unwrap(),
            "subscription.* wallet.frozen"
        );
        for unknown in ["operation.confirmed", "operation.*", "subscription", "subscription.mint*", "", ".*", "*.*"] {
            assert!(check_types(&investor, &list(&["*", unknown])).is_err(), "{unknown}");
        }
        assert!(check_types(&Owner::Platform, &list(&["operation.*"])).is_ok());
        assert!(check_types(&investor, &[]).is_err() && check_types(&investor, &list(&["*", "*"])).is_err());
    }
}
