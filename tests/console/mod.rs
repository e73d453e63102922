//! The operator console, through its pages, as a person without JavaScript uses them.

mod account;
mod acts;
mod decisions;
mod distributions;
mod investors;
mod keys;
mod offerings;
mod overview;
mod pages;
mod previews;
mod refusals;
mod scans;
mod session;
mod times;
pub mod visitor;
