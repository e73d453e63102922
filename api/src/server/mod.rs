//! The server: the router with its layers, and the connections.

pub mod answer;
pub mod document;
pub mod health;
pub mod media;
pub mod router;
pub mod routes;
#[cfg(test)]
mod routes_test;
pub mod serve;
pub mod stalled;
