//! The fields of each kind of event.

use super::state;
use super::{Field, Form, Presence};

const fn always(name: &'static str, form: Form, about: &'static str) -> Field {
    Field::new(name, form, about)
}

const fn may_be_null(name: &'static str, form: Form, about: &'static str) -> Field {
    Field::new(name, form, about).nullable()
}

const fn sometimes(name: &'static str, form: Form, about: &'static str) -> Field {
    Field::new(name, form, about).is(Presence::Sometimes)
}

const fn added(name: &'static str, form: Form, about: &'static str) -> Field {
    Field::new(name, form, about).is(Presence::Added)
}

/// The user or the part of the platform that acted.
const ACTOR: Field = Field::new("actor", Form::Text("engine"), "Who acted.").is(Presence::Internal);
/// The reason that a person gave. A move without one has null or nothing.
const REASON: Field = Field::new("reason", Form::Text("?"), "The reason.").nullable().is(Presence::Internal);

const CODE: &[Field] = &[always("code", Form::Word("reverted"), "The stable code; `/errors/{code}` explains it.")];
const SUBJECT: &[Field] = &[
    always("type", Form::Word("offering"), "The noun of the object."),
    always("id", Form::Text("off_01jc8yq3k5e9v8w2m4n6p7r9st"), "The id of the object."),
];
const TX_HASH: Field = always("tx_hash", Form::Hash, "The hash of the transaction.");
const MAYBE_TX_HASH: Field =
    may_be_null("tx_hash", Form::Hash, "The hash of the transaction. Null before it is known.");
const OFFERING: Field = always("offering_id", Form::Id("off"), "The id of the offering.");
const OFFERING_ADDED: Field = OFFERING.is(Presence::Added);
const MAYBE_OFFERING: Field =
    may_be_null("offering_id", Form::Id("off"), "The id of the offering. Null if it concerns none.");
const OPERATION: Field = always("operation_id", Form::Id("op"), "The id of the operation.");
const OPERATION_ADDED: Field = OPERATION.is(Presence::Added);
const INVESTOR: Field = always("investor_id", Form::Id("inv"), "The id of the investor.");
const INVESTOR_ADDED: Field = INVESTOR.is(Presence::Added);
const VERSION: Field = always("version", Form::Integer, "The new version.");

const APPROVAL: &[Field] = &[
    added("approval_id", Form::Id("apr"), "The id of the approval."),
    always("action", Form::Word("mint"), "The action that two people decide."),
    may_be_null("from", Form::OneOf(state::APPROVAL), "The status before. Null for a new request."),
    always("status", Form::OneOf(state::APPROVAL), "The new status."),
    always("subject", Form::Object(SUBJECT), "The object of the action."),
    MAYBE_OFFERING,
    may_be_null("operation_id", Form::Id("op"), "The id of the operation that executed it. Null if there is none."),
    may_be_null("batch_id", Form::Id("bat"), "The id of the batch that executed it. Null if there is none."),
    may_be_null("error", Form::Object(CODE), "Why it could not be executed. Null if it could."),
];

const CHAIN: Field = always("chain_id", Form::Integer, "The id of the chain (EIP-155).");
const CHAIN_HALTED: &[Field] =
    &[CHAIN, always("reason", Form::Text("two endpoints show different final blocks"), "What the chain contradicts.")];
const GAP: &[Field] = &[
    always("lane_id", Form::Id("lan"), "The id of the lane."),
    always("nonce", Form::Integer, "A nonce that the new history does not use."),
];
const CHAIN_HISTORY: &[Field] = &[
    CHAIN,
    always("ancestor", Form::Integer, "The last common block."),
    always("final", Form::Integer, "The final block of the history that was replaced."),
    always("operations", Form::Integer, "The number of confirmed operations that are sent again."),
    always("gaps", Form::Objects(GAP), "Nonces that nothing fills."),
    ACTOR,
    REASON,
];

