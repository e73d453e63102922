//! The words of the states that events show. They are written here and not taken from the enums, because those write events. A test
//! compares them.

/// The words of one enum.
pub type Words = &'static [&'static str];

pub const APPROVAL: Words =
    &["pending", "approved", "executed", "execution_failed", "rejected", "expired", "cancelled"];
pub const DISTRIBUTION: Words = &[
    "draft",
    "snapshotting",
    "snapshotted",
    "calculated",
    "awaiting_approval",
    "approved",
    "executing",
    "completed",
    "partially_completed",
    "cancelled",
];
pub const ENTITLEMENT: Words = &["calculated", "held", "excluded", "queued", "paid", "failed"];
pub const HOLD_REASON: Words = &[
    "frozen",
    "kyc_required",
    "wallet_required",
    "below_dust",
    "operator",
    "withheld_frozen",
    "withheld_transfer_failed",
];
pub const KYC: Words =
    &["not_started", "pending", "in_review", "needs_information", "approved", "rejected", "expired", "suspended"];
pub const KYC_LEVEL: Words = &["basic", "enhanced"];
pub const ACCREDITATION: Words = &["none", "verified"];
pub const ISSUER: Words = &["pending", "active", "suspended"];
pub const LANE: Words = &["active", "paused", "quarantined"];
pub const OFFERING: Words =
    &["draft", "in_review", "approved", "open", "paused", "closed", "settled", "failed", "cancelled", "archived"];
pub const OPERATION: Words = &["pending", "submitted", "confirmed", "failed", "dead_letter"];
pub const SUBSCRIPTION: Words = &[
    "committed",
    "pending_reconfirmation",
    "binding",
    "accepted",
    "minted",
    "cancelled",
    "rejected",
    "expired",
    "refund_pending",
    "refunded",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{approval, distribution, entitlement, investor, issuer, lane, offering, operation, subscription};

    #[test]
    fn the_words_are_those_of_the_enums() {
        macro_rules! same {
            ($($words:ident = $noun:ty),+ $(,)?) => {
                $(assert_eq!($words, <$noun>::ALL.iter().map(|word| word.as_str()).collect::<Vec<_>>(), stringify!($noun));)+
            };
        }
        same! {
            APPROVAL = approval::Status,
            DISTRIBUTION = distribution::Status,
            ENTITLEMENT = entitlement::Status,
            HOLD_REASON = entitlement::HoldReason,
            KYC = investor::Status,
            KYC_LEVEL = investor::Level,
            ACCREDITATION = investor::Accreditation,
            ISSUER = issuer::Status,
            LANE = lane::Mode,
            OFFERING = offering::Status,
            OPERATION = operation::Status,
            SUBSCRIPTION = subscription::Status,
        }
    }
}
