//! The error with which the process ends: a sentence that says what to do.

use std::fmt;

/// The text that is printed before the process exits with code 1.
pub struct Failure(String);

impl Failure {
    /// A failure from a sentence or another error.
    pub fn new(why: impl ToString) -> Self {
        Self(why.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// `main` prints a failure by this; a person reads it, so it is the sentence and not a structure.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<muniment_domain::Error> for Failure {
    fn from(error: muniment_domain::Error) -> Self {
        match error {
            error if error.is_outage() => Self(format!(
                "{error}. Check that the database of `database.url` runs, can be reached from here and accepts the password."
            )),
            error => Self::new(error),
        }
    }
}

impl From<muniment_workflows::engine::StartError> for Failure {
    fn from(error: muniment_workflows::engine::StartError) -> Self {
        Self::new(error)
    }
}
