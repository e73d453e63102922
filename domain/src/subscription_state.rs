//! The statuses of a subscription and the moves between them. They are apart from `subscription`, because offerings count by them.

crate::words! {
    /// The status of a subscription.
    Status {
        /// In its cooling-off period.
        Committed = "committed",
        /// The terms changed, and the investor must reconfirm.
        PendingReconfirmation = "pending_reconfirmation",
        /// The cooling-off period is over.
        Binding = "binding",
        /// All rules are met, and the quantity is fixed.
        Accepted = "accepted",
        /// The mint is final.
        Minted = "minted",
        /// Withdrawn or cancelled.
        Cancelled = "cancelled",
        /// Rejected.
        Rejected = "rejected",
        /// Not paid, or the identity not approved, in time.
        Expired = "expired",
        /// A refund is due.
        RefundPending = "refund_pending",
        /// Everything is refunded.
        Refunded = "refunded",
    }
}

crate::words! {
    /// A move of a subscription.
    Move {
        /// The investor withdraws.
        Withdraw = "withdraw",
        /// Staff cancels it.
        Cancel = "cancel",
        /// The cooling-off period ends.
        Bind = "bind",
        /// The terms of the offering change.
        ChangeTerms = "change_terms",
        /// The investor accepts the changed terms.
        Reconfirm = "reconfirm",
        /// The investor did not reconfirm in time.
        Lapse = "lapse",
        /// Staff or the issuer accepts it.
        Accept = "accept",
        /// It was not paid, or the identity not approved, in time.
        Expire = "expire",
        /// Staff or the issuer rejects it.
        Reject = "reject",
        /// The mint is final.
        Mint = "mint",
        /// Money arrives after the end.
        Receive = "receive",
        /// The refund is complete.
        Refund = "refund",
        /// The offering failed or was cancelled.
        End = "end",
    }
}

impl Status {
    /// Statuses that reserve a part of the hard cap.
    pub const RESERVING: [Self; 5] =
        [Self::Committed, Self::PendingReconfirmation, Self::Binding, Self::Accepted, Self::Minted];

    /// The statuses whose money counts as raised, because the investor can no longer withdraw it.
    pub const RAISED: [Self; 3] = [Self::Binding, Self::Accepted, Self::Minted];

    /// The statuses that can still end without a mint.
    pub const OPEN: [Self; 4] = [Self::Committed, Self::PendingReconfirmation, Self::Binding, Self::Accepted];

    /// The statuses that the investor can no longer leave, whatever happens to the terms.
    pub const ISSUABLE: [Self; 2] = [Self::Accepted, Self::Minted];

    /// The statuses in which the investor can still withdraw.
    pub const WITHDRAWABLE: [Self; 2] = [Self::Committed, Self::PendingReconfirmation];

    /// The statuses in which changed terms demand a reconfirmation.
    pub const RECONFIRMABLE: [Self; 2] = [Self::Committed, Self::Binding];

    /// The status after a move; none if the move is not allowed. A subscription that ends with money waits for its refund. A
    /// reconfirmation leads back to the previous status.
    pub fn next(self, by: Move, previous: Option<Self>, has_money: bool) -> Option<Self> {
        use Status::*;
        let over = |ended| Some(if has_money { RefundPending } else { ended });
        match (self, by) {
            (Committed | PendingReconfirmation, Move::Withdraw)
            | (Committed | PendingReconfirmation | Binding | Accepted, Move::Cancel | Move::End)
            | (PendingReconfirmation, Move::Lapse) => over(Cancelled),
            (Committed, Move::Bind) => Some(Binding),
            (Committed | Binding, Move::ChangeTerms) => Some(PendingReconfirmation),
            (PendingReconfirmation, Move::Reconfirm) => previous,
            (Binding, Move::Accept) => Some(Accepted),
            (Committed | Binding, Move::Expire) => over(Expired),
            (Committed | Binding, Move::Reject) => over(Rejected),
            (Accepted, Move::Mint) => Some(Minted),
            (Cancelled | Rejected | Expired | Refunded, Move::Receive) => Some(RefundPending),
            (RefundPending, Move::Refund) => Some(Refunded),
            _ => None,
        }
    }

    /// The requests that are allowed in this status, by the last part of their path.
    pub fn requests(self) -> Vec<&'static str> {
        let allowed = |by: &&Move| self.next(**by, Some(Self::Committed), false).is_some();
        let mut requests: Vec<_> = Move::ALL.iter().filter(allowed).filter_map(|by| by.request()).collect();
        requests.dedup();
        requests
    }

    /// Whether it reserves a part of the hard cap.
    pub fn reserves(self) -> bool {
        Self::RESERVING.contains(&self)
    }

    /// Whether it can still change before a mint.
    pub fn is_open(self) -> bool {
        Self::OPEN.contains(&self)
    }

    /// Whether it is final, unless late money must be refunded.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Minted | Self::Cancelled | Self::Rejected | Self::Expired | Self::Refunded)
    }
}

impl Move {
    /// The request that makes this move, by the last part of its path. None if the calendar, an offering or a mint makes it.
    pub const fn request(self) -> Option<&'static str> {
        match self {
            Self::Withdraw | Self::Cancel => Some("cancel"),
            Self::Reconfirm | Self::Accept | Self::Reject | Self::Refund => Some(self.as_str()),
            Self::Receive => Some("payments"),
            Self::Bind | Self::ChangeTerms | Self::Lapse | Self::Expire | Self::Mint | Self::End => None,
        }
    }
}

#[cfg(test)]
mod tests;
