//! How far the identity of an investor is known, and every move between the steps.

crate::words! {
    /// What is known of an investor's identity.
    Status {
        /// Nothing was handed in.
        NotStarted = "not_started",
        /// Handed in.
        Pending = "pending",
        /// Somebody looks at it.
        InReview = "in_review",
        /// Something is missing.
        NeedsInformation = "needs_information",
        /// The person is who they say.
        Approved = "approved",
        /// The platform does not take this person.
        Rejected = "rejected",
        /// The approval is too old.
        Expired = "expired",
        /// Stopped by a screening hit or by an operator.
        Suspended = "suspended",
    }
}

crate::words! {
    /// What moves it; for the moves of a reviewer also the word of the decision.
    Move {
        /// The investor hands something in.
        Submit = "submit",
        /// A reviewer takes it up.
        StartReview = "start_review",
        /// A reviewer says yes.
        Approve = "approve",
        /// A reviewer says no.
        Reject = "reject",
        /// A reviewer asks for more.
        NeedsInformation = "needs_information",
        /// A reviewer lets somebody who was rejected try again at once.
        Reset = "reset",
        /// A reviewer looked again before the approval was too old.
        Renew = "renew",
        /// Time is over.
        Expire = "expire",
        /// A screening hit, or an operator's word.
        Suspend = "suspend",
        /// Two persons end a suspension.
        Reinstate = "reinstate",
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
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
            (Approved | Expired, Move::Suspend) => Some(Suspended),
            _ => None,
        }
    }

    /// Every move that is allowed now.
    pub fn moves(self) -> Vec<Move> {
        Move::ALL.iter().copied().filter(|by| self.next(*by).is_some()).collect()
    }
}

impl Move {
    /// What is told when it was made.
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
