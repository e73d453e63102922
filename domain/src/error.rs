//! Errors of the domain.

use chrono::{DateTime, Utc};

use crate::point::Point;

/// The result type of the domain.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the domain.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database failed or is unavailable.
    #[error("the database failed: {0}")]
    Database(#[from] sqlx::Error),
    /// The migrations failed, or the database cannot be used by this process.
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
    /// A part of a worker process ended that must not end.
    #[error("{0}")]
    Worker(String),
    /// The row has changed since it was read. The caller must read it again and decide again.
    #[error("{what} {id} was changed by another request")]
    Stale {
        /// The kind of row.
        what: &'static str,
        /// Its id.
        id: String,
    },
    /// A rule refuses the request. The code is part of the public API.
    #[error("{detail}")]
    Refused {
        /// The stable code.
        code: Code,
        /// A sentence for the user.
        detail: String,
    },
    /// The status does not allow the move. The code is `invalid_state`.
    #[error("{detail}")]
    Illegal {
        /// A sentence for the user.
        detail: String,
        /// The present status.
        current: &'static str,
        /// The requests that the status allows.
        allowed: Vec<&'static str>,
        /// From when the same request is allowed, if only time is missing.
        until: Option<DateTime<Utc>>,
    },
    /// A field of the request is invalid.
    #[error("{detail}")]
    Field {
        /// JSON pointer to the field.
        pointer: &'static str,
        /// A stable code for the field.
        code: &'static str,
        /// A sentence for the user.
        detail: String,
        /// Machine-readable parameters, such as a limit.
        params: Option<Box<serde_json::Value>>,
        /// The other invalid fields of the same request.
        others: Vec<Self>,
    },
    /// A stored row has a value that this program never writes.
    #[error("{what} {id} cannot be read: {why}")]
    Unreadable {
        /// The kind of row.
        what: &'static str,
        /// Its id.
        id: String,
        /// What is wrong.
        why: String,
    },
    /// A test ended the process here, as a crash would.
    #[error("crashed at {0:?} for a test")]
    Crashed(Point),
}

impl Error {
    /// A refusal with its code and a sentence for the user.
    pub fn refused(code: Code, detail: impl Into<String>) -> Self {
        Self::Refused { code, detail: detail.into() }
    }

    /// An invalid field.
    pub fn field(pointer: &'static str, code: &'static str, detail: impl Into<String>) -> Self {
        Self::Field { pointer, code, detail: detail.into(), params: None, others: Vec::new() }
    }

    /// Adds machine-readable parameters to an invalid field.
    #[must_use]
    pub fn with_params(mut self, named: serde_json::Value) -> Self {
        if let Self::Field { params, .. } = &mut self {
            *params = Some(Box::new(named));
        }
        self
    }

    /// Every invalid field in one error, so that the caller can correct all of them at once. Another refusal comes first.
    pub fn all(checks: impl IntoIterator<Item = Result<()>>) -> Result<()> {
        let mut invalid = Vec::new();
        for error in checks.into_iter().filter_map(Result::err) {
            let Self::Field { pointer, code, detail, params, others } = error else { return Err(error) };
            invalid.push(Self::Field { pointer, code, detail, params, others: Vec::new() });
            invalid.extend(others);
        }
        if invalid.is_empty() {
            return Ok(());
        }
        let mut first = invalid.remove(0);
        if let Self::Field { others, .. } = &mut first {
            others.append(&mut invalid);
        }
        Err(first)
    }

    /// A request that the status does not allow, with the requests that it does allow.
    pub fn illegal(detail: impl Into<String>, current: &'static str, allowed: Vec<&'static str>) -> Self {
        Self::Illegal { detail: detail.into(), current, allowed, until: None }
    }

    /// A move that the status does not allow.
    pub fn illegal_move(noun: &str, current: &'static str, by: &str, allowed: Vec<&'static str>) -> Self {
        let requests = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
        Self::illegal(format!("The {noun} is {current}; {by} is not allowed. Allowed: {requests}."), current, allowed)
    }

    /// Adds the time from which the same request is allowed.
    #[must_use]
    pub fn with_until(mut self, at: DateTime<Utc>) -> Self {
        if let Self::Illegal { until, .. } = &mut self {
            *until = Some(at);
        }
        self
    }

    /// The code and the sentence, if a rule refused the request or one of its fields.
    pub fn refusal(&self) -> Option<(&'static str, &str)> {
        match self {
            Self::Refused { code, detail } => Some((code.as_str(), detail)),
            Self::Illegal { detail, .. } => Some((Code::InvalidState.as_str(), detail)),
            Self::Field { code, detail, .. } => Some((code, detail)),
            _ => None,
        }
    }

    /// Whether the database cannot be reached now. A wrong password or name is no outage.
    pub fn is_away(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::Io(_) | sqlx::Error::PoolTimedOut) => true,
            // A connection that ends before the answer to the request for TLS: the driver reads the end as a zero.
            Self::Database(sqlx::Error::Protocol(why)) => why.contains("SSLRequest: 0x00"),
            // The server starts, stops, or has no place for another connection.
            Self::Database(sqlx::Error::Database(e)) => {
                matches!(e.code().as_deref(), Some("57P01" | "57P02" | "57P03" | "53300" | "08006" | "08001"))
            }
            _ => false,
        }
    }

    /// Whether the cause is the content of the rows to be changed. False for database failures and parallel changes.
    pub fn is_row_error(&self) -> bool {
        match self {
            Self::Unreadable { .. } | Self::Refused { .. } | Self::Illegal { .. } | Self::Field { .. } => true,
            Self::Database(sqlx::Error::Database(e)) => {
                e.is_unique_violation() || e.is_foreign_key_violation() || e.is_check_violation()
            }
            Self::Database(_) => !self.is_outage(),
            Self::Migration(_) | Self::FileInUse { .. } | Self::Worker(_) | Self::Stale { .. } | Self::Crashed(_) => {
                false
            }
        }
    }

    /// Whether a retry can help, because the database is unavailable or busy.
    pub fn is_outage(&self) -> bool {
        match self {
            Self::Database(sqlx::Error::RowNotFound | sqlx::Error::ColumnDecode { .. }) => false,
            // Invalid values (class 22), invalid statements (class 42) and violated constraints do not go away with a retry.
            Self::Database(sqlx::Error::Database(said)) => {
                said.kind() == sqlx::error::ErrorKind::Other
                    && !said.code().is_some_and(|code| code.len() == 5 && ["22", "42"].contains(&&code[..2]))
            }
            Self::Database(_) => true,
            _ => false,
        }
    }
}

