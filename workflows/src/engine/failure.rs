//! The failures of a move. The place of the fault decides whether it is retried.

use muniment_activities::fault::{Fault, FaultClass};
use muniment_domain::Error;
use muniment_domain::operation::{Problem, Stage};

/// The reason why a move failed.
#[derive(Debug)]
pub enum Failure {
    /// The endpoints, the signer or the lane is not available. Not counted: it ends by itself.
    Blocked(String),
    /// A transient fault. Counted, with a growing pause, up to the limit.
    Retry(Problem),
    /// A definite refusal, before anything was signed.
    Refuse(Problem),
    /// A decision that only a person can make.
    Dead(Problem),
    /// An error of the domain: another move changed the row, or the database is not available.
    Domain(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Domain(error)
    }
}

impl Failure {
    /// A definite refusal.
    pub fn refuse(stage: Stage, code: &str, message: impl Into<String>, data: Option<String>) -> Self {
        Self::Refuse(Problem { stage, code: code.to_owned(), message: message.into(), data })
    }

    /// The failure that a chain's fault means for an operation.
    pub fn of_fault(fault: &Fault, stage: Stage) -> Self {
        match fault.class() {
            FaultClass::Outage | FaultClass::Fatal => Self::Blocked(format!("{}: {fault}", fault.code())),
            // An endpoint that lags behind the followed blocks gives no verdict, and it is not the operation's fault.
            FaultClass::Transient if matches!(fault, Fault::UnknownBlock) => {
                Self::Blocked(format!("{}: {fault}", fault.code()))
            }
            FaultClass::Transient => {
                Self::Retry(Problem { stage, code: fault.code().to_owned(), message: fault.to_string(), data: None })
            }
        }
    }
}
