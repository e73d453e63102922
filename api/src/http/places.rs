//! Places of callers: how many of something each caller holds now.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The places in use, by caller. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<HashMap<String, usize>>>);

/// A place in use. It is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    who: String,
}

impl Places {
    /// A place for this caller; none above the limit.
    pub fn take(&self, who: String, most: usize) -> Option<Place> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = held.entry(who.clone()).or_default();
        if *count >= most {
            return None;
        }
        *count += 1;
        Some(Place { places: self.clone(), who })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut held = self.places.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = held.get_mut(&self.who) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.who);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_caller_has_a_limit_and_a_dropped_place_is_free_again() {
        let places = Places::default();
        let held: Vec<_> = (0..2).map(|_| places.take("ada".to_owned(), 2)).collect();
        assert!(held.iter().all(Option::is_some) && places.take("ada".to_owned(), 2).is_none());
        assert!(places.take("bruno".to_owned(), 2).is_some());
        drop(held);
        assert!(places.take("ada".to_owned(), 2).is_some());
        assert!(places.0.lock().unwrap().is_empty());
    }
}
