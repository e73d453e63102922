//! Room in the lanes: how many more of their transactions may be in flight. A block makes room. A lane that waits for it signs while the
//! follower reads the receipts, and both are one commit. The room is known in memory only: if the receipts cannot be read or the follower's
//! part of the commit fails, the lane has a few transactions more in flight, for as long as the block is read again.

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
    /// The room that the follower's commit gives those that wait, and that they have not taken yet.
    coming: BTreeMap<LaneId, i64>,
    /// The lanes to which the follower has announced room, until its commit has ended.
    announced: usize,
}

/// Room that the follower has announced to lanes. When it is dropped, what they have not taken is withdrawn.
pub struct Announced<'a> {
    room: &'a Room,
    /// The number of lanes that can take it.
    pub lanes: usize,
}

impl Announced<'_> {
    /// The follower's commit has ended. Returns whether lanes must look for their room: nothing was announced to them, or not all of them
    /// have taken it.
    pub fn end(self) -> bool {
        let untaken = std::mem::take(&mut self.room.lanes().coming);
        self.lanes == 0 || !untaken.is_empty()
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut lanes = self.room.lanes();
        lanes.coming.clear();
        lanes.announced = 0;
    }
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

    /// Tells those lanes that wait for room that the follower is about to commit the inclusion of so many of their transactions.
    pub fn announce(&self, mut included: BTreeMap<LaneId, i64>) -> Announced<'_> {
        let mut lanes = self.lanes();
        included.retain(|lane_id, _| lanes.waiting.contains(lane_id));
        let count = included.len();
        lanes.coming = included;
        lanes.announced = count;
        drop(lanes);
        if count > 0 {
            self.look_again();
        }
        Announced { room: self, lanes: count }
    }

    /// Takes the announced room of a lane.
    pub fn take(&self, lane_id: &LaneId) -> i64 {
        self.lanes().coming.remove(lane_id).unwrap_or_default()
    }

    /// The number of lanes to which the follower has announced room, until its commit has ended.
    pub fn announced(&self) -> usize {
        self.lanes().announced
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_announced_to_those_who_wait_and_taken_once() {
        let room = Room::default();
        let included = || BTreeMap::from([("lan_a".into(), 3), ("lan_b".into(), 2)]);
        let mut changed = room.subscribe();
        let announced = room.announce(included());
        assert!(announced.lanes == 0 && announced.end(), "no lane waits");
        assert!(!changed.has_changed().unwrap());
        room.set_waiting(&"lan_a".into(), true);
        assert!(room.is_awaited());
        let announced = room.announce(included());
        assert_eq!((announced.lanes, room.announced()), (1, 1));
        assert!(changed.has_changed().unwrap());
        changed.mark_unchanged();
        assert_eq!(room.take(&"lan_b".into()), 0, "it did not wait");
        assert_eq!((room.take(&"lan_a".into()), room.take(&"lan_a".into())), (3, 0));
        assert!(!announced.end() && room.announced() == 0, "all of it was taken");
        assert!(room.announce(included()).end(), "nobody took it");
        assert_eq!(room.take(&"lan_a".into()), 0, "it is in the database now");
        drop(room.announce(included()));
        assert_eq!(room.take(&"lan_a".into()), 0, "the receipts could not be read");
        room.set_waiting(&"lan_a".into(), false);
        assert!(room.announce(included()).lanes == 0 && !room.is_awaited());
        room.set_behind(true);
        assert!(room.is_awaited());
    }
}
