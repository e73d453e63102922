//! The kinds of operations: the one list of what implements each.

use muniment_domain::operation::Kind;

use crate::compliance::table;
use crate::engine::kind::OperationKind;
use crate::payout::{AuditDeclaration, DirectPayout, DistributorPayout};
use crate::token::{DeployToken, Mint};

/// The implementation of a kind of operation.
pub fn of(kind: Kind) -> &'static dyn OperationKind {
    match kind {
        Kind::DeployToken => &DeployToken,
        Kind::Mint => &Mint,
        Kind::Freeze => &table::FREEZE,
        Kind::Unfreeze => &table::UNFREEZE,
        Kind::Lock => &table::LOCK,
        Kind::Unlock => &table::UNLOCK,
        Kind::RestrictPartition => &table::RESTRICT,
        Kind::UnrestrictPartition => &table::UNRESTRICT,
        Kind::ForceTransfer => &table::FORCE_TRANSFER,
        Kind::Recover => &table::RECOVER,
        Kind::Reinstate => &table::REINSTATE,
        Kind::Redeem => &table::REDEEM,
        Kind::ReleaseLock => &table::RELEASE_LOCK,
        Kind::Pause => &table::PAUSE,
        Kind::Unpause => &table::UNPAUSE,
        Kind::Payout => &DirectPayout,
        Kind::DistributorPayout => &DistributorPayout,
        Kind::AuditDeclaration => &AuditDeclaration,
    }
}
