//! Why a question to the chain has no answer, and what that means for the operation that asked.

/// What a failed question means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultClass {
    /// Nobody can be asked; the circuit opens and no attempt is counted.
    Outage,
    /// This answer was no good; asking again later is expected to help.
    Transient,
    /// Asking again will not help before somebody changes something.
    Fatal,
}

/// Why a question to the chain has no answer. No message holds a URL's path, query or password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Every endpoint is down or refuses.
    #[error(
        "no endpoint of the chain answers: {0}; check the nodes and the network, work goes on by itself when one is back"
    )]
    Outage(String),
    /// Every endpoint takes longer to answer than it may.
    #[error(
        "no endpoint of the chain answers in time: {0}; check the nodes and the network, work goes on by itself when one does"
    )]
    Late(String),
    /// Every endpoint that is up asks for fewer calls.
    #[error("{endpoint} limits the rate of calls (retry after {}); raise its limit or add an endpoint", seconds(.retry_after_seconds))]
    RateLimited {
        /// The endpoint, redacted.
        endpoint: String,
        /// What the endpoint asked for.
        retry_after_seconds: Option<u64>,
    },
    /// Another chain stands behind the URL.
    #[error(
        "{endpoint} serves {found}, the configuration says {expected}; correct the URL or the chain id, the endpoint is not used"
    )]
    WrongChain {
        /// The endpoint, redacted.
        endpoint: String,
        /// What the configuration or the first contact says.
        expected: String,
        /// What the endpoint answers.
        found: String,
    },
    /// The node left out something that should be there; absence is not information.
    #[error("the node's answer is incomplete: {0}; it is asked again")]
    Incomplete(String),
    /// The answer does not have the form that the protocol asks for.
    #[error("the node's answer cannot be read: {0}; another endpoint is asked")]
    Malformed(String),
    /// No endpoint knows the block that was named; it may have been reorganised away or not have arrived.
    #[error("no endpoint knows this block yet, or any more; it is asked again")]
    UnknownBlock,
    /// The node has deleted the state of that block.
    #[error("the node no longer has the state of that block: {0}; ask at a later block or configure an archive node")]
    Pruned(String),
    /// No endpoint offers a method that is needed.
    #[error("no endpoint offers {0}; configure a node that does")]
    NoMethod(String),
    /// The node refused for a reason that no rule knows.
    #[error("the node refused: {0}")]
    Refused(String),
}

impl Fault {
    /// What the caller should make of it.
    pub fn class(&self) -> FaultClass {
        match self {
            Fault::Outage(_) | Fault::Late(_) | Fault::RateLimited { .. } => FaultClass::Outage,
            Fault::WrongChain { .. } | Fault::NoMethod(_) => FaultClass::Fatal,
            Fault::Incomplete(_) | Fault::Malformed(_) | Fault::UnknownBlock | Fault::Pruned(_) | Fault::Refused(_) => {
                FaultClass::Transient
            }
        }
    }

    /// The stable word for metrics and tables.
    pub fn code(&self) -> &'static str {
        match self {
            Fault::Outage(_) | Fault::Late(_) => "outage",
            Fault::RateLimited { .. } => "rate_limited",
            Fault::WrongChain { .. } => "wrong_chain",
            Fault::Incomplete(_) => "incomplete",
            Fault::Malformed(_) => "malformed",
            Fault::UnknownBlock => "unknown_block",
            Fault::Pruned(_) => "pruned",
            Fault::NoMethod(_) => "no_method",
            Fault::Refused(_) => "refused",
        }
    }
}

fn seconds(value: &Option<u64>) -> String {
    value.map_or("an unknown time".into(), |n| format!("{n} s"))
}
