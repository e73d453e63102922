//! Unlock: `unlockToken` takes the locks of a holder that are due off the books. It always takes two people.

use alloy_primitives::Address;
use muniment_activities::unlock::Unlock;
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
pub const STEP: &str = "unlockToken";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Whose locks.
    pub address: Address,
    /// Of which partition.
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
            Subject::Address(self.address),
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
    ground.allow(tx, "/address", r.address).await?;
    ground.partition(tx, r.partition).await?;
    ground.free(tx, &[Subject::Address(r.address)]).await?;
    Ok(ground)
}

/// Accepts an unlock.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let ground = look(tx, &r).await?;
    let unlock = Unlock { account: r.address, partition: r.partition };
    let deed = Deed {
        kind: Kind::Unlock,
        step: STEP,
        calldata: unlock.calldata(ground.token),
        op_id: None,
        payload: compliance::payload("unlock", &unlock, &r.cause),
        subject: Subject::Address(r.address),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}
