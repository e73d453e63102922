//! The catalog: what is told, and to whom besides the platform's staff.

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventType {
    /// Its name: subject and what happened.
    pub name: &'static str,
    /// A sentence for those who write a portal.
    pub about: &'static str,
    /// Whether the organisation is told whose offering it is about.
    pub org: bool,
    /// Whether the investor is told whom it is about.
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

/// Every kind that anybody outside is told of, by name.
pub const CATALOG: &[EventType] = &[
    staff("approval.approved", "A second person said yes."),
    staff("approval.cancelled", "Whoever asked took it back."),
    staff("approval.executed", "What was allowed is done."),
    staff("approval.execution_failed", "What was allowed could not be done any more."),
    staff("approval.expired", "Nobody decided in time."),
    staff("approval.rejected", "A second person said no."),
    staff("approval.requested", "Something waits for a second person."),
    staff("chain.cleared", "Work on a halted chain goes on."),
    staff("chain.halted", "A chain contradicted itself and was stopped."),
    org("distribution.approval_requested", "The payment waits for a second person."),
    org("distribution.approved", "The payment was allowed."),
    org("distribution.audit_declared", "The report was declared on the chain."),
    org("distribution.calculated", "What everybody is owed is fixed."),
    org("distribution.cancelled", "The distribution will not be paid."),
    org("distribution.completed", "Everybody is paid, or excluded."),
    org("distribution.created", "A distribution was drafted."),
    both("distribution.entitlement_failed", "A payment to a holder could not be made."),
    both("distribution.entitlement_held", "A payment waits until the holder can be paid."),
    both("distribution.entitlement_paid", "A holder was paid, finally."),
    org("distribution.executing", "Holders are being paid."),
    org("distribution.partially_completed", "All are paid but those who are held back or could not be."),
    staff("distribution.record_difference", "The balances at the record date do not add up to the supply."),
    org("distribution.revised", "The payment was not allowed, and is as it was calculated."),
    org("distribution.snapshotted", "The balances at the record date are known."),
    org("distribution.snapshotting", "The balances at the record date are being looked for."),
    own("investor.accreditation_changed", "The investor is accredited until another day, or not any more."),
    staff("investor.document_added", "A paper of the investor is kept."),
    staff("investor.erased", "Who the investor is was forgotten."),
    own("investor.kyc_approved", "The investor's identity is proved."),
    own("investor.kyc_expired", "The proof of identity has run out."),
    own("investor.kyc_in_review", "Somebody looks at the proof of identity."),
    own("investor.kyc_needs_information", "Something is missing for the proof of identity."),
    own("investor.kyc_reinstated", "The investor may act again."),
    own("investor.kyc_rejected", "The proof of identity was turned down."),
    own("investor.kyc_renewed", "The proof of identity holds longer."),
    own("investor.kyc_reset", "The proof of identity may be handed in anew."),
    own("investor.kyc_submitted", "The proof of identity is being looked at."),
    own("investor.kyc_suspended", "The investor may not act for now."),
    own("investor.risk_warned", "The investor was first warned of the risk, and has time to think."),
    own("investor.tax_changed", "Another part of what the investor is paid is withheld."),
    own("investor.updated", "The investor changed the profile."),
    staff("issuer.approved", "An organisation may offer."),
    staff("issuer.reinstated", "An organisation may act again."),
    staff("issuer.suspended", "An organisation may not act for now."),
    staff("lane.active", "A signer signs again."),
    staff("lane.paused", "A signer was stopped."),
    staff("lane.quarantined", "A signer was stopped because the chain knows more of it than the database."),
    org("offering.approved", "The terms were approved."),
    org("offering.archived", "The offering was put away."),
    org("offering.cancelled", "The offering was called off."),
    org("offering.changes_requested", "The terms went back to whoever wrote them."),
    org("offering.closed", "Nobody can subscribe any more."),
    org("offering.created", "An offering was drafted."),
    org("offering.failed", "The soft cap was not reached."),
    org("offering.paused", "Nobody can subscribe for now."),
    org("offering.published", "The offering is open."),
    org("offering.resumed", "The offering is open again."),
    org("offering.settled", "Everything is minted."),
    org("offering.submitted", "The terms wait for a review."),
    org("offering.token_deployed", "The token is on the chain, finally."),
    org("offering.token_deployment_failed", "The token could not be deployed."),
    org("offering.updated", "The terms changed."),
    staff("operation.confirmed", "The effect is final."),
    staff("operation.dead_letter", "The engine gave up; a person is needed."),
    staff("operation.failed", "The operation failed; a person is needed."),
    staff("operation.late_confirmation", "What was given up happened all the same."),
    staff("operation.pending", "An intent was accepted."),
    staff("operation.resolved", "A person dealt with a failure."),
    staff("operation.submitted", "The first transaction is signed."),
    staff("policy.changed", "Two admins agreed on other limits."),
    staff("reconciliation.difference_found", "Chain and database do not agree."),
    both("subscription.accepted", "Every gate is passed."),
    both("subscription.binding", "The time to withdraw is over."),
    both("subscription.cancelled", "The subscription was withdrawn."),
    both("subscription.committed", "Somebody subscribed."),
    both("subscription.cooling_off_changed", "The end was moved, and with it the time to withdraw."),
    both("subscription.expired", "It was never paid."),
    both("subscription.minted", "The tokens are the investor's, finally."),
    both("subscription.payment_received", "Money came in."),
    both("subscription.payment_refunded", "Money went back."),
    both("subscription.reconfirmation_required", "Terms changed: the investor must say yes again."),
    both("subscription.refund_pending", "Money has to go back."),
    both("subscription.refunded", "All money went back."),
    both("subscription.rejected", "The subscription was turned down."),
    both("subscription.wallet_changed", "The units will go to another wallet."),
    own("wallet.frozen", "The wallet's tokens cannot move."),
    own("wallet.preferred", "The wallet is used wherever none is named."),
    own("wallet.recovered", "What the wallet held is in another one."),
    staff("wallet.removed", "The wallet was taken back, or another investor proved it."),
    own("wallet.unfrozen", "The wallet's tokens can move again."),
    own("wallet.verified", "The wallet is the investor's."),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_test::cells;
    use crate::{distribution, investor, offering};

    #[test]
    fn the_catalog_is_in_order_and_names_each_kind_once() {
        assert!(CATALOG.windows(2).all(|pair| pair[0].name < pair[1].name));
    }

    #[test]
    fn every_move_of_an_investor_an_offering_and_a_distribution_is_told_under_a_name_of_the_catalog() {
        let told = investor::Move::ALL.iter().map(|by| by.event().to_owned());
        let told = told.chain(offering::Move::ALL.iter().map(|by| by.told_as().to_owned()));
        let moves = cells(distribution::Status::ALL, distribution::Move::ALL, distribution::Status::next);
        let told =
            told.chain(moves.iter().map(|(_, by, to)| format!("distribution.{}", distribution::told_as(*by, *to))));
        let unknown: Vec<_> = told.filter(|name| !CATALOG.iter().any(|kind| kind.name == *name)).collect();
        assert_eq!(unknown, Vec::<String>::new());
    }
}
