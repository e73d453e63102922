//! The statuses of an approval and every move between them; the CHECK in the migration is compared by a test.

crate::words! {
    /// Where an approval stands.
    Status {
        /// Waits for a second person.
        Pending = "pending",
        /// Allowed; the engine has yet to do it, because the chain must be asked first.
        Approved = "approved",
        /// Done: the operation exists.
        Executed = "executed",
        /// Allowed, but what it was about had changed meanwhile. Nothing was done.
        ExecutionFailed = "execution_failed",
        /// A second person said no.
        Rejected = "rejected",
        /// Nobody decided in time.
        Expired = "expired",
        /// Its maker took it back.
        Cancelled = "cancelled",
    }
}

crate::words! {
    /// What moves an approval.
    Move {
        /// A second person says yes.
        Approve = "approve",
        /// What was allowed is done.
        Execute = "execute",
        /// What was allowed cannot be done any more.
        Fail = "fail",
        /// A second person says no.
        Reject = "reject",
        /// Its time is over.
        Expire = "expire",
        /// Its maker takes it back.
        Cancel = "cancel",
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
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

    /// Whether something may still come of it.
    pub const fn is_live(self) -> bool {
        matches!(self, Self::Pending | Self::Approved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::{assert_checked, cells};

    #[test]
    fn every_cell_of_the_table_is_as_designed() {
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

    #[test]
    fn the_migration_checks_the_same_words() {
        assert_checked(include_str!("../../../migrations/0007_approval.sql"), "status", Status::ALL);
    }
}
