//! The commands of the binary.

pub mod admin;
pub mod arguments;
#[cfg(feature = "devchain")]
pub mod demo;
pub mod doctor;
mod forward;
pub mod import;
pub mod intervene;
pub mod known_key;
pub mod listen;
pub mod output;
pub mod run;
pub mod trigger;
