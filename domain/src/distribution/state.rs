//! The statuses of a distribution and the moves between them.

crate::words! {
    /// The status of a distribution.
    Status {
        /// Not started yet.
        Draft = "draft",
        /// The balances at the record date are being read.
        Snapshotting = "snapshotting",
        /// The balances are read and checked.
        Snapshotted = "snapshotted",
        /// The amount of each holder is fixed.
        Calculated = "calculated",
        /// Waits for the approver.
        AwaitingApproval = "awaiting_approval",
        /// Approved; it can be executed.
        Approved = "approved",
        /// Operations pay it.
        Executing = "executing",
        /// Everybody is paid or excluded.
        Completed = "completed",
        /// No operation is running, and some holders are held or not paid.
        PartiallyCompleted = "partially_completed",
        /// Cancelled before anybody was paid.
        Cancelled = "cancelled",
    }
}

crate::words! {
    /// A move of a distribution.
    Move {
        /// The record date has come and the balances are read.
        Snapshot = "snapshot",
        /// The balances are checked and stored.
        StoreSnapshot = "take",
        /// The amounts are calculated.
        Calculate = "calculate",
        /// Approval is requested.
        RequestApproval = "ask",
        /// The approver approves, or no approval is needed.
        Approve = "approve",
        /// The list changed after the request, or the approver rejected it.
        Revise = "revise",
        /// Its operations are accepted.
        Execute = "execute",
        /// The last operation has ended and nobody is left.
        Complete = "complete",
        /// The last operation has ended and somebody is left.
        CompletePartly = "complete_partly",
        /// A holder who was left is paid now.
        Resume = "resume",
        /// A person cancels it.
        Cancel = "cancel",
    }
}

impl Status {
    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Draft, Move::Snapshot) => Some(Snapshotting),
            (Snapshotting, Move::StoreSnapshot) => Some(Snapshotted),
            (Snapshotted, Move::Calculate) | (AwaitingApproval | Approved, Move::Revise) => Some(Calculated),
            (Calculated, Move::RequestApproval) => Some(AwaitingApproval),
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

    /// The requests that are allowed in this status, by the last part of their path.
    pub fn requests(self) -> Vec<&'static str> {
        Move::ALL.iter().filter(|by| self.next(**by).is_some()).filter_map(|by| by.request()).collect()
    }

    /// Whether entitlements can be held, released and excluded, because no payment has begun.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Calculated | Self::AwaitingApproval | Self::Approved)
    }

    /// Whether it was executed and part of it can still be open.
    pub const fn is_executed(self) -> bool {
        matches!(self, Self::Executing | Self::PartiallyCompleted)
    }
}

impl Move {
    /// The request that makes this move, by the last part of its path. None if an approval, a payment or the engine makes it.
    pub const fn request(self) -> Option<&'static str> {
        match self {
            Self::Snapshot | Self::Calculate | Self::Execute | Self::Cancel => Some(self.as_str()),
            Self::RequestApproval => Some("submit"),
            Self::Resume => Some("reissue"),
            Self::StoreSnapshot | Self::Approve | Self::Revise | Self::Complete | Self::CompletePartly => None,
        }
    }
}

#[cfg(test)]
mod tests;
