use serde_json::{Value, json};

use super::*;

fn refused(change: Value) -> Option<(String, String)> {
    let mut body = json!({ "offering_id": "off_01jc0000000000000000000000", "type": "dividend", "method": "direct_payout",
        "total_amount": "10.00", "record_date": "2026-12-01", "payment_date": "2026-12-01" });
    for (key, value) in change.as_object().unwrap() {
        if value.is_null() {
            body.as_object_mut().unwrap().remove(key);
        } else {
            body[key] = value.clone();
        }
    }
    let read = crate::http::body::parse::<Body>(body.to_string().as_bytes());
    let problem = read.and_then(|body| body.check(DateTime::UNIX_EPOCH)).err()?.body("", "/", "req");
    let of = |key: &str| problem["errors"][0][key].as_str().unwrap_or_default().to_owned();
    Some((of("pointer"), of("code")))
}

#[test]
fn draft_errors_name_the_field() {
    assert_eq!(refused(json!({})), None);
    assert_eq!(refused(json!({ "total_amount": null, "per_unit_amount": "0.01" })), None);
    for (change, pointer, code) in [
        (json!({ "total_amount": null }), "/total_amount", "required"),
        (json!({ "per_unit_amount": "1.00" }), "/per_unit_amount", "conflict"),
        (json!({ "total_amount": "0.00" }), "/total_amount", "below_minimum"),
        (json!({ "total_amount": "1" }), "/total_amount", "amount_format"),
        (json!({ "total_amount": 1 }), "/total_amount", "type_mismatch"),
        (json!({ "record_date": "1.12.2026" }), "/record_date", "date_format"),
        (json!({ "payment_date": "2026-13-01" }), "/payment_date", "date_format"),
        (json!({ "type": "gift" }), "/type", "type_mismatch"),
        (json!({ "partition": "33" }), "/partition", "partition_unknown"),
        (json!({ "payout_token": "0x1" }), "/payout_token", "address_format"),
        (json!({ "memo": "x".repeat(501) }), "/memo", "above_maximum"),
        (
            json!({ "excluded_addresses": vec!["0x00000000000000000000000000000000000000b1"; 33] }),
            "/excluded_addresses",
            "count_out_of_range",
        ),
        (json!({ "more": 1 }), "/more", "unknown_field"),
    ] {
        assert_eq!(refused(change.clone()), Some((pointer.to_owned(), code.to_owned())), "{change}");
    }
}
