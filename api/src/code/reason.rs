//! The codes of operations and distributions, and where each is seen. The engine writes them as plain words.

use super::explanation::{Explanation, explanation};

/// Where a code is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// `blocked_reason`, before the colon: the operation waits.
    BlockedReason,
    /// `error.code`: the operation failed, or tries again.
    ErrorCode,
    /// `problem.code` of a distribution: its snapshot waits.
    Snapshot,
}

/// A code that is not the code of a problem.
pub struct Reason {
    /// The code.
    pub code: &'static str,
    /// Where it is seen.
    pub place: Place,
    /// The title.
    pub title: &'static str,
    /// What happened and what to do.
    pub explanation: Explanation,
}

/// Codes of problems that are seen elsewhere as well.
pub const SHARED: &[(&str, Place)] = &[
    ("chain_halted", Place::BlockedReason),
    ("contract_missing", Place::ErrorCode),
    ("effect_mismatch", Place::ErrorCode),
    ("rate_limited", Place::BlockedReason),
    ("unknown_chain", Place::BlockedReason),
];

macro_rules! reasons {
    ($($place:ident $code:literal $title:literal [$($text:tt)+];)+) => {
        /// Every code that is not the code of a problem.
        pub const REASONS: &[Reason] = &[$(Reason {
            code: $code,
            place: Place::$place,
            title: $title,
            explanation: explanation!($code, $($text)+),
        }),+];
    };
}

