//! The compliance operations, one row each. A new kind needs a row here, a variant of [`Request`](super::Request) and one of
//! [`Call`](super::Call).

use muniment_domain::operation::Kind;

use super::rule::Rule::{self, *};

/// What distinguishes one compliance operation from the others.
#[derive(Debug)]
pub struct Row {
    /// The kind of operation.
    pub kind: Kind,
    /// The name of the request, and of the approval action.
    pub action: &'static str,
    /// The function of the token.
    pub function: &'static str,
    /// The key of the call's arguments in the operation's payload.
    pub arguments: &'static str,
    /// Whether it takes one person or two.
    pub people: People,
    /// Whether abandoning it takes one person or two.
    pub abandon: People,
    /// The subjects. Each of them has at most one unfinished operation of the token.
    pub subject: Subjects,
    /// The checks before the request is accepted, in this order.
    pub rules: &'static [Rule],
    /// The event about the wallet, written when the effect is final.
    pub event: Option<&'static str>,
}

/// How many people an operation takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum People {
    /// An operator alone: the operation protects, and speed counts.
    One,
    /// A requester and an approver: the operation releases or moves units.
    Two,
}

/// The subjects of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subjects {
    /// The holder.
    Holder,
    /// The holder, and the recipient beside it.
    HolderAndRecipient,
    /// The partition.
    Partition,
    /// The token.
    Token,
}

/// Stops an address from sending, receiving, being minted to and being paid.
pub static FREEZE: Row = Row {
    kind: Kind::Freeze,
    action: "freeze",
    function: "freezeAddress",
    arguments: "freeze",
    people: People::One,
    abandon: People::One,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, OnlyFailedOperations],
    event: Some("wallet.frozen"),
};

/// Ends a freeze.
pub static UNFREEZE: Row = Row {
    kind: Kind::Unfreeze,
    action: "unfreeze",
    function: "unFreeze",
    arguments: "unfreeze",
    people: People::Two,
    abandon: People::One,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, HolderNotRecovered, NoOperationInProgress],
    event: Some("wallet.unfrozen"),
};

/// Keeps units of a holder from moving until a time.
pub static LOCK: Row = Row {
    kind: Kind::Lock,
    action: "lock",
    function: "lockTokens",
    arguments: "lock",
    people: People::One,
    abandon: People::One,
    subject: Subjects::Holder,
    rules: &[
        HolderAllowed,
        PartitionExists,
        QuantityValid,
        ReleaseTimeValid,
        NoOperationInProgress,
        UnlockedBalanceSuffices,
    ],
    event: None,
};

/// Removes expired locks of a holder from the token's storage.
pub static UNLOCK: Row = Row {
    kind: Kind::Unlock,
    action: "unlock",
    function: "unlockToken",
    arguments: "unlock",
    people: People::Two,
    abandon: People::One,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, PartitionExists, NoOperationInProgress],
    event: None,
};

/// Stops the voluntary transfers of a partition.
pub static RESTRICT: Row = Row {
    kind: Kind::RestrictPartition,
    action: "restrict",
    function: "restrictTransfer",
    arguments: "restrict",
    people: People::One,
    abandon: People::One,
    subject: Subjects::Partition,
    rules: &[PartitionExists, NoOperationInProgress],
    event: None,
};

/// Allows the voluntary transfers of a partition again.
pub static UNRESTRICT: Row = Row {
    kind: Kind::UnrestrictPartition,
    action: "unrestrict",
    function: "removeRestriction",
    arguments: "unrestrict",
    people: People::Two,
    abandon: People::One,
    subject: Subjects::Partition,
    rules: &[PartitionExists, NoOperationInProgress, PartitionRestricted],
    event: None,
};

