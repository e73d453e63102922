//! The standard output of a command whose output can be long.

use std::io::{ErrorKind, Write, stdout};

use crate::failure::Failure;

/// Prints a text. Returns whether somebody still reads: a reader that has seen enough, such as `head`, is no failure.
pub fn print(text: &str) -> Result<bool, Failure> {
    let mut out = stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(format!("The output cannot be written: {error}."))),
    }
}
