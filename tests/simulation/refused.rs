//! What the database refused, although a guard of the engine should have seen it first. The loops and lanes only log it and go on, so
//! no other promise would be broken.

use std::cell::RefCell;
use std::fmt::{Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// The errors of [`crate::stage::Stage`]'s own triggers.
pub const STOPPED_LANE_SIGNED: &str = "a stopped lane signed";
pub const STALE_VERSION: &str = "a row was written that had changed since it was read";
/// Unique constraints and triggers of both databases.
const MARKS: [&str; 4] = ["UNIQUE constraint failed", "duplicate key value", STOPPED_LANE_SIGNED, STALE_VERSION];

thread_local! {
    static REFUSED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Listens on all threads from now on.
pub fn listen() {
    // Several tests of this program listen; the first one is enough.
    let _ = tracing::subscriber::set_global_default(Listener);
}

/// The first refusal on this thread since the last call.
pub fn take() -> Option<String> {
    REFUSED.take()
}

struct Listener;

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{value:?} ");
    }
}

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("muniment")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        if MARKS.iter().any(|mark| text.0.contains(mark)) {
            REFUSED.with_borrow_mut(|refused| _ = refused.get_or_insert(text.0));
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
