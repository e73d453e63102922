//! The event catalog: every kind of event, and who besides staff may see it.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Name: subject and what happened.
    pub name: &'static str,
    /// Description for developers of portals.
    pub about: &'static str,
    /// Whether the issuer of the offering sees it.
    pub org: bool,
    /// Whether the investor concerned sees it.
    pub own: bool,
}

const fn staff(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, org: false, own: false }
}

const fn org(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, org: true, own: false }
}

const fn own(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, org: false, own: true }
}

const fn both(name: &'static str, about: &'static str) -> EventType {
    EventType { name, about, org: true, own: true }
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
    staff("chain.halted", "A chain contradicted itself and was halted."),
    org("distribution.approval_requested", "The payout waits for its approver."),
    org("distribution.approved", "The payout was approved."),
    org("distribution.audit_declared", "The hash of an audit report was declared on the chain."),
    org("distribution.calculated", "The amounts of all holders are fixed."),
    org("distribution.cancelled", "The distribution will not be paid."),
    org("distribution.completed", "Everybody is paid or excluded."),
    org("distribution.created", "A draft of a distribution was created."),
    both("distribution.entitlement_failed", "A payment to a holder failed."),
    both("distribution.entitlement_held", "A payment is held until the holder can be paid."),
    both("distribution.entitlement_paid", "A payment to a holder is final."),
    org("distribution.executing", "Holders are being paid."),
    org("distribution.partially_completed", "Some payments are held or have failed; all others are made."),
    staff("distribution.record_difference", "The balances at the record date do not add up to the supply."),
    org("distribution.revised", "The payout was rejected or changed; it is calculated but not approved."),
    org("distribution.snapshotted", "The balances at the record date are known."),
    org("distribution.snapshotting", "The balances at the record date are being read."),
    own("investor.accreditation_changed", "The accreditation of the investor changed."),
    staff("investor.document_added", "A document of the investor was added."),
    staff("investor.erased", "The personal data of the investor was erased."),
    own("investor.kyc_approved", "The identity of the investor was approved."),
    own("investor.kyc_expired", "The approval of the identity has expired."),
    own("investor.kyc_in_review", "The review of the identity has begun."),
    own("investor.kyc_needs_information", "The reviewer needs more information."),
    own("investor.kyc_reinstated", "The suspension of the investor was lifted."),
    own("investor.kyc_rejected", "The identity of the investor was rejected."),
    own("investor.kyc_renewed", "The approval of the identity was renewed."),
    own("investor.kyc_reset", "The investor can submit the proof of identity again."),
    own("investor.kyc_submitted", "The investor submitted a proof of identity."),
    own("investor.kyc_suspended", "The investor was suspended."),
    own("investor.risk_warned", "The investor was warned of the risk for the first time."),
    own("investor.tax_changed", "The withholding rate of the investor changed."),
    own("investor.updated", "The profile of the investor changed."),
    staff("issuer.approved", "The issuer was approved."),
    staff("issuer.reinstated", "The suspension of the issuer was lifted."),
    staff("issuer.suspended", "The issuer was suspended."),
    staff("lane.active", "A signer was activated again."),
    staff("lane.paused", "A signer was paused."),
    staff(
        "lane.quarantined",
        "A signer was stopped because the chain has transactions of it that the database does not know.",
    ),
    org("offering.approved", "The terms were approved."),
    org("offering.archived", "The offering was archived."),
    org("offering.cancelled", "The offering was cancelled."),
    org("offering.changes_requested", "The reviewer requested changes of the terms."),
    org("offering.closed", "The offering was closed for subscriptions."),
    org("offering.created", "A draft of an offering was created."),
    org("offering.failed", "The soft cap was not reached."),
    org("offering.paused", "Subscriptions are paused."),
    org("offering.published", "The offering is published."),
    org("offering.resumed", "Subscriptions are open again."),
    org("offering.settled", "No subscription is left to mint."),
    org("offering.submitted", "The terms were submitted for review."),
    org("offering.token_deployed", "The deployment of the token is final."),
    org("offering.token_deployment_failed", "The token could not be deployed."),
    org("offering.updated", "The terms or documents changed."),
    staff("operation.confirmed", "The effect of the operation is final."),
    staff("operation.dead_letter", "The engine gave up; an operator must act."),
    staff("operation.failed", "The operation failed; an operator must act."),
    staff("operation.late_confirmation", "A transaction of an abandoned operation was included after all."),
    staff("operation.pending", "The operation was accepted."),
    staff("operation.resolved", "An operator resolved a failed operation."),
    staff("operation.submitted", "The first transaction is signed."),
    staff("policy.changed", "The limits of a policy changed."),
    staff("reconciliation.difference_found", "Chain and database do not agree."),
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
    own("wallet.frozen", "The wallet was frozen."),
    own("wallet.preferred", "The wallet became the default wallet."),
    own("wallet.recovered", "The wallet was recovered to another wallet."),
    staff("wallet.removed", "The wallet was removed, or another investor proved control over it."),
    own("wallet.unfrozen", "The wallet was unfrozen."),
    own("wallet.verified", "The investor proved control over the wallet."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::cells;
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
