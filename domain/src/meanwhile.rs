//! What a test lets happen in the middle of a move, at one of its calls of the database.

/// A call of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// A transaction begins. The move holds nothing of the database.
    Begin,
    /// A statement of an open transaction, on PostgreSQL: its earlier statements hold their row locks.
    Statement,
    /// The commit of an open transaction, on PostgreSQL.
    Commit,
    /// The crash that the test has planned. The future never ends, or the commit fails in a process that goes on.
    Crash,
}

/// Does nothing outside of tests.
#[cfg(not(feature = "failpoints"))]
pub(crate) fn at(_: Call) -> std::future::Ready<()> {
    std::future::ready(())
}

#[cfg(feature = "failpoints")]
pub(crate) use visited::at;
#[cfg(feature = "failpoints")]
pub use visited::{Visit, Visitor, visit};

#[cfg(feature = "failpoints")]
mod visited {
    use std::cell::RefCell;
    use std::pin::Pin;
    use std::sync::Arc;

    use super::Call;

    /// What happens before the call goes on.
    pub type Visit = Pin<Box<dyn Future<Output = ()> + Send>>;
    /// Decides what happens at a call. Mostly nothing.
    pub type Visitor = Arc<dyn Fn(Call) -> Option<Visit> + Send + Sync>;

    thread_local! {
        static VISITOR: RefCell<Option<Visitor>> = const { RefCell::new(None) };
    }

    /// Lets a visitor see every call of this thread, or none any more.
    pub fn visit(visitor: Option<Visitor>) {
        VISITOR.set(visitor);
    }

    pub(crate) async fn at(call: Call) {
        // Taken out before it is called: what it starts makes calls of its own.
        let visitor = VISITOR.with_borrow(Clone::clone);
        if let Some(visit) = visitor.and_then(|visitor| visitor(call)) {
            visit.await;
        }
    }
}
