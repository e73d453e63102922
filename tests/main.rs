//! The integration tests, one binary; each file is named after what it promises.
#![allow(missing_docs, reason = "the names of tests are their sentences")]
#![allow(clippy::unwrap_used, reason = "a failing test names its line")]

mod absence;
mod access_token;
mod approval;
mod architecture;
mod backup;
mod bulk_retry;
mod cancel;
mod crash;
mod csrf;
mod deploy;
mod distribution;
mod drain;
mod fault_proxy;
mod faulty_node;
mod foreign_key;
mod freeze;
mod installation;
mod kill;
mod lock;
mod login;
mod mint;
mod mint_approval;
mod operator;
mod other_chain;
mod payout;
mod places;
mod queue_lost;
mod reconcile;
mod reorg;
mod restore;
mod restrict;
mod retry;
mod runbooks;
mod second_factor;
mod sessions;
mod signers;
mod snapshot;
mod source;
mod split;
mod start;
mod tidy;
mod wish;
mod workers;
