//! The statuses of an offering and the moves between them.

crate::words! {
    /// The status of an offering.
    Status {
        /// Not submitted yet.
        Draft = "draft",
        /// Waits for the reviewer.
        InReview = "in_review",
        /// Approved; it can be published.
        Approved = "approved",
        /// Takes subscriptions.
        Open = "open",
        /// Takes no subscriptions for now.
        Paused = "paused",
        /// Full, or ended.
        Closed = "closed",
        /// Every subscription is minted or ended.
        Settled = "settled",
        /// Ended below its soft cap.
        Failed = "failed",
        /// Cancelled.
        Cancelled = "cancelled",
        /// Archived.
        Archived = "archived",
    }
}

crate::words! {
    /// A move of an offering.
    Move {
        /// The issuer submits it for review.
        Submit = "submit",
        /// The reviewer requests changes.
        RequestChanges = "request_changes",
        /// The reviewer approves it.
        Approve = "approve",
        /// It opens for subscriptions.
        Publish = "publish",
        /// Subscriptions are paused.
        Pause = "pause",
        /// Subscriptions are resumed.
        Resume = "resume",
        /// It closed by its cap, has room again, and takes subscriptions again.
        Reopen = "reopen",
        /// Terms change, and every subscriber must reconfirm.
        MaterialChange = "material_change",
        /// It has ended or is full.
        Close = "close",
        /// It has ended below its soft cap.
        Fail = "fail",
        /// A person cancels it.
        Cancel = "cancel",
        /// Nothing is left to do.
        Settle = "settle",
        /// It is archived.
        Archive = "archive",
    }
}

impl Status {
    /// The statuses in which it can still get subscriptions.
    pub const SELLING: [Self; 2] = [Self::Open, Self::Paused];

    /// The statuses that count towards what its issuer raises.
    pub const RAISING: [Self; 5] = [Self::Open, Self::Paused, Self::Closed, Self::Settled, Self::Archived];

    /// The statuses in which only its issuer, staff and existing subscribers see it.
    pub const HIDDEN: [Self; 4] = [Self::Draft, Self::InReview, Self::Approved, Self::Cancelled];

    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Draft, Move::Submit) => Some(InReview),
            (InReview, Move::RequestChanges) => Some(Draft),
            (InReview, Move::Approve) => Some(Approved),
            (Approved, Move::Publish)
            | (Paused, Move::Resume)
            | (Closed, Move::Reopen)
            | (Open, Move::MaterialChange) => Some(Open),
            (Open, Move::Pause) => Some(Paused),
            (Open | Paused, Move::Close) => Some(Closed),
            (Open | Paused, Move::Fail) => Some(Failed),
            (Draft | InReview | Approved | Open | Paused, Move::Cancel) => Some(Cancelled),
            (Closed, Move::Settle) => Some(Settled),
            (Settled | Failed | Cancelled, Move::Archive) => Some(Archived),
            _ => None,
        }
    }

    /// The requests that are allowed in this status, by the last part of their path.
    pub fn requests(self) -> Vec<&'static str> {
        Move::ALL.iter().filter(|by| self.next(**by).is_some()).filter_map(|by| by.request()).collect()
    }

    /// Whether offerings in this status can be public.
    pub fn is_public(self) -> bool {
        !Self::HIDDEN.contains(&self)
    }

    /// Whether investors see its terms, so that they are no longer only the issuer's.
    pub const fn is_running(self) -> bool {
        matches!(self, Self::Approved | Self::Open | Self::Paused)
    }
}

impl Move {
    /// The request that makes this move, by the last part of its path. None if only the calendar makes it.
    pub const fn request(self) -> Option<&'static str> {
        match self {
            Self::Fail | Self::Settle => None,
            Self::RequestChanges => Some("request-changes"),
            Self::MaterialChange => Some("material-change"),
            other => Some(other.as_str()),
        }
    }

    /// The event of this move.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Submit => "offering.submitted",
            Self::RequestChanges => "offering.changes_requested",
            Self::Approve => "offering.approved",
            Self::Publish => "offering.published",
            Self::Pause => "offering.paused",
            Self::Resume => "offering.resumed",
            Self::Reopen => "offering.reopened",
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
    use crate::state_table_test::cells;

    #[test]
    fn the_state_table_allows_exactly_these_moves() {
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
            (S::Closed, M::Reopen, S::Open),
            (S::Closed, M::Settle, S::Settled),
            (S::Settled, M::Archive, S::Archived),
            (S::Failed, M::Archive, S::Archived),
            (S::Cancelled, M::Archive, S::Archived),
        ];
        assert_eq!(allowed, wanted);
    }

    #[test]
    fn only_published_offerings_are_public() {
        use Status as S;
        let public: Vec<_> = S::ALL.iter().copied().filter(|status| status.is_public()).collect();
        assert_eq!(public, [S::Open, S::Paused, S::Closed, S::Settled, S::Failed, S::Archived]);
    }
}
