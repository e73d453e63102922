//! What can go wrong in the domain.

use crate::point::Point;

/// The domain's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why the domain did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database failed or is away.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The migrations could not be run.
    #[error("{0}")]
    Migration(String),
    /// Another process has the SQLite file open.
    #[error(
        "{path} is in use by another muniment process. SQLite serves one process at a time: stop the other process, or use PostgreSQL."
    )]
    FileInUse {
        /// The SQLite file.
        path: String,
    },
    /// Somebody else moved the row since it was read. Read again and decide again.
    #[error("{what} {id} was moved by somebody else meanwhile")]
    Stale {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// The rules say no. The code is part of the public contract.
    #[error("{detail}")]
    Refused {
        /// The stable code.
        code: Code,
        /// A sentence for a person.
        detail: String,
    },
    /// The state does not allow the move. Its code is `invalid_state`.
    #[error("{detail}")]
    Illegal {
        /// A sentence for a person.
        detail: String,
        /// The state.
        current: &'static str,
        /// The moves that it allows.
        allowed: Vec<&'static str>,
    },
    /// A field of the request does not fit what the platform holds.
    #[error("{detail}")]
    Field {
        /// Where it is: a JSON pointer.
        pointer: &'static str,
        /// A stable code of its own.
        code: &'static str,
        /// A sentence for a person.
        detail: String,
        /// What a program needs to put it right, such as the limit.
        params: Option<Box<serde_json::Value>>,
    },
    /// A row holds what this program never writes.
    #[error("{what} {id} cannot be read: {why}")]
    Unreadable {
        /// The noun.
        what: &'static str,
        /// Its id.
        id: String,
        /// What is wrong with it.
        why: String,
    },
    /// A test ended the move here, as a crash would.
    #[error("crashed at {0:?}, as the test asked")]
    Crashed(Point),
}

impl Error {
    /// A refusal with its code and a sentence.
    pub fn refused(code: Code, detail: impl Into<String>) -> Self {
        Self::Refused { code, detail: detail.into() }
    }

    /// A field that does not fit.
    pub fn field(pointer: &'static str, code: &'static str, detail: impl Into<String>) -> Self {
        Self::Field { pointer, code, detail: detail.into(), params: None }
    }

    /// Names, for a program, what would have fitted the field.
    #[must_use]
    pub fn with_params(mut self, named: serde_json::Value) -> Self {
        if let Self::Field { params, .. } = &mut self {
            *params = Some(Box::new(named));
        }
        self
    }

    /// A move that the state does not allow, with those that it does.
    pub fn illegal(detail: impl Into<String>, current: &'static str, allowed: Vec<&'static str>) -> Self {
        Self::Illegal { detail: detail.into(), current, allowed }
    }

    /// The code and the sentence, if the rules said no, whether to the request or to one field of it.
    pub fn refusal(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Refused { code, detail } => Some((code.as_str(), detail)),
            Self::Illegal { detail, .. } => Some((Code::InvalidState.as_str(), detail)),
            Self::Field { code, detail, .. } => Some((code, detail)),
            _ => None,
        }
    }

    /// Whether it is about what the rows hold that were to be changed, and not about the database or about who moved them meanwhile.
    pub fn is_of_rows(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::Refused { .. } | Self::Illegal { .. } | Self::Field { .. } => true,
            Self::Database(sqlx::Error::Database(e)) => {
                e.is_unique_violation() || e.is_foreign_key_violation() || e.is_check_violation()
            }
            Self::Database(_) => !self.is_outage(),
            Self::Migration(_) | Self::FileInUse { .. } | Self::Stale { .. } | Self::Crashed(_) => false,
        }
    }

    /// Whether waiting may help: the database is away or busy.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::RowNotFound | sqlx::Error::ColumnDecode { .. }) => false,
            // Of what the database says itself: a value that it cannot keep, a broken constraint and a wrong statement stay what they are.
            Self::Database(sqlx::Error::Database(said)) => {
                said.kind() == sqlx::error::ErrorKind::Other
                    && !said.code().is_some_and(|code| code.len() == 5 && ["22", "42"].contains(&&code[..2]))
            }
            Self::Database(_) => true,
            _ => false,
        }
    }
}

