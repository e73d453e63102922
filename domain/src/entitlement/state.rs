//! The statuses of an entitlement and every move between them.

crate::words! {
    /// What became of an entitlement.
    Status {
        /// Its amount is fixed; nothing stands in the way of paying it.
        Calculated = "calculated",
        /// Something stands in the way, and the others do not wait for it.
        Held = "held",
        /// It is not paid, by the word of two people.
        Excluded = "excluded",
        /// It is in an operation.
        Queued = "queued",
        /// The money is the holder's, finally.
        Paid = "paid",
        /// Its operation was given up without effect.
        Failed = "failed",
    }
}

crate::words! {
    /// What moves an entitlement.
    Move {
        /// Something stands in the way.
        Hold = "hold",
        /// It is out of the way.
        Release = "release",
        /// Two people decide that it is not paid.
        Exclude = "exclude",
        /// An operation takes it.
        Queue = "queue",
        /// The transfer of exactly its net amount is final.
        Pay = "pay",
        /// The distributor could not pay it and keeps the money for it.
        Withhold = "withhold",
        /// Its operation was given up.
        Fail = "fail",
    }
}

crate::words! {
    /// Why an entitlement is held.
    HoldReason {
        /// The wallet is frozen.
        Frozen = "frozen",
        /// The investor's identity is not approved now.
        KycRequired = "kyc_required",
        /// The wallet belongs to no investor that we know.
        WalletRequired = "wallet_required",
        /// Too little to be worth a transfer.
        BelowDust = "below_dust",
        /// A person said so.
        Operator = "operator",
        /// The distributor keeps the money, because the wallet is frozen.
        WithheldFrozen = "withheld_frozen",
        /// The distributor keeps the money, because the transfer failed.
        WithheldTransferFailed = "withheld_transfer_failed",
    }
}

impl HoldReason {
    /// Whether the money is in escrow for this very holder, so that nothing but a claim may pay it.
    pub const fn is_withheld(self) -> bool {
        matches!(self, Self::WithheldFrozen | Self::WithheldTransferFailed)
    }
}

impl Status {
    /// The status after a move, or none where the move is not allowed.
    pub const fn next(self, by: Move) -> Option<Self> {
        use Status::*;
        match (self, by) {
            (Calculated | Queued, Move::Hold) | (Queued, Move::Withhold) => Some(Held),
            (Held, Move::Release) => Some(Calculated),
            (Calculated | Held | Failed, Move::Exclude) => Some(Excluded),
            // Of those that are held only one that the distributor keeps is queued, for its claim.
            (Calculated | Held | Failed, Move::Queue) => Some(Queued),
            (Queued, Move::Pay) => Some(Paid),
            (Queued, Move::Fail) => Some(Failed),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
