//! Boots the real thing for the tests: databases, a chain, the binary, and the faults between them.
//!
//! Nothing here skips. What a test needs is there, or the test fails and says how to get it.

mod affinity;
mod anvil;
mod binary;
mod database;
mod http;
mod kept;
mod log;
mod place;
mod postgres;
mod proxy;
mod rpc;
mod seed;
mod size;
mod sqlite;
mod stage;
mod wire;

pub use affinity::stay_on_core;
pub use anvil::{Anvil, KEYS, Mining};
pub use binary::{Binary, Launch};
pub use database::{Database, Engine};
pub use http::{http_client, http_client_builder};
pub use place::{free_port, repository};
pub use postgres::{Cluster, Postgres};
pub use proxy::{Fate, Fault, FaultProxy, Rule, RuleId, Sent, Signed, Trace};
pub use rpc::Rpc;
pub use seed::Seed;
pub use size::campaign;
pub use sqlite::Sqlite;
pub use wire::Wire;
