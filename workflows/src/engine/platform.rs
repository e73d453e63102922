//! What the engine runs. The crate's own table of it is built above the engine, in [`crate::platform`], and handed in at the start.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::Kind;

use crate::engine::Engine;
use crate::engine::kind::OperationKind;

/// Everything that the engine calls above itself.
pub struct Platform {
    /// The kinds of operations.
    pub kind: fn(Kind) -> &'static dyn OperationKind,
    /// What a wake does that is not an operation's.
    pub jobs: &'static [Job],
    /// What happens when the time of a subject has come.
    pub timers: &'static [Timer],
    /// Wakes overdue rows in the commit of the sweep. Returns how many.
    pub overdue: &'static [Overdue],
    /// Wakes overdue rows in commits of their own. Each runs until it finds none.
    pub sweeps: &'static [Sweep],
    /// Is called in the commit that reads a restriction of a token's partition into the ledger. The offering's row is locked.
    pub on_restriction: for<'a> fn(&'a mut Tx, &'a str) -> BoxFuture<'a, Result<()>>,
}

/// The work of one kind of id that a wake may carry.
pub struct Job {
    /// The ids begin so.
    pub prefix: &'static str,
    /// Its name in the log.
    pub name: &'static str,
    /// Does what is due.
    pub run: for<'a> fn(&'a Engine, &'a str) -> BoxFuture<'a, Result<()>>,
}

/// The timer of one kind of subject.
pub struct Timer {
    /// The ids of the subjects begin so.
    pub prefix: &'static str,
    /// Locks what its other moves lock first, so that two of them never wait for each other.
    pub lock: for<'a> fn(&'a mut Tx, &'a str) -> BoxFuture<'a, Result<()>>,
    /// Does what is due by now, a page of it at most. Returns the next time.
    pub act: for<'a> fn(&'a mut Tx, &'a str) -> BoxFuture<'a, Result<Option<DateTime<Utc>>>>,
}

/// Wakes what is overdue at a time.
pub type Overdue = for<'a> fn(&'a mut Tx, DateTime<Utc>) -> BoxFuture<'a, Result<usize>>;

/// Wakes what is overdue.
pub type Sweep = for<'a> fn(&'a Engine) -> BoxFuture<'a, Result<usize>>;
