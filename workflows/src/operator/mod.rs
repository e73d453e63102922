//! What an operator may do with an operation that does not go on by itself.

pub mod abandon;
pub mod bulk_retry;
pub mod cancel;
pub mod command;
pub mod mark_confirmed;
pub mod post_state;
pub mod retry;
pub mod speed_up;
pub mod suggestion;
