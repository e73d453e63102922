//! Offerings in several statuses, and a subscription in each status that does not take days.

use serde_json::{Value, json};

use crate::cli::demo::person::Person;
use crate::cli::demo::running_demo::{RunningDemo, text};
use crate::failure::Failure;

/// The subscriptions to the exhibit: the login, a name, and the amount.
const SUBSCRIBED: [(&str, &str, &str); 8] = [
    ("ada", "minted-1", "20000.00"),
    ("bruno", "minted-2", "8000.00"),
    ("chiara", "minted-3", "12000.00"),
    ("dragan", "accepted", "5000.00"),
    ("elin", "binding", "3000.00"),
    ("faolan", "refund-pending", "2000.00"),
    ("bruno", "refunded", "2500.00"),
    ("elin", "rejected", "1500.00"),
];

/// Makes all of them. Returns the id of the offering with a token.
pub async fn make(demo: &RunningDemo) -> Result<String, Failure> {
    let (issuer, operator) = (demo.person("issuer").await?, demo.person("operator").await?);
    // Under Regulation S there is no cooling-off period, so a subscription is binding at once.
    let lockup = json!({ "enabled": true, "rule": "after_close", "days": 365 });
    let terms = json!({ "exemption": "reg_s", "lockup": lockup, "issuance_policy": "rolling" });
    let exhibit = draft(demo, &issuer, "Linden Yard", "LINDEN", terms).await?;
    submit(&issuer, &exhibit).await?;
    publish(&issuer, &operator, &exhibit).await?;
    subscriptions(demo, &operator, &exhibit).await?;

    let cooling = draft(demo, &issuer, "Mill Race", "MILLRC", json!({})).await?;
    submit(&issuer, &cooling).await?;
    publish(&issuer, &operator, &cooling).await?;
    cooling_off(demo, &operator, &cooling).await?;

    let review = draft(demo, &issuer, "Old Brewery", "BREWRY", json!({})).await?;
    submit(&issuer, &review).await?;
    draft(demo, &issuer, "Quay Gardens", "QUAYGD", json!({})).await?;
    Ok(exhibit)
}

async fn draft(demo: &RunningDemo, issuer: &Person, name: &str, symbol: &str, more: Value) -> Result<String, Failure> {
    let mut terms = json!({ "name": name, "token_symbol": symbol, "template": "real_estate_equity", "currency": "EUR",
        "description": format!("{name}: an old house with new flats."), "minimum_investment": "100.00", "target_amount": "500000.00",
        "hard_cap": "1000000.00", "unit_price": "1.00", "network": "dev", "closes_at": demo.in_days(60) });
    for (field, value) in more.as_object().into_iter().flatten() {
        terms[field] = value.clone();
    }
    let id = text(&issuer.post(&format!("draft-{symbol}"), "/v1/offerings", &terms).await?, "/id");
    let document = json!({ "kind": "terms", "title": "Terms", "url": "https://files.example/terms.pdf",
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08" });
    issuer.post(&format!("terms-{symbol}"), &format!("/v1/offerings/{id}/documents"), &document).await?;
    Ok(id)
}

async fn submit(issuer: &Person, id: &str) -> Result<(), Failure> {
    issuer.post(&format!("submit-{id}"), &format!("/v1/offerings/{id}/submit"), &json!({})).await.map(drop)
}

async fn publish(issuer: &Person, operator: &Person, id: &str) -> Result<(), Failure> {
    operator.post(&format!("approve-{id}"), &format!("/v1/offerings/{id}/approve"), &json!({})).await?;
    issuer.post(&format!("publish-{id}"), &format!("/v1/offerings/{id}/publish"), &json!({})).await.map(drop)
}

async fn subscribe(
    demo: &RunningDemo,
    offering: &str,
    login: &str,
    word: &str,
    amount: &str,
) -> Result<String, Failure> {
    let path = format!("/v1/offerings/{offering}/subscribe");
    let made =
        demo.person(login).await?.post(&format!("subscribe-{word}"), &path, &json!({ "amount": amount })).await?;
    Ok(text(&made, "/id"))
}

/// Subscriptions to the exhibit, its token, and the mint of the first three.
async fn subscriptions(demo: &RunningDemo, operator: &Person, offering: &str) -> Result<(), Failure> {
    let mut made = Vec::new();
    for (login, word, amount) in SUBSCRIBED {
        made.push((subscribe(demo, offering, login, word, amount).await?, word, amount));
    }
    for (id, word, amount) in &made {
        let path = format!("/v1/subscriptions/{id}");
        demo.until(operator, &path, "it is binding", |answer| answer["status"] != "committed").await?;
        if !["binding", "rejected"].contains(word) {
            let payment = json!({ "type": "received", "amount": amount, "method": "bank_transfer",
                "external_reference": format!("SEPA-{}", &id[4..]) });
            operator.post(&format!("pay-{word}"), &format!("{path}/payments"), &payment).await?;
        }
        match *word {
            "minted-1" | "minted-2" | "minted-3" => {
                operator.post(&format!("accept-{word}"), &format!("{path}/accept"), &json!({})).await?;
            }
            "refund-pending" | "refunded" | "rejected" => {
                let why = json!({ "reason_code": "oversubscribed" });
                operator.post(&format!("reject-{word}"), &format!("{path}/reject"), &why).await?;
            }
            _ => {}
        }
        if *word == "refunded" {
            let back = json!({ "method": "bank_transfer", "external_reference": format!("BACK-{}", &id[4..]) });
            operator.post("refund", &format!("{path}/refund"), &back).await?;
        }
    }
    let body = json!({ "offering_id": offering });
    let deployed = operator.post("deploy", "/blockchain/deploy-token", &body).await?;
    demo.operation(operator, &text(&deployed, "/id"), "confirmed").await?;
    let minted = operator.post("mint", "/blockchain/trigger-mint", &body).await?;
    demo.operation(operator, &text(&minted, "/operations/0/id"), "confirmed").await?;
    let accepted = made.iter().find(|(_, word, _)| *word == "accepted");
    let (id, ..) = accepted.ok_or_else(|| Failure::new("The demo lost a subscription."))?;
    operator.post("accept", &format!("/v1/subscriptions/{id}/accept"), &json!({})).await.map(drop)
}

/// Subscriptions in their cooling-off period, before and after a change of the terms.
async fn cooling_off(demo: &RunningDemo, operator: &Person, offering: &str) -> Result<(), Failure> {
    let unsure = subscribe(demo, offering, "ada", "reconfirm", "4000.00").await?;
    let gone = subscribe(demo, offering, "chiara", "cancelled", "2500.00").await?;
    let path = format!("/v1/subscriptions/{gone}/cancel");
    demo.person("chiara").await?.post("cancel", &path, &json!({ "reason": "The money is needed elsewhere." })).await?;
    let change = json!({ "changes": { "target_amount": "450000.00" }, "reason": "One flat less is built." });
    operator.post("change", &format!("/v1/offerings/{offering}/material-change"), &change).await?;
    let path = format!("/v1/subscriptions/{unsure}");
    demo.until(operator, &path, "it is to be confirmed again", |answer| answer["status"] != "committed").await?;
    subscribe(demo, offering, "faolan", "committed", "6000.00").await.map(drop)
}
