//! The loops of a worker process: queue workers, lanes, chains and the sweep. Every other function of the engine makes one move and
//! returns.

pub mod intake;
pub mod keeper;
pub mod submitter;
pub mod worker;

mod held;
mod job;
mod listener;
mod poll;