/// A word that is not of the list.
#[derive(Debug, thiserror::Error)]
#[error("{word:?} is no {kind}")]
pub struct UnknownWord {
    /// The enum.
    pub kind: &'static str,
    /// What was found.
    pub word: String,
}

crate::words! {
    /// The stable codes of refusals; `ops/runbooks` has a page for each that an operator may meet.
    Code {
        /// No such thing, or not yours.
        NotFound = "not_found",
        /// A field does not fit.
        ValidationFailed = "validation_failed",
        /// The state does not allow it.
        InvalidState = "invalid_state",
        /// The offering has its token.
        TokenAlreadyDeployed = "token_already_deployed",
        /// Something else is under way on it.
        OperationInProgress = "operation_in_progress",
        /// No subscription can be minted now.
        NothingToMint = "nothing_to_mint",
        /// The offering takes no subscriptions now.
        OfferingNotOpen = "offering_not_open",
        /// The investor has subscribed before, and may do so once.
        DuplicateSubscription = "duplicate_subscription",
        /// Whoever was just warned of the risk has to think about it first.
        CoolingOffActive = "cooling_off_active",
        /// The time to withdraw is over.
        CoolingOffElapsed = "cooling_off_elapsed",
        /// The address is another investor's wallet.
        WalletInUse = "wallet_in_use",
        /// Nobody can be paid now.
        NothingToPay = "nothing_to_pay",
        /// The payer has not what the payout takes.
        PayerUnfunded = "payer_unfunded",
        /// The coin is none that the platform pays in.
        PayoutTokenUnknown = "payout_token_unknown",
        /// The wallet belongs to nobody that the platform knows.
        WalletRequired = "wallet_required",
        /// The chain is not configured here.
        UnknownChain = "unknown_chain",
        /// A contract of the platform is not known on that chain.
        ContractMissing = "contract_missing",
        /// The key came with another request.
        IdempotencyKeyReuse = "idempotency_key_reuse",
        /// The key had its effect long ago.
        IdempotencyKeySpent = "idempotency_key_spent",
        /// A signed transaction may still be mined.
        NonceStillOpen = "nonce_still_open",
        /// Value has moved: the rest must be finished.
        PartialEffect = "partial_effect",
        /// The transaction succeeded without the effect that it should have had.
        EffectMismatch = "effect_mismatch",
        /// A hash does not prove the effect.
        ReconcileVerificationFailed = "reconcile_verification_failed",
        /// The fee is at its cap: a replacement could not offer more.
        FeeCapReached = "fee_cap_reached",
        /// The chain contradicts itself and was stopped.
        ChainHalted = "chain_halted",
        /// An approval was decided before.
        ApprovalNotPending = "approval_not_pending",
        /// The one who asked cannot be the one who allows.
        SelfApprovalForbidden = "self_approval_forbidden",
        /// What was allowed is not what stands there now.
        SnapshotMismatch = "snapshot_mismatch",
        /// Somebody moved it since it was read.
        VersionConflict = "version_conflict",
        /// Nobody knows what the caller saw.
        PreconditionRequired = "precondition_required",
        /// The role does not allow it.
        RoleForbidden = "role_forbidden",
        /// The chain cannot be asked now.
        ChainUnavailable = "chain_unavailable",
        /// The chain executed calls of our key that this database does not know.
        UnknownCalls = "unknown_calls",
        /// A key or token is unknown, expired or revoked.
        TokenInvalid = "token_invalid",
        /// The session was ended, or ran out.
        SessionRevoked = "session_revoked",
        /// An admin shut the person out.
        AccountDisabled = "account_disabled",
        /// Somebody has this e-mail address.
        EmailTaken = "email_taken",
    }
}
