//! The time, as a parameter.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Duration, Utc};

const DAY_SECONDS: i64 = 86_400;

/// The day of a time, counted from 1970, in UTC.
pub const fn day(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(DAY_SECONDS)
}

/// Where the time comes from: the machine, or a test that moves it by hand.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clock.
    System,
    /// Microseconds since 1970, moved by [`Clock::advance`] alone.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands still at `start` until it is advanced.
    pub fn manual(start: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.timestamp_micros())))
    }

    /// The time, cut to microseconds, which is what both databases keep.
    pub fn now(&self) -> DateTime<Utc> {
        let micros = match self {
            #[allow(clippy::disallowed_methods)] // The one place that asks the machine.
            Self::System => Utc::now().timestamp_micros(),
            Self::Manual(micros) => micros.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::UNIX_EPOCH)
    }

    /// Moves a manual clock; the machine's clock cannot be moved.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(micros) = self {
            micros.fetch_add(by.num_microseconds().unwrap_or(0), Ordering::SeqCst);
        }
    }
}
