//! Distributions: a partly paid one with a frozen holder, one that waits for an approval, and a draft.

use serde_json::{Value, json};

use crate::cli::demo::person::Person;
use crate::cli::demo::running_demo::{RunningDemo, text};
use crate::failure::Failure;

pub async fn make(demo: &RunningDemo) -> Result<(), Failure> {
    let operator = demo.person("operator").await?;
    let paid = calculated(demo, &operator, "half-paid", "direct_payout", "1200.00").await?;
    operator.post("half-paid-submit", &format!("{paid}/submit"), &json!({})).await?;
    operator.post("half-paid-execute", &format!("{paid}/execute"), &json!({})).await?;
    let is_paid = |answer: &Value| answer["status"] == "partially_completed";
    demo.until(&operator, &paid, "everybody who can be paid is paid", is_paid).await?;
    let large = calculated(demo, &operator, "large", "direct_payout", "60000.00").await?;
    operator.post("large-submit", &format!("{large}/submit"), &json!({})).await?;
    draft(demo, &operator, "draft", "distributor", "900.00").await.map(drop)
}

/// Creates a draft for the holders at the time of the mint. Returns its path.
async fn draft(
    demo: &RunningDemo,
    operator: &Person,
    word: &str,
    method: &str,
    total: &str,
) -> Result<String, Failure> {
    let minted = format!("/blockchain/operations?type=mint&status=confirmed&offering_id={}", demo.exhibit());
    let record = text(&operator.get(&minted).await?, "/data/0/confirmed_at");
    let body = json!({ "offering_id": demo.exhibit(), "type": "dividend", "method": method, "total_amount": total,
        "record_date": record, "payment_date": record, "memo": "The rent of the last quarter." });
    let made = operator.post(&format!("{word}-draft"), "/v1/distributions", &body).await?;
    Ok(format!("/v1/distributions/{}", text(&made, "/id")))
}

/// Creates a distribution with calculated amounts. Returns its path.
pub async fn calculated(
    demo: &RunningDemo,
    operator: &Person,
    word: &str,
    method: &str,
    total: &str,
) -> Result<String, Failure> {
    let path = draft(demo, operator, word, method, total).await?;
    operator.post(&format!("{word}-snapshot"), &format!("{path}/snapshot"), &json!({})).await?;
    let is_taken = |answer: &Value| !["draft", "snapshotting"].iter().any(|status| answer["status"] == *status);
    demo.until(operator, &path, "the holders are known", is_taken).await?;
    operator.post(&format!("{word}-calculate"), &format!("{path}/calculate"), &json!({})).await?;
    Ok(path)
}
