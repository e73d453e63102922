//! `muniment trigger`: posts a sample of an event to a developer's own server, signed as a webhook. Nothing happens on the platform.

use chrono::SecondsFormat;
use clap::Args;
use muniment_domain::clock::Clock;
use muniment_domain::event_data;
use muniment_domain::event_type::CATALOG;
use muniment_domain::id::{Ids, of};
use muniment_domain::webhook::API_VERSION;

use super::forward::{Event, Forward};
use crate::failure::Failure;

/// Similar types that an error names.
const SIMILAR_MAX: usize = 3;

/// The sample to send, and where to.
#[derive(Debug, PartialEq, Eq, Args)]
pub struct Trigger {
    /// Type of the event, such as offering.token_deployed.
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// Post the sample to this URL, with a Standard Webhooks signature.
    #[arg(long, value_name = "URL")]
    pub forward_to: String,
    /// Sign with this secret, whsec_ and base64; a new one if absent.
    #[arg(long, value_name = "SECRET")]
    pub secret: Option<String>,
}

/// Sends one sample. An answer other than 2xx is a failure.
pub async fn run(wanted: &Trigger, production: bool) -> Result<(), Failure> {
    if production {
        return Err(Failure::new(
            "The production profile is set. A sample describes an event that did not happen, so it is sent in development only.",
        ));
    }
    let kind = CATALOG.iter().find(|kind| kind.name == wanted.kind).ok_or_else(|| unknown(&wanted.kind))?;
    let forward = Forward::new(&wanted.forward_to, wanted.secret.as_deref())?;
    let now = Clock::System.now();
    let event = Event {
        id: Ids::Random.new_id::<of::Event>(now).into(),
        kind: kind.name.to_owned(),
        timestamp: now.to_rfc3339_opts(SecondsFormat::Millis, true),
        api_version: API_VERSION.to_owned(),
        sequence: 1,
        data: event_data::sample(kind.name),
    };
    let answer = forward.send(&event).await;
    println!("{}  {}  {}  {}  {}", event.timestamp, event.id, event.kind, event.data, answer.text);
    match answer.accepted {
        true => Ok(()),
        false => Err(Failure::new("The server did not accept the sample.")),
    }
}

/// The error for an unknown type. It names similar types, or all if none is.
fn unknown(kind: &str) -> Failure {
    let mut known: Vec<_> = CATALOG.iter().map(|known| (distance(kind, known.name), known.name)).collect();
    known.sort_by_key(|(distance, _)| *distance);
    let similar: Vec<_> =
        known.iter().filter(|(distance, _)| *distance <= kind.len() / 3).map(|(_, name)| *name).collect();
    let (words, names) = match similar.as_slice() {
        [] => ("The types are", CATALOG.iter().map(|known| known.name).collect()),
        similar => ("Similar types are", similar.iter().take(SIMILAR_MAX).copied().collect::<Vec<_>>()),
    };
    Failure::new(format!("There is no event type {kind}. {words}:\n  {}", names.join("\n  ")))
}

/// The edit distance: the letters to insert, delete or replace.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(left != right);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_type_is_answered_with_similar_ones_or_all() {
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("ab", "ab")), (3, 2, 0));
        let text = unknown("offering.token_deploid").to_string();
        assert!(text.contains("Similar types are:\n  offering.token_deployed"), "{text}");
        let text = unknown("x").to_string();
        assert!(text.contains("The types are:\n") && CATALOG.iter().all(|kind| text.contains(kind.name)), "{text}");
    }
}
