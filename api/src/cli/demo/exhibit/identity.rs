//! The queue of identity checks: a case in each status that waits for a person, and a rejection.

use serde_json::{Value, json};

use crate::cli::demo::running_demo::{RunningDemo, text};
use crate::failure::Failure;

/// The submissions: the login, the country, and the decisions of the reviewer.
const CASES: [(&str, &str, &[&str]); 4] = [
    ("greta", "DK", &[]),
    ("hugo", "NL", &["start_review"]),
    ("ida", "SI", &["start_review", "needs_information"]),
    ("jens", "NO", &["start_review", "reject"]),
];

pub async fn make(demo: &RunningDemo) -> Result<(), Failure> {
    let reviewer = demo.person("operator").await?;
    for (login, country, decisions) in CASES {
        let data = json!({ "date_of_birth": "1984-02-29", "nationality": country, "document_type": "passport",
            "document_number": format!("L01{country}47"), "address": "Harbour Street 7" });
        let submission = json!({ "level": "basic", "country": country, "data": data });
        let case = demo.person(login).await?.post(&format!("kyc-{login}"), "/v1/investor/kyc", &submission).await?;
        let path = format!("/v1/investors/{}/kyc/decision", text(&case, "/investor_id"));
        for word in decisions {
            let reason = match *word {
                "needs_information" => json!("document_unreadable"),
                "reject" => json!("document_forged"),
                _ => Value::Null,
            };
            let mut decision = json!({ "decision": word });
            if reason.is_string() {
                decision["reason_code"] = reason;
            }
            reviewer.post(&format!("kyc-{login}-{word}"), &path, &decision).await?;
        }
    }
    Ok(())
}
