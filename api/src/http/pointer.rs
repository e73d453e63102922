//! JSON pointers (RFC 6901), and the one of the place where the reading of a body failed.

use std::cell::RefCell;

/// One step of a JSON pointer.
pub fn step(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The way to the place where the reading failed. An error passes it from the inside, so the innermost step is noted first.
#[derive(Default)]
pub struct Trail(RefCell<Vec<String>>);

impl Trail {
    /// Notes the step that an error leaves.
    pub fn note(&self, step: String) {
        self.0.borrow_mut().push(step);
    }

    /// The place, from the outside.
    pub fn pointer(&self) -> String {
        self.0.borrow().iter().rev().map(String::as_str).collect()
    }
}
