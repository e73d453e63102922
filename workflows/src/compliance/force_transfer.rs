//! Forced transfer: `forceTransfer` moves units of a frozen holder to somebody else, past locks and restrictions. It always takes two
//! people and a document.

use alloy_primitives::{Address, B256};
use muniment_activities::force_transfer::ForceTransfer;
use muniment_activities::line::Line;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::reason::Force;
use muniment_domain::{Error, Result};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::action::About;
use crate::compliance;
use crate::compliance::{Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "forceTransfer";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Whose units; frozen.
    pub from: Address,
    /// Who gets them.
    pub to: Address,
    /// Of which partition.
    pub partition: u32,
    /// How many, in the token's decimals.
    pub quantity: String,
    /// Why.
    pub reason_code: Force,
    /// The case, in the words of whoever keeps it.
    pub case_reference: Option<String>,
    /// The legal document.
    pub document_sha256: B256,
}

impl Request {
    /// What the second person sees first.
    pub fn about(&self) -> About {
        compliance::about(
            &self.offering_id,
            Subject::Address(self.from),
            self.reason_code.as_str(),
            self.case_reference.as_deref(),
        )
    }
}

/// Refuses what can be refused without asking the chain.
pub async fn check(tx: &mut Tx, _: &Settings, r: &Request) -> Result<()> {
    look(tx, r).await.map(drop)
}

async fn look(tx: &mut Tx, r: &Request) -> Result<(Ground, u128)> {
    let ground = compliance::ground(tx, &r.offering_id).await?;
    ground.allow(tx, "/from", r.from).await?;
    ground.allow(tx, "/to", r.to).await?;
    if r.from == r.to {
        return Err(Error::field("/to", "address_forbidden", "The units are there already: name another address."));
    }
    ground.partition(tx, r.partition).await?;
    let units = ground.units(&r.quantity)?;
    ground.free(tx, &[Subject::Address(r.from)]).await?;
    if !ground.frozen(tx, r.from).await? {
        let detail = format!("{} is not frozen. Freeze it first (POST /blockchain/freeze).", r.from.to_checksum(None));
        return Err(Error::field("/from", "address_not_frozen", detail));
    }
    if ground.frozen(tx, r.to).await? {
        let detail = format!("{} is frozen and can receive nothing.", r.to.to_checksum(None));
        return Err(Error::field("/to", "address_frozen", detail));
    }
    let (balance, _) = ground.held(tx, r.from, r.partition).await?;
    ground.enough(units, balance, "are held")?;
    Ok((ground, units))
}

/// Accepts a forced transfer.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let (ground, units) = look(tx, &r).await?;
    let line = Line::new(r.to, units).map_err(|e| Error::field("/quantity", "above_maximum", e.to_string()))?;
    let op_id = ground.op_id(tx).await?;
    let call = ForceTransfer { op_id, partition: r.partition, from: r.from, line, evidence: r.document_sha256 };
    let cause = json!({ "reason_code": r.reason_code, "case_reference": r.case_reference,
        "document_sha256": r.document_sha256 });
    let deed = Deed {
        kind: Kind::ForceTransfer,
        step: STEP,
        calldata: call.calldata(ground.token),
        op_id: Some(op_id),
        payload: compliance::payload("force_transfer", &call, &cause),
        subject: Subject::Address(r.from),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}
