//! What a final compliance step did: read from its receipt, told to the domain, and compared with what the index says now.

use alloy_primitives::B256;
use muniment_activities::force_transfer::ForceTransfer;
use muniment_activities::freeze::Freeze;
use muniment_activities::lock::Lock;
use muniment_activities::operation::MissingEffect;
use muniment_activities::receipt::Receipt;
use muniment_activities::recover::Recovery;
use muniment_activities::restrict::Restrict;
use muniment_activities::unfreeze::Unfreeze;
use muniment_activities::unlock::Unlock;
use muniment_activities::unrestrict::Unrestrict;
use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Error, Result};
use serde::de::DeserializeOwned;

use crate::compliance::{force_transfer, freeze, lock, recover, restrict, unfreeze, unlock, unrestrict};
use crate::engine::effect::payload;
use crate::offering;

/// A compliance step that took effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The address is frozen.
    Frozen(Freeze),
    /// It is free.
    Unfrozen(Unfreeze),
    /// The units are locked.
    Locked(Lock),
    /// The due locks are gone.
    Unlocked(Unlock),
    /// The partition is restricted.
    Restricted(Restrict),
    /// It is free.
    Unrestricted(Unrestrict),
    /// The units are moved.
    Forced(ForceTransfer),
    /// The wallet is moved.
    Recovered(Recovery),
}

/// The effect that a successful receipt shows, or what is missing of it.
pub fn shown(op: &Operation, step: &Step, receipt: &Receipt) -> Result<Result<Done, MissingEffect>> {
    let token = step.target.0;
    match step.name.as_str() {
        freeze::STEP => judge(op, "freeze", |call: &Freeze| call.effect(receipt, token), Done::Frozen),
        unfreeze::STEP => judge(op, "unfreeze", |call: &Unfreeze| call.effect(receipt, token), Done::Unfrozen),
        lock::STEP => judge(op, "lock", |call: &Lock| call.effect(receipt, token), Done::Locked),
        unlock::STEP => judge(op, "unlock", |call: &Unlock| call.effect(receipt, token), Done::Unlocked),
        restrict::STEP => judge(op, "restrict", |call: &Restrict| call.effect(receipt, token), Done::Restricted),
        unrestrict::STEP => {
            judge(op, "unrestrict", |call: &Unrestrict| call.effect(receipt, token), Done::Unrestricted)
        }
        force_transfer::STEP => {
            judge(op, "force_transfer", |call: &ForceTransfer| call.effect(receipt, token), Done::Forced)
        }
        recover::STEP => judge(op, "recovery", |call: &Recovery| call.effect(receipt, token), Done::Recovered),
        other => Err(Error::Unreadable {
            what: "step",
            id: op.id.clone(),
            why: format!("{other} is no function that we call"),
        }),
    }
}

fn judge<T: DeserializeOwned>(
    op: &Operation,
    name: &str,
    effect: impl FnOnce(&T) -> Result<(), MissingEffect>,
    done: impl FnOnce(T) -> Done,
) -> Result<Result<Done, MissingEffect>> {
    let call: T = payload(op, name)?;
    Ok(effect(&call).map(|()| done(call)))
}

/// Tells the domain what the events of the token cannot know. Balances, locks, freezes and restrictions follow the events themselves.
pub async fn settle(tx: &mut Tx, op: &Operation, done: &Done, tx_hash: B256, block_number: i64) -> Result<()> {
    match done {
        Done::Frozen(call) => freeze::settle(tx, op, call, tx_hash, block_number).await,
        Done::Unfrozen(call) => unfreeze::settle(tx, op, call, tx_hash, block_number).await,
        Done::Recovered(call) => recover::settle(tx, op, call, tx_hash, block_number).await,
        Done::Restricted(call) => offering::on_restriction(tx, op, call.partition).await,
        Done::Locked(_) | Done::Unlocked(_) | Done::Unrestricted(_) | Done::Forced(_) => Ok(()),
    }
}
