//! Invalid terms are refused with the field's pointer, and nothing is written.

use muniment_activities::contract::line;
use muniment_domain::offering::terms;
use serde_json::{Value, json};
use world::{Database, Engine};

use crate::installation::{OfferingFixture, later};

fn bad() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (json!({ "name": null }), "/name", "required"),
        (json!({ "closes_at": null }), "/closes_at", "required"),
        (json!({ "name": "ab" }), "/name", "length_out_of_range"),
        (json!({ "name": 7 }), "/name", "type_mismatch"),
        (json!({ "colour": "red" }), "/colour", "unknown_field"),
        (json!({ "template": "boat" }), "/template", "type_mismatch"),
        (json!({ "currency": "JPY" }), "/currency", "currency_unknown"),
        (json!({ "token_symbol": "harb" }), "/token_symbol", "symbol_format"),
        (json!({ "token_symbol": "H" }), "/token_symbol", "symbol_format"),
        (json!({ "token_decimals": 19 }), "/token_decimals", "out_of_range"),
        (json!({ "utc_offset_minutes": 841 }), "/utc_offset_minutes", "out_of_range"),
        (json!({ "utc_offset_minutes": -721 }), "/utc_offset_minutes", "out_of_range"),
        (json!({ "utc_offset_minutes": "+01:00" }), "/utc_offset_minutes", "type_mismatch"),
        (json!({ "partition": "0" }), "/partition", "partition_unknown"),
        (json!({ "network": "mars" }), "/network", "unknown_chain"),
        (json!({ "hard_cap": 500_000 }), "/hard_cap", "type_mismatch"),
        (json!({ "hard_cap": "500000" }), "/hard_cap", "amount_format"),
        (json!({ "hard_cap": "-1.00" }), "/hard_cap", "amount_format"),
        (json!({ "hard_cap": "10000000000000.00" }), "/hard_cap", "amount_format"),
        (json!({ "minimum_investment": "0.00" }), "/minimum_investment", "below_minimum"),
        (json!({ "minimum_investment": "600000.00" }), "/minimum_investment", "above_maximum"),
        (json!({ "maximum_investment": "900.00" }), "/minimum_investment", "above_maximum"),
        (json!({ "maximum_investment": "500000.01" }), "/maximum_investment", "above_maximum"),
        (json!({ "target_amount": "500000.01" }), "/target_amount", "above_maximum"),
        (json!({ "soft_cap": "400000.01" }), "/soft_cap", "above_maximum"),
        (json!({ "unit_price": "3.00" }), "/hard_cap", "amount_not_multiple"),
        (
            json!({ "currency": "IDR", "unit_price": "1.00", "token_decimals": 18, "hard_cap": "80000000000.00" }),
            "/hard_cap",
            "above_maximum",
        ),
        (
            json!({ "unit_price": "500.00", "token_decimals": 0, "minimum_investment": "750.00" }),
            "/minimum_investment",
            "amount_not_multiple",
        ),
        (json!({ "closes_at": "2020-01-01T00:00:00Z" }), "/closes_at", "below_minimum"),
        (json!({ "closes_at": "soon" }), "/closes_at", "type_mismatch"),
        (json!({ "closes_at": "+262142-12-31T23:59:59Z" }), "/closes_at", "type_mismatch"),
        (json!({ "closes_at": "9999-12-31T23:59:59Z" }), "/closes_at", "above_maximum"),
        (json!({ "lockup": { "enabled": true, "days": i64::MAX } }), "/lockup/days", "above_maximum"),
        (json!({ "description": "a\u{0}b" }), "/description", "text_format"),
        (json!({ "opens_at": later(61) }), "/closes_at", "below_minimum"),
        (json!({ "auto_open": true }), "/opens_at", "required"),
        (json!({ "allowed_countries": ["DE", "XX"] }), "/allowed_countries", "country_format"),
        (json!({ "allowed_countries": ["DE FR"] }), "/allowed_countries", "country_format"),
        (json!({ "allowed_countries": ["DE"], "blocked_countries": ["DE"] }), "/blocked_countries", "conflict"),
        (json!({ "holder_cap": 0 }), "/holder_cap", "below_minimum"),
        (json!({ "payment_methods": [] }), "/payment_methods", "required"),
        (json!({ "payment_methods": ["cheque"] }), "/payment_methods/0", "type_mismatch"),
        (json!({ "cover_image_url": "http://pictures.example/1" }), "/cover_image_url", "url_forbidden"),
        (json!({ "lockup": { "enabled": true } }), "/lockup/days", "required"),
    ]
}

