use serde_json::{Value, json};

use super::*;

fn refused(change: Value) -> Option<(String, String)> {
    let mut body = json!({ "amount": "1500.00" });
    body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
    let read = crate::http::body::parse::<Body>(body.to_string().as_bytes());
    let problem = read.and_then(|body| body.check(DateTime::UNIX_EPOCH)).err()?.body("", "/", "req");
    let of = |key: &str| problem["errors"][0][key].as_str().unwrap_or_default().to_owned();
    Some((of("pointer"), of("code")))
}

#[test]
fn request_errors_name_the_field() {
    let address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
    assert_eq!(refused(json!({})), None);
    assert_eq!(refused(json!({ "wallet_address": address })), None);
    for (change, pointer, code) in [
        (json!({ "amount": 1500 }), "/amount", "type_mismatch"),
        (json!({ "amount": "1500" }), "/amount", "amount_format"),
        (json!({ "amount": "1500.0" }), "/amount", "amount_format"),
        (json!({ "amount": "-1.00" }), "/amount", "amount_format"),
        (json!({ "wallet_address": address.replace('A', "a") }), "/wallet_address", "address_checksum"),
        (json!({ "wallet_address": "0x12" }), "/wallet_address", "address_format"),
        (json!({ "reference": "x".repeat(141) }), "/reference", "above_maximum"),
        (json!({ "acknowledgements": vec!["x"; 21] }), "/acknowledgements", "above_maximum"),
        (json!({ "investor_id": "inv_1" }), "/investor_id", "id_format"),
        (json!({ "consent_document_id": "paper" }), "/consent_document_id", "id_format"),
        (json!({ "offering_id": "off_1" }), "/offering_id", "unknown_field"),
        (json!({ "status": "accepted" }), "/status", "unknown_field"),
    ] {
        assert_eq!(refused(change.clone()), Some((pointer.to_owned(), code.to_owned())), "{change}");
    }
}

#[test]
fn answer_starts_with_the_fields_of_the_specification() {
    let created = Created {
        subscription_id: &"sub_1".into(),
        status: Status::Committed,
        cooling_off_expires_at: "2026-12-05T10:00:00.000Z".to_owned(),
        id: &"sub_1".into(),
        offering_id: &"off_1".into(),
        amount: "1500.00".to_owned(),
        currency: "EUR",
        wallet_address: None,
        payment_instructions: PaymentInstructions {
            method: None,
            reference: "sub_1",
            amount: "1500.00".to_owned(),
            currency: "EUR",
            due_at: None,
        },
        created_at: "2026-11-21T10:00:00.000Z".to_owned(),
    };
    let text = serde_json::to_string(&created).unwrap();
    let begins =
        r#"{"subscription_id":"sub_1","status":"committed","cooling_off_expires_at":"2026-12-05T10:00:00.000Z","#;
    assert!(text.starts_with(begins), "{text}");
    assert!(text.contains(r#""wallet_address":null"#), "{text}");
}