/// Moves units of a frozen holder to another address, past locks and restrictions.
pub static FORCE_TRANSFER: Row = Row {
    kind: Kind::ForceTransfer,
    action: "force_transfer",
    function: "forceTransfer",
    arguments: "force_transfer",
    people: People::Two,
    abandon: People::Two,
    subject: Subjects::Holder,
    rules: &[
        HolderAllowed,
        RecipientAllowed,
        RecipientDiffers,
        PartitionExists,
        QuantityValid,
        NoOperationInProgress,
        HolderFrozen,
        RecipientNotFrozen,
        BalanceSuffices,
    ],
    event: None,
};

/// Moves everything of a lost wallet, locks and a freeze included, to another wallet of the same investor.
pub static RECOVER: Row = Row {
    kind: Kind::Recover,
    action: "recover",
    function: "recoveryAddress",
    arguments: "recovery",
    people: People::Two,
    abandon: People::Two,
    subject: Subjects::HolderAndRecipient,
    rules: &[HolderAllowed, RecipientAllowed, NoOperationInProgress, HolderNotRecovered, RecipientNotRecovered],
    event: Some("wallet.recovered"),
};

/// Takes the retirement of a recovered wallet back. It stays frozen, and units stay where they are.
pub static REINSTATE: Row = Row {
    kind: Kind::Reinstate,
    action: "reinstate",
    function: "reinstateAddress",
    arguments: "reinstate",
    people: People::Two,
    abandon: People::Two,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, NoOperationInProgress, HolderRecovered],
    event: Some("wallet.reinstated"),
};

/// Burns units of a holder: a redemption, a buy-back or a mint by mistake.
pub static REDEEM: Row = Row {
    kind: Kind::Redeem,
    action: "redeem",
    function: "redeem",
    arguments: "redeem",
    people: People::Two,
    abandon: People::Two,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, PartitionExists, QuantityValid, NoOperationInProgress, BalanceSuffices],
    event: None,
};

/// Frees locked units of a holder before their time.
pub static RELEASE_LOCK: Row = Row {
    kind: Kind::ReleaseLock,
    action: "release_lock",
    function: "releaseLock",
    arguments: "release_lock",
    people: People::Two,
    abandon: People::One,
    subject: Subjects::Holder,
    rules: &[HolderAllowed, PartitionExists, QuantityValid, ReleaseEarlier, NoOperationInProgress, LockSuffices],
    event: None,
};

/// Stops voluntary transfers, redemptions by holders and mints of a token.
pub static PAUSE: Row = Row {
    kind: Kind::Pause,
    action: "pause",
    function: "pause",
    arguments: "pause",
    people: People::One,
    abandon: People::One,
    subject: Subjects::Token,
    rules: &[OnlyFailedOperations],
    event: None,
};

/// Ends the pause of a token.
pub static UNPAUSE: Row = Row {
    kind: Kind::Unpause,
    action: "unpause",
    function: "unpause",
    arguments: "unpause",
    people: People::Two,
    abandon: People::One,
    subject: Subjects::Token,
    rules: &[NoOperationInProgress, TokenPaused],
    event: None,
};

/// The row of a kind, if it is a compliance operation.
pub fn row(kind: Kind) -> Option<&'static Row> {
    match kind {
        Kind::Freeze => Some(&FREEZE),
        Kind::Unfreeze => Some(&UNFREEZE),
        Kind::Lock => Some(&LOCK),
        Kind::Unlock => Some(&UNLOCK),
        Kind::RestrictPartition => Some(&RESTRICT),
        Kind::UnrestrictPartition => Some(&UNRESTRICT),
        Kind::ForceTransfer => Some(&FORCE_TRANSFER),
        Kind::Recover => Some(&RECOVER),
        Kind::Reinstate => Some(&REINSTATE),
        Kind::Redeem => Some(&REDEEM),
        Kind::ReleaseLock => Some(&RELEASE_LOCK),
        Kind::Pause => Some(&PAUSE),
        Kind::Unpause => Some(&UNPAUSE),
        Kind::DeployToken | Kind::Mint | Kind::Payout | Kind::DistributorPayout | Kind::AuditDeclaration => None,
    }
}
