//! The kinds of operations, and the work queue of each.

crate::words! {
    /// The kind of an operation.
    Kind {
        /// Deploys the token of an offering with its caps.
        DeployToken = "deploy_token",
        /// Whitelists, mints and locks for one page of holders.
        Mint = "mint",
        /// Freezes an address.
        Freeze = "freeze",
        /// Unfreezes an address.
        Unfreeze = "unfreeze",
        /// Locks units of a holder.
        Lock = "lock",
        /// Removes expired locks.
        Unlock = "unlock",
        /// Restricts a partition.
        RestrictPartition = "restrict_partition",
        /// Lifts the restriction of a partition.
        UnrestrictPartition = "unrestrict_partition",
        /// Moves units of a frozen holder.
        ForceTransfer = "force_transfer",
        /// Moves a lost wallet to a replacement.
        Recover = "recover",
        /// Takes the retirement of a recovered wallet back.
        Reinstate = "reinstate",
        /// Burns units of a holder.
        Redeem = "redeem",
        /// Ends a lock before its time.
        ReleaseLock = "release_lock",
        /// Pauses a token.
        Pause = "pause",
        /// Ends the pause of a token.
        Unpause = "unpause",
        /// Pays holders directly.
        Payout = "payout",
        /// Pays holders through the distributor contract.
        DistributorPayout = "distributor_payout",
        /// Declares the hash of an audit report.
        AuditDeclaration = "audit_declaration",
    }
}

impl Kind {
    /// The queue that carries the wakes of this kind's operations. One busy kind then does not delay the others.
    pub const fn queue(self) -> &'static str {
        match self {
            Self::DeployToken => "deploy",
            Self::Mint => "mint",
            Self::Payout | Self::DistributorPayout | Self::AuditDeclaration => "payout",
            Self::Freeze
            | Self::Unfreeze
            | Self::Lock
            | Self::Unlock
            | Self::RestrictPartition
            | Self::UnrestrictPartition
            | Self::ForceTransfer
            | Self::Recover
            | Self::Reinstate
            | Self::Redeem
            | Self::ReleaseLock
            | Self::Pause
            | Self::Unpause => "compliance",
        }
    }
}