reasons! {
    BlockedReason "outage" "No RPC endpoint answers" [page];
    BlockedReason "wrong_chain" "An RPC endpoint serves another chain" [page];
    BlockedReason "no_method" "The nodes lack a required method" [
        "No RPC endpoint offers a method that the platform needs.",
        "Run `muniment doctor`; it names the method. Add an endpoint that offers it under `[[chains]]` and restart."
    ];
    BlockedReason "chain_unmet" "The chain has not answered yet" [
        "No RPC endpoint of the chain has answered since the database was created.",
        "Check the endpoints with `muniment doctor`; see also `outage`. Work starts automatically."
    ];
    BlockedReason "history_replaced" "The final block was replaced" [
        "The operation was confirmed in a block that is not part of the history that two admins accepted. Its transaction is sent again, with \
         the same nonce.",
        "Wait. When it is final again, this reason disappears. An operation that was adopted from a foreign transaction has nothing to send: \
         compare it with the chain by a reconciliation run.",
        "Its effect is missing on the chain until then."
    ];
    BlockedReason "history_lost" "The effect is lost in the accepted history" [
        "The operation was confirmed, its final block was replaced, and its transaction is now final without its effect. The text says why.",
        "Start a reconciliation run (`POST /blockchain/reconciliation-runs`), and request what is missing as a new operation.",
        "Yes: the platform shows an effect that the chain does not have."
    ];
    BlockedReason "lane_paused" "The lane is paused" [
        "An operator paused the signer. Transactions that are already signed are still followed.",
        "Resume the lane when the reason is gone: `muniment admin lane resume LANE REASON`, or `POST \
         /blockchain/signers/{id}/resume`.",
        "Nothing new is signed. Transactions that were sent earlier may still be included."
    ];
    BlockedReason "lane_quarantined" "The lane is in quarantine" [page];
    BlockedReason "lane_full" "The lane is full" [
        "The node has as many transactions of it as `in_flight_max` allows, and none of them is in a block yet.",
        "Wait: the operation continues with the next block. To go faster, add a signer to the chain; lanes share the \
         load."
    ];
    BlockedReason "no_signer" "The worker has no key for this chain" [
        "The worker has no key for any lane of the chain. A key that was added just now has no lane before `quorum` endpoints show its \
         transaction count.",
        "Add the signer under `[[chains.signers]]` and restart the worker. If it is there, look at the endpoints in `/readyz`: the operation \
         continues when enough of them answer."
    ];
    BlockedReason "signer_down" "The signer does not sign" [
        "The key store or key service did not answer, or not in time.",
        "Check the key store or the key service. The operation continues automatically."
    ];
    BlockedReason "signer_unfunded" "The signer cannot pay for gas" [page];
    BlockedReason "step_not_final" "The step waits for the step before it" [
        "The contract would reject this step now, and the step before it is not final yet.",
        "Wait. When the step before it is final, the operation continues or fails with the reason.",
        "This step was not signed. The step before it may take effect."
    ];
    BlockedReason "allowance_pending" "The payout waits for its allowance" [page];
    BlockedReason "damaged_row" "A final result cannot be stored" [page];
    ErrorCode "reverts" "The contract would reject the call" [page];
    ErrorCode "reverted" "The transaction reverted" [page];
    ErrorCode "asset_unavailable" "The payout asset refuses everybody" [page];
    ErrorCode "above_gas_cap" "The call needs more gas than the cap" [page];
    BlockedReason "base_fee_above_cap" "The base fee is above the cap" [page];
    BlockedReason "heads_disagree" "Endpoints or blocks give different results" [
        "One RPC endpoint shows that the call reverts, that the contract is missing or that the operation was executed. Too few others show the same, or no block proves it yet. An endpoint may lag behind, be away or be wrong.",
        "Nothing. The operation is tried again automatically. If it waits for long, look at the endpoints in `/readyz` and run `muniment doctor`.",
        "Nothing was signed."
    ];
    ErrorCode "replay_not_found" "The operation was executed, but its log was not found" [page];
    ErrorCode "stuck" "The transaction is not included at the fee cap" [page];
    ErrorCode "page_split" "The page was split in two" [page];
    ErrorCode "op_id_conflict" "Another call used this operation number" [page];
    ErrorCode "cancelled_by_operator" "An operator cancelled the operation" [page];
    ErrorCode "nonce_consumed_externally" "A foreign transaction used our nonce" [page];
    BlockedReason "nonce_unexplained" "The nonce is used, and nothing explains it" [page];
    ErrorCode "nonce_closed" "Two people closed the nonce" [
        "The chain shows that the nonce is used, none of the operation's transactions used it, and two people closed it.",
        "Retry: the contract is asked first whether it was executed, and a new nonce is taken only if it was not.",
        "This operation had no effect in this cycle."
    ];
    ErrorCode "payload_changed" "The stored call was changed" [page];
    ErrorCode "incomplete" "The node's answer is incomplete" [page];
    ErrorCode "malformed" "The node's answer is unreadable" [
        "The answer of an RPC endpoint does not follow the protocol. Another endpoint is asked.",
        "If it continues, find the endpoint with `muniment doctor` and remove it from `[[chains]]`.",
        "No status was changed by this answer."
    ];
    ErrorCode "unknown_block" "The block is unknown" [
        "No RPC endpoint knows the block. It was reorganised away, or it has not arrived yet.",
        "Nothing. The endpoints are asked again automatically.",
        "No status was changed by this answer."
    ];
    ErrorCode "pruned" "The node deleted old state" [
        "The operation needs the state of an old block, and the node has deleted it.",
        "Add an endpoint with more history (an archive node) under `[[chains]]` and restart.",
        "No status was changed by this answer."
    ];
    ErrorCode "refused" "The node refused the request" [
        "The node refused for a reason that the platform does not recognise. `error.message` has the node's text.",
        "Read the text. If it is new wording for a known error, report it to the developers \
         (`activities/src/rpc/classify.rs`).",
        "Nothing was signed."
    ];
    ErrorCode "policy_chain" "The signing policy refused the chain" [
        "The signer may not sign for this chain.",
        "Compare the operation's chain with `[[chains]]`.",
        "Nothing was signed."
    ];
    ErrorCode "policy_target" "The signing policy refused the contract" [page];
    ErrorCode "policy_creation" "The signing policy refused a contract creation" [
        "A signer may not create contracts directly, and no operation does so.",
        "Treat it as a security incident: find out who wrote the call to the database.",
        "Nothing was signed."
    ];
    ErrorCode "policy_selector" "The signing policy refused the function" [
        "The function is not on the list of functions for this contract, and no operation calls it.",
        "Treat it as a security incident: find out who wrote the call to the database.",
        "Nothing was signed."
    ];
    ErrorCode "policy_value" "The signing policy refused a native coin transfer" [
        "A transaction of the platform never carries native coins.",
        "Treat it as a security incident: find out who wrote the call to the database.",
        "Nothing was signed."
    ];
    ErrorCode "policy_fee_cap" "The signing policy refused the fee" [page];
    ErrorCode "policy_gas_cap" "The signing policy refused the gas limit" [
        "The gas limit is above `gas_cap` of the chain.",
        "Follow the page of `above_gas_cap`.",
        "Nothing was signed."
    ];
    ErrorCode "policy_payout_ceiling" "The daily payout limit is reached" [page];
    ErrorCode "policy_arguments" "The signing policy cannot read the call" [
        "The arguments of a call that moves money are unreadable, and no operation writes such a call.",
        "Treat it as a security incident: find out who wrote the call to the database.",
        "Nothing was signed."
    ];
    ErrorCode "policy_spender" "The signing policy refused an allowance" [
        "The call gives an allowance to a contract that is not the platform's, and no operation does so.",
        "Treat it as a security incident: find out who wrote the call to the database.",
        "Nothing was signed."
    ];
    Snapshot "chain_silent" "The chain does not answer the snapshot" [
        "No RPC endpoint answered, and the snapshot needs the supply of the token at the record block.",
        "Wait: the snapshot is tried again automatically. If it continues, check the endpoints with `muniment doctor`."
    ];
    Snapshot "index_behind" "The token's events are not read yet" [
        "The token's events must be read up to the record block before the snapshot.",
        "Wait: the snapshot is tried again automatically."
    ];
    Snapshot "record_difference" "The ledger and the chain differ" [
        "At the record block the balances of the ledger do not add up to the supply on the chain.",
        "Start a reconciliation of the token: `POST /blockchain/reconciliation-runs` with `{\"offering_id\": \"off_…\"}`. \
         Follow its findings; the snapshot is tried again automatically.",
        "No money moved. The snapshot was not stored."
    ];
}
