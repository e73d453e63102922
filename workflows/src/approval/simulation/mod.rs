//! What a pending approval would do at the head of its chain: whether its calls pass, and the balances before and after them.
//!
//! 1. `plan` executes the action in a transaction that is rolled back, so the calls are those that an approval would send.
//! 2. The calls run one after another on the newest block. No transaction of the database is open meanwhile.
//! 3. `balances` runs them once more between two reads of every balance that their events change. Nothing is computed from amounts.
//! 4. `recent` keeps the answer for some seconds, so that many readers cost a node little.

mod attempt;
mod balances;
mod plan;
mod recent;
mod run;
mod trial;

pub use attempt::{ChainTrial, Simulation};
pub use recent::Recent;
pub use trial::{BalanceChange, Transaction, Trial, Verdict};
