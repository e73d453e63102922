//! The integration tests, one binary; each file is named after what it promises.
#![allow(missing_docs, reason = "the names of tests are their sentences")]

mod fault_proxy;
mod places;
