//! The calls of the token: built from a request, read back from an operation, compared with a receipt and with the chain.

use alloy_primitives::{Address, B256, Bytes};
use muniment_activities::chain::Chain;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_activities::contract::line::Line;
use muniment_activities::contract::operation::MissingEffect;
use muniment_activities::fault::Fault;
use muniment_activities::token;
use muniment_activities::token::force_transfer::ForceTransfer;
use muniment_activities::token::freeze::Freeze;
use muniment_activities::token::lock::Lock;
use muniment_activities::token::pause::Pause;
use muniment_activities::token::recover::Recovery;
use muniment_activities::token::redeem::Redeem;
use muniment_activities::token::reinstate::Reinstate;
use muniment_activities::token::release_lock::ReleaseLock;
use muniment_activities::token::restrict::Restrict;
use muniment_activities::token::unfreeze::Unfreeze;
use muniment_activities::token::unlock::Unlock;
use muniment_activities::token::unpause::Unpause;
use muniment_activities::token::unrestrict::Unrestrict;
use muniment_domain::db::Tx;
use muniment_domain::id::WalletId;
use muniment_domain::operation::Operation;
use muniment_domain::{Error, Result, wallet};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::context::TokenContext;
use super::recovery;
use super::request::Request;
use super::table::{self, Row};
use crate::offering;

/// A call of the token with its arguments. The operation's payload keeps it as `{"freeze": {…}}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Freezes an address.
    Freeze(Freeze),
    /// Ends a freeze.
    Unfreeze(Unfreeze),
    /// Locks units.
    Lock(Lock),
    /// Removes expired locks.
    Unlock(Unlock),
    /// Restricts a partition.
    Restrict(Restrict),
    /// Lifts a restriction.
    Unrestrict(Unrestrict),
    /// Moves units of a frozen holder.
    ForceTransfer(ForceTransfer),
    /// Moves a lost wallet.
    #[serde(rename = "recovery")]
    Recover(Recovery),
    /// Takes the retirement of a wallet back.
    Reinstate(Reinstate),
    /// Burns units of a holder.
    Redeem(Redeem),
    /// Frees locked units before their time.
    ReleaseLock(ReleaseLock),
    /// Pauses the token.
    Pause(Pause),
    /// Ends the pause of the token.
    Unpause(Unpause),
}

impl Call {
    /// The call that a request needs on one token. Where the function takes an operation number, this call gets a new one.
    pub async fn build(tx: &mut Tx, request: &Request, context: &TokenContext) -> Result<Self> {
        let line = |holder: Address, quantity: &str| {
            let line = Line::new(holder, context.units(quantity)?);
            line.map_err(|e| Error::field("/quantity", "above_maximum", e.to_string()))
        };
        Ok(match request {
            Request::Freeze(r) => Self::Freeze(Freeze { account: r.address, reference: r.cause.reference() }),
            Request::Unfreeze(r) => Self::Unfreeze(Unfreeze { account: r.address, reference: r.cause.reference() }),
            Request::Lock(r) => Self::Lock(Lock {
                line: line(r.address, &r.quantity)?,
                op_id: context.operation_number(tx).await?,
                partition: r.partition,
                release_at: r.release_at.timestamp().cast_unsigned(),
            }),
            Request::Unlock(r) => Self::Unlock(Unlock { account: r.address, partition: r.partition }),
            Request::Restrict(r) => Self::Restrict(Restrict { partition: r.partition }),
            Request::Unrestrict(r) => Self::Unrestrict(Unrestrict { partition: r.partition }),
            Request::ForceTransfer(r) => Self::ForceTransfer(ForceTransfer {
                line: line(r.to, &r.quantity)?,
                op_id: context.operation_number(tx).await?,
                partition: r.partition,
                from: r.from,
                evidence: r.document_sha256,
            }),
            Request::Recover(r) => Self::Recover(Recovery {
                op_id: context.operation_number(tx).await?,
                lost: r.lost_address,
                replacement: r.new_address,
            }),
            Request::Reinstate(r) => {
                Self::Reinstate(Reinstate { op_id: context.operation_number(tx).await?, account: r.address })
            }
            Request::Redeem(r) => Self::Redeem(Redeem {
                line: line(r.address, &r.quantity)?,
                op_id: context.operation_number(tx).await?,
                partition: r.partition,
            }),
            Request::ReleaseLock(r) => Self::ReleaseLock(ReleaseLock {
                line: line(r.address, &r.quantity)?,
                op_id: context.operation_number(tx).await?,
                partition: r.partition,
                release_at: r.release_at.timestamp().cast_unsigned(),
                new_release_at: r.new_release_at.map_or(0, |at| at.timestamp().cast_unsigned()),
            }),
            Request::Pause(_) => Self::Pause(Pause {}),
            Request::Unpause(_) => Self::Unpause(Unpause {}),
        })
    }

