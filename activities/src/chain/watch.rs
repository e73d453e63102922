//! The results of the last polls of the heads. They decide when all endpoints are polled.

use alloy::primitives::B256;

use super::header::Header;

/// An endpoint that is further behind the best head is used last.
pub(super) const LAG_BLOCKS_MAX: u64 = 3;
/// A head this far above all others must also be found by its number.
pub(super) const LEAP_BLOCKS: u64 = 512;
/// Polls after which all endpoints are polled.
const SURVEY_POLLS: u32 = 20;

/// The results of the last polls.
#[derive(Default)]
pub(crate) struct Watch {
    pub(super) polls: u32,
    pub(super) head: Option<(u64, B256)>,
    pub(super) finalized: Option<B256>,
    pub(super) moved_at: u64,
    pub(super) surveyed_at: u64,
    pub(super) agreed: Option<Header>,
    pub(super) reached: u64,
}

impl Watch {
    /// Whether all endpoints are polled now.
    pub(super) fn is_due(
        &mut self,
        head: (u64, B256),
        finalized: Option<B256>,
        quorum: usize,
        now: u64,
        still_milliseconds: u64,
    ) -> bool {
        let far = self.head.is_some_and(|(last, _)| {
            head.0.saturating_add(LAG_BLOCKS_MAX) < last || head.0 > last.saturating_add(LEAP_BLOCKS)
        });
        let moved = self.head != Some(head);
        // Only a new block or a new final block needs the others' word, so its cost grows with the blocks.
        let voted = quorum > 1 && (moved || self.finalized != finalized);
        if moved {
            self.moved_at = now;
        }
        // A clock that was set back starts the pause anew.
        let over = |since: u64| now.checked_sub(since).is_none_or(|passed| passed >= still_milliseconds);
        let still = over(self.moved_at) && over(self.surveyed_at);
        self.polls += 1;
        let due = far || voted || still || self.polls >= SURVEY_POLLS;
        if due {
            (self.polls, self.surveyed_at) = (0, now);
        }
        (self.head, self.finalized) = (Some(head), finalized);
        due
    }
}
