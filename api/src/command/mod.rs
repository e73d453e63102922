//! Commands: requests that change something, each carried out once per idempotency key.

pub mod act;
pub mod idempotency;
#[cfg(test)]
mod idempotency_test;
pub mod submission;
