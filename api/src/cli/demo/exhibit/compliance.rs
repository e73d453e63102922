//! Operations that need a person: one that the contract refused, one that was given up, and one that waits for a second person.

use serde_json::json;

use crate::cli::demo::chain;
use crate::cli::demo::stage::{Stage, text};
use crate::failure::Failure;

pub async fn make(stage: &Stage) -> Result<(), Failure> {
    let (operator, colleague) = (stage.person("operator").await?, stage.person("operator.b").await?);
    let (bruno, chiara) = (stage.wallet_of("bruno").await?, stage.wallet_of("chiara").await?);
    let about =
        |address: &str, why: &str| json!({ "offering_id": stage.exhibit(), "address": address, "reason_code": why });

    let frozen = operator.post("freeze", "/blockchain/freeze", &about(&chiara, "court_order")).await?;
    stage.operation(&operator, &text(&frozen, "/id"), "confirmed").await?;

    // Nothing of Bruno's is locked beyond its time, so the contract refuses what two people agreed on.
    let mut unlock = about(&bruno, "court_order");
    unlock["partition"] = json!("1");
    let asked = operator.post("unlock", "/blockchain/unlock", &unlock).await?;
    let approved = colleague.approve("unlock-approve", &text(&asked, "/approval/id")).await?;
    stage.operation(&operator, &text(&approved, "/operation_id"), "failed").await?;

    // The fees of the chain rise above what the platform may pay, until the engine gives the operation up. Then they fall, and the
    // transaction is in a block after all: that is for a person to see.
    let dragan = stage.wallet_of("dragan").await?;
    let asked = async {
        let stuck = operator.post("stuck", "/blockchain/freeze", &about(&dragan, "lost_wallet")).await?;
        Ok(text(&stuck, "/id"))
    };
    let id = stage.jam(&operator, asked).await?;
    let given_up = stage.mine_until(&operator, &id, "it is given up", |shown| shown["status"] == "dead_letter").await;
    chain::lower_fees(&stage.chain).await?;
    given_up?;
    let path = format!("/blockchain/operations/{id}");
    let proposed = |shown: &serde_json::Value| shown["suggested_action"]["action"] == "mark_confirmed";
    stage.until(&operator, &path, "its late success is proposed", proposed).await?;

    operator.post("unfreeze", "/blockchain/unfreeze", &about(&chiara, "court_order")).await.map(drop)
}
