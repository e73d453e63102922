//! Faults of RPC calls, and what each means for the caller.

/// What a fault means for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultClass {
    /// No endpoint can be asked: the circuit opens and no attempt is counted.
    Outage,
    /// This answer was not usable: a later try is expected to work.
    Transient,
    /// A retry does not help until somebody changes something.
    Fatal,
}

/// Why an RPC call has no usable answer. No message holds the path, query or password of a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Every endpoint is down or refuses connections.
    #[error("no endpoint of the chain answers: {0}; check the nodes and the network; work resumes when one is back")]
    Outage(String),
    /// No endpoint answered within the timeout.
    #[error(
        "no endpoint of the chain answers in time: {0}; check the nodes and the network; work resumes when one does"
    )]
    Late(String),
    /// Every reachable endpoint limits the rate of calls.
    #[error("{endpoint} limits the rate of calls (retry after {}); raise its limit or add an endpoint", seconds(.retry_after_seconds))]
    RateLimited {
        /// The endpoint, redacted.
        endpoint: String,
        /// The pause that the endpoint asked for.
        retry_after_seconds: Option<u64>,
    },
    /// The endpoint serves another chain.
    #[error(
        "{endpoint} serves {found} but should serve {expected}; correct the URL or the chain id; the endpoint is not used"
    )]
    WrongChain {
        /// The endpoint, redacted.
        endpoint: String,
        /// The chain id or genesis from the configuration or the first contact.
        expected: String,
        /// The chain id or genesis that the endpoint reports.
        found: String,
    },
    /// The answer lacks something that must exist. Absence proves nothing, so this is a fault and not an empty result.
    #[error("the node's answer is incomplete: {0}; it will be asked again")]
    Incomplete(String),
    /// The answer does not have the form of the protocol.
    #[error("the node's answer cannot be read: {0}; another endpoint will be asked")]
    Malformed(String),
    /// No endpoint knows the block: it was reorganised away or has not arrived yet.
    #[error("no endpoint knows this block; it will be asked again")]
    UnknownBlock,
    /// The node has deleted the state of the block.
    #[error("the node has deleted the state of that block: {0}; use a later block or configure an archive node")]
    Pruned(String),
    /// No endpoint offers a required method.
    #[error("no endpoint offers {0}; configure a node that has this method")]
    NoMethod(String),
    /// The node rejected the call for a reason that no rule knows.
    #[error("the node rejected the call: {0}")]
    Refused(String),
}

impl Fault {
    /// What the fault means for the caller.
    pub fn class(&self) -> FaultClass {
        match self {
            Fault::Outage(_) | Fault::Late(_) | Fault::RateLimited { .. } => FaultClass::Outage,
            Fault::WrongChain { .. } | Fault::NoMethod(_) => FaultClass::Fatal,
            Fault::Incomplete(_) | Fault::Malformed(_) | Fault::UnknownBlock | Fault::Pruned(_) | Fault::Refused(_) => {
                FaultClass::Transient
            }
        }
    }

    /// The stable code for metrics and tables.
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