/// A word that is not in its enum.
#[derive(Debug, thiserror::Error)]
#[error("{word:?} is not a valid {kind}")]
pub struct UnknownWord {
    /// Name of the enum.
    pub kind: &'static str,
    /// The unknown word.
    pub word: String,
}

crate::words! {
    /// The stable codes of refusals. `ops/runbooks` has a page for each code that an operator can meet.
    Code {
        /// It does not exist, or the caller may not see it.
        NotFound = "not_found",
        /// A field is invalid.
        ValidationFailed = "validation_failed",
        /// The status does not allow the request.
        InvalidState = "invalid_state",
        /// The offering already has a token.
        TokenAlreadyDeployed = "token_already_deployed",
        /// Another operation on the same subject is not finished.
        OperationInProgress = "operation_in_progress",
        /// No subscription can be minted now.
        NothingToMint = "nothing_to_mint",
        /// The offering is not open for subscriptions.
        OfferingNotOpen = "offering_not_open",
        /// The investor already has a subscription, and one is allowed.
        DuplicateSubscription = "duplicate_subscription",
        /// The time to think after the first risk warning is not over.
        CoolingOffActive = "cooling_off_active",
        /// The cooling-off period is over.
        CoolingOffElapsed = "cooling_off_elapsed",
        /// The address is the wallet of another investor.
        WalletInUse = "wallet_in_use",
        /// No entitlement can be paid now.
        NothingToPay = "nothing_to_pay",
        /// The payer's balance is too low for the payout.
        PayerUnfunded = "payer_unfunded",
        /// The platform does not pay in this coin.
        PayoutTokenUnknown = "payout_token_unknown",
        /// The wallet belongs to no known investor.
        WalletRequired = "wallet_required",
        /// The chain is not configured.
        UnknownChain = "unknown_chain",
        /// The platform knows no such contract on this chain.
        ContractMissing = "contract_missing",
        /// The idempotency key was used with another request.
        IdempotencyKeyReuse = "idempotency_key_reuse",
        /// The idempotency key had its effect, and the stored answer has expired.
        IdempotencyKeySpent = "idempotency_key_spent",
        /// A signed transaction can still be included.
        NonceStillOpen = "nonce_still_open",
        /// Some steps have moved value, so the operation must be finished.
        PartialEffect = "partial_effect",
        /// The transaction succeeded without its expected effect.
        EffectMismatch = "effect_mismatch",
        /// The transaction does not prove the effect.
        ReconcileVerificationFailed = "reconcile_verification_failed",
        /// The fee is at its cap, so no replacement can offer more.
        FeeCapReached = "fee_cap_reached",
        /// The chain contradicted itself and is halted.
        ChainHalted = "chain_halted",
        /// The approval is already decided.
        ApprovalNotPending = "approval_not_pending",
        /// The requester of an approval cannot be its approver.
        SelfApprovalForbidden = "self_approval_forbidden",
        /// The subject has changed since the approval was requested.
        SnapshotMismatch = "snapshot_mismatch",
        /// The row has changed since it was read.
        VersionConflict = "version_conflict",
        /// The request does not say which version it changes.
        PreconditionRequired = "precondition_required",
        /// The caller's role does not allow the request.
        RoleForbidden = "role_forbidden",
        /// The chain cannot be read now.
        ChainUnavailable = "chain_unavailable",
        /// The chain executed calls of our signer that this database does not know.
        UnknownCalls = "unknown_calls",
        /// The API key or token is unknown, expired or revoked.
        TokenInvalid = "token_invalid",
        /// The session was ended or has expired.
        SessionRevoked = "session_revoked",
        /// An admin disabled the account.
        AccountDisabled = "account_disabled",
        /// The e-mail address already has an account.
        EmailTaken = "email_taken",
    }
}

#[cfg(test)]
mod tests {
    use crate::clock::Clock;
    use crate::db::Db;
    use crate::id::Ids;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// Whether a server that gives this answer to the request for TLS, and ends the connection, counts as away.
    async fn is_away_after(answer: &'static [u8]) -> bool {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("postgres://nobody@{}/none", server.local_addr().unwrap());
        let answering = tokio::spawn(async move {
            loop {
                let (mut stream, _) = server.accept().await.unwrap();
                let mut request = [0; 8];
                stream.read_exact(&mut request).await.unwrap();
                stream.write_all(answer).await.unwrap();
            }
        });
        let opened = Db::open(&url, 1, Clock::System, Ids::Random).await;
        answering.abort();
        opened.expect_err("it is no database").is_away()
    }

    #[tokio::test]
    async fn a_connection_that_is_cut_while_it_begins_is_an_outage_and_another_server_is_none() {
        assert!(is_away_after(b"").await);
        assert!(!is_away_after(b"HTTP").await);
    }
}
