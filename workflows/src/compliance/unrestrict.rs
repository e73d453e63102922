//! Unrestrict: `removeRestriction` allows the voluntary transfers of a partition again. It always takes two people.

use muniment_activities::unrestrict::Unrestrict;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::compliance;
use crate::compliance::{Cause, Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "removeRestriction";

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

impl Request {
    /// What the second person sees first.
    pub fn about(&self) -> About {
        compliance::about(
            &self.offering_id,
            Subject::Partition(self.partition),
            self.cause.reason_code.as_str(),
            self.cause.case_reference.as_deref(),
        )
    }
}

/// Refuses what can be refused without asking the chain.
pub async fn check(tx: &mut Tx, _: &Settings, r: &Request) -> Result<()> {
    look(tx, r).await.map(drop)
}

async fn look(tx: &mut Tx, r: &Request) -> Result<Ground> {
    let ground = compliance::ground(tx, &r.offering_id).await?;
    ground.partition(tx, r.partition).await?;
    ground.free(tx, &[Subject::Partition(r.partition)]).await?;
    ground.restricted(tx, r.partition).await?;
    Ok(ground)
}

/// Accepts the end of a restriction.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let ground = look(tx, &r).await?;
    let unrestrict = Unrestrict { partition: r.partition };
    let deed = Deed {
        kind: Kind::UnrestrictPartition,
        step: STEP,
        calldata: unrestrict.calldata(ground.token),
        op_id: None,
        payload: compliance::payload("unrestrict", &unrestrict, &r.cause),
        subject: Subject::Partition(r.partition),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}