    /// Reads the call of an operation from its payload.
    pub fn read(op: &Operation) -> Result<Self> {
        let key = row_of(op)?.arguments;
        serde_json::from_value(json!({ key: op.payload.0[key] }))
            .map_err(|e| unreadable(op, &format!("payload.{key}: {e}")))
    }

    /// The operation's payload: the call, and the reason for it.
    pub fn payload(&self, cause: &Value) -> Result<Value> {
        let mut payload = serde_json::to_value(self).map_err(|e| Error::Unreadable {
            what: "operation",
            id: "new".to_owned(),
            why: e.to_string(),
        })?;
        payload["cause"] = cause.clone();
        Ok(payload)
    }

    /// The operation number on the token, where the function takes one.
    pub fn operation_number(&self) -> Option<u64> {
        match self {
            Self::Lock(call) => Some(call.op_id),
            Self::ForceTransfer(call) => Some(call.op_id),
            Self::Recover(call) => Some(call.op_id),
            Self::Reinstate(call) => Some(call.op_id),
            Self::Redeem(call) => Some(call.op_id),
            Self::ReleaseLock(call) => Some(call.op_id),
            Self::Freeze(_) | Self::Unfreeze(_) | Self::Unlock(_) | Self::Restrict(_) | Self::Unrestrict(_) => None,
            Self::Pause(_) | Self::Unpause(_) => None,
        }
    }

    /// The transaction's data.
    pub fn calldata(&self, token: Address) -> Bytes {
        match self {
            Self::Freeze(call) => call.calldata(token),
            Self::Unfreeze(call) => call.calldata(token),
            Self::Lock(call) => call.calldata(token),
            Self::Unlock(call) => call.calldata(token),
            Self::Restrict(call) => call.calldata(token),
            Self::Unrestrict(call) => call.calldata(token),
            Self::ForceTransfer(call) => call.calldata(token),
            Self::Recover(call) => call.calldata(token),
            Self::Reinstate(call) => call.calldata(token),
            Self::Redeem(call) => call.calldata(token),
            Self::ReleaseLock(call) => call.calldata(token),
            Self::Pause(call) => call.calldata(token),
            Self::Unpause(call) => call.calldata(token),
        }
    }

    /// Checks that a receipt shows the effect of this call.
    pub fn effect(&self, receipt: &Receipt, token: Address) -> Result<(), MissingEffect> {
        match self {
            Self::Freeze(call) => call.effect(receipt, token),
            Self::Unfreeze(call) => call.effect(receipt, token),
            Self::Lock(call) => call.effect(receipt, token),
            Self::Unlock(call) => call.effect(receipt, token),
            Self::Restrict(call) => call.effect(receipt, token),
            Self::Unrestrict(call) => call.effect(receipt, token),
            Self::ForceTransfer(call) => call.effect(receipt, token),
            Self::Recover(call) => call.effect(receipt, token),
            Self::Reinstate(call) => call.effect(receipt, token),
            Self::Redeem(call) => call.effect(receipt, token),
            Self::ReleaseLock(call) => call.effect(receipt, token),
            Self::Pause(call) => call.effect(receipt, token),
            Self::Unpause(call) => call.effect(receipt, token),
        }
    }