/// Terms that the exemption of an offering does not allow.
fn exempt() -> Vec<(Value, &'static str, &'static str)> {
    vec![
        (json!({ "cooling_off": { "hours": 100 } }), "/cooling_off", "exemption_limit"),
        (json!({ "cooling_off": { "hours": 1441 } }), "/cooling_off", "exemption_limit"),
        (json!({ "exemption": "reg_z" }), "/exemption", "type_mismatch"),
        (json!({ "exemption": "reg_cf" }), "/lockup", "exemption_limit"),
        (
            json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 }, "closes_at": later(20) }),
            "/closes_at",
            "below_minimum",
        ),
        (
            json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 }, "cooling_off": { "hours": 400 } }),
            "/cooling_off",
            "exemption_limit",
        ),
        (json!({ "exemption": "eu_ecsp", "hard_cap": "5000001.00" }), "/hard_cap", "exemption_limit"),
        (
            json!({ "exemption": "reg_d_506b", "lockup": { "enabled": true, "days": 365 } }),
            "/visibility",
            "exemption_limit",
        ),
        (
            json!({ "exemption": "reg_d_506c", "lockup": { "enabled": true, "days": 365 } }),
            "/accreditation_required",
            "exemption_limit",
        ),
        (json!({ "exemption": "reg_s", "lockup": { "enabled": true, "days": 40 } }), "/lockup", "exemption_limit"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_terms_are_refused_at_their_field() {
    let fixture = OfferingFixture::new(Database::fresh(Engine::Sqlite).await).await;
    for (change, pointer, code) in bad().into_iter().chain(exempt()) {
        let answer = fixture.issuer.post("/v1/offerings", OfferingFixture::terms(change.clone())).await;
        let found = answer.field();
        assert_eq!(found, (422, pointer.to_owned(), code.to_owned()), "{change}: {answer:?}");
    }
    assert_eq!(fixture.api.count("offerings").await, 0);
    assert_eq!(terms::TOKEN_UNITS_MAX, line::UNITS_MAX);
    for change in [
        json!({ "currency": "IDR", "unit_price": "1.00", "token_decimals": 18, "hard_cap": "79000000000.00" }),
        json!({ "exemption": "reg_cf", "lockup": { "enabled": true, "days": 365 } }),
        json!({ "exemption": "reg_s", "template": "bond", "lockup": { "enabled": true, "days": 40 } }),
        json!({ "cooling_off": { "mode": "after_commitment", "hours": 400 }, "soft_cap": "100000.00", "holder_cap": 99,
            "allowed_countries": ["DE", "FR"], "blocked_countries": ["US"], "payment_methods": ["card", "stablecoin"],
            "opens_at": later(1), "auto_open": true, "issuance_policy": "rolling", "kyc_requirement": "before_subscribe" }),
    ] {
        let answer = fixture.issuer.post("/v1/offerings", OfferingFixture::terms(change.clone())).await;
        assert_eq!(answer.status, 201, "{change}: {answer:?}");
        for (field, value) in
            change.as_object().unwrap().iter().filter(|(_, value)| value.is_string() || value.is_array())
        {
            let at = field.ends_with("_at");
            assert!(at || answer.body[field.as_str()] == *value, "{field}: {answer:?}");
        }
    }
    assert_eq!(fixture.api.count("offerings").await, 4);
}
