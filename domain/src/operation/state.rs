//! The statuses of an operation and the moves between them. This table is the only source: tests compare the CHECK in the migration,
//! the picture in ARCHITECTURE.md and the enum of the API with it.

crate::words! {
    /// The status of an operation. The five words are those of the specification.
    Status {
        /// Accepted; the next step is not signed yet.
        Pending = "pending",
        /// Signed bytes are stored, so it can be on the chain.
        Submitted = "submitted",
        /// The effect is final, and the domain has applied it.
        Confirmed = "confirmed",
        /// Certainly without effect: refused before signing, or reverted and final. An operator decides.
        Failed = "failed",
        /// The engine cannot decide any further. An operator decides.
        DeadLetter = "dead_letter",
    }
}

crate::words! {
    /// A move of an operation.
    Move {
        /// The first signed bytes are committed.
        Sign = "sign",
        /// The chain shows that this operation was executed before, so that transaction is adopted.
        Adopt = "adopt",
        /// The last step is final with its effect.
        Confirm = "confirm",
        /// A definite failure.
        Fail = "fail",
        /// The retries are used up, or a foreign transaction took the nonce.
        GiveUp = "give_up",
        /// An operator retries, after the retry check.
        Retry = "retry",
        /// An operator gives a confirmation proof, or a retry finds the effect.
        MarkConfirmed = "mark_confirmed",
    }
}

impl Status {
    /// The statuses in which the engine still has work.
    pub const LIVE: [Self; 2] = [Self::Pending, Self::Submitted];
    /// The statuses that wait for a person, unless the operation is resolved.
    pub const ATTENTION: [Self; 2] = [Self::Failed, Self::DeadLetter];

    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        match (self, by) {
            (Self::Pending, Move::Sign | Move::Adopt) => Some(Self::Submitted),
            (Self::Submitted, Move::Confirm) => Some(Self::Confirmed),
            (Self::Pending | Self::Submitted, Move::Fail) => Some(Self::Failed),
            (Self::Pending | Self::Submitted, Move::GiveUp) => Some(Self::DeadLetter),
            (Self::Failed | Self::DeadLetter, Move::Retry) => Some(Self::Pending),
            (Self::Failed | Self::DeadLetter, Move::MarkConfirmed) => Some(Self::Confirmed),
            _ => None,
        }
    }

    /// The requests that are allowed in this status, by the last part of their path, unless the operation is resolved.
    pub const fn requests(self) -> &'static [&'static str] {
        match self {
            Self::Pending => &["cancel"],
            Self::Submitted => &["speed-up", "cancel"],
            Self::Failed | Self::DeadLetter => &["retry", "reconcile", "cancel"],
            Self::Confirmed => &[],
        }
    }

    /// Whether the engine still works on it.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Submitted)
    }

    /// Whether it waits for an operator, unless it is resolved.
    pub const fn needs_operator(self) -> bool {
        matches!(self, Self::Failed | Self::DeadLetter)
    }
}

/// The table as a Mermaid diagram, for ARCHITECTURE.md.
pub fn picture() -> String {
    let mut lines = vec!["stateDiagram-v2".to_owned(), "    [*] --> pending: accept".to_owned()];
    for from in Status::ALL {
        for by in Move::ALL {
            if let Some(to) = from.next(*by) {
                lines.push(format!("    {from} --> {to}: {by}"));
            }
        }
    }
    lines.push("    confirmed --> [*]".to_owned());
    lines.join("\n")
}

#[cfg(test)]
mod tests;
