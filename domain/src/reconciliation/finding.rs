//! What a reconciliation run finds.

use crate::words;

words! {
    /// The kind of a finding.
    FindingKind {
        /// A payment with a receipt has no transfer on the chain.
        PayoutMissing = "payout_missing",
        /// The payments of a distribution moved another sum than its receipts.
        PayoutTotal = "payout_total",
        /// Confirmed here, and not executed on the chain.
        ConfirmedNotExecuted = "confirmed_not_executed",
        /// Executed on the chain, and not confirmed here.
        ExecutedNotConfirmed = "executed_not_confirmed",
        /// A signer has no role.
        AgentMissing = "agent_missing",
        /// A signer lacks some roles, or an offering has no signer.
        RoleMissing = "role_missing",
        /// An account that is no signer has roles.
        AgentUnknown = "agent_unknown",
        /// A balance differs.
        Balance = "balance",
        /// The locked units of a wallet differ.
        Locked = "locked",
        /// The reserved amount of an offering differs from its subscriptions.
        CommittedTotal = "committed_total",
        /// The supply of a partition differs.
        Supply = "supply",
        /// A partition is restricted on one side only.
        Restriction = "restriction",
        /// The token is paused on one side only.
        Pause = "pause",
        /// A wallet is frozen on one side only.
        Freeze = "freeze",
        /// The chain executed an operation that was never accepted here.
        UnknownOperation = "unknown_operation",
        /// Another call used the number of an operation.
        OpIdConflict = "op_id_conflict",
    }
}

words! {
    /// The severity of a finding.
    Severity {
        /// Units or calls that the platform does not know of.
        Critical = "critical",
        /// Nothing is lost, but the platform shows wrong data.
        Warning = "warning",
    }
}

/// A difference between chain and database.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Finding {
    pub kind: FindingKind,
    pub severity: Severity,
    /// The wallet, partition or operation concerned.
    pub subject: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub suggested_action: &'static str,
}

/// One row of `reconciliation_findings`.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
#[allow(missing_docs)]
pub struct StoredFinding {
    #[serde(skip)]
    pub position: i64,
    pub kind: FindingKind,
    pub severity: Severity,
    pub subject: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub suggested_action: String,
}
