//! Names of all durable writes, so that a test can end the process just before or after each of them.

use crate::meanwhile::{self, Call};

crate::words! {
    /// The commits of the platform, and the send, which cannot be undone either.
    Point {
        /// An operation was accepted: operation, steps, items, wake and idempotency key.
        Accept = "accept",
        /// A step was refused before it was signed, or its page was split.
        Refuse = "refuse",
        /// A transient fault was counted, and the next try scheduled.
        Fault = "fault",
        /// Nonces were taken, signed bytes stored and `submitted` set.
        Sign = "sign",
        /// The bytes are sent. Not a commit, but just as final.
        Send = "send",
        /// The answers of nodes were stored.
        Answer = "answer",
        /// A fee bump was stored.
        Bump = "bump",
        /// A cancel transaction was stored.
        Cancel = "cancel",
        /// A fee bump requested by an operator was stored.
        SpeedUp = "speed_up",
        /// The result of an operator's command was stored.
        Command = "wish",
        /// Blocks, receipts and cursor were stored together.
        Follow = "follow",
        /// Token events of final blocks were applied to the ledger, without a verdict.
        Index = "index",
        /// Final receipts took effect in the domain, and the token events of the newest final blocks in the ledger.
        Finalise = "finalise",
        /// The engine gave up on an operation.
        DeadLetter = "dead_letter",
        /// Overdue rows were woken.
        Sweep = "sweep",
        /// The mode of a lane or chain changed.
        Mode = "mode",
        /// A lease was taken or released.
        Lease = "lease",
        /// The first contact with a chain was stored.
        Contact = "contact",
        /// A transaction that was already on the chain was adopted, or imported after a restore.
        Adopt = "adopt",
        /// An operator retried an operation.
        Retry = "retry",
        /// An operator confirmed an operation with proof.
        MarkConfirmed = "mark_confirmed",
        /// An operator abandoned an operation.
        Abandon = "abandon",
        /// An approval expired, or the engine executed it.
        Approval = "approval",
        /// A part of a reconciliation was stored.
        Reconcile = "reconcile",
        /// A user, session, API key or second factor changed.
        Account = "account",
        /// The balances of a record date were stored, or the reason why they wait.
        Snapshot = "snapshot",
        /// A timer did its work, and the next one was scheduled.
        Timer = "timer",
        /// New events were turned into deliveries.
        FanOut = "fan_out",
        /// Deliveries were taken by the process that sends them.
        Claim = "claim",
        /// The answers of webhook endpoints were stored.
        Deliver = "deliver",
        /// Audit entries were chained.
        Chain = "seal",
        /// Demo data, keys and pruning: nothing on a chain depends on it.
        Housekeeping = "housekeeping",
    }
}

/// Before or after the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Before the write.
    Before,
    /// After the write, before anybody is notified.
    After,
}

#[cfg(not(feature = "failpoints"))]
pub(crate) mod plan {
    /// Does nothing outside of tests.
    pub const fn pass(_: super::Point, _: super::When) -> crate::Result<()> {
        Ok(())
    }
}

#[cfg(feature = "failpoints")]
pub mod plan {
    //! The crash that a test has planned.

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

    /// Ends the move on this thread when the point is passed for the nth time, counted from 1.
    pub fn crash_at(point: Point, when: When, nth: u64) {
        PLANNED.with_borrow_mut(|p| *p = Some((point, when, nth)));
    }

    /// Clears the plan; true if the crash had not happened yet.
    pub fn clear() -> bool {
        PLANNED.with_borrow_mut(Option::take).is_some()
    }

    /// Whether a crash is planned that has not happened yet.
    pub fn is_planned() -> bool {
        PLANNED.with_borrow(Option::is_some)
    }

    /// The points passed on this thread since the last call.
    pub fn seen() -> Vec<(Point, When)> {
        SEEN.with_borrow_mut(std::mem::take)
    }

    /// Aborts the process if `MUNIMENT_CRASH=point.before:2` asks for it; returns an error if this thread's plan does.
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

/// Marks a commit, which can be that of several moves.
pub(crate) async fn reach(points: &[Point], when: When) -> crate::Result<()> {
    let reached = points.iter().try_for_each(|point| plan::pass(*point, when));
    if reached.is_err() {
        meanwhile::at(Call::Crash).await;
    }
    reached
}

/// Marks a write that is not a commit.
pub fn pass(point: Point, when: When) -> crate::Result<()> {
    plan::pass(point, when)
}
