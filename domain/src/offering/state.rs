//! The statuses of an offering and every move between them.

crate::words! {
    /// The life of an offering.
    Status {
        /// Being written.
        Draft = "draft",
        /// Waiting for the operator's word.
        InReview = "in_review",
        /// Allowed to be published.
        Approved = "approved",
        /// Taking subscriptions.
        Open = "open",
        /// Taking none for now.
        Paused = "paused",
        /// Fully subscribed or ended.
        Closed = "closed",
        /// Everything minted or ended.
        Settled = "settled",
        /// Missed its soft cap.
        Failed = "failed",
        /// Called off.
        Cancelled = "cancelled",
        /// Put away.
        Archived = "archived",
    }
}

crate::words! {
    /// What moves an offering.
    Move {
        /// The issuer asks for the operator's word.
        Submit = "submit",
        /// The operator wants something else.
        RequestChanges = "request_changes",
        /// The operator allows it.
        Approve = "approve",
        /// It takes subscriptions from now on.
        Publish = "publish",
        /// It takes none for now.
        Pause = "pause",
        /// It takes them again.
        Resume = "resume",
        /// Its terms change, and whoever subscribed must say yes again.
        MaterialChange = "material_change",
        /// It ended, or is full.
        Close = "close",
        /// It ended below its soft cap.
        Fail = "fail",
        /// Somebody calls it off.
        Cancel = "cancel",
        /// Nothing of it is left to do.
        Settle = "settle",
        /// It is put away.
        Archive = "archive",
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Draft, Move::Submit) => Some(InReview),
            (InReview, Move::RequestChanges) => Some(Draft),
            (InReview, Move::Approve) => Some(Approved),
            (Approved, Move::Publish) | (Paused, Move::Resume) | (Open, Move::MaterialChange) => Some(Open),
            (Open, Move::Pause) => Some(Paused),
            (Open | Paused, Move::Close) => Some(Closed),
            (Open | Paused, Move::Fail) => Some(Failed),
            (Draft | InReview | Approved | Open | Paused, Move::Cancel) => Some(Cancelled),
            (Closed, Move::Settle) => Some(Settled),
            (Settled | Failed | Cancelled, Move::Archive) => Some(Archived),
            _ => None,
        }
    }

    /// The moves that are allowed from here, as words.
    pub fn moves(self) -> Vec<&'static str> {
        Move::ALL.iter().filter(|by| self.next(**by).is_some()).map(|by| by.as_str()).collect()
    }

    /// Whether everybody may know of it.
    pub const fn is_public(self) -> bool {
        matches!(self, Self::Open | Self::Paused | Self::Closed | Self::Settled | Self::Failed | Self::Archived)
    }

    /// Whether its terms are shown to investors, and are not the issuer's alone any more.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Approved | Self::Open | Self::Paused)
    }
}

impl Move {
    /// As what it is told.
    pub const fn told_as(self) -> &'static str {
        match self {
            Self::Submit => "offering.submitted",
            Self::RequestChanges => "offering.changes_requested",
            Self::Approve => "offering.approved",
            Self::Publish => "offering.published",
            Self::Pause => "offering.paused",
            Self::Resume => "offering.resumed",
            Self::MaterialChange => "offering.updated",
            Self::Close => "offering.closed",
            Self::Fail => "offering.failed",
            Self::Cancel => "offering.cancelled",
            Self::Settle => "offering.settled",
            Self::Archive => "offering.archived",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::{assert_checked, cells};

    #[test]
    fn every_cell_of_the_table_is_as_it_was_designed() {
        use {Move as M, Status as S};
        let allowed = cells(S::ALL, M::ALL, S::next);
        let wanted = [
            (S::Draft, M::Submit, S::InReview),
            (S::Draft, M::Cancel, S::Cancelled),
            (S::InReview, M::RequestChanges, S::Draft),
            (S::InReview, M::Approve, S::Approved),
            (S::InReview, M::Cancel, S::Cancelled),
            (S::Approved, M::Publish, S::Open),
            (S::Approved, M::Cancel, S::Cancelled),
            (S::Open, M::Pause, S::Paused),
            (S::Open, M::MaterialChange, S::Open),
            (S::Open, M::Close, S::Closed),
            (S::Open, M::Fail, S::Failed),
            (S::Open, M::Cancel, S::Cancelled),
            (S::Paused, M::Resume, S::Open),
            (S::Paused, M::Close, S::Closed),
            (S::Paused, M::Fail, S::Failed),
            (S::Paused, M::Cancel, S::Cancelled),
            (S::Closed, M::Settle, S::Settled),
            (S::Settled, M::Archive, S::Archived),
            (S::Failed, M::Archive, S::Archived),
            (S::Cancelled, M::Archive, S::Archived),
        ];
        assert_eq!(allowed, wanted);
    }

    #[test]
    fn the_migration_checks_the_same_words() {
        assert_checked(include_str!("../../../migrations/0012_offering.sql"), "status", Status::ALL);
    }
}
