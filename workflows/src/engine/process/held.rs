//! The operations that this process has in memory. A second wake for one of them does nothing now, because the row is read again before
//! anything is signed. A move may have read the row before that wake's commit, so the wake is remembered until the move ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Every held operation, and whether it was woken while it was held.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<HashMap<String, bool>>>);

/// One held operation. Dropping it frees the operation, also after a panic.
#[derive(Debug)]
pub struct Hold {
    id: String,
    held: Held,
    over: bool,
}

impl Held {
    /// Holds an operation. If this process already holds it, the wake is remembered there.
    pub fn wake(&self, id: &str) -> Option<Hold> {
        let mut ids = self.ids();
        match ids.get_mut(id) {
            Some(woken) => {
                *woken = true;
                None
            }
            None => {
                ids.insert(id.to_owned(), false);
                Some(Hold { id: id.to_owned(), held: self.clone(), over: false })
            }
        }
    }

    /// Holds an operation, if this process does not hold it yet.
    pub fn hold(&self, id: &str) -> Option<Hold> {
        if self.contains(id) { None } else { self.wake(id) }
    }

    /// Whether this process holds it.
    pub fn contains(&self, id: &str) -> bool {
        self.ids().contains_key(id)
    }

    /// The number of held operations.
    pub fn count(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// The operation id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Frees the operation. If it was woken meanwhile, it stays held and needs another move.
    pub fn end(mut self) -> Option<Self> {
        let mut ids = self.held.ids();
        if ids.get_mut(&self.id).is_some_and(std::mem::take) {
            drop(ids);
            return Some(self);
        }
        // Under the same lock as the check, so that the next wake finds it free.
        ids.remove(&self.id);
        drop(ids);
        self.over = true;
        None
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if !self.over {
            self.held.ids().remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_during_a_move_causes_exactly_one_more_move() {
        let held = Held::default();
        let first = held.wake("op_1").unwrap();
        assert!(held.wake("op_1").is_none() && held.wake("op_1").is_none());
        let again = first.end().unwrap();
        assert_eq!(held.count(), 1);
        assert!(held.hold("op_1").is_none(), "a search for work is not a wake");
        assert!(again.end().is_none());
        assert_eq!(held.count(), 0);
        let next = held.wake("op_1").unwrap();
        drop(next);
        assert!(held.wake("op_1").is_some(), "dropping it releases the operation");
    }
}
