//! The CHECK of a column repeats the words of its enum, in the same order.

use std::fmt::Display;

use super::tests::migrated;
use crate::*;

/// A column of words, and the words.
struct Column(&'static str, &'static str, Vec<String>);

fn column<T: Display>(table: &'static str, name: &'static str, words: &[T]) -> Column {
    Column(table, name, words.iter().map(T::to_string).collect())
}

/// Every column whose words are an enum.
fn columns() -> Vec<Column> {
    use offering::choice::{IssuancePolicy, KycRequirement, Template, Visibility};
    vec![
        column("contracts", "kind", contract::Kind::ALL),
        column("lanes", "mode", lane::Mode::ALL),
        column("operations", "kind", operation::Kind::ALL),
        column("operations", "status", operation::Status::ALL),
        column("operations", "resolution", operation::Resolution::ALL),
        column("operations", "error_stage", operation::Stage::ALL),
        column("operation_steps", "state", step::State::ALL),
        column("operation_steps", "outcome", step::Outcome::ALL),
        column("attempts", "kind", attempt::Kind::ALL),
        column("commands", "kind", command::Kind::ALL),
        column("approvals", "status", approval::Status::ALL),
        column("issuers", "status", issuer::Status::ALL),
        column("users", "status", user::Status::ALL),
        column("email_links", "purpose", email_link::Purpose::ALL),
        column("login_attempts", "outcome", login_attempt::Outcome::ALL),
        column("offerings", "status", offering::Status::ALL),
        column("offerings", "template", Template::ALL),
        column("offerings", "visibility", Visibility::ALL),
        column("offerings", "exemption", exemption::Exemption::ALL),
        column("offerings", "kyc_requirement", KycRequirement::ALL),
        column("offerings", "issuance_policy", IssuancePolicy::ALL),
        column("offerings", "token_status", offering::TokenStatus::ALL),
        column("offering_documents", "kind", offering::document::Kind::ALL),
        column("token_events", "kind", token_event::Kind::ALL),
        column("token_cursors", "pace", token_read::ReadMode::ALL),
        column("investors", "kind", investor::Kind::ALL),
        column("investors", "tax_form", investor::TaxForm::ALL),
        column("investors", "kyc_status", investor::Status::ALL),
        column("investors", "kyc_level", investor::Level::ALL),
        column("investors", "sanctions_status", investor::Screening::ALL),
        column("investors", "accreditation_status", investor::Accreditation::ALL),
        column("kyc_cases", "level", investor::Level::ALL),
        column("kyc_decisions", "screening", investor::Screening::ALL),
        column("accreditations", "status", investor::Accreditation::ALL),
        column("investor_documents", "kind", investor::document::DocumentKind::ALL),
        column("subscriptions", "status", subscription::Status::ALL),
        column("payments", "kind", subscription::PaymentKind::ALL),
        column("distributions", "kind", distribution::Kind::ALL),
        column("distributions", "status", distribution::Status::ALL),
        column("distributions", "method", distribution::Method::ALL),
        column("entitlements", "status", entitlement::Status::ALL),
        column("entitlements", "hold_reason", entitlement::HoldReason::ALL),
        column("reconciliation_runs", "status", reconciliation::Status::ALL),
        column("reconciliation_findings", "severity", reconciliation::Severity::ALL),
        column("webhook_endpoints", "status", webhook::Status::ALL),
        column("audit_log", "actor_kind", audit::ActorKind::ALL),
    ]
}

#[tokio::test]
async fn the_check_of_a_column_repeats_the_words_of_its_enum() {
    let mut conn = migrated().await;
    let mut missing = Vec::new();
    for Column(table, name, words) in columns() {
        let sql = "select sql from sqlite_master where type = 'table' and name = $1";
        let sql: String = sqlx::query_scalar(sql).bind(table).fetch_one(&mut conn).await.unwrap();
        let check = format!("check ({name} in ('{}'))", words.join("', '"));
        if !sql.split_whitespace().collect::<Vec<_>>().join(" ").contains(&check) {
            missing.push(format!("{table}: {check}"));
        }
    }
    assert!(missing.is_empty(), "the migrations lack:\n{}", missing.join("\n"));
}
