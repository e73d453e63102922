//! The table of everything that the engine runs. It is built above the engine, in `platform.rs` of the crate, and passed in at the start.

use chrono::{DateTime, Utc};
use futures::future::BoxFuture;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::id::OfferingId;
use muniment_domain::operation::Kind;

use crate::engine::Engine;
use crate::engine::kind::OperationKind;

/// The functions above the engine that the engine calls.
pub struct Platform {
    /// The kinds of operations.
    pub kind: fn(Kind) -> &'static dyn OperationKind,
    /// The jobs of wakes that do not belong to an operation.
    pub jobs: &'static [Job],
    /// The timers.
    pub timers: &'static [Timer],
    /// Wakes overdue rows in the commit of the sweep, and returns their number.
    pub overdue: &'static [Overdue],
    /// Wakes overdue rows in commits of their own. Each runs until it finds none.
    pub sweeps: &'static [Sweep],
    /// Is called in the commit that reads a restriction of a token's partition into the ledger. The offering's row is locked.
    pub on_restriction: for<'a> fn(&'a mut Tx, &'a OfferingId) -> BoxFuture<'a, Result<()>>,
}

/// The job of one kind of id that a wake can carry.
pub struct Job {
    /// Whether an id is of this kind.
    pub of: fn(&str) -> bool,
    /// Its name in the log.
    pub name: &'static str,
    /// Does what is due.
    pub run: for<'a> fn(&'a Engine, &'a str) -> BoxFuture<'a, Result<()>>,
}

/// The timer of one kind of subject.
pub struct Timer {
    /// Whether the id of a subject is of this kind.
    pub of: fn(&str) -> bool,
    /// Locks the row that the subject's other moves lock first, so that two of them cannot deadlock.
    pub lock: for<'a> fn(&'a mut Tx, &'a str) -> BoxFuture<'a, Result<()>>,
    /// Makes the moves that are due, at most one page of them. Returns the next time.
    pub act: Act,
}

/// Wakes rows that are overdue at a time.
pub type Overdue = for<'a> fn(&'a mut Tx, DateTime<Utc>) -> BoxFuture<'a, Result<usize>>;

/// Wakes overdue rows.
pub type Sweep = for<'a> fn(&'a Engine) -> BoxFuture<'a, Result<usize>>;

/// Makes the due move of a subject. Returns its next time.
pub type Act = for<'a> fn(&'a mut Tx, &'a str) -> BoxFuture<'a, Result<Option<DateTime<Utc>>>>;
