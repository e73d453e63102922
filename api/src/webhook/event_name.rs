//! The type of events that a list or a stream is limited to.

use std::str::FromStr;

use muniment_domain::event_type::CATALOG;
use muniment_domain::schema::described;
use utoipa::PartialSchema;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;

/// The name of an event type of the catalog. A misspelt one is refused: an empty list would look as if nothing had happened.
#[derive(Clone, Copy, Debug)]
pub struct EventName(pub &'static str);

impl FromStr for EventName {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        CATALOG.iter().find(|kind| kind.name == text).map(|kind| Self(kind.name)).ok_or(())
    }
}

impl PartialSchema for EventName {
    fn schema() -> RefOr<Schema> {
        let words: Vec<_> = CATALOG.iter().map(|kind| (kind.name, kind.about)).collect();
        described("The type of an event.", &words)
    }
}
