//! The operator console, through its pages, as a person without JavaScript uses them.

mod account;
mod acts;
mod overview;
mod pages;
mod scans;
mod session;
pub mod visitor;
