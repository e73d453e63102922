//! Every durable write has a name, so that a test can end the process just before it or just after it.

crate::words! {
    /// The commits (and the send, which nobody can take back) of the platform.
    Point {
        /// An intent was accepted: operation, steps, items, wake, idempotency key.
        Accept = "accept",
        /// A step was refused before anything was signed, or its page was split.
        Refuse = "refuse",
        /// A transient fault was counted, with its next time.
        Fault = "fault",
        /// Nonces taken, bytes stored, `submitted` set.
        Sign = "sign",
        /// The bytes go on the wire. Not a commit, but just as final.
        Send = "send",
        /// What the node answered was noted.
        Answer = "answer",
        /// A replacement with a higher fee was stored.
        Bump = "bump",
        /// A self-transfer on the same nonce was stored.
        Cancel = "cancel",
        /// A higher fee that a person asked for was stored.
        SpeedUp = "speed_up",
        /// What became of a person's wish was noted.
        Wish = "wish",
        /// Blocks, receipts and cursor moved together.
        Follow = "follow",
        /// What tokens told in final blocks went into the books.
        Index = "index",
        /// Final receipts took effect in the domain.
        Finalise = "finalise",
        /// The engine gave an operation up to a person.
        DeadLetter = "dead_letter",
        /// Overdue rows got a wake.
        Sweep = "sweep",
        /// A lane or chain changed its mode.
        Mode = "mode",
        /// A lease was taken or given back.
        Lease = "lease",
        /// First contact with a chain was noted.
        Contact = "contact",
        /// A transaction that was on the chain before was taken over, or imported after a restore.
        Adopt = "adopt",
        /// A person retried.
        Retry = "retry",
        /// A person confirmed with proof.
        MarkConfirmed = "mark_confirmed",
        /// A person gave up an operation.
        Abandon = "abandon",
        /// An approval ended without a person at the door: it expired, or the engine did what was allowed.
        Approval = "approval",
        /// A part of a comparison of chain and database was done.
        Reconcile = "reconcile",
        /// A person, a session, a key or a second factor was changed.
        Account = "account",
        /// The balances of a record date, or why they wait.
        Snapshot = "snapshot",
        /// What a calendar asked for was done, with its next time.
        Timer = "timer",
        /// Lines of the audit log got their seals.
        Seal = "seal",
        /// Demo rows, keys, pruning: nothing on a chain depends on them.
        Housekeeping = "housekeeping",
    }
}

/// Which side of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Not yet written.
    Before,
    /// Written, and nobody was told.
    After,
}

#[cfg(not(feature = "failpoints"))]
pub(crate) mod plan {
    /// Nothing is planned outside of tests.
    pub const fn pass(_: super::Point, _: super::When) -> crate::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "failpoints")]
pub mod plan {
    //! What the test asked for.

    use std::cell::RefCell;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::{Point, When};
    use crate::{Error, Result};

    type Crash = (Point, When, u64);

    thread_local! {
        static PLANNED: RefCell<Option<Crash>> = const { RefCell::new(None) };
        static SEEN: RefCell<Vec<(Point, When)>> = const { RefCell::new(Vec::new()) };
    }

    /// Ends the move on this thread at the nth passing (from 1) of a point.
    pub fn crash_at(point: Point, when: When, nth: u64) {
        PLANNED.with_borrow_mut(|p| *p = Some((point, when, nth)));
    }

    /// Forgets the plan; true if it had not been met yet.
    pub fn clear() -> bool {
        PLANNED.with_borrow_mut(Option::take).is_some()
    }

    /// The points passed on this thread since the last call.
    pub fn seen() -> Vec<(Point, When)> {
        SEEN.with_borrow_mut(std::mem::take)
    }

    /// Ends the process if `MUNIMENT_CRASH=point.before:2` says so, or the move if the thread's plan does.
    pub fn pass(point: Point, when: When) -> Result<()> {
        static FROM_ENVIRONMENT: OnceLock<Option<Crash>> = OnceLock::new();
        static PASSED: AtomicU64 = AtomicU64::new(0);
        if let Some((p, w, nth)) = FROM_ENVIRONMENT.get_or_init(from_environment)
            && (*p, *w) == (point, when)
            && PASSED.fetch_add(1, Ordering::SeqCst) + 1 == *nth
        {
            std::process::abort();
        }
        SEEN.with_borrow_mut(|seen| seen.push((point, when)));
        PLANNED.with_borrow_mut(|planned| match planned {
            Some((p, w, nth)) if (*p, *w) == (point, when) && *nth <= 1 => {
                *planned = None;
                Err(Error::Crashed(point))
            }
            Some((p, w, nth)) if (*p, *w) == (point, when) => {
                *nth -= 1;
                Ok(())
            }
            _ => Ok(()),
        })
    }

    fn from_environment() -> Option<Crash> {
        let text = std::env::var("MUNIMENT_CRASH").ok()?;
        let (place, nth) = text.split_once(':').unwrap_or((&text, "1"));
        let (point, when) = place.split_once('.')?;
        let when = if when == "after" { When::After } else { When::Before };
        Some((point.parse().ok()?, when, nth.parse().ok()?))
    }
}

/// Marks the place of a write that is not a commit.
pub fn pass(point: Point, when: When) -> crate::Result<()> {
    plan::pass(point, when)
}