const DISTRIBUTION: &[Field] = &[
    added("distribution_id", Form::Id("dist"), "The id of the distribution."),
    OFFERING,
    always("status", Form::OneOf(state::DISTRIBUTION), "The status."),
    may_be_null("total_amount", Form::Money, "The amount for all holders. Null until it is calculated."),
    ACTOR,
    REASON,
];
const DISTRIBUTION_FROM: Field = always("from", Form::OneOf(state::DISTRIBUTION), "The status before.");
const ENTITLEMENT: &[Field] = &[
    added("entitlement_id", Form::Id("ent"), "The id of the entitlement."),
    always("distribution_id", Form::Id("dist"), "The id of the distribution."),
    OFFERING_ADDED,
    may_be_null("from", Form::OneOf(state::ENTITLEMENT), "The status before."),
    always("status", Form::OneOf(state::ENTITLEMENT), "The new status."),
    always("net_amount", Form::Money, "The amount that the holder gets."),
    may_be_null("hold_reason", Form::OneOf(state::HOLD_REASON), "Why the payment is held. Null if it is not."),
    may_be_null("operation_id", Form::Id("op"), "The id of the operation that pays it. Null if there is none."),
    MAYBE_TX_HASH,
    ACTOR,
    REASON,
];

const ENDPOINT: Field = added("webhook_endpoint_id", Form::Id("whe"), "The id of the webhook endpoint.");
const KYC: &[Field] = &[
    always("status", Form::OneOf(state::KYC), "The status of the identity check."),
    may_be_null("level", Form::OneOf(state::KYC_LEVEL), "The level of the check. Null if it is not approved."),
    may_be_null(
        "reason_code",
        Form::Word("documents_match"),
        "The code of the decision's reason. Null if there is none.",
    ),
];
const ACCREDITATION: &[Field] = &[
    always("status", Form::OneOf(state::ACCREDITATION), "The status of the accreditation."),
    may_be_null("expires_at", Form::Time, "When it expires. Null if it does not."),
];
const INVESTOR_STATE: &[Field] = &[
    INVESTOR_ADDED,
    always("kyc", Form::Object(KYC), "The identity check."),
    always("accreditation", Form::Object(ACCREDITATION), "The accreditation."),
];
const ISSUER: &[Field] = &[
    added("issuer_id", Form::Id("iss"), "The id of the issuer."),
    always("from", Form::OneOf(state::ISSUER), "The status before."),
    always("status", Form::OneOf(state::ISSUER), "The new status."),
    VERSION,
    ACTOR,
];
const LANE: &[Field] = &[
    added("lane_id", Form::Id("lan"), "The id of the lane."),
    CHAIN,
    always("signer", Form::Address, "The address of the signer."),
    always("from", Form::OneOf(state::LANE), "The mode before."),
    always("status", Form::OneOf(state::LANE), "The new mode."),
    REASON,
];

const SIGNER: &[Field] = &[
    added("lane_id", Form::Id("lan"), "The id of the lane."),
    CHAIN,
    always("signer", Form::Address, "The address of the signer."),
];

const STUCK: &[Field] = &[
    OPERATION,
    always("nonce", Form::Integer, "The nonce of the transaction."),
    always("error", Form::Object(CODE), "Why it does not move on: `stuck` or `nonce_unexplained`."),
];

const OFFERING_STATE: &[Field] =
    &[OFFERING_ADDED, always("status", Form::OneOf(state::OFFERING), "The status."), VERSION, ACTOR, REASON];
const OFFERING_FROM: Field = always("from", Form::OneOf(state::OFFERING), "The status before.");
const OFFERING_UPDATED: &[Field] = &[
    OFFERING_FROM.is(Presence::Sometimes),
    sometimes("changed", Form::Words("closes_at"), "The names of the changed terms, if terms changed."),
    sometimes("document_id", Form::Id("doc"), "The id of the new document, if one was added."),
    sometimes("kind", Form::Word("terms"), "The kind of the new document."),
    sometimes("sha256", Form::Sha256, "The SHA-256 hash of the new document."),
];
const TOKEN_DEPLOYED: &[Field] =
    &[OFFERING_ADDED, CHAIN, always("contract_address", Form::Address, "The address of the token."), TX_HASH];
const TOKEN_FAILED: &[Field] =
    &[OFFERING_ADDED, OPERATION, may_be_null("error", Form::Object(CODE), "Why the operation failed.")];

