//! The table of operations: one row for each kind of request.

use muniment_domain::operation;

/// A row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Deploy,
    Mint,
    MintLocked,
    Freeze,
    Unfreeze,
    Lock,
    Unlock,
    Restrict,
    Unrestrict,
    Force,
    Recover,
    Reinstate,
    Redeem,
    ReleaseLock,
    Pause,
    Unpause,
    /// One holder, straight from the payer.
    Pay,
    /// A page of holders, straight from the payer.
    PayBatch,
    /// Through the distributor: the sum into escrow, then page after page.
    Escrow,
    Audit,
}

/// The outcome when another agent of the platform has already executed the same call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The chain knows the operation number: the other's transaction is adopted, and nothing is signed.
    Adopted,
    /// The call has no operation number, and repeating it has the same effect.
    Harmless,
    /// The call has no operation number, and the contract reverts because nothing is to do: an operator confirms with the other's transaction.
    Refused,
}

/// Facts of a row that hold under every fault.
pub struct Facts {
    pub of: operation::Kind,
    /// The called functions, in order.
    pub steps: &'static [&'static str],
    /// Number of people that the request needs.
    pub people: u8,
    pub again: Again,
    /// Events besides the confirmation of the operation.
    pub told: Option<&'static str>,
}

pub const ALL: [Kind; 20] = [
    Kind::Deploy,
    Kind::Mint,
    Kind::MintLocked,
    Kind::Freeze,
    Kind::Unfreeze,
    Kind::Lock,
    Kind::Unlock,
    Kind::Restrict,
    Kind::Unrestrict,
    Kind::Force,
    Kind::Recover,
    Kind::Reinstate,
    Kind::Redeem,
    Kind::ReleaseLock,
    Kind::Pause,
    Kind::Unpause,
    Kind::Pay,
    Kind::PayBatch,
    Kind::Escrow,
    Kind::Audit,
];

const fn row(
    of: operation::Kind,
    steps: &'static [&'static str],
    people: u8,
    again: Again,
    told: Option<&'static str>,
) -> Facts {
    Facts { of, steps, people, again, told }
}

impl Kind {
    pub const fn facts(self) -> Facts {
        use Again::{Adopted, Harmless, Refused};
        use operation::Kind as Of;
        const PAID: Option<&str> = Some("distribution.entitlement_paid");
        const MINTED: Option<&str> = Some("subscription.minted");
        match self {
            Self::Deploy => row(Of::DeployToken, &["deployToken"], 1, Harmless, Some("offering.token_deployed")),
            Self::Mint | Self::MintLocked => row(Of::Mint, &["mintPage"], 1, Adopted, MINTED),
            Self::Freeze => row(Of::Freeze, &["freezeAddress"], 1, Harmless, Some("wallet.frozen")),
            Self::Unfreeze => row(Of::Unfreeze, &["unFreeze"], 2, Harmless, Some("wallet.unfrozen")),
            Self::Lock => row(Of::Lock, &["lockTokens"], 1, Adopted, None),
            Self::Unlock => row(Of::Unlock, &["unlockToken"], 2, Refused, None),
            Self::Restrict => row(Of::RestrictPartition, &["restrictTransfer"], 1, Harmless, None),
            Self::Unrestrict => row(Of::UnrestrictPartition, &["removeRestriction"], 2, Refused, None),
            Self::Force => row(Of::ForceTransfer, &["forceTransfer"], 2, Adopted, None),
            Self::Recover => row(Of::Recover, &["recoveryAddress"], 2, Adopted, Some("wallet.recovered")),
            Self::Reinstate => row(Of::Reinstate, &["reinstateAddress"], 2, Adopted, Some("wallet.reinstated")),
            Self::Redeem => row(Of::Redeem, &["redeem"], 2, Adopted, None),
            Self::ReleaseLock => row(Of::ReleaseLock, &["releaseLock"], 2, Adopted, None),
            Self::Pause => row(Of::Pause, &["pause"], 1, Harmless, None),
            Self::Unpause => row(Of::Unpause, &["unpause"], 2, Harmless, None),
            Self::Pay => row(Of::Payout, &["payout"], 1, Adopted, PAID),
            Self::PayBatch => row(Of::Payout, &["batchPayout"], 1, Adopted, PAID),
            Self::Escrow => row(
                Of::DistributorPayout,
                &["createDistribution", "payoutForDistribution", "payoutForDistribution"],
                1,
                Adopted,
                PAID,
            ),
            Self::Audit => {
                row(Of::AuditDeclaration, &["declareAudit"], 1, Harmless, Some("distribution.audit_declared"))
            }
        }
    }
}

#[test]
fn every_kind_of_operation_has_a_row() {
    for kind in operation::Kind::ALL {
        assert!(ALL.iter().any(|row| row.facts().of == *kind), "no row makes a {kind}");
    }
}
