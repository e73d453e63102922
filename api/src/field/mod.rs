//! Values of requests and answers: addresses, amounts, causes, names, ids.

pub mod address;
pub mod amount;
pub mod cause;
pub mod id;
pub mod name;
pub mod subject;
