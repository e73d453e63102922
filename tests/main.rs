//! The integration tests, one binary; each file is named after what it promises.
#![allow(missing_docs, reason = "the names of tests are their sentences")]
#![allow(clippy::unwrap_used, reason = "a failing test names its line")]

mod architecture;
mod fault_proxy;
mod model;
mod places;
mod runbooks;
mod source;
mod tidy;
