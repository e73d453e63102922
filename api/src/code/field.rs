//! The codes of invalid fields: `errors[].code` of a problem, and the code of an eligibility check.

use std::borrow::Cow;

use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{PartialSchema, ToSchema};

/// Every code, in alphabetical order, with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("above_maximum", "It is above the maximum."),
    ("accreditation_required", "Only accredited investors may subscribe."),
    ("acknowledgement_required", "A statement is not confirmed."),
    ("address_checksum", "The capital letters are not those of the checksum (EIP-55)."),
    ("address_forbidden", "This address is not allowed here."),
    ("address_format", "It is no address of a chain."),
    ("address_frozen", "The address is frozen."),
    ("address_not_frozen", "The address is not frozen."),
    ("address_not_recovered", "The address was not retired by a recovery."),
    ("address_retired", "The address was retired by a recovery."),
    ("already_recorded", "It is already recorded."),
    ("already_used", "It was already used, and counts once."),
    ("amount_format", "It is no amount with two decimals."),
    ("amount_not_multiple", "It is not a multiple of the required step."),
    ("below_minimum", "It is below the minimum."),
    ("challenge_over", "The challenge was used or has expired."),
    ("code_format", "It is no code of lower-case letters, digits and underscores."),
    ("conflict", "It contradicts another field."),
    ("count_out_of_range", "There are too few or too many items."),
    ("country_blocked", "Residents of the investor's country may not subscribe."),
    ("country_format", "It is no country of ISO 3166-1."),
    ("country_required", "The country of the investor is not known."),
    ("currency_unknown", "The currency is not supported."),
    ("date_format", "It is no date or time."),
    ("digest_format", "It is no SHA-256 of 64 lower-case hexadecimal digits."),
    ("duplicate", "It occurs twice."),
    ("email_format", "It is no single e-mail address."),
    ("event_type_unknown", "The caller receives no such events."),
    ("exemption_limit", "The legal exemption does not allow it."),
    ("fee_format", "It is no fee in wei."),
    ("hard_cap_exceeded", "It is more than the offering has left."),
    ("hash_format", "It is no transaction hash."),
    ("header_format", "It is no header that can be sent."),
    ("header_reserved", "The header belongs to the connection or to the platform."),
    ("holder_cap_reached", "The offering has its maximum number of holders."),
    ("id_format", "It is no id of this kind."),
    ("insufficient_balance", "The balance is too low."),
    ("investor_limit_exceeded", "It exceeds the legal limit of the investor."),
    ("kyc_required", "The identity of the investor must be approved first."),
    ("length_out_of_range", "The text is too short or too long."),
    ("locale_format", "It is no language tag."),
    ("name_format", "It is no name."),
    ("network_format", "It is no IP address or network."),
    ("not_changeable", "The field cannot be changed now."),
    ("not_final", "The block is not final yet."),
    ("not_found", "It does not exist, or the caller may not see it."),
    ("out_of_range", "It is outside the allowed range."),
    ("overpaid", "More was paid than the amount."),
    ("partition_unknown", "The token has no such partition."),
    ("password_breached", "The password is easy to guess."),
    ("password_too_long", "The password is too long."),
    ("password_too_short", "The password is too short."),
    ("payment_required", "The amount is not paid yet."),
    ("quantity_format", "It is no quantity of the token."),
    ("quantity_mismatch", "The amount buys another quantity."),
    ("reference_format", "It is no reference that can be stored."),
    ("required", "It is missing."),
    ("reservation_limit_exceeded", "It exceeds what may be reserved before a payment."),
    ("roles_exclusive", "The roles exclude each other."),
    ("sanctions_not_clear", "The sanctions screening is not clear."),
    ("scope_forbidden", "The caller does not have this scope."),
    ("scope_unknown", "The scope does not exist."),
    ("signature_format", "It is no signature."),
    ("signature_invalid", "The signature is not from this wallet."),
    ("symbol_format", "It is no symbol of capital letters and digits."),
    ("text_format", "The text has characters that are not allowed, or a wrong length."),
    ("token_invalid", "The token is unknown, used or expired."),
    ("too_early", "It lies before the first possible value."),
    ("too_long", "There are too many items or characters."),
    ("type_mismatch", "The value has the wrong type, or is not one of the allowed words."),
    ("unexpected", "The field is not allowed here."),
    ("units_format", "It is no number of base units."),
    ("unknown_chain", "The chain is not configured."),
    ("unknown_field", "The field does not exist."),
    ("url_forbidden", "The URL is not allowed."),
    ("wallet_not_empty", "The wallet holds units."),
    ("wallet_required", "A wallet is missing."),
    ("wallet_retired", "The wallet was retired."),
    ("wallet_unknown", "The wallet belongs to no known investor."),
    ("wallet_unverified", "The wallet is not proved yet."),
];

/// The code of an invalid field, as the document shows it.
pub struct InvalidFieldCode;

impl PartialSchema for InvalidFieldCode {
    fn schema() -> RefOr<Schema> {
        let description = "The stable code of an invalid field. New codes may be added.";
        muniment_domain::schema::described(description, CODES)
    }
}

impl ToSchema for InvalidFieldCode {
    fn name() -> Cow<'static, str> {
        "InvalidFieldCode".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order() {
        assert!(CODES.is_sorted_by(|(one, _), (next, _)| one < next));
    }
}
