//! The clock: time is a parameter, so that tests can set it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Duration, Utc};

const DAY_SECONDS: i64 = 86_400;

/// The day of a time, counted from 1970 in UTC.
pub const fn day(at: DateTime<Utc>) -> i64 {
    at.timestamp().div_euclid(DAY_SECONDS)
}

/// The source of the time: the system, or a test.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The system clock.
    System,
    /// The system clock, and microseconds ahead of it: a development installation, whose clock people move forward.
    Ahead(Arc<AtomicI64>),
    /// Microseconds since 1970; only [`Clock::advance`] moves it.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stands still at `start` until it is advanced.
    pub fn manual(start: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.timestamp_micros())))
    }

    /// The system clock of a development installation.
    pub fn ahead() -> Self {
        Self::Ahead(Arc::default())
    }

    /// Whether people can move it forward, so that everything here is a test.
    pub const fn is_for_tests(&self) -> bool {
        matches!(self, Self::Ahead(_))
    }

    /// Sets how far it is ahead. It never goes back.
    pub fn set_ahead(&self, micros: i64) {
        if let Self::Ahead(ahead) = self {
            ahead.fetch_max(micros, Ordering::SeqCst);
        }
    }

    /// Its lead over the system clock, which the queue and the database use.
    pub fn lead(&self) -> Duration {
        match self {
            Self::Ahead(ahead) => Duration::microseconds(ahead.load(Ordering::SeqCst)),
            Self::System | Self::Manual(_) => Duration::zero(),
        }
    }

    /// The time in microseconds, the precision of both databases.
    pub fn now(&self) -> DateTime<Utc> {
        let micros = match self {
            #[allow(clippy::disallowed_methods)] // The only place that reads the system clock.
            Self::System | Self::Ahead(_) => {
                Utc::now().timestamp_micros().saturating_add(self.lead().num_microseconds().unwrap_or(0))
            }
            Self::Manual(micros) => micros.load(Ordering::SeqCst),
        };
        DateTime::from_timestamp_micros(micros).unwrap_or(DateTime::UNIX_EPOCH)
    }

    /// Advances a manual clock; the system clock is not affected.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(micros) = self {
            micros.fetch_add(by.num_microseconds().unwrap_or(0), Ordering::SeqCst);
        }
    }
}
