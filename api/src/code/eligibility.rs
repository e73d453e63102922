//! The words of eligibility: the rules of a preview, the codes with which they refuse, and why a mint leaves a subscription out.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

/// Defines words of answers whose source is a plain text. A debug build refuses a word that the document does not have.
macro_rules! answered {
    ($($(#[$comment:meta])* $name:ident as $shown:literal: $description:literal [$($word:literal, $meaning:literal;)+])+) => {$(
        $(#[$comment])*
        #[derive(Serialize)]
        pub struct $name(String);

        impl $name {
            const WORDS: &[(&'static str, &'static str)] = &[$(($word, $meaning)),+];

            /// The word as an answer shows it.
            pub fn of(word: &str) -> Self {
                debug_assert!(Self::WORDS.iter().any(|(known, _)| *known == word), "the document has no {word}");
                Self(word.to_owned())
            }
        }

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                muniment_domain::schema::described($description, Self::WORDS)
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                $shown.into()
            }
        }
    )+};
}

answered! {
    /// The name of a rule of a subscription.
    Rule as "EligibilityRule": "A rule of a subscription. New rules may be added." [
        "accreditation", "Who may subscribe without an accreditation.";
        "amount", "The smallest and the largest amount.";
        "country", "The residents who may subscribe.";
        "hard_cap", "What the offering has left.";
        "holder_cap", "The number of holders.";
        "identity", "The identity of the investor.";
        "investor_limit", "The sum of the investor's subscriptions.";
        "issuer_active", "The issuer is not suspended.";
        "means", "The legal limit by income and net worth.";
        "offering_open", "The offering takes subscriptions.";
        "one_subscription", "One subscription for each investor.";
        "reservation", "What may be reserved before a payment.";
        "risk_warning", "The time to reflect after the risk warning.";
        "sanctions", "The sanctions screening.";
        "suitability", "The statements that the investor confirms.";
        "unit_price", "The amount buys whole units.";
        "wallet", "The wallet that receives the units.";
    ]
    /// The code with which a rule refuses a subscription.
    Refusal as "EligibilityCode": "The code with which a request would be refused: of a problem or of a field. New codes may be added." [
        "above_maximum", "It is above the maximum.";
        "accreditation_required", "Only accredited investors may subscribe.";
        "acknowledgement_required", "A statement is not confirmed.";
        "address_forbidden", "This address is not allowed here.";
        "amount_not_multiple", "It is not a multiple of the required step.";
        "below_minimum", "It is below the minimum.";
        "cooling_off_active", "The time to reflect is not over.";
        "country_blocked", "Residents of the investor's country may not subscribe.";
        "country_required", "The country of the investor is not known.";
        "duplicate_subscription", "The investor has a subscription of this offering.";
        "hard_cap_exceeded", "It is more than the offering has left.";
        "holder_cap_reached", "The offering has its maximum number of holders.";
        "investor_limit_exceeded", "It exceeds a limit of the investor.";
        "kyc_required", "The identity of the investor must be approved first.";
        "offering_not_open", "The offering takes no subscriptions now.";
        "reservation_limit_exceeded", "It exceeds what may be reserved before a payment.";
        "sanctions_not_clear", "The sanctions screening is not clear.";
        "wallet_in_use", "The wallet belongs to another investor.";
    ]
    /// Why a mint leaves a subscription out.
    Skip as "SkippedSubscriptionCode": "Why a mint leaves a subscription out. New codes may be added." [
        "accreditation_required", "Only accredited investors may hold the token.";
        "address_frozen", "The wallet is frozen on the token.";
        "already_minted", "It was minted already.";
        "country_blocked", "Residents of the investor's country may not hold the token.";
        "country_required", "The country of the investor is not known.";
        "holder_cap_reached", "The offering has its maximum number of holders.";
        "investor_limit_exceeded", "It exceeds the legal limit of the investor.";
        "kyc_required", "The identity of the investor is not approved.";
        "not_accepted", "The subscription is not accepted.";
        "not_found", "The offering has no such subscription.";
        "operation_in_progress", "Another operation concerns it now.";
        "quantity_missing", "Its quantity is not known yet.";
        "quantity_out_of_range", "Its quantity is more than one line of a mint can have.";
        "sanctions_not_clear", "The sanctions screening is not clear.";
        "wallet_required", "A wallet is missing.";
        "wallet_retired", "The wallet was retired.";
        "wallet_unverified", "The wallet is not proved yet.";
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_unique_and_in_order() {
        for words in [Rule::WORDS, Refusal::WORDS, Skip::WORDS] {
            assert!(words.is_sorted_by(|(one, _), (next, _)| one < next));
        }
    }
}
