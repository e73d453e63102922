//! The times at which blocks are mined, and their timestamps.

use std::time::Duration;

/// Mining mode and time travel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    /// A block as soon as a transaction is ready.
    pub automine: bool,
    /// A block every interval, with or without transactions.
    pub block_time: Option<Duration>,
    /// Seconds that the chain's time is ahead of the clock; journaled with each block.
    pub ahead_seconds: i64,
    /// The least base fee of the next blocks, in wei; like the mode of mining it is not kept.
    pub base_fee_min: u64,
    exact: Option<u64>,
}

impl Schedule {
    pub fn new(block_time: Option<Duration>) -> Self {
        Self { automine: block_time.is_none(), block_time, ahead_seconds: 0, base_fee_min: 0, exact: None }
    }

    pub fn automine(&mut self, on: bool) {
        self.automine = on;
        if on {
            self.block_time = None;
        }
    }

    /// Zero stops interval mining.
    pub fn interval(&mut self, seconds: u64) {
        self.block_time = (seconds > 0).then(|| Duration::from_secs(seconds));
        if seconds > 0 {
            self.automine = false;
        }
    }

    /// Moves the chain's time on and returns by how much it is ahead of the clock in all.
    pub fn ahead(&mut self, seconds: u64) -> i64 {
        // A century at a time is travel enough, and sums of it fit.
        let seconds = i64::try_from(seconds.min(MOVE_SECONDS_MAX)).unwrap_or_default();
        self.ahead_seconds = self.ahead_seconds.saturating_add(seconds).min(AHEAD_SECONDS_MAX);
        self.ahead_seconds
    }

    /// The next block gets exactly this time, and the chain's time goes on from there.
    pub fn next_timestamp(&mut self, timestamp: u64) {
        self.exact = Some(timestamp);
    }

    /// The value of [`Self::timestamp`] for a block that is not mined yet.
    pub fn next(&self, now: u64) -> u64 {
        { *self }.timestamp(now)
    }

    /// The time of the block that is made now.
    pub fn timestamp(&mut self, now: u64) -> u64 {
        let Some(exact) = self.exact.take() else { return self.now(now) };
        self.ahead_seconds = i64::try_from(i128::from(exact) - i128::from(now)).unwrap_or(AHEAD_SECONDS_MAX);
        exact
    }

    /// The chain's time when the clock says `now`.
    pub fn now(&self, now: u64) -> u64 {
        now.saturating_add_signed(self.ahead_seconds)
    }
}

const MOVE_SECONDS_MAX: u64 = 100 * 365 * 86_400;
const AHEAD_SECONDS_MAX: i64 = 1 << 40;
