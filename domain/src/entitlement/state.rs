//! The statuses of an entitlement and the moves between them.

crate::words! {
    /// The status of an entitlement.
    Status {
        /// The amount is fixed and can be paid.
        Calculated = "calculated",
        /// It cannot be paid now; the other entitlements do not wait for it.
        Held = "held",
        /// It will not be paid, by the decision of two people.
        Excluded = "excluded",
        /// It is in an operation.
        Queued = "queued",
        /// The payment is final.
        Paid = "paid",
        /// Its operation was abandoned without effect.
        Failed = "failed",
    }
}

crate::words! {
    /// A move of an entitlement.
    Move {
        /// A reason against payment appears.
        Hold = "hold",
        /// The reason is gone.
        Release = "release",
        /// Two people decide that it is not paid.
        Exclude = "exclude",
        /// An operation includes it.
        Queue = "queue",
        /// The transfer of its exact net amount is final.
        Pay = "pay",
        /// The distributor contract could not pay it and withholds the money.
        Withhold = "withhold",
        /// Its operation was abandoned.
        Fail = "fail",
    }
}

crate::words! {
    /// Why an entitlement is held.
    HoldReason {
        /// The wallet is frozen.
        Frozen = "frozen",
        /// The identity of the investor is not approved now.
        KycRequired = "kyc_required",
        /// The wallet belongs to no known investor.
        WalletRequired = "wallet_required",
        /// The amount is too small for a transfer.
        BelowDust = "below_dust",
        /// An operator holds it.
        Operator = "operator",
        /// The distributor withholds the money because the wallet is frozen.
        WithheldFrozen = "withheld_frozen",
        /// The distributor withholds the money because the transfer failed.
        WithheldTransferFailed = "withheld_transfer_failed",
    }
}

impl HoldReason {
    /// The reasons of a hold whose money the distributor contract keeps.
    pub const WITHHELD: [Self; 2] = [Self::WithheldFrozen, Self::WithheldTransferFailed];

    /// Whether the money is in escrow for this holder, so that only a claim may pay it.
    pub fn is_withheld(self) -> bool {
        Self::WITHHELD.contains(&self)
    }
}

impl Status {
    /// The statuses in which the payment can still be redirected to another wallet.
    pub const UNPAID: [Self; 4] = [Self::Calculated, Self::Held, Self::Queued, Self::Failed];

    /// The statuses from which a payment is queued without a claim.
    pub const PAYABLE: [Self; 2] = [Self::Calculated, Self::Failed];

    /// The status after a move; none if the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Calculated | Queued, Move::Hold) | (Queued, Move::Withhold) => Some(Held),
            (Held, Move::Release) => Some(Calculated),
            (Calculated | Held | Failed, Move::Exclude) => Some(Excluded),
            // A held entitlement can be queued only for a claim of withheld money; the query checks that.
            (Calculated | Held | Failed, Move::Queue) => Some(Queued),
            (Queued, Move::Pay) => Some(Paid),
            (Queued, Move::Fail) => Some(Failed),
            _ => None,
        }
    }

    /// The requests that are allowed in this status, by the last part of their path.
    pub fn requests(self) -> Vec<&'static str> {
        match self {
            Self::Calculated => vec!["hold", "exclude", "reissue"],
            Self::Held => vec!["release", "exclude"],
            Self::Failed => vec!["exclude", "reissue"],
            Self::Queued | Self::Paid | Self::Excluded => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