    /// The state of the chain that contradicts the effect, if any: a freeze that was undone since proves nothing. A call with an operation
    /// number is executed once and cannot be undone under that number, and expired locks cannot come back.
    pub async fn contradiction(&self, chain: &Chain, token: Address, at: At) -> Result<Option<String>, Fault> {
        let (expected, found, what) = match self {
            Self::Freeze(call) => (true, token::is_frozen(chain, token, call.account, at).await?, "frozen"),
            Self::Unfreeze(call) => (false, token::is_frozen(chain, token, call.account, at).await?, "frozen"),
            Self::Restrict(call) => {
                (true, token::partition(chain, token, call.partition, at).await?.restricted, "restricted")
            }
            Self::Unrestrict(call) => {
                (false, token::partition(chain, token, call.partition, at).await?.restricted, "restricted")
            }
            Self::Pause(_) => (true, token::is_paused(chain, token, at).await?, "paused"),
            Self::Unpause(_) => (false, token::is_paused(chain, token, at).await?, "paused"),
            Self::Lock(_) | Self::Unlock(_) | Self::ForceTransfer(_) | Self::Recover(_) => return Ok(None),
            Self::Reinstate(_) | Self::Redeem(_) | Self::ReleaseLock(_) => return Ok(None),
        };
        Ok((expected != found).then(|| format!("{what} at the final block: {found}, but the proof shows {expected}")))
    }

    /// Applies a final effect to the domain. Balances, locks, freezes and restrictions are not written here: they follow from the token's
    /// own events.
    pub async fn settle(&self, tx: &mut Tx, op: &Operation, tx_hash: B256) -> Result<()> {
        match self {
            Self::Freeze(Freeze { account, .. }) | Self::Unfreeze(Unfreeze { account, .. }) => {
                write_wallet_event(tx, op, *account, tx_hash).await
            }
            Self::Recover(call) => recovery::settle(tx, op, call, tx_hash).await,
            Self::Reinstate(Reinstate { account, .. }) => {
                wallet::record_reinstatement(tx, *account).await?;
                write_wallet_event(tx, op, *account, tx_hash).await
            }
            Self::Restrict(call) => offering::on_restriction(tx, op, Some(call.partition)).await,
            Self::Pause(_) => offering::on_restriction(tx, op, None).await,
            Self::Lock(_) | Self::Unlock(_) | Self::Unrestrict(_) | Self::ForceTransfer(_) => Ok(()),
            Self::Redeem(_) | Self::ReleaseLock(_) | Self::Unpause(_) => Ok(()),
        }
    }
}

/// Writes the event of an operation about a wallet. A wallet without a row in the database is named by its address.
async fn write_wallet_event(tx: &mut Tx, op: &Operation, account: Address, hash: B256) -> Result<()> {
    let id = wallet::find(tx, account).await?.map_or_else(|| account.to_checksum(None).into(), |wallet| wallet.id);
    let data = json!({ "address": account.to_checksum(None), "offering_id": op.offering_id, "operation_id": op.id,
        "tx_hash": hash.to_string() });
    write_event(tx, op, &id, data).await
}

/// Writes the event that the table names for an operation.
pub async fn write_event(tx: &mut Tx, op: &Operation, wallet_id: &WalletId, data: Value) -> Result<()> {
    match row_of(op)?.event {
        Some(name) => wallet::write_event(tx, name, wallet_id, data).await,
        None => Ok(()),
    }
}

fn row_of(op: &Operation) -> Result<&'static Row> {
    table::row(op.kind).ok_or_else(|| unreadable(op, &format!("{} is not a compliance operation", op.kind)))
}

fn unreadable(op: &Operation, why: &str) -> Error {
    Error::Unreadable { what: "operation", id: op.id.to_string(), why: why.to_owned() }
}
