//! When the follower looks at its chain again.

use std::time::Duration;

/// The first pause after a send on a chain that mines at once. It doubles up to the interval of polls.
const QUICK: Duration = Duration::from_millis(5);
/// Blocks after which the next one is looked for a little sooner again: at first, and at most. Each such look in vain doubles them.
const KEPT_BLOCKS: (u32, u32) = (4, 32);
/// Looks for a late block that follow each other soon. It is rarely late by more.
const SOON_LOOKS: u32 = 4;

/// The pauses between two looks.
#[derive(Default)]
pub struct Pace {
    quick: Option<Duration>,
    /// Looks in vain since the last block.
    vain: u32,
    /// Blocks for which the moment of a look is kept: from now on, and after the next look in vain.
    kept: u32,
    kept_next: u32,
    /// Whether this look comes a little sooner than a block after the last one.
    was_early: bool,
}

impl Pace {
    /// Something was sent on a chain that mines at once.
    pub const fn hurry(&mut self) {
        self.quick = Some(QUICK);
    }

    /// Whether something was sent a moment ago.
    pub const fn is_quick(&self) -> bool {
        self.quick.is_some()
    }

    /// The pause while a chain that mines at once may have a transaction of the platform. None when it took too long for that.
    pub fn quick(&mut self, poll: Duration) -> Option<Duration> {
        let quick = self.quick?;
        self.quick = (quick * 2 < poll).then_some(quick * 2);
        Some(quick)
    }

    /// The pause on a chain with a block time. A block that was there at the first look may have been there for a while: the next one is
    /// looked for a little sooner, until one comes late. Then that moment is kept for some blocks, and for more each time. So a look is
    /// mostly one for each block.
    pub fn until_block(&mut self, found: bool, block: Duration, poll: Duration) -> Duration {
        let little = poll.min(block) / 4;
        if !found {
            self.vain += 1;
            return if self.vain > SOON_LOOKS { poll } else { little };
        }
        if std::mem::take(&mut self.vain) > 0 {
            self.kept = self.kept_next.max(KEPT_BLOCKS.0);
            self.kept_next = (self.kept * 2).min(KEPT_BLOCKS.1);
        } else if self.was_early {
            // Even a look that came a little sooner found it, so the moment had moved.
            self.kept_next = 0;
        }
        self.was_early = self.kept == 0;
        self.kept = self.kept.saturating_sub(1);
        if self.was_early { block - little } else { block }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u64 = 2_000;

    /// The looks of a follower at a chain whose blocks come in these milliseconds: for each block, how late it was seen; and their number.
    fn follow(blocks: &[u64], begin: u64) -> (Vec<u64>, usize) {
        let (mut pace, mut now, mut seen, mut looks, mut late) = (Pace::default(), begin, 0, 0, Vec::new());
        while seen < blocks.len() {
            let there = blocks.iter().filter(|at| **at <= now).count();
            late.extend(blocks[seen..there].iter().map(|at| now - at));
            let pause = pace.until_block(there > seen, Duration::from_millis(BLOCK), Duration::from_secs(1));
            (seen, looks, now) = (there, looks + 1, now + u64::try_from(pause.as_millis()).unwrap());
        }
        (late, looks)
    }

    #[test]
    fn a_block_is_soon_seen_at_once_with_little_more_than_one_look() {
        for begin in [0, 137, 999, 1_500, 1_999] {
            let blocks: Vec<u64> = (1..=100).map(|n| n * BLOCK).collect();
            let (late, looks) = follow(&blocks, begin);
            assert!(late[10..].iter().all(|late| *late <= 250), "{begin}: {late:?}");
            assert!(looks <= 110, "{begin}: {looks}");
        }
    }

    #[test]
    fn a_block_time_that_is_a_little_wrong_does_not_add_up() {
        for real in [1_950, 2_050] {
            let blocks: Vec<u64> = (1..=200).map(|n| n * real).collect();
            let (late, looks) = follow(&blocks, 700);
            assert!(late[20..].iter().all(|late| *late <= 400), "{real}: {late:?}");
            assert!(looks <= 400, "{real}: {looks}");
        }
    }

    #[test]
    fn a_block_that_is_missing_is_looked_for_at_the_interval_of_polls() {
        let blocks = [2_000, 4_000, 10_000, 12_000, 14_000];
        let (late, looks) = follow(&blocks, 0);
        assert!(late.iter().all(|late| *late <= 1_000), "{late:?}");
        assert!(looks < 20, "{looks}");
    }
}
