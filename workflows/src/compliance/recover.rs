//! Recovery: `recoveryAddress` moves everything of a lost wallet to another wallet of the same investor, one transaction for each token.
//! Locks and a freeze go along. It always takes two people and a document.

use alloy_primitives::{Address, B256};
use muniment_activities::recover::Recovery;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Kind, Operation};
use muniment_domain::wallet::{self, Wallet};
use muniment_domain::{Code, Error, Result, entitlement, event, offering, subscription};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::approval::action::About;
use crate::compliance;
use crate::compliance::{Deed, Ground, Subject};
use crate::requester::Requester;
use crate::settings::Settings;

/// The function of the token.
pub const STEP: &str = "recoveryAddress";
/// Stands for every offering whose token knows the lost wallet.
pub const ALL: &str = "all";

/// What is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// The offering, or `all`.
    pub offering_id: String,
    /// Whose wallet it was.
    pub investor_id: String,
    /// The wallet that is lost.
    pub lost_address: Address,
    /// The wallet that follows it.
    pub new_address: Address,
    /// The case, in the words of whoever keeps it.
    pub case_reference: Option<String>,
    /// The proof that the investor is who they say.
    pub evidence_document_sha256: B256,
}

/// What was accepted: one operation for each token.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The id that they share.
    pub batch_id: String,
    /// The operations.
    pub operations: Vec<Operation>,
}

impl Request {
    /// What the second person sees first.
    pub fn about(&self) -> About {
        compliance::about(
            &self.offering_id,
            Subject::Address(self.lost_address),
            "lost_wallet",
            self.case_reference.as_deref(),
        )
    }
}

/// Refuses what can be refused without asking the chain.
pub async fn check(tx: &mut Tx, _: &Settings, r: &Request) -> Result<()> {
    look(tx, r).await.map(drop)
}

async fn look(tx: &mut Tx, r: &Request) -> Result<Vec<Ground>> {
    if r.lost_address == r.new_address {
        return Err(Error::field("/new_address", "address_forbidden", "A wallet cannot be recovered to itself."));
    }
    owner(tx, r).await?;
    let grounds = grounds(tx, r).await?;
    for ground in &grounds {
        ground.allow(tx, "/lost_address", r.lost_address).await?;
        ground.allow(tx, "/new_address", r.new_address).await?;
        ground.free(tx, &subjects(r)).await?;
        ground.living(tx, "/lost_address", r.lost_address).await?;
        ground.living(tx, "/new_address", r.new_address).await?;
        ground.empty(tx, r.new_address).await?;
    }
    Ok(grounds)
}

/// The lost wallet must be the investor's, and the new one nobody else's.
async fn owner(tx: &mut Tx, r: &Request) -> Result<()> {
    match wallet::find(tx, r.lost_address).await? {
        Some(lost) if lost.investor_id == r.investor_id => {}
        _ => {
            let detail = format!("{} is no wallet of {}.", r.lost_address.to_checksum(None), r.investor_id);
            return Err(Error::field("/lost_address", "wallet_unknown", detail));
        }
    }
    match wallet::find(tx, r.new_address).await? {
        Some(new) if new.investor_id != r.investor_id && !new.is_only_claimed() => Err(wallet::in_use(r.new_address)),
        Some(Wallet { retired_at: Some(_), .. }) => {
            let detail = format!("{} was lost itself and is retired.", r.new_address.to_checksum(None));
            Err(Error::field("/new_address", "address_retired", detail))
        }
        _ => Ok(()),
    }
}

async fn grounds(tx: &mut Tx, r: &Request) -> Result<Vec<Ground>> {
    if r.offering_id != ALL {
        return Ok(vec![compliance::ground(tx, &r.offering_id).await?]);
    }
    let mut grounds = Vec::new();
    for offering_id in offering::of_wallet(tx, r.lost_address).await? {
        grounds.push(compliance::ground(tx, &offering_id).await?);
    }
    if grounds.is_empty() {
        let detail = format!("No token knows {}: there is nothing to recover.", r.lost_address.to_checksum(None));
        return Err(Error::refused(Code::InvalidState, detail));
    }
    Ok(grounds)
}

fn subjects(r: &Request) -> [Subject; 2] {
    [Subject::Address(r.lost_address), Subject::Address(r.new_address)]
}

/// Accepts a recovery, and keeps the new wallet for the investor.
pub async fn request(tx: &mut Tx, _: &Settings, r: Request, by: &Requester) -> Result<Accepted> {
    let grounds = look(tx, &r).await?;
    let mut accepted = Accepted { batch_id: tx.new_id("run"), operations: Vec::with_capacity(grounds.len()) };
    for (index, ground) in (0i64..).zip(grounds) {
        let op_id = ground.op_id(tx).await?;
        let recovery = Recovery { op_id, lost: r.lost_address, replacement: r.new_address };
        let cause = json!({ "investor_id": r.investor_id, "case_reference": r.case_reference,
            "evidence_document_sha256": r.evidence_document_sha256 });
        let deed = Deed {
            kind: Kind::Recover,
            step: STEP,
            calldata: recovery.calldata(ground.token),
            op_id: Some(op_id),
            payload: compliance::payload("recovery", &recovery, &cause),
            subject: Subject::Address(r.lost_address),
            beside: Some(Subject::Address(r.new_address)),
            batch: Some((accepted.batch_id.clone(), index)),
        };
        let op = ground.accept(tx, deed, by).await?;
        wallet::reserve(tx, &r.investor_id, r.new_address, &op.id).await?;
        accepted.operations.push(op);
    }
    Ok(accepted)
}

/// The recovery is final: the investor's wallet is the new one, and what is not minted or paid yet goes there.
pub async fn settle(tx: &mut Tx, op: &Operation, call: &Recovery, tx_hash: B256, block_number: i64) -> Result<()> {
    let Some(old) = wallet::find(tx, call.lost).await? else { return Ok(()) };
    wallet::follow(tx, &old, call.replacement).await?;
    let offering_id = op.offering_id.as_deref().unwrap_or_default();
    let moved = subscription::follow_wallet(tx, offering_id, call.lost, call.replacement).await?;
    entitlement::follow_wallet(tx, offering_id, call.lost, call.replacement).await?;
    let data = json!({ "address": call.lost.to_checksum(None), "successor": call.replacement.to_checksum(None),
        "offering_id": op.offering_id, "operation_id": op.id, "tx_hash": tx_hash.to_string(), "subscriptions": moved });
    event::write(tx, "wallet.recovered", "wallet", &old.id, block_number, data).await
}
