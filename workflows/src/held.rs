//! The operations that this process has in memory. A second wake for one of them has nothing to do: whoever holds it looks at the row
//! again before anything is signed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All that is held.
#[derive(Clone, Debug, Default)]
pub struct Held(Arc<Mutex<HashSet<String>>>);

/// One held operation; dropped, it is free again, however its holder ended.
#[derive(Debug)]
pub struct Hold {
    id: String,
    held: Held,
}

impl Held {
    /// Holds an operation, unless somebody in this process does already.
    pub fn hold(&self, id: &str) -> Option<Hold> {
        self.ids().insert(id.to_owned()).then(|| Hold { id: id.to_owned(), held: self.clone() })
    }

    /// How many are held.
    pub fn count(&self) -> usize {
        self.ids().len()
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hold {
    /// Which operation.
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.ids().remove(&self.id);
    }
}
