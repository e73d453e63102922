//! Every code that an answer may carry, with its status and its title: the one table.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

macro_rules! codes {
    ($($name:ident = $word:literal, $status:literal, $title:literal;)+) => {
        /// The stable part of a problem. Clients decide by it; titles and details are for people.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $title] $name),+ }

        impl Code {
            /// Every code, by status.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The word in the answer.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),+ }
            }

            /// A constant sentence for the code.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }
        }
    };
}

codes! {
    MalformedJson = "malformed_json", 400, "The body is not JSON";
    InvalidParameter = "invalid_parameter", 400, "A query parameter does not fit";
    UnknownParameter = "unknown_parameter", 400, "A query parameter is not known";
    InvalidHeader = "invalid_header", 400, "A header does not fit";
    IdempotencyKeyInvalid = "idempotency_key_invalid", 400, "The Idempotency-Key does not fit";
    IdempotencyKeyRequired = "idempotency_key_required", 400, "An Idempotency-Key is needed";
    TokenMissing = "token_missing", 401, "A bearer token is needed";
    TokenInvalid = "token_invalid", 401, "The bearer token is not valid";
    TokenExpired = "token_expired", 401, "The access token has expired";
    SessionRevoked = "session_revoked", 401, "The session has ended";
    InvalidCredentials = "invalid_credentials", 401, "E-mail address and password do not fit";
    MfaInvalid = "mfa_invalid", 401, "The code is not valid";
    RefreshTokenInvalid = "refresh_token_invalid", 401, "The refresh token is not valid";
    RefreshTokenReused = "refresh_token_reused", 401, "The refresh token was used before";
    RoleForbidden = "role_forbidden", 403, "The role does not allow this";
    ScopeInsufficient = "scope_insufficient", 403, "The key lacks a scope";
    SelfApprovalForbidden = "self_approval_forbidden", 403, "Another person has to decide";
    Forbidden = "forbidden", 403, "This is not allowed here";
    CsrfTokenMissing = "csrf_token_missing", 403, "A CSRF token is needed";
    CsrfTokenInvalid = "csrf_token_invalid", 403, "The CSRF token is not this session's";
    CsrfTokenExpired = "csrf_token_expired", 403, "The CSRF token has expired";
    StepUpRequired = "step_up_required", 403, "The person must show again who they are";
    EmailNotVerified = "email_not_verified", 403, "The e-mail address is not proved";
    AccountDisabled = "account_disabled", 403, "The account is disabled";
    IpNotAllowed = "ip_not_allowed", 403, "The key is not for this network";
    NotFound = "not_found", 404, "There is no such thing";
    MethodNotAllowed = "method_not_allowed", 405, "The path does not know this method";
    NotAcceptable = "not_acceptable", 406, "The caller takes nothing that is given here";
    InvalidState = "invalid_state", 409, "The state does not allow this";
    TokenAlreadyDeployed = "token_already_deployed", 409, "The offering has its token";
    OperationInProgress = "operation_in_progress", 409, "An operation on this is not finished";
    NothingToMint = "nothing_to_mint", 409, "No subscription can be minted now";
    OfferingNotOpen = "offering_not_open", 409, "The offering takes no subscriptions now";
    DuplicateSubscription = "duplicate_subscription", 409, "The investor has subscribed before";
    CoolingOffActive = "cooling_off_active", 409, "There has to be time to think first";
    CoolingOffElapsed = "cooling_off_elapsed", 409, "The time to withdraw is over";
    WalletInUse = "wallet_in_use", 409, "The wallet belongs to another investor";
    NothingToPay = "nothing_to_pay", 409, "Nobody can be paid now";
    PayerUnfunded = "payer_unfunded", 409, "The payer has not what the payout takes";
    PayoutTokenUnknown = "payout_token_unknown", 409, "The coin is none that the platform pays in";
    UnknownChain = "unknown_chain", 409, "The chain is not configured";
    ContractMissing = "contract_missing", 409, "A contract of the platform is missing";
    ChainHalted = "chain_halted", 409, "The chain was stopped";
    NonceStillOpen = "nonce_still_open", 409, "A signed transaction may still be mined";
    PartialEffect = "partial_effect", 409, "Part of the effect is final";
    EffectMismatch = "effect_mismatch", 409, "The transaction had another effect";
    ApprovalNotPending = "approval_not_pending", 409, "The approval was decided";
    SnapshotMismatch = "snapshot_mismatch", 409, "What was allowed is not what stands there now";
    UnknownCalls = "unknown_calls", 409, "The chain executed calls that are not known here";
    FeeCapReached = "fee_cap_reached", 409, "The fee is at its cap";
    EmailTaken = "email_taken", 409, "The e-mail address has an account";
    IdempotencyInProgress = "idempotency_in_progress", 409, "A request with this key is being answered";
    IdempotencyKeySpent = "idempotency_key_spent", 409, "The key had its effect before";
    VersionConflict = "version_conflict", 412, "It was changed since it was read";
    PayloadTooLarge = "payload_too_large", 413, "The body is too large";
    UriTooLong = "uri_too_long", 414, "The path with its query is too long";
    UnsupportedMediaType = "unsupported_media_type", 415, "The body must be application/json";
    ValidationFailed = "validation_failed", 422, "A field does not fit";
    WalletRequired = "wallet_required", 422, "The wallet belongs to nobody that is known";
    IdempotencyKeyReuse = "idempotency_key_reuse", 422, "The key came with another request before";
    ReconcileVerificationFailed = "reconcile_verification_failed", 422, "The hash does not prove the effect";
    PreconditionRequired = "precondition_required", 428, "The header If-Match is needed";
    RateLimited = "rate_limited", 429, "Too many requests";
    LoginThrottled = "login_throttled", 429, "Too many failed attempts";
    HeadTooLarge = "head_too_large", 431, "The headers are too large";
    InternalError = "internal_error", 500, "Something went wrong on our side";
    ServiceUnavailable = "service_unavailable", 503, "The service cannot answer now";
    ChainUnavailable = "chain_unavailable", 503, "The chain cannot be asked now";
    ChainTimeout = "chain_timeout", 504, "The chain did not answer in time";
}

impl Code {
    /// Whether the very same request may succeed later.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::IdempotencyInProgress
                | Self::OperationInProgress
                | Self::NonceStillOpen
                | Self::CoolingOffActive
                | Self::PayerUnfunded
                | Self::RateLimited
                | Self::LoginThrottled
                | Self::ServiceUnavailable
                | Self::ChainUnavailable
                | Self::ChainTimeout
                | Self::InternalError
        )
    }

    /// The code for a word of the domain; a test proves that each has one.
    pub fn of_domain(code: muniment_domain::Code) -> Self {
        Self::ALL.iter().copied().find(|c| c.as_str() == code.as_str()).unwrap_or(Self::InternalError)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl PartialSchema for Code {
    fn schema() -> RefOr<Schema> {
        muniment_domain::schema::words(Self::ALL.iter().map(|code| code.as_str()))
    }
}

impl ToSchema for Code {
    fn name() -> Cow<'static, str> {
        "Code".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_of_the_domain_has_its_status() {
        for code in muniment_domain::Code::ALL {
            assert_eq!(Code::of_domain(*code).as_str(), code.as_str(), "add it to the table");
        }
    }

    #[test]
    fn the_table_stands_in_the_order_of_the_statuses_and_names_each_code_once() {
        let words: std::collections::BTreeSet<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|c| c.status()));
    }
}
