//! The operations that this process has in memory. A second wake for one of them does nothing now, because the row is read again before
//! anything is signed. A move may have read the row before that wake's commit, so the wake is remembered until the move ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use muniment_domain::id::{Id, of};

/// Everything of one kind that is held, and whether it was woken while it was held.
#[derive(Debug)]
pub struct Held<K = of::Operation>(Arc<Mutex<HashMap<Id<K>, bool>>>);

/// One held operation. Dropping it frees the operation, also after a panic.
#[derive(Debug)]
pub struct Hold<K = of::Operation> {
    id: Id<K>,
    held: Held<K>,
    over: bool,
}

impl<K> Clone for Held<K> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K> Default for Held<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K> Held<K> {
    /// Holds an operation. If this process already holds it, the wake is remembered there.
    pub fn wake(&self, id: &Id<K>) -> Option<Hold<K>> {
        let mut ids = self.ids();
        match ids.get_mut(id) {
            Some(woken) => {
                *woken = true;
                None
            }
            None => {
                ids.insert(id.clone(), false);
                Some(Hold { id: id.clone(), held: self.clone(), over: false })
            }
        }
    }

    /// Holds an operation, if this process does not hold it yet.
    pub fn hold(&self, id: &Id<K>) -> Option<Hold<K>> {
        if self.contains(id) { None } else { self.wake(id) }
    }

    /// Whether this process holds it.
    pub fn contains(&self, id: &Id<K>) -> bool {
        self.ids().contains_key(id)
    }

    /// The number of held operations.
    pub fn count(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<Id<K>, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K> Hold<K> {
    /// The operation id.
    pub const fn id(&self) -> &Id<K> {
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

impl<K> Drop for Hold<K> {
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
        let held: Held = Held::default();
        let first = held.wake(&"op_1".into()).unwrap();
        assert!(held.wake(&"op_1".into()).is_none() && held.wake(&"op_1".into()).is_none());
        let again = first.end().unwrap();
        assert_eq!(held.count(), 1);
        assert!(held.hold(&"op_1".into()).is_none(), "a search for work is not a wake");
        assert!(again.end().is_none());
        assert_eq!(held.count(), 0);
        let next = held.wake(&"op_1".into()).unwrap();
        drop(next);
        assert!(held.wake(&"op_1".into()).is_some(), "dropping it releases the operation");
    }
}
