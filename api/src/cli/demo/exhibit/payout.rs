//! Distributions: one half paid, because a holder is frozen; one that waits for a second person; and a draft.

use serde_json::{Value, json};

use crate::cli::demo::person::Person;
use crate::cli::demo::stage::{Stage, text};
use crate::failure::Failure;

pub async fn make(stage: &Stage) -> Result<(), Failure> {
    let operator = stage.person("operator").await?;
    let paid = calculated(stage, &operator, "half-paid", "direct_payout", "1200.00").await?;
    operator.post("half-paid-submit", &format!("{paid}/submit"), &json!({})).await?;
    operator.post("half-paid-execute", &format!("{paid}/execute"), &json!({})).await?;
    let is_paid = |shown: &Value| shown["status"] == "partially_completed";
    stage.until(&operator, &paid, "everybody who can be paid is paid", is_paid).await?;
    let large = calculated(stage, &operator, "large", "direct_payout", "60000.00").await?;
    operator.post("large-submit", &format!("{large}/submit"), &json!({})).await?;
    draft(stage, &operator, "draft", "distributor", "900.00").await.map(drop)
}

/// A draft for the holders at the time of the mint; returns its path.
async fn draft(stage: &Stage, operator: &Person, word: &str, method: &str, total: &str) -> Result<String, Failure> {
    let minted = format!("/blockchain/operations?type=mint&status=confirmed&offering_id={}", stage.exhibit());
    let record = text(&operator.get(&minted).await?, "/data/0/confirmed_at");
    let body = json!({ "offering_id": stage.exhibit(), "type": "dividend", "method": method, "total_amount": total,
        "record_date": record, "payment_date": record, "memo": "The rent of the last quarter." });
    let made = operator.post(&format!("{word}-draft"), "/v1/distributions", &body).await?;
    Ok(format!("/v1/distributions/{}", text(&made, "/id")))
}

/// A distribution whose amounts are settled; returns its path.
pub async fn calculated(
    stage: &Stage,
    operator: &Person,
    word: &str,
    method: &str,
    total: &str,
) -> Result<String, Failure> {
    let path = draft(stage, operator, word, method, total).await?;
    operator.post(&format!("{word}-snapshot"), &format!("{path}/snapshot"), &json!({})).await?;
    let is_taken = |shown: &Value| !["draft", "snapshotting"].iter().any(|status| shown["status"] == *status);
    stage.until(operator, &path, "the holders are known", is_taken).await?;
    operator.post(&format!("{word}-calculate"), &format!("{path}/calculate"), &json!({})).await?;
    Ok(path)
}
