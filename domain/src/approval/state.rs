//! The statuses of an approval and the moves between them. A test compares them with the CHECK in the migration.

crate::words! {
    /// The status of an approval.
    Status {
        /// Waits for the approver.
        Pending = "pending",
        /// Approved; the engine has not executed it yet, because it must ask the chain first.
        Approved = "approved",
        /// Executed: the operation exists.
        Executed = "executed",
        /// Approved, but the subject changed before execution. Nothing was done.
        ExecutionFailed = "execution_failed",
        /// The approver rejected it.
        Rejected = "rejected",
        /// It expired without a decision.
        Expired = "expired",
        /// The requester cancelled it.
        Cancelled = "cancelled",
    }
}

crate::words! {
    /// A move of an approval.
    Move {
        /// The approver approves.
        Approve = "approve",
        /// The engine executes the approved action.
        Execute = "execute",
        /// The approved action cannot be executed any more.
        Fail = "fail",
        /// The approver rejects.
        Reject = "reject",
        /// The time for a decision is over.
        Expire = "expire",
        /// The requester cancels.
        Cancel = "cancel",
    }
}

impl Status {
    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        match (self, by) {
            (Self::Pending, Move::Approve) => Some(Self::Approved),
            (Self::Approved, Move::Execute) => Some(Self::Executed),
            (Self::Approved, Move::Fail) => Some(Self::ExecutionFailed),
            (Self::Pending, Move::Reject) => Some(Self::Rejected),
            (Self::Pending, Move::Expire) => Some(Self::Expired),
            (Self::Pending, Move::Cancel) => Some(Self::Cancelled),
            _ => None,
        }
    }

    /// Whether it can still be executed.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Approved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_table_test::cells;

    #[test]
    fn the_state_table_allows_exactly_these_moves() {
        let allowed = cells(Status::ALL, Move::ALL, Status::next);
        use {Move as M, Status as S};
        assert_eq!(
            allowed,
            [
                (S::Pending, M::Approve, S::Approved),
                (S::Pending, M::Reject, S::Rejected),
                (S::Pending, M::Expire, S::Expired),
                (S::Pending, M::Cancel, S::Cancelled),
                (S::Approved, M::Execute, S::Executed),
                (S::Approved, M::Fail, S::ExecutionFailed),
            ]
        );
    }
}
