//! When a loop last did what it does only now and then.

use std::time::Duration;

/// The time of the last turn, in milliseconds of the chain's clock.
#[derive(Debug, Default)]
pub struct Last(Option<u64>);

impl Last {
    /// Whether so much time has passed since. A last turn in the future comes from a clock that was set back since; it says nothing.
    pub fn is_past(&self, now: u64, pause: Duration) -> bool {
        let passed = self.0.and_then(|at| now.checked_sub(at));
        passed.is_none_or(|passed| u128::from(passed) >= pause.as_millis())
    }

    /// It happens now.
    pub const fn mark(&mut self, now: u64) {
        self.0 = Some(now);
    }

    /// The next turn is due at once.
    pub const fn forget(&mut self) {
        self.0 = None;
    }

    /// Whether there was no turn since the start, or since the last one was forgotten.
    pub const fn is_first(&self) -> bool {
        self.0.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_due_at_first_after_its_pause_and_when_the_clock_is_set_back() {
        let (mut last, pause) = (Last::default(), Duration::from_secs(5));
        assert!(last.is_first() && last.is_past(0, pause));
        last.mark(10_000);
        assert!(!last.is_past(14_999, pause));
        assert!(last.is_past(15_000, pause));
        assert!(last.is_past(9_999, pause));
        last.forget();
        assert!(last.is_first() && last.is_past(10_001, pause));
    }
}
