//! Records the PostgreSQL statements of this thread. SQLite statements run on a thread of their own and are not seen.

use std::sync::{Arc, LazyLock, Mutex};

use tracing::field::{Field, Visit};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Metadata, Subscriber, span};

/// The statements so far, without begin and commit.
#[derive(Clone, Default)]
pub struct Statements(Arc<Mutex<Vec<String>>>);

/// A second subscriber that lives as long as the tests. With a single one, tracing caches the interest of the first thread that
/// reaches a statement, and another test's thread has none.
static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Statements::default()));

impl Statements {
    /// Records until the guard is dropped.
    pub fn follow() -> (Self, DefaultGuard) {
        LazyLock::force(&ANOTHER);
        let statements = Self::default();
        (statements.clone(), tracing::subscriber::set_default(statements))
    }

    /// The recorded texts.
    pub fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// The driver's fields of one statement: a summary, and the full text if it is longer.
#[derive(Default)]
struct Fields {
    summary: String,
    whole: String,
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "summary" => value.clone_into(&mut self.summary),
            "db.statement" => value.trim().clone_into(&mut self.whole),
            _ => {}
        }
    }

    fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
}

impl Subscriber for Statements {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let text = if fields.whole.is_empty() { fields.summary } else { fields.whole };
        if ["select", "update", "insert", "delete", "with"].iter().any(|word| text.starts_with(word)) {
            self.0.lock().unwrap().push(text);
        }
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}
