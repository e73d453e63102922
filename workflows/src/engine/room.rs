//! Room in the lanes: how many more of their transactions may be in flight. A block makes room. A lane that waits for it sends what it has
//! signed ahead when the follower sees the block, and signs more in the commit that stores the block. The room is known in memory
//! only: if the receipts cannot be read or the follower's part of the commit fails, the lane has a few transactions more in flight, for as
//! long as the block is read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use muniment_domain::id::LaneId;
use tokio::sync::watch;

/// The room of one chain's lanes.
#[derive(Default)]
pub struct Room {
    changed: watch::Sender<u64>,
    lanes: Mutex<Lanes>,
}

#[derive(Default)]
struct Lanes {
    /// Those with prepared steps that wait for room.
    waiting: BTreeSet<LaneId>,
    /// Whether operations wait in the table for room.
    is_behind: bool,
    /// The lowest nonce that the blocks of the follower's pass do not include, of each lane that waits and has transactions in them.
    seen: BTreeMap<LaneId, i64>,
    /// The lanes that have such a nonce and have not signed for their room yet.
    untaken: BTreeSet<LaneId>,
    /// Whether the follower is about to commit, so that lanes sign for the room.
    is_committing: bool,
}

/// The room that the blocks of the follower's pass make, until their commit has ended.
pub struct Announced<'a> {
    room: &'a Room,
}

impl Announced<'_> {
    /// Tells those lanes that wait for room the lowest nonces that the blocks do not include.
    pub fn add(&self, mut nonces: BTreeMap<LaneId, i64>) {
        let mut lanes = self.room.lanes();
        nonces.retain(|lane_id, _| lanes.waiting.contains(lane_id));
        if nonces.is_empty() {
            return;
        }
        lanes.untaken.extend(nonces.keys().cloned());
        lanes.seen.extend(nonces);
        drop(lanes);
        self.room.look_again();
    }

    /// Lets these lanes sign for their room: the follower is about to commit.
    pub fn commit(&self) {
        let mut lanes = self.room.lanes();
        lanes.is_committing = true;
        let has_room = !lanes.seen.is_empty();
        drop(lanes);
        if has_room {
            self.room.look_again();
        }
    }

    /// The follower's commit has ended. Returns whether lanes must look for their room: nothing was announced to them, or not all of them
    /// have signed for it.
    pub fn end(self) -> bool {
        let lanes = self.room.lanes();
        lanes.seen.is_empty() || !lanes.untaken.is_empty()
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut lanes = self.room.lanes();
        lanes.seen.clear();
        lanes.untaken.clear();
        lanes.is_committing = false;
    }
}

/// What the follower has announced to a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coming {
    /// The lowest nonce that the blocks do not include.
    pub nonce: Option<i64>,
    /// Whether the lane may sign for the room, because the follower is about to commit.
    pub may_sign: bool,
}

impl Room {
    /// A receiver that changes when a lane may have room.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Lets the lanes look whether they have room.
    pub fn look_again(&self) {
        self.changed.send_modify(|n| *n = n.wrapping_add(1));
    }

    /// Notes whether a lane has steps that wait for room.
    pub fn set_waiting(&self, lane_id: &LaneId, waits: bool) {
        let mut lanes = self.lanes();
        if !waits {
            lanes.waiting.remove(lane_id);
        } else if !lanes.waiting.contains(lane_id) {
            lanes.waiting.insert(lane_id.clone());
        }
    }

    /// Notes whether operations wait in the table for room.
    pub fn set_behind(&self, is_behind: bool) {
        self.lanes().is_behind = is_behind;
    }

    /// Whether operations wait for room, prepared or not.
    pub fn is_awaited(&self) -> bool {
        let lanes = self.lanes();
        lanes.is_behind || !lanes.waiting.is_empty()
    }

    /// Begins to announce the room of a pass.
    pub fn announce(&self) -> Announced<'_> {
        Announced { room: self }
    }

    /// What is announced to a lane. If it may sign, it counts as having done so.
    pub fn take(&self, lane_id: &LaneId) -> Coming {
        let mut lanes = self.lanes();
        let coming = Coming { nonce: lanes.seen.get(lane_id).copied(), may_sign: lanes.is_committing };
        if coming.may_sign {
            lanes.untaken.remove(lane_id);
        }
        coming
    }

    /// The number of lanes to which the follower has announced room, until its commit has ended.
    pub fn announced(&self) -> usize {
        self.lanes().seen.len()
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_announced_to_those_who_wait_until_the_commit_has_ended() {
        let room = Room::default();
        let (a, b): (LaneId, LaneId) = ("lan_a".into(), "lan_b".into());
        let included = || BTreeMap::from([(a.clone(), 3), (b.clone(), 2)]);
        let announce = || {
            let announced = room.announce();
            announced.add(included());
            announced
        };
        let mut changed = room.subscribe();
        let announced = announce();
        assert!(room.announced() == 0 && announced.end(), "no lane waits");
        assert!(!changed.has_changed().unwrap());
        room.set_waiting(&a, true);
        assert!(room.is_awaited());
        let announced = announce();
        assert_eq!(room.announced(), 1);
        assert!(changed.has_changed().unwrap());
        changed.mark_unchanged();
        assert_eq!(room.take(&b), Coming::default(), "it did not wait");
        assert_eq!(room.take(&a), Coming { nonce: Some(3), may_sign: false });
        announced.add(BTreeMap::from([(a.clone(), 5)]));
        announced.commit();
        assert!(changed.has_changed().unwrap());
        for _ in 0..2 {
            assert_eq!(room.take(&a), Coming { nonce: Some(5), may_sign: true }, "the same, however often it looks");
        }
        assert!(!announced.end() && room.announced() == 0, "every lane has signed");
        let announced = announce();
        _ = room.take(&a);
        announced.commit();
        assert!(announced.end(), "it has sent only");
        assert_eq!(room.take(&a), Coming::default(), "it is in the database now");
        drop(announce());
        assert_eq!(room.take(&a), Coming::default(), "the receipts could not be read");
        room.set_waiting(&a, false);
        let announced = announce();
        assert!(room.announced() == 0 && !room.is_awaited());
        drop(announced);
        room.set_behind(true);
        assert!(room.is_awaited());
    }
}
