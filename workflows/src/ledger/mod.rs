//! Balances built from final token events.

pub mod index;
