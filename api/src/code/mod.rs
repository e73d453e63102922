//! Every code of a problem: its status, its title and its explanation. `GET /errors/{code}` serves the explanation.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

use self::explanation::{Explanation, explanation};

pub mod eligibility;
pub mod explanation;
pub mod field;
pub mod reason;

macro_rules! codes {
    ($($name:ident = $word:literal, $status:literal, $title:literal [$($text:tt)+];)+) => {
        /// The stable code of a problem. Programs decide by it; titles and details are for people.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $title] $name),+ }

        impl Code {
            /// Every code, in the order of the statuses.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The code in the answer.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word),+ }
            }

            /// The HTTP status.
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status),+ }
            }

            /// The title, which is the same in every answer.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }

            /// What happened and what to do: the page of the code.
            pub const fn explanation(self) -> Explanation {
                match self { $(Self::$name => explanation!($word, $($text)+)),+ }
            }
        }
    };
}

// A row holds what happened and what to do, and a third sentence where the request changed something after all.
// `page` stands for a page of several steps in `ops/runbooks`.
codes! {
    MalformedJson = "malformed_json", 400, "The body is not valid JSON" [
        "The request body could not be parsed as JSON.",
        "Correct the body. `errors` in the answer names the position."
    ];
    InvalidParameter = "invalid_parameter", 400, "A query parameter is invalid" [
        "The value of a query parameter is out of range or has the wrong form.",
        "Correct the parameter. `detail` names it and says what is allowed."
    ];
    UnknownParameter = "unknown_parameter", 400, "A query parameter is unknown" [
        "The path does not take this query parameter.",
        "Remove the parameter. `detail` lists the parameters of the path."
    ];
    InvalidHeader = "invalid_header", 400, "A header is invalid" [
        "The value of a request header has the wrong form.",
        "Correct the header. `detail` names it."
    ];
    IdempotencyKeyInvalid = "idempotency_key_invalid", 400, "The Idempotency-Key is invalid" [
        "An `Idempotency-Key` must have 1 to 255 visible ASCII characters.",
        "Send a new UUID with each new request."
    ];
    IdempotencyKeyRequired = "idempotency_key_required", 400, "An Idempotency-Key is required" [
        "A request by API key that moves money or changes a chain must carry the header `Idempotency-Key`: \
         `/blockchain` and distribution requests, subscribe, payments and refunds.",
        "Send a new key with each new request, and the same key when you repeat a request."
    ];
    TokenMissing = "token_missing", 401, "A bearer token is required" [
        "The request has no header `Authorization: Bearer …`.",
        "Send an access token or an API key."
    ];
    TokenInvalid = "token_invalid", 401, "The bearer token is invalid" [
        "The token is unknown, expired or revoked.",
        "Log in again, or create a new API key with `muniment admin key create` or `POST /v1/api-keys`."
    ];
    TokenExpired = "token_expired", 401, "The access token has expired" [
        "An access token is valid for fifteen minutes. This one is older.",
        "Get new tokens with `POST /v1/auth/refresh` and repeat the request."
    ];
    SessionRevoked = "session_revoked", 401, "The session has ended" [
        "The user logged out, the user or an admin ended the session, a new password or second factor replaced it, \
         or it expired.",
        "Log in again. If nobody ended it, read `revoke_reason` of the row in `sessions`; see also \
         `refresh_token_reused`."
    ];
    InvalidCredentials = "invalid_credentials", 401, "The e-mail address or the password is wrong" [
        "There is no account with this e-mail address, or the password is wrong. The answer does not say which, so \
         that nobody can test addresses.",
        "Try again, or set a new password with `POST /v1/auth/password/forgot`. Many failures from one address in \
         `login_attempts` mean that somebody guesses passwords; they are slowed down automatically."
    ];
    MfaInvalid = "mfa_invalid", 401, "The code is invalid" [
        "The six digits are wrong, expired or already used, or the `mfa_token` is older than five minutes.",
        "Wait for the next code and use it once. If codes never work, correct the clock of the phone or of the \
         server (`muniment doctor` checks it). If the phone is lost, send a recovery code in the same field."
    ];
    RefreshTokenInvalid = "refresh_token_invalid", 401, "The refresh token is invalid" [
        "The refresh token is unknown, or its session has ended.",
        "Log in again. If all users see this at once, the process runs with a different `auth.key_file` than before."
    ];
    RefreshTokenReused = "refresh_token_reused", 401, "The refresh token was already used" [
        "A refresh token was used a second time, so somebody may have copied it. The session was ended for everybody \
         who holds it, with the event `session.reuse_detected`.",
        "Log in again. Change the password if the device may be in other hands. A portal that keeps the old token \
         instead of the new one causes the same error.",
        "The session was ended. Nothing else was changed."
    ];
    RoleForbidden = "role_forbidden", 403, "Your role does not permit this" [
        "The user's role, or the role of the API key's owner, does not permit this request.",
        "Ask a person whose role permits it. The API document lists the roles of each request."
    ];
    ScopeInsufficient = "scope_insufficient", 403, "The API key lacks a scope" [
        "The API key does not have the scope that `detail` names.",
        "Create a key that has the scope."
    ];
    SelfApprovalForbidden = "self_approval_forbidden", 403, "Another person must decide" [page];
    Forbidden = "forbidden", 403, "This origin is not allowed" [
        "A web page from an origin that is not configured tried to log in or register a user.",
        "If the portal is yours, add its origin to `limits.origins` and restart."
    ];
    CsrfTokenMissing = "csrf_token_missing", 403, "A CSRF token is required" [
        "A session sent a change without the header `X-CSRF-Token`. API keys do not need it.",
        "Get the token with `GET /v1/csrf-token` and send it with every POST, PUT, PATCH and DELETE."
    ];
    CsrfTokenInvalid = "csrf_token_invalid", 403, "The CSRF token is invalid" [
        "The token belongs to another session or is not a CSRF token. Each login needs a new one.",
        "Get a new token with `GET /v1/csrf-token` and repeat the request."
    ];
    CsrfTokenExpired = "csrf_token_expired", 403, "The CSRF token has expired" [
        "A CSRF token is valid for one hour.",
        "Get a new token with `GET /v1/csrf-token` and repeat the request."
    ];
    StepUpRequired = "step_up_required", 403, "Confirm your identity first" [page];
    EmailNotVerified = "email_not_verified", 403, "The e-mail address is not verified" [
        "An unproved address owns nothing: wallets, second factors, API keys, webhook endpoints, subscriptions and invitations need a proved one.",
        "Follow the link in the verification mail. `POST /v1/auth/verify-email/resend` sends a new one. If no mail arrives, check \
         `mail.command` with `muniment doctor` and search the log for `mail was not sent`."
    ];
    AccountDisabled = "account_disabled", 403, "The account is disabled" [
        "An admin disabled the account. Its sessions, refresh tokens and API keys are refused.",
        "Ask an admin to enable it with `POST /v1/users/{id}/enable`."
    ];
    IpNotAllowed = "ip_not_allowed", 403, "The API key is not allowed from this network" [
        "The API key may be used only from the networks in its `allowed_cidrs`.",
        "Send the request from an allowed network, or rotate the key with another list. Behind a proxy, add the \
         proxy to `limits.trusted_proxies`; otherwise every request has the proxy's address."
    ];
    NotFound = "not_found", 404, "Not found" [
        "The path or the id is unknown, or you may not see the object.",
        "Check the path and the id."
    ];
    MethodNotAllowed = "method_not_allowed", 405, "The method is not allowed for this path" [
        "The path exists, but not for this method.",
        "Use a method from the header `Allow`."
    ];
    NotAcceptable = "not_acceptable", 406, "No acceptable media type" [
        "The header `Accept` excludes every media type that the path offers.",
        "Send `Accept: application/json`, or omit the header. Problems are sent as `application/problem+json` in any \
         case."
    ];
    BodyTimeout = "body_timeout", 408, "The body did not arrive in time" [
        "The server waits only some seconds for the whole body of a request.",
        "Send the request again. If the connection is slow, send less at once."
    ];
    InvalidState = "invalid_state", 409, "The current status does not allow this" [page];
    TokenAlreadyDeployed = "token_already_deployed", 409, "The offering already has a token" [
        "A token deployment of this offering is confirmed.",
        "Read `tokenDeployment` of `GET /v1/offerings/{id}`. It has the contract address."
    ];
    OperationInProgress = "operation_in_progress", 409, "Another operation is in progress" [
        "Another operation for the same subject is not finished.",
        "Read the operation that `resource` names. Wait for it, or retry, confirm or abandon it if it needs \
         attention."
    ];
    NothingToMint = "nothing_to_mint", 409, "No subscription can be minted now" [
        "Every subscription was skipped. `detail` counts the reasons and names a subscription for each.",
        "Accept subscriptions and verify wallets and identities, then mint again."
    ];
    OfferingNotOpen = "offering_not_open", 409, "The offering does not take subscriptions now" [
        "The offering is not published, paused, closed or past its end, or its issuer is suspended.",
        "Read `status` and `closes_at` of `GET /v1/offerings/{id}`. Open a paused offering again with `POST \
         /v1/offerings/{id}/resume`."
    ];
    DuplicateSubscription = "duplicate_subscription", 409, "The investor already has a subscription" [
        "The offering allows one active subscription for each investor, and this investor has one.",
        "Find it with `GET /v1/subscriptions?offering_id=…`. To change the amount, cancel it during its cooling-off \
         period and subscribe again."
    ];
    CoolingOffActive = "cooling_off_active", 409, "The reflection period is not over" [
        "The offering's legal exemption gives a first-time investor one day to think about the risk warning. The day \
         starts with the first request that confirmed the warning.",
        "Send the same request again after the time in `detail`. The event `investor.risk_warned` has the time of \
         the warning."
    ];
    CoolingOffElapsed = "cooling_off_elapsed", 409, "The cooling-off period is over" [
        "The investor tried to withdraw after `cooling_off_expires_at`. The subscription is binding.",
        "Tell the investor when the period ended. Until it is minted, an operator can cancel the subscription with a \
         reason: `POST /v1/subscriptions/{id}/cancel`."
    ];
    WalletInUse = "wallet_in_use", 409, "The wallet belongs to another investor" [
        "Another investor has verified this address, or a recovery to it is under way for another investor.",
        "Ask the investor for an address that was never used on the platform. If the recovery will not be finished, \
         abandon its operation; this frees the address."
    ];
    NothingToPay = "nothing_to_pay", 409, "No entitlement can be paid now" [page];
    PayerUnfunded = "payer_unfunded", 409, "The payer cannot fund the payout" [page];
    PayoutTokenUnknown = "payout_token_unknown", 409, "The payout token is not configured" [page];
    UnknownChain = "unknown_chain", 409, "The chain is not configured" [
        "An operation or an offering names a chain that the configuration does not contain.",
        "Add the chain under `[[chains]]` and restart."
    ];
    ContractMissing = "contract_missing", 409, "A platform contract is missing" [
        "The configuration has no factory for the offering's chain, or the token is unknown there.",
        "Set `factory` and `registry` under `[[chains]]`, restart, and check them with `muniment doctor`."
    ];
    ChainHalted = "chain_halted", 409, "The chain is halted" [page];
    NonceStillOpen = "nonce_still_open", 409, "A signed transaction may still be included" [page];
    PartialEffect = "partial_effect", 409, "Part of the operation has taken effect" [page];
    EffectMismatch = "effect_mismatch", 409, "The transaction did not have the expected effect" [page];
    ApprovalNotPending = "approval_not_pending", 409, "The approval is no longer pending" [
        "The approval was approved, rejected or cancelled, or it expired.",
        "Read the approval: its history says who decided and when. If the action is still needed, request it again."
    ];
    SnapshotMismatch = "snapshot_mismatch", 409, "The approved content has changed" [page];
    UnknownCalls = "unknown_calls", 409, "The chain has calls that the database does not know" [page];
    FeeCapReached = "fee_cap_reached", 409, "The fee is at its cap" [page];
    EmailTaken = "email_taken", 409, "An account with this e-mail address exists" [
        "Somebody registered with this e-mail address before.",
        "Log in, or set a new password with `POST /v1/auth/password/forgot`."
    ];
    IdempotencyInProgress = "idempotency_in_progress", 409, "A request with this Idempotency-Key is in progress" [
        "The same request arrived twice at the same time.",
        "Repeat the request after one second. You get the stored answer.",
        "The request takes effect once."
    ];
    IdempotencyKeySpent = "idempotency_key_spent", 409, "The Idempotency-Key has expired" [
        "The key was used before and its stored answer is deleted, but its effect remains: an operation, approval, \
         subscription or distribution.",
        "Read the object that `resource` names. Use a new key for a new request.",
        "The first request took effect once. This one changed nothing."
    ];
    VersionConflict = "version_conflict", 412, "The object has changed since you read it" [
        "The version in `If-Match` is not the current version.",
        "Read the object again, check what changed, and send the request with the new `ETag`."
    ];
    PayloadTooLarge = "payload_too_large", 413, "The body is too large" [
        "The request body is larger than `limits.body_bytes_max` (256 KiB by default).",
        "Send less in one request."
    ];
    UriTooLong = "uri_too_long", 414, "The path and query are too long" [
        "The first line of the request is longer than 8 KiB.",
        "Use fewer or shorter filters."
    ];
    UnsupportedMediaType = "unsupported_media_type", 415, "The body must be application/json" [
        "The request has no content type, or a different one.",
        "Send `Content-Type: application/json`."
    ];
    ValidationFailed = "validation_failed", 422, "A field is invalid" [
        "One or more fields of the body are missing or have an invalid value.",
        "Correct the fields. `errors` in the answer names each field and what is allowed."
    ];
    WalletRequired = "wallet_required", 422, "The wallet belongs to no known investor" [page];
    IdempotencyKeyReuse = "idempotency_key_reuse", 422, "The Idempotency-Key was used for another request" [
        "The key was used before with a different body, path or caller.",
        "Use a new key for a new request."
    ];
    ReconcileVerificationFailed = "reconcile_verification_failed", 422, "The transaction does not prove the effect" [
        "At least one check of the confirmation proof failed. `detail` and `checks` list the results.",
        "Read the failed checks and find the right transaction."
    ];
    PreconditionRequired = "precondition_required", 428, "The header If-Match is required" [
        "The request must say which version of the object it changes.",
        "Read the object and send its `ETag` as `If-Match`."
    ];
    RateLimited = "rate_limited", 429, "Too many requests" [page];
    LoginThrottled = "login_throttled", 429, "Too many failed attempts" [page];
    HeadTooLarge = "head_too_large", 431, "The headers are too large" [
        "The request headers are larger than 16 KiB. Above 32 KiB, or with more than 100 headers, the answer has no \
         body.",
        "Send fewer headers. Often a proxy or a browser adds cookies; the API does not read them."
    ];
    InternalError = "internal_error", 500, "An internal error occurred" [
        "The server met an unexpected error. The log has it under the request id.",
        "Search the log for `request_id`. Repeat the request with the same `Idempotency-Key`.",
        "The transaction of the request was rolled back."
    ];
    ServiceUnavailable = "service_unavailable", 503, "The service is unavailable" [page];
    ChainUnavailable = "chain_unavailable", 503, "The chain is unavailable" [
        "No RPC endpoint of the chain answered, and only the chain can answer this request.",
        "Repeat the request after `Retry-After`. If it continues, check the endpoints with `muniment doctor`.",
        "Nothing was changed. Transactions that were sent earlier are still followed."
    ];
    ChainTimeout = "chain_timeout", 504, "The chain did not answer in time" [
        "Every RPC endpoint of the chain took longer than `request_timeout_seconds` in `[[chains]]`. Only reads of \
         tokens are answered so.",
        "Repeat the request after `Retry-After`. If it continues, check the load of the nodes with `muniment \
         doctor`, or add an endpoint."
    ];
}

impl Code {
    /// Whether the same request may succeed later.
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
        let words: Vec<_> = Self::ALL.iter().map(|code| (code.as_str(), format!("{}.", code.title()))).collect();
        let description = "The stable code of a problem. `GET /errors/{code}` explains it. New codes may be added.";
        muniment_domain::schema::described(description, &words)
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
    fn every_domain_code_is_in_the_table() {
        for code in muniment_domain::Code::ALL {
            assert_eq!(Code::of_domain(*code).as_str(), code.as_str(), "add it to the table");
        }
    }

    #[test]
    fn codes_are_unique_and_ordered_by_status() {
        let words: std::collections::BTreeSet<_> = Code::ALL.iter().map(|c| c.as_str()).collect();
        assert_eq!(words.len(), Code::ALL.len());
        assert!(Code::ALL.is_sorted_by_key(|c| c.status()));
    }
}
