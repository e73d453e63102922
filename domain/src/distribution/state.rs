//! The statuses of a distribution and every move between them.

crate::words! {
    /// Where a distribution stands.
    Status {
        /// Being written.
        Draft = "draft",
        /// The balances of its record date are being looked for.
        Snapshotting = "snapshotting",
        /// The balances are known and proved.
        Snapshotted = "snapshotted",
        /// Each holder's part is fixed.
        Calculated = "calculated",
        /// A second person is asked.
        AwaitingApproval = "awaiting_approval",
        /// It may be executed.
        Approved = "approved",
        /// Operations pay it.
        Executing = "executing",
        /// Everybody was paid who is to be paid.
        Completed = "completed",
        /// Nothing is under way, and somebody is held or was not paid.
        PartiallyCompleted = "partially_completed",
        /// Called off before anybody was paid.
        Cancelled = "cancelled",
    }
}

crate::words! {
    /// What moves a distribution.
    Move {
        /// The record date has come: its balances are asked for.
        Snapshot = "snapshot",
        /// They were proved and stored.
        Take = "take",
        /// Each part is fixed.
        Calculate = "calculate",
        /// A second person is asked.
        Ask = "ask",
        /// A second person said yes, or none is needed.
        Approve = "approve",
        /// What was to be approved changed, or a second person said no.
        Revise = "revise",
        /// Its operations were accepted.
        Execute = "execute",
        /// The last operation ended and nobody is left.
        Complete = "complete",
        /// The last operation ended and somebody is left.
        CompletePartly = "complete_partly",
        /// Somebody who was left is paid after all.
        Resume = "resume",
        /// A person calls it off.
        Cancel = "cancel",
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Draft, Move::Snapshot) => Some(Snapshotting),
            (Snapshotting, Move::Take) => Some(Snapshotted),
            (Snapshotted, Move::Calculate) | (AwaitingApproval | Approved, Move::Revise) => Some(Calculated),
            (Calculated, Move::Ask) => Some(AwaitingApproval),
            (Calculated | AwaitingApproval, Move::Approve) => Some(Approved),
            (Approved, Move::Execute) | (PartiallyCompleted, Move::Resume) => Some(Executing),
            (Executing | PartiallyCompleted, Move::Complete) => Some(Completed),
            (Executing, Move::CompletePartly) => Some(PartiallyCompleted),
            (Draft | Snapshotting | Snapshotted | Calculated | AwaitingApproval | Approved, Move::Cancel) => {
                Some(Cancelled)
            }
            _ => None,
        }
    }

    /// The moves that are allowed from here, as words.
    pub fn moves(self) -> Vec<&'static str> {
        Move::ALL.iter().filter(|by| self.next(**by).is_some()).map(|by| by.as_str()).collect()
    }

    /// Whether the entitlements may be held, released and excluded, because nothing of them is under way or over.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Calculated | Self::AwaitingApproval | Self::Approved)
    }

    /// Whether its operations were accepted and some of it may be left to do.
    pub const fn was_executed(self) -> bool {
        matches!(self, Self::Executing | Self::PartiallyCompleted)
    }
}

#[cfg(test)]
mod tests;
