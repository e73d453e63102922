//! The loops of a worker process: queue workers, lanes, chains and the sweep. Every other function of the engine makes one move and
//! returns.

pub mod due;
pub mod held;
pub mod intake;
pub mod keeper;
pub mod last;
pub mod queue_worker;
pub mod submitter;
pub mod submitters;
pub mod worker;

pub(crate) mod job;
mod listener;
mod pace;
mod poll;
