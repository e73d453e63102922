//! The results of the last polls of the heads. They decide when all endpoints are polled.

use alloy::primitives::B256;

use super::header::Header;

/// An endpoint that is further behind the best head is used last.
pub(super) const LAG_BLOCKS_MAX: u64 = 3;
/// A head this far above all others must also be found by its number.
pub(super) const LEAP_BLOCKS: u64 = 512;
/// Polls after which all endpoints are polled.
const SURVEY_POLLS: u32 = 20;
/// The final block is read once for as many polls as this share of its distance to the head has blocks, and at least once in so many.
const FINAL_SHARE: u64 = 16;
const FINAL_POLLS_MAX: u64 = 8;

/// The results of the last polls.
#[derive(Default)]
pub(crate) struct Watch {
    pub(super) polls: u32,
    /// Polls from now on that do not read the final block.
    pub(super) without_final: u64,
    pub(super) head: Option<(u64, B256)>,
    pub(super) finalized: Option<B256>,
    pub(super) final_moved: bool,
    pub(super) moved_at: u64,
    pub(super) surveyed_at: u64,
    pub(super) agreed: Option<Header>,
    pub(super) reached: u64,
}

impl Watch {
    /// Whether this poll reads the final block, too.
    pub(super) fn is_final_due(&mut self) -> bool {
        let is_due = self.without_final == 0;
        self.without_final = self.without_final.saturating_sub(1);
        is_due
    }

    /// The newest final block was read, if there is one.
    pub(super) fn note_final(&mut self, head: u64, finalized: Option<&Header>) {
        let behind = finalized.map_or(0, |header| head.saturating_sub(header.number));
        self.without_final = (behind / FINAL_SHARE).min(FINAL_POLLS_MAX).saturating_sub(1);
        let hash = finalized.map(|header| header.hash);
        self.final_moved |= self.finalized != hash;
        self.finalized = hash;
    }

    /// Whether all endpoints are polled now.
    pub(super) fn is_due(&mut self, head: (u64, B256), quorum: usize, now: u64, still_milliseconds: u64) -> bool {
        let far = self.head.is_some_and(|(last, _)| {
            head.0.saturating_add(LAG_BLOCKS_MAX) < last || head.0 > last.saturating_add(LEAP_BLOCKS)
        });
        let moved = self.head != Some(head);
        // Only a new block or a new final block needs the others' word, so its cost grows with the blocks.
        let voted = quorum > 1 && (moved || std::mem::take(&mut self.final_moved));
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
        self.head = Some(head);
        due
    }
}
