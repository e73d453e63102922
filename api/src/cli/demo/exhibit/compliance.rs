//! Operations that need a person: one that the contract refused, a dead letter, and one that waits for an approval.

use serde_json::json;

use crate::cli::demo::chain;
use crate::cli::demo::running_demo::{RunningDemo, text};
use crate::failure::Failure;

pub async fn make(demo: &RunningDemo) -> Result<(), Failure> {
    let (operator, colleague) = (demo.person("operator").await?, demo.person("operator.b").await?);
    let (bruno, chiara) = (demo.wallet_of("bruno").await?, demo.wallet_of("chiara").await?);
    let about =
        |address: &str, why: &str| json!({ "offering_id": demo.exhibit(), "address": address, "reason_code": why });

    let frozen = operator.post("freeze", "/blockchain/freeze", &about(&chiara, "court_order")).await?;
    demo.operation(&operator, &text(&frozen, "/id"), "confirmed").await?;

    // Bruno has no expired lock, so the contract refuses the approved call.
    let mut unlock = about(&bruno, "court_order");
    unlock["partition"] = json!("1");
    let asked = operator.post("unlock", "/blockchain/unlock", &unlock).await?;
    let approved = colleague.approve("unlock-approve", &text(&asked, "/approval/id")).await?;
    demo.operation(&operator, &text(&approved, "/operation_id"), "failed").await?;

    // The fees of the chain rise above the platform's cap until the engine gives up on the operation. Then they fall, and the transaction
    // is included after all. A person has to confirm that.
    let dragan = demo.wallet_of("dragan").await?;
    let asked = async {
        let stuck = operator.post("stuck", "/blockchain/freeze", &about(&dragan, "lost_wallet")).await?;
        Ok(text(&stuck, "/id"))
    };
    let id = demo.jam(&operator, asked).await?;
    let given_up = demo.mine_until(&operator, &id, "it is given up", |answer| answer["status"] == "dead_letter").await;
    chain::lower_fees(&demo.chain).await?;
    given_up?;
    let path = format!("/blockchain/operations/{id}");
    let proposed = |answer: &serde_json::Value| answer["suggested_action"]["action"] == "mark_confirmed";
    demo.until(&operator, &path, "its late success is proposed", proposed).await?;

    operator.post("unfreeze", "/blockchain/unfreeze", &about(&chiara, "court_order")).await.map(drop)
}
