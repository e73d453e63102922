//! Examples of requests whose fields depend on each other, by schema. `example.rs` makes the others. A test sends every example to the server.

use serde_json::Value;

/// The schema and its example. Times that must be in the future are far in it.
const WHOLE: &[(&str, &str)] = &[
    (
        "BulkRetry",
        r#"{ "filter": { "status": "failed", "error_code": "reverted" }, "limit": 100, "reason": "The signer has its role again.", "dry_run": true }"#,
    ),
    (
        "ForceTransfer",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "from": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
            "to": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359", "partition": "1", "quantity": "250.00", "reason_code": "court_order",
            "case_reference": "case 2026-117", "document_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "Invitation",
        r#"{ "email": "olga@platform.example", "name": "Olga Matos", "roles": ["operator"], "reason": "She starts in May." }"#,
    ),
    (
        "KycVerdict",
        r#"{ "decision": "approve", "level": "basic", "screening": "clear", "reason_code": "documents_match", "high_risk": false,
            "evidence_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "Lock",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "partition": "1",
            "quantity": "250.00", "release_at": "2036-06-30T22:00:00Z", "reason_code": "court_order", "case_reference": "case 2026-117" }"#,
    ),
    (
        "NewAccreditation",
        r#"{ "status": "verified", "basis": "net_worth", "expires_at": "2036-06-30T22:00:00Z",
            "evidence_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "NewDistribution",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "type": "dividend", "method": "direct_payout", "total_amount": "25000.00",
            "record_date": "2036-06-30", "payment_date": "2036-07-15", "memo": "The second quarter." }"#,
    ),
    ("NewRoles", r#"{ "roles": ["operator"], "reason": "She takes over from Oleg." }"#),
    (
        "NewWithholding",
        r#"{ "withholding_rate": "15.00", "basis": "treaty", "evidence_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "Recover",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "investor_id": "inv_01jc8yq3k5e9v8w2m4n6p7r9st",
            "lost_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "new_address": "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
            "case_reference": "case 2026-117",
            "evidence_document_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "Registration",
        r#"{ "email": "ada@investor.example", "password": "correct horse battery", "name": "Ada Almeida", "country": "PT",
            "account_type": "investor", "accept_terms_version": "2026-09" }"#,
    ),
    (
        "Reinstatement",
        r#"{ "reason": "The hit was somebody else.", "screening": "clear",
            "evidence_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" }"#,
    ),
    (
        "ReleaseLock",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "partition": "1",
            "quantity": "250.00", "release_at": "2036-06-30T22:00:00Z", "new_release_at": "2035-06-30T22:00:00Z",
            "reason_code": "court_order", "case_reference": "case 2026-117" }"#,
    ),
    (
        "Subscribe",
        r#"{ "amount": "25000.00", "wallet_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed", "reference": "my first one",
            "acknowledgements": ["risk_warning"] }"#,
    ),
    (
        "TriggerMint",
        r#"{ "offering_id": "off_01jc8yq3k5e9v8w2m4n6p7r9st", "subscription_ids": ["sub_01jc8yq3k5e9v8w2m4n6p7r9st"],
            "lockup": { "release_at": "2036-06-30T22:00:00Z" } }"#,
    ),
    (
        "WantedApiKey",
        r#"{ "name": "The portal", "scopes": ["me:read"], "allowed_cidrs": ["203.0.113.0/24"], "rate_limit": 600 }"#,
    ),
    (
        "WantedPolicies",
        r#"{ "limits": { "mint_dual_control_threshold": "250000.00", "payout_dual_control_threshold": "10000.00", "payout_dust_threshold": "0.01",
            "mint_platform_dual_control_threshold": "1000000.00", "payout_platform_dual_control_threshold": "40000.00", "means_raise_days": 30,
            "approval_hours": 48, "payment_due_days": 10, "kyc_months": 24, "kyc_months_at_high_risk": 12, "unpaid_investor_percent": 50,
            "unverified_investor_percent": 5, "unverified_total_percent": 20, "unverified_hours": 72, "issuer_invitations_per_day": 20 },
            "reason": "Approvals are decided within two days." }"#,
    ),
];

/// The example of a body that refers to this schema, if it is one of these.
pub fn example(reference: &Value) -> Option<Value> {
    let schema = reference.as_str()?.rsplit('/').next()?;
    let (_, text) = WHOLE.iter().find(|(name, _)| *name == schema)?;
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_json() {
        for (name, text) in WHOLE {
            assert!(serde_json::from_str::<Value>(text).is_ok(), "{name}");
        }
    }
}
