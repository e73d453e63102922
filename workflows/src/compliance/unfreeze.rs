//! Unfreeze: `unFreeze` lets a frozen address act again. It always takes two people.

use alloy_primitives::{Address, B256};
use muniment_activities::unfreeze::Unfreeze;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use serde::{Deserialize, Serialize};

use crate::approval::action::About;
use crate::compliance;
use crate::compliance::freeze;
use crate::compliance::{Cause, Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "unFreeze";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Whose freeze ends.
    pub address: Address,
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
    ground.living(tx, "/address", r.address).await?;
    ground.free(tx, &[Subject::Address(r.address)]).await?;
    Ok(ground)
}

/// Accepts the end of a freeze.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let ground = look(tx, &r).await?;
    let unfreeze = Unfreeze { account: r.address, reference: r.cause.reference() };
    let deed = Deed {
        kind: Kind::Unfreeze,
        step: STEP,
        calldata: unfreeze.calldata(ground.token),
        op_id: None,
        payload: compliance::payload("unfreeze", &unfreeze, &r.cause),
        subject: Subject::Address(r.address),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}

/// The end of the freeze is final: whoever watches the wallet is told.
pub async fn settle(tx: &mut Tx, op: &Operation, call: &Unfreeze, tx_hash: B256, block_number: i64) -> Result<()> {
    freeze::tell(tx, op, "wallet.unfrozen", call.account, tx_hash, block_number).await
}
