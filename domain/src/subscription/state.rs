//! The statuses of a subscription and every move between them.

crate::words! {
    /// The life of a subscription.
    Status {
        /// In its cooling-off time.
        Committed = "committed",
        /// Terms changed: the investor must say yes again.
        PendingReconfirmation = "pending_reconfirmation",
        /// Past its cooling-off time.
        Binding = "binding",
        /// Every gate is passed and the quantity is fixed.
        Accepted = "accepted",
        /// The tokens are the investor's, finally.
        Minted = "minted",
        /// Withdrawn.
        Cancelled = "cancelled",
        /// Turned down.
        Rejected = "rejected",
        /// Never paid.
        Expired = "expired",
        /// Money has to go back.
        RefundPending = "refund_pending",
        /// Money went back.
        Refunded = "refunded",
    }
}

crate::words! {
    /// What moves a subscription.
    Move {
        /// The investor withdraws.
        Withdraw = "withdraw",
        /// Staff calls it off.
        Cancel = "cancel",
        /// The cooling-off time is over.
        Bind = "bind",
        /// The terms of the offering changed.
        ChangeTerms = "change_terms",
        /// The investor says yes to the changed terms.
        Reconfirm = "reconfirm",
        /// The investor said nothing.
        Lapse = "lapse",
        /// Staff or the issuer takes it.
        Accept = "accept",
        /// The money did not come.
        Expire = "expire",
        /// Staff or the issuer turns it down.
        Reject = "reject",
        /// Its mint is final.
        Mint = "mint",
        /// Money came after the end.
        Receive = "receive",
        /// The money went back.
        Refund = "refund",
        /// The offering failed or was called off.
        End = "end",
    }
}

impl Status {
    /// Those that reserve a part of the offering's hard cap.
    pub const RESERVING: [Self; 5] =
        [Self::Committed, Self::PendingReconfirmation, Self::Binding, Self::Accepted, Self::Minted];

    /// The status after a move, or none where the move is not allowed. What ends while money is there waits for its refund; a yes to
    /// changed terms leads back to where it was.
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
            (Binding, Move::Expire) => over(Expired),
            (Committed | Binding, Move::Reject) => over(Rejected),
            (Accepted, Move::Mint) => Some(Minted),
            (Cancelled | Rejected | Expired | Refunded, Move::Receive) => Some(RefundPending),
            (RefundPending, Move::Refund) => Some(Refunded),
            _ => None,
        }
    }

    /// The moves that are allowed from here, as words.
    pub fn moves(self) -> Vec<&'static str> {
        let allowed = |by: &&Move| self.next(**by, Some(Self::Committed), false).is_some();
        Move::ALL.iter().filter(allowed).map(|by| by.as_str()).collect()
    }

    /// Whether it reserves a part of the hard cap.
    pub fn reserves(self) -> bool {
        Self::RESERVING.contains(&self)
    }

    /// Whether anything may still become of it before it is minted.
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Committed | Self::PendingReconfirmation | Self::Binding | Self::Accepted)
    }

    /// Whether nothing more can become of it, unless money comes late and has to go back.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Minted | Self::Cancelled | Self::Rejected | Self::Expired | Self::Refunded)
    }
}

#[cfg(test)]
mod tests;
