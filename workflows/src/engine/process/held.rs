//! The operations that this process has in memory. A second wake for one of them has nothing to do: whoever holds it looks at the row
//! again before anything is signed. But a look may have read the row before that wake's commit, so the wake is remembered until it ends.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All that is held, and whether it was woken meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<HashMap<String, bool>>>);

/// One held operation; dropped, it is free again, however its holder ended.
#[derive(Debug)]
pub struct Hold {
    id: String,
    held: Held,
    over: bool,
}

impl Held {
    /// Holds an operation, unless somebody in this process does already: whoever does is told that it was woken.
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

    /// Holds an operation that nobody in this process holds.
    pub fn hold(&self, id: &str) -> Option<Hold> {
        if self.ids().contains_key(id) { None } else { self.wake(id) }
    }

    /// How many are held.
    pub fn count(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<String, bool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Which operation.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Ends it, unless the operation was woken meanwhile: then it has to be looked at once more.
    pub fn end(mut self) -> Option<Self> {
        let mut ids = self.held.ids();
        if ids.get_mut(&self.id).is_some_and(std::mem::take) {
            drop(ids);
            return Some(self);
        }
        // In one grip with the look: a wake that comes now finds it free.
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
    fn a_wake_during_a_look_makes_for_another_look_and_no_more() {
        let held = Held::default();
        let first = held.wake("op_1").unwrap();
        assert!(held.wake("op_1").is_none() && held.wake("op_1").is_none());
        let again = first.end().unwrap();
        assert_eq!(held.count(), 1);
        assert!(held.hold("op_1").is_none(), "who only looks for work wakes nobody");
        assert!(again.end().is_none());
        assert_eq!(held.count(), 0);
        let next = held.wake("op_1").unwrap();
        drop(next);
        assert!(held.wake("op_1").is_some(), "dropped, it is free");
    }
}
