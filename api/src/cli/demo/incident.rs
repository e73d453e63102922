//! `muniment demo --incident NAME`: causes an incident in a running demo, to be found in the console and resolved.

use std::path::Path;
use std::time::Duration;

use clap::ValueEnum;
use hyper::Method;
use serde_json::{Value, json};

use super::exhibit::payout;
use super::person::Person;
use super::running_demo::{RunningDemo, text};
use super::saved::{Saved, name};
use super::{backup, chain, client};
use crate::failure::Failure;

/// An incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Incident {
    /// The fees of the chain stay above the platform's cap: the lowest nonce waits, and all others behind it.
    JammedLane,
    /// The engine gives up on a payout, whose transaction is then included after all.
    MinedDeadLetter,
    /// A payout through the distributor stops between its declaration and its page.
    HalfPaidPage,
    /// Somebody else sends a transaction with the platform's key.
    KeyUsedOutside,
    /// The database is replaced by the backup of the last start. For a demo that is stopped.
    RestoredBackup,
}

const BLOCK_PAUSE: Duration = Duration::from_millis(400);
/// The total of each payout. Many of them together need no second person.
const TOTAL: &str = "30.00";

/// Causes the incident.
pub async fn run(folder: &Path, incident: Incident) -> Result<(), Failure> {
    let saved = Saved::open(folder)?;
    let api = saved.need(name::API)?;
    let runs = client::send(api, Method::GET, "/healthz", &[], None).await.is_ok();
    let seen = match incident {
        Incident::RestoredBackup if runs => {
            return Err(Failure::new(
                "The demo runs. Stop it with Ctrl-C: a database is restored while nothing uses it.",
            ));
        }
        Incident::RestoredBackup => {
            backup::restore(folder)?;
            "The database is that of the last start. Where the chain knows more, the next start quarantines the lane: GET /blockchain/signers"
        }
        _ => cause(&RunningDemo::of(&saved)?, incident).await?,
    };
    println!("{seen}");
    Ok(())
}

async fn cause(demo: &RunningDemo, incident: Incident) -> Result<&'static str, Failure> {
    match incident {
        Incident::JammedLane => jam(demo).await,
        Incident::MinedDeadLetter => mined_dead_letter(demo).await,
        Incident::HalfPaidPage => half_paid_page(demo).await,
        Incident::KeyUsedOutside | Incident::RestoredBackup => {
            chain::use_key_outside(&demo.chain).await?;
            Ok("The lane is quarantined as soon as the block is read: GET /blockchain/signers")
        }
    }
}

async fn jam(demo: &RunningDemo) -> Result<&'static str, Failure> {
    let operator = demo.person("operator").await?;
    let id = demo.jam(&operator, payout(demo, &operator, "direct_payout")).await?;
    demo.mine_until(&operator, &id, "it waits at the fee cap", |answer| !answer["blocked_reason"].is_null()).await?;
    println!("{id} waits at the fee cap.");
    Ok("No block takes it until the demo is started again: GET /blockchain/operations?status=submitted")
}

async fn mined_dead_letter(demo: &RunningDemo) -> Result<&'static str, Failure> {
    let operator = demo.person("operator").await?;
    let id = demo.jam(&operator, payout(demo, &operator, "direct_payout")).await?;
    let given_up = demo.mine_until(&operator, &id, "it is given up", is("dead_letter")).await;
    chain::lower_fees(&demo.chain).await?;
    given_up?;
    println!("{id} is a dead letter, and its transaction is in a block.");
    Ok("Confirm it with the proposed hash: POST /blockchain/operations/{id}/reconcile")
}

async fn half_paid_page(demo: &RunningDemo) -> Result<&'static str, Failure> {
    let operator = demo.person("operator").await?;
    demo.mine_at_once(false).await?;
    let stopped = async {
        let id = payout(demo, &operator, "distributor").await?;
        let path = format!("/blockchain/operations/{id}");
        loop {
            let operation = operator.get(&path).await?;
            match operation["steps"].as_array().map(Vec::as_slice) {
                // All earlier steps are final, and the last page waits for a block.
                Some([before @ .., last]) if before.iter().all(is("final")) && is("signed")(last) => break,
                Some([before @ .., _]) if before.iter().any(is("signed")) => {
                    demo.ask_chain("evm_mine", json!([])).await?;
                }
                // It waits for its allowance.
                _ if operation["status"] == "pending" => {
                    demo.ask_chain("evm_mine", json!([])).await?;
                }
                _ => {}
            }
            tokio::time::sleep(BLOCK_PAUSE).await;
        }
        chain::raise_fees(&demo.chain).await?;
        Ok(id)
    };
    let stopped: Result<String, Failure> = stopped.await;
    demo.mine_at_once(true).await?;
    let id = stopped?;
    demo.mine_until(&operator, &id, "its last page waits", |answer| !answer["blocked_reason"].is_null()).await?;
    println!("{id} has its money in escrow, and its page is not paid.");
    Ok("No block takes it until the demo is started again: GET /blockchain/operations?status=submitted")
}

fn is(status: &'static str) -> impl Fn(&Value) -> bool {
    move |step| step["status"] == status
}

/// Executes a new distribution among the holders of the exhibit; returns its first operation that pays.
async fn payout(demo: &RunningDemo, operator: &Person, method: &str) -> Result<String, Failure> {
    let word = format!("incident-{}", demo.head().await?);
    let path = payout::calculated(demo, operator, &word, method, TOTAL).await?;
    operator.post(&format!("{word}-submit"), &format!("{path}/submit"), &json!({})).await?;
    let paying = operator.post(&format!("{word}-execute"), &format!("{path}/execute"), &json!({})).await?;
    let is_paying = |op: &&Value| method != "distributor" || op["type"] == "distributor_payout";
    let paying = paying["operations"].as_array().and_then(|all| all.iter().find(is_paying));
    Ok(text(paying.unwrap_or(&Value::Null), "/id"))
}
