//! The work queue of each kind.

use super::Kind;

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
