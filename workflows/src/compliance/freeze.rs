//! Freeze: `freezeAddress` stops an address from sending, receiving and being paid. One person may do it, because speed is what counts;
//! to end it takes two.

use alloy_primitives::{Address, B256};
use muniment_activities::freeze::Freeze;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::{Result, event, wallet};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::compliance;
use crate::compliance::{Cause, Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "freezeAddress";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering.
    pub offering_id: String,
    /// Who is frozen.
    pub address: Address,
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
    ground.allow(tx, "/address", r.address).await?;
    ground.free(tx, &[Subject::Address(r.address)]).await?;
    Ok(ground)
}

/// Accepts a freeze. Whoever is frozen already is frozen again: the token says so once more, and nothing changes.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Operation> {
    let ground = look(tx, &r).await?;
    let freeze = Freeze { account: r.address, reference: r.cause.reference() };
    let deed = Deed {
        kind: Kind::Freeze,
        step: STEP,
        calldata: freeze.calldata(ground.token),
        op_id: None,
        payload: compliance::payload("freeze", &freeze, &r.cause),
        subject: Subject::Address(r.address),
        beside: None,
        batch: None,
    };
    ground.accept(tx, deed, by).await
}

/// The freeze is final: whoever watches the wallet is told.
pub async fn settle(tx: &mut Tx, op: &Operation, call: &Freeze, tx_hash: B256, block_number: i64) -> Result<()> {
    tell(tx, op, "wallet.frozen", call.account, tx_hash, block_number).await
}

/// Writes an event about a wallet, which may be one that the platform does not know.
pub async fn tell(tx: &mut Tx, op: &Operation, name: &str, account: Address, hash: B256, block: i64) -> Result<()> {
    let known = wallet::find(tx, account).await?;
    let id = known.map_or_else(|| account.to_checksum(None), |wallet| wallet.id);
    let data = json!({ "address": account.to_checksum(None), "offering_id": op.offering_id, "operation_id": op.id,
        "tx_hash": hash.to_string() });
    event::write(tx, name, "wallet", &id, block, data).await
}
