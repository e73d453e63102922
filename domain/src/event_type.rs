//! The event catalog: every kind of event, and who besides staff may see it.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Name: subject and what happened.
    pub name: &'static str,
    /// Description for developers of portals.
    pub about: &'static str,
    /// Whether the issuer of the offering sees it.
    pub for_issuer: bool,
    /// Whether the investor concerned sees it.
    pub for_investor: bool,
    /// Whether every investor sees it, if the offering is listed.
    pub for_members: bool,
}

/// Whether an event is of a wanted type: its name, all of a subject (`subscription.*`), or all (`*`).
pub fn belongs(name: &str, wanted: &str) -> bool {
    match wanted.strip_suffix(".*") {
        Some(subject) => name.split('.').next() == Some(subject),
        None => wanted == "*" || wanted == name,
    }
}

const fn staff(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, for_issuer: false, for_investor: false, for_members: false }
}

const fn for_issuer(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, for_issuer: true, for_investor: false, for_members: false }
}

const fn for_investor(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, for_issuer: false, for_investor: true, for_members: false }
}

const fn both(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, for_issuer: true, for_investor: true, for_members: false }
}

const fn for_members(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, for_issuer: true, for_investor: false, for_members: true }
}

/// All kinds of events, sorted by name.
pub const CATALOG: &[EventType] = &[
    staff("approval.approved", "The approver approved the request."),
    staff("approval.cancelled", "The requester cancelled the request."),
    staff("approval.executed", "The approved action was executed."),
    staff("approval.execution_failed", "The approved action could not be executed any more."),
    staff("approval.expired", "The request expired without a decision."),
    staff("approval.rejected", "The approver rejected the request."),
    staff("approval.requested", "A request waits for its approver."),
    staff("chain.cleared", "A halted chain was cleared; work continues."),
    staff("chain.endpoint_down", "An RPC endpoint of a chain does not answer or is not trusted."),
    staff("chain.halted", "A chain contradicted itself and was halted."),
    staff(
        "chain.history_accepted",
        "Two people accepted the new history of a halted chain; work continues at the last common block.",
    ),
    for_issuer("distribution.approval_requested", "The payout waits for its approver."),
    for_issuer("distribution.approved", "The payout was approved."),
    for_issuer("distribution.audit_declared", "The hash of an audit report was declared on the chain."),
    for_issuer("distribution.calculated", "The amounts of all holders are fixed."),
    for_issuer("distribution.cancelled", "The distribution will not be paid."),
    for_issuer("distribution.completed", "Everybody is paid or excluded."),
    for_issuer("distribution.created", "A draft of a distribution was created."),
    both("distribution.entitlement_failed", "A payment to a holder failed."),
    both("distribution.entitlement_held", "A payment is held until the holder can be paid."),
    both("distribution.entitlement_paid", "A payment to a holder is final."),
    for_issuer("distribution.executing", "Holders are being paid."),
    for_issuer("distribution.partially_completed", "Some payments are held or have failed; all others are made."),
    staff("distribution.record_difference", "The balances at the record date do not add up to the supply."),
    for_issuer("distribution.revised", "The payout was rejected or changed; it is calculated but not approved."),
    for_issuer("distribution.snapshotted", "The balances at the record date are known."),
    for_issuer("distribution.snapshotting", "The balances at the record date are being read."),
    both("endpoint.disabled", "The endpoint was disabled: it answered 410, or every attempt failed for five days."),
    both("endpoint.test", "Somebody tests the endpoint. It goes to that endpoint alone."),
    for_investor("investor.accreditation_changed", "The accreditation of the investor changed."),
    staff("investor.document_added", "A document of the investor was added."),
    staff("investor.erased", "The personal data of the investor was erased."),
    for_investor("investor.kyc_approved", "The identity of the investor was approved."),
    for_investor("investor.kyc_expired", "The approval of the identity has expired."),
    for_investor("investor.kyc_in_review", "The review of the identity has begun."),
    for_investor("investor.kyc_needs_information", "The reviewer needs more information."),
    for_investor("investor.kyc_reinstated", "The suspension of the investor was lifted."),
    for_investor("investor.kyc_rejected", "The identity of the investor was rejected."),
    for_investor("investor.kyc_renewed", "The approval of the identity was renewed."),
    for_investor("investor.kyc_reset", "The investor can submit the proof of identity again."),
    for_investor("investor.kyc_submitted", "The investor submitted a proof of identity."),
    for_investor("investor.kyc_suspended", "The investor was suspended."),
    for_investor("investor.risk_warned", "The investor was warned of the risk for the first time."),
    for_investor("investor.tax_changed", "The withholding rate of the investor changed."),
    for_investor("investor.updated", "The profile of the investor changed."),
    staff("issuer.approved", "The issuer was approved."),
    staff("issuer.reinstated", "The suspension of the issuer was lifted."),
    staff("issuer.suspended", "The issuer was suspended."),
    staff("lane.active", "A signer was activated again."),
    staff("lane.funds_low", "The balance of a signer is below its limit, or does not pay for gas."),
    staff("lane.paused", "A signer was paused."),
    staff(
        "lane.quarantined",
        "A signer was stopped because the chain has transactions of it that the database does not know.",
    ),
    staff(
        "lane.stuck",
        "The lowest transaction of a signer does not move on without a person, and its later ones wait behind it.",
    ),
    for_issuer("offering.approved", "The terms were approved."),
    for_issuer("offering.archived", "The offering was archived."),
    for_issuer("offering.cancelled", "The offering was cancelled."),
    for_issuer("offering.changes_requested", "The reviewer requested changes of the terms."),
    for_members("offering.closed", "The offering was closed for subscriptions."),
    for_issuer("offering.created", "A draft of an offering was created."),
    for_issuer("offering.failed", "The soft cap was not reached."),
    for_issuer("offering.paused", "Subscriptions are paused."),
    for_members("offering.published", "The offering is published."),
    for_issuer("offering.reopened", "The offering closed by its cap, has room again, and takes subscriptions again."),
    for_issuer("offering.resumed", "Subscriptions are open again."),
    for_issuer("offering.settled", "No subscription is left to mint."),
    for_issuer("offering.submitted", "The terms were submitted for review."),
    for_issuer("offering.token_deployed", "The deployment of the token is final."),
    for_issuer("offering.token_deployment_failed", "The token could not be deployed."),
    for_issuer("offering.updated", "The terms or documents changed."),
    staff("operation.confirmed", "The effect of the operation is final."),
    staff("operation.dead_letter", "The engine gave up; an operator must act."),
    staff("operation.failed", "The operation failed; an operator must act."),
    staff(
        "operation.history_lost",
        "A confirmed operation was executed again in the accepted history, without its effect.",
    ),
    staff(
        "operation.history_replaced",
        "The final block of a confirmed operation was replaced; its reason says what becomes of the transaction.",
    ),
    staff("operation.late_confirmation", "A transaction of an abandoned operation was included after all."),
    staff("operation.nonce_closed", "Two people closed a used nonce that nothing explained."),
    staff("operation.pending", "The operation was accepted."),
    staff("operation.resolved", "An operator resolved a failed operation."),
    staff("operation.submitted", "The first transaction is signed."),
    staff("policy.changed", "The limits of a policy changed."),
    staff("reconciliation.difference_found", "Chain and database do not agree."),
    both("session.reuse_detected", "A refresh token was used twice, so its session was ended."),
    both("subscription.accepted", "The subscription was accepted."),
    both("subscription.binding", "The cooling-off period is over; the subscription is binding."),
    both("subscription.cancelled", "The subscription was cancelled."),
    both("subscription.committed", "A subscription was committed."),
    both("subscription.cooling_off_changed", "The end of the offering was moved, and the cooling-off period with it."),
    both("subscription.expired", "The subscription expired without payment."),
    both("subscription.minted", "The mint of the tokens is final."),
    both("subscription.payment_received", "A payment was received."),
    both("subscription.payment_refunded", "A payment was refunded."),
    both("subscription.reconfirmation_required", "The terms changed; the investor must reconfirm."),
    both("subscription.refund_pending", "A refund is due."),
    both("subscription.refunded", "All payments were refunded."),
    both("subscription.rejected", "The subscription was rejected."),
    both("subscription.wallet_changed", "The subscription's wallet changed."),
    for_investor("wallet.frozen", "The wallet was frozen."),
    for_investor("wallet.preferred", "The wallet became the default wallet."),
    for_investor("wallet.recovered", "The wallet was recovered to another wallet."),
    for_investor("wallet.reinstated", "The recovery of the wallet was taken back."),
    staff("wallet.removed", "The wallet was removed, or another investor proved control over it."),
    for_investor("wallet.unfrozen", "The wallet was unfrozen."),
    for_investor("wallet.verified", "The investor proved control over the wallet."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state_table_test::cells;
    use crate::{distribution, investor, offering};

    #[test]
    fn the_catalog_is_sorted_and_has_each_kind_once() {
        assert!(CATALOG.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn every_move_has_an_event_in_the_catalog() {
        let names = investor::Move::ALL.iter().map(|by| by.event().to_owned());
        let names = names.chain(offering::Move::ALL.iter().map(|by| by.event().to_owned()));
        let moves = cells(distribution::Status::ALL, distribution::Move::ALL, distribution::Status::next);
        let names =
            names.chain(moves.iter().map(|(_, by, to)| format!("distribution.{}", distribution::event_name(*by, *to))));
        let unknown: Vec<_> = names.filter(|name| !CATALOG.iter().any(|kind| kind.name == *name)).collect();
        assert_eq!(unknown, Vec::<String>::new());
    }
}
