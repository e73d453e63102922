//! The operator's moves on operations that need a person: retry, mark confirmed, abandon, cancel and speed up.

pub mod abandon;
pub(crate) mod attention;
pub mod bulk_retry;
pub mod cancel;
pub mod carry_out;
pub mod command;
pub mod lane;
pub mod mark_confirmed;
pub mod post_state;
pub mod retry;
pub mod speed_up;
pub mod suggestion;
