//! What all contracts share: bindings, operation numbers, roles, lines of a page.
pub mod batch_read;
pub mod bindings;
pub(crate) mod decimal;
pub mod line;
pub mod operation;
pub mod registry;
