//! Restrict: `restrictTransfer` stops the voluntary transfers of a partition. One person may do it.

use muniment_activities::restrict::Restrict;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use serde::{Deserialize, Serialize};

use crate::compliance;
use crate::compliance::{Cause, Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "restrictTransfer";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Which partition.
    pub partition: u32,
    /// Why.
    #[serde(flatten)]
    pub cause: Cause,
}

/// Refuses what can be refused without asking the chain.
pub async fn check(tx: &mut Tx, _: &Settings, r: &Request) -> Result<()> {
    look(tx, r).await.map(drop)
}

async fn look(tx: &mut Tx, r: &Request) -> Result<Ground> {
    let ground = compliance::ground(tx, &r.offering_id).await?;
    ground.partition(tx, r.partition).await?;
    ground.free(tx, &[Subject::Partition(r.partition)]).await?;
    Ok(ground)
}

/// Accepts a restriction. A partition that is restricted already is restricted again: nothing changes.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let ground = look(tx, &r).await?;
    let restrict = Restrict { partition: r.partition };
    let deed = Deed {
        kind: Kind::RestrictPartition,
        step: STEP,
        calldata: restrict.calldata(ground.token),
        op_id: None,
        payload: compliance::payload("restrict", &restrict, &r.cause),
        subject: Subject::Partition(r.partition),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}