const OPERATION_STATE: &[Field] = &[
    OPERATION_ADDED,
    may_be_null("from", Form::OneOf(state::OPERATION), "The status before. Null for a new operation."),
    always("status", Form::OneOf(state::OPERATION), "The status."),
    always("type", Form::Word("mint"), "The kind of the operation."),
    always("subject", Form::Object(SUBJECT), "The object of the operation."),
    MAYBE_OFFERING,
    MAYBE_TX_HASH,
    may_be_null("error", Form::Object(CODE), "The error that a person must look at. Null if there is none."),
];
const OF_OPERATION: &[Field] = &[OPERATION_ADDED, MAYBE_OFFERING.is(Presence::Added)];
const HISTORY_LOST: &[Field] = &[
    always("code", Form::Word("reverted"), "The stable code of the failure."),
    always("message", Form::Text("The transaction reverted."), "What the chain shows."),
];
const NONCE_CLOSED: &[Field] = &[
    always("nonce", Form::Integer, "The used nonce."),
    always("signer", Form::Address, "The address of the signer."),
    may_be_null("adopted", Form::Hash, "The hash of the transaction that was adopted. Null if none was."),
];
const RESOLVED: &[Field] = &[
    always("resolution", Form::Word("abandoned"), "How it was resolved."),
    sometimes("missing", Form::Words("1 of 2 payments is missing"), "What is missing of its effect. Null if nothing.")
        .nullable(),
    sometimes("ended_by", Form::Id("op"), "The id of the operation that took the money back."),
];

const SESSION: &[Field] = &[
    added("session_id", Form::Id("ses"), "The id of the session."),
    always("user_id", Form::Id("usr"), "The id of the user who had the session."),
];

const SUBSCRIPTION: &[Field] = &[
    added("subscription_id", Form::Id("sub"), "The id of the subscription."),
    OFFERING,
    INVESTOR,
    always("status", Form::OneOf(state::SUBSCRIPTION), "The status."),
    always("amount", Form::Money, "The amount."),
    always("currency", Form::Text("EUR"), "The currency (ISO 4217)."),
    may_be_null("quantity", Form::Quantity, "The number of tokens. Null until it is known."),
    always("cooling_off_expires_at", Form::Time, "The end of the cooling-off period."),
    ACTOR,
    REASON,
];
const SUBSCRIPTION_FROM: Field = always("from", Form::OneOf(state::SUBSCRIPTION), "The status before.");
const PAYMENT: &[Field] = &[
    always("payment_id", Form::Id("pay"), "The id of the payment."),
    always("payment_amount", Form::Money, "The amount of the payment."),
    always("method", Form::Word("bank_transfer"), "The method of the payment."),
];
const WALLET_CHANGED: &[Field] = &[
    always("wallet_address", Form::Address, "The new wallet."),
    sometimes("lost_address", Form::Address, "The wallet that was recovered to the new one, if one was."),
];

const WALLET: Field = added("wallet_id", Form::Wallet, "The id of the wallet, or its address if nobody claimed it.");
const WALLET_OPERATION: &[Field] =
    &[WALLET, always("address", Form::Address, "The address of the wallet."), MAYBE_OFFERING, OPERATION, TX_HASH];
const WALLET_CLAIMED: &[Field] = &[WALLET, always("address", Form::Address, "The address of the wallet."), INVESTOR];
const WALLET_REMOVED: &[Field] = &[WALLET, INVESTOR, always("reason", Form::Text("taken back"), "Why it was removed.")];

/// The fields of a kind of the catalog. None for a kind that is not in it.
pub fn fields(kind: &str) -> Vec<Field> {
    let (subject, what) = kind.split_once('.').unwrap_or((kind, ""));
    match subject {
        "approval" => APPROVAL.to_vec(),
        "chain" => of_chain(what),
        "distribution" => of_distribution(what),
        "endpoint" => of_endpoint(what),
        "investor" => of_investor(what),
        "issuer" => ISSUER.to_vec(),
        "lane" if what == "funds_low" => SIGNER.to_vec(),
        "lane" if what == "stuck" => [SIGNER, STUCK].concat(),
        "lane" if state::LANE.contains(&what) => LANE.to_vec(),
        "offering" => of_offering(what),
        "operation" => of_operation(what),
        "policy" => vec![added("policy_id", Form::Text("3"), "The number of the version."), VERSION],
        "reconciliation" => vec![
            added("reconciliation_run_id", Form::Id("rec"), "The id of the run."),
            always("findings", Form::Integer, "The number of differences."),
            MAYBE_OFFERING,
        ],
        "session" if what == "reuse_detected" => SESSION.to_vec(),
        "subscription" => of_subscription(what),
        "wallet" => of_wallet(what),
        _ => Vec::new(),
    }
}

fn of_chain(what: &str) -> Vec<Field> {
    match what {
        "halted" => CHAIN_HALTED.to_vec(),
        "history_accepted" => CHAIN_HISTORY.to_vec(),
        "endpoint_down" => vec![CHAIN],
        _ => vec![CHAIN, REASON],
    }
}

