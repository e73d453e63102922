//! The statuses of an operation and every move between them. This table is the only one: the CHECK in the migration, the picture in
//! ARCHITECTURE.md and the API's enum are compared with it by tests.

crate::words! {
    /// Where an operation stands. The five words are the specification's.
    Status {
        /// Accepted and queued; nothing was signed for the step that is due.
        Pending = "pending",
        /// Signed bytes are stored: it may be on the chain.
        Submitted = "submitted",
        /// Its effect is final on the chain, and the domain says so.
        Confirmed = "confirmed",
        /// A certain no: refused before signing, or reverted and final. A person decides.
        Failed = "failed",
        /// The engine may not decide further. A person decides.
        DeadLetter = "dead_letter",
    }
}

crate::words! {
    /// What moves an operation.
    Move {
        /// The first signed bytes were committed.
        Sign = "sign",
        /// The chain says that this very operation was executed before: its transaction is taken over.
        Adopt = "adopt",
        /// The last step is final with its effect.
        Confirm = "confirm",
        /// A deterministic no.
        Fail = "fail",
        /// The policy is spent, or the nonce went to a stranger.
        GiveUp = "give_up",
        /// A person retries (guard G).
        Retry = "retry",
        /// A person proves the effect (verification V), or a retry finds it.
        MarkConfirmed = "mark_confirmed",
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
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

    /// Whether the engine still has something to do.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Submitted)
    }

    /// Whether it waits for a person unless it was resolved.
    pub const fn needs_person(self) -> bool {
        matches!(self, Self::Failed | Self::DeadLetter)
    }
}

/// The table as a Mermaid picture, as ARCHITECTURE.md shows it.
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
