//! Country codes of ISO 3166-1 alpha-2.

const CODES: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ \
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF \
    GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW \
    KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL \
    NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST \
    SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW";

/// Whether this is a known country code.
pub fn is_known(code: &str) -> bool {
    code.len() == 2 && CODES.split_ascii_whitespace().any(|known| known == code)
}

/// Whether a stored list, separated by spaces, contains a country.
pub fn is_listed(list: &str, code: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_codes_of_the_standard_are_known() {
        assert_eq!(CODES.split_ascii_whitespace().count(), 249);
        assert!(["DE", "US", "GB"].iter().all(|code| is_known(code)));
        assert!(["", "D", "de", "UK", "ZZ", "D E", "DEU"].iter().all(|code| !is_known(code)));
        assert!(is_listed("DE FR", "FR") && !is_listed("DE FR", "F") && !is_listed("", ""));
    }
}