fn of_distribution(what: &str) -> Vec<Field> {
    let entitlement = |more: &[Field]| [ENTITLEMENT, more].concat();
    let distribution = |more: &[Field]| [DISTRIBUTION, more].concat();
    match what {
        // Not in the catalog.
        "entitlement_redirected" | "entitlement_calculated" | "entitlement_excluded" => Vec::new(),
        "entitlement_failed" => entitlement(&[always("error", Form::Object(CODE), "Why it failed.")]),
        what if what.starts_with("entitlement_") => entitlement(&[]),
        "created" => distribution(&[]),
        "audit_declared" => {
            distribution(&[always("report_sha256", Form::Hash, "The declared hash of the report."), TX_HASH])
        }
        "record_difference" => {
            let sample = "the balances add up to 90, the supply is 100";
            distribution(&[always("detail", Form::Text(sample), "What does not add up.")])
        }
        _ => distribution(&[DISTRIBUTION_FROM]),
    }
}

fn of_endpoint(what: &str) -> Vec<Field> {
    match what {
        "disabled" => vec![
            ENDPOINT,
            always("status", Form::OneOf(&["disabled"]), "The new status."),
            always("reason", Form::Text("the endpoint answered 410 Gone"), "Why it was disabled."),
        ],
        "test" => vec![ENDPOINT],
        _ => Vec::new(),
    }
}

fn of_investor(what: &str) -> Vec<Field> {
    match what {
        "document_added" => vec![
            INVESTOR_ADDED,
            always("document_id", Form::Id("doc"), "The id of the document."),
            always("kind", Form::Word("identity"), "The kind of the document."),
            always("sha256", Form::Sha256, "The SHA-256 hash of the document."),
            ACTOR,
        ],
        "erased" => vec![
            INVESTOR_ADDED,
            may_be_null("user_id", Form::Id("usr"), "The id of the user. Null if there is none."),
            always("erased_at", Form::Time, "When the personal data were erased."),
        ],
        "risk_warned" => vec![INVESTOR_ADDED, always("warned_at", Form::Time, "When the investor was warned.")],
        _ => INVESTOR_STATE.to_vec(),
    }
}

fn of_offering(what: &str) -> Vec<Field> {
    match what {
        "created" => OFFERING_STATE.to_vec(),
        "updated" => [OFFERING_STATE, OFFERING_UPDATED].concat(),
        "token_deployed" => TOKEN_DEPLOYED.to_vec(),
        "token_deployment_failed" => TOKEN_FAILED.to_vec(),
        _ => [OFFERING_STATE, &[OFFERING_FROM]].concat(),
    }
}

fn of_operation(what: &str) -> Vec<Field> {
    let more = |more: &[Field]| [OF_OPERATION, more].concat();
    match what {
        "history_lost" => more(HISTORY_LOST),
        "history_replaced" => more(&[always("ancestor", Form::Integer, "The last common block.")]),
        "late_confirmation" => more(&[TX_HASH]),
        "nonce_closed" => more(NONCE_CLOSED),
        "resolved" => more(RESOLVED),
        _ => OPERATION_STATE.to_vec(),
    }
}

fn of_subscription(what: &str) -> Vec<Field> {
    let more = |more: &[Field]| [SUBSCRIPTION, more].concat();
    match what {
        "committed" => more(&[sometimes(
            "from",
            Form::OneOf(state::SUBSCRIPTION),
            "The status before, if the investor confirmed changed terms.",
        )]),
        "cooling_off_changed" => more(&[always(
            "cooling_off_expired_at",
            Form::Time,
            "The end of the cooling-off period before the change.",
        )]),
        "minted" => more(&[SUBSCRIPTION_FROM, OPERATION, TX_HASH]),
        "payment_received" | "payment_refunded" => more(PAYMENT),
        "wallet_changed" => more(WALLET_CHANGED),
        _ => more(&[SUBSCRIPTION_FROM]),
    }
}

fn of_wallet(what: &str) -> Vec<Field> {
    match what {
        "preferred" | "verified" => WALLET_CLAIMED.to_vec(),
        "removed" => WALLET_REMOVED.to_vec(),
        "recovered" => {
            let successor = always("successor", Form::Address, "The wallet to which it was recovered.");
            let count = always("subscriptions", Form::Integer, "The number of subscriptions that moved to it.");
            [WALLET_OPERATION, &[successor, count]].concat()
        }
        _ => WALLET_OPERATION.to_vec(),
    }
}
