//! The statuses of an investor's identity check and the moves between them.

crate::words! {
    /// The status of an identity check.
    Status {
        /// Nothing was submitted.
        NotStarted = "not_started",
        /// Submitted.
        Pending = "pending",
        /// A reviewer has begun.
        InReview = "in_review",
        /// Information is missing.
        NeedsInformation = "needs_information",
        /// The identity is approved.
        Approved = "approved",
        /// The identity is rejected.
        Rejected = "rejected",
        /// The approval has expired.
        Expired = "expired",
        /// Suspended after a screening match or by an operator.
        Suspended = "suspended",
    }
}

crate::words! {
    /// A move of an identity check. For reviewers it is also the word of the decision.
    Move {
        /// The investor submits.
        Submit = "submit",
        /// A reviewer begins.
        StartReview = "start_review",
        /// A reviewer approves.
        Approve = "approve",
        /// A reviewer rejects.
        Reject = "reject",
        /// A reviewer requests more information.
        NeedsInformation = "needs_information",
        /// A reviewer lets a rejected investor submit again at once.
        Reset = "reset",
        /// A reviewer renews the approval before it expires.
        Renew = "renew",
        /// The approval expires.
        Expire = "expire",
        /// A screening match or an operator suspends the investor.
        Suspend = "suspend",
        /// Two people end a suspension.
        Reinstate = "reinstate",
    }
}

impl Status {
    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (NotStarted | NeedsInformation | Rejected | Expired, Move::Submit) => Some(Pending),
            (Pending, Move::StartReview) => Some(InReview),
            (Pending | InReview, Move::Approve) | (Approved, Move::Renew) | (Suspended, Move::Reinstate) => {
                Some(Approved)
            }
            (Pending | InReview, Move::Reject) => Some(Rejected),
            (Pending | InReview, Move::NeedsInformation) => Some(NeedsInformation),
            (Rejected, Move::Reset) => Some(NotStarted),
            (Approved, Move::Expire) => Some(Expired),
            // Again, because a screening can have a hit after another cause.
            (Approved | Expired | Suspended, Move::Suspend) => Some(Suspended),
            _ => None,
        }
    }

    /// The moves that are allowed from this status.
    pub fn moves(self) -> Vec<Move> {
        Move::ALL.iter().copied().filter(|by| self.next(*by).is_some()).collect()
    }
}

impl Move {
    /// The event of this move.
    pub const fn event(self) -> &'static str {
        match self {
            Self::Submit => "investor.kyc_submitted",
            Self::StartReview => "investor.kyc_in_review",
            Self::Approve => "investor.kyc_approved",
            Self::Reject => "investor.kyc_rejected",
            Self::NeedsInformation => "investor.kyc_needs_information",
            Self::Reset => "investor.kyc_reset",
            Self::Renew => "investor.kyc_renewed",
            Self::Expire => "investor.kyc_expired",
            Self::Suspend => "investor.kyc_suspended",
            Self::Reinstate => "investor.kyc_reinstated",
        }
    }
}

#[cfg(test)]
mod tests;
