//! What a final receipt did. A success without the effect that its step was sent for is no success.

use std::fmt::Debug;
use std::sync::Arc;

use alloy_primitives::B256;
use futures::future::{BoxFuture, FutureExt, ready};
use muniment_activities::fault::Fault;
use muniment_activities::operation::MissingEffect;
use muniment_activities::receipt::Receipt;
use muniment_activities::simulate::At;
use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Error, Result};
use serde::de::DeserializeOwned;

use crate::engine::Network;
use crate::engine::failure::Failure;

/// Where an effect is final.
#[derive(Clone, Copy, Debug)]
pub struct Inclusion {
    /// The transaction.
    pub tx_hash: B256,
    /// The height of its block.
    pub block_number: i64,
}

/// What a successful receipt did, read by the kind of its operation.
pub trait Effect: Debug + Send + Sync {
    /// Applies it to the domain, in the commit that makes the step final.
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>>;

    /// Asks the chain for what the receipt does not show by itself. Returns what is missing.
    fn missing<'a>(
        &'a self,
        _network: &'a Network,
        _op: &'a Operation,
        _receipt: &'a Receipt,
    ) -> BoxFuture<'a, Result<Option<MissingEffect>, Failure>> {
        ready(Ok(None)).boxed()
    }

    /// Returns what in the database contradicts it, when a person names its transaction as the proof.
    fn contradicted_by_records<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _op: &'a Operation,
        _step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        ready(Ok(None)).boxed()
    }

    /// Returns what on the chain contradicts it now: a freeze that was undone since proves nothing.
    fn contradicted_by_chain<'a>(
        &'a self,
        _network: &'a Network,
        _step: &'a Step,
        _at: At,
    ) -> BoxFuture<'a, Result<Option<String>, Fault>> {
        ready(Ok(None)).boxed()
    }
}

/// The effect that a successful receipt shows, or what is missing of it.
pub type Shown = std::result::Result<Arc<dyn Effect>, MissingEffect>;

/// Makes an effect that a receipt shows one that the engine can settle.
pub fn shown<E: Effect + 'static>(effect: std::result::Result<E, MissingEffect>) -> Shown {
    effect.map(|effect| Arc::new(effect) as Arc<dyn Effect>)
}

/// Reads one field of an operation's payload. This program wrote it, so a misfit is a damaged row.
pub fn payload<T: DeserializeOwned>(op: &Operation, field: &str) -> Result<T> {
    serde_json::from_value(op.payload.0[field].clone()).map_err(|e| Error::Unreadable {
        what: "operation",
        id: op.id.clone(),
        why: format!("payload.{field}: {e}"),
    })
}
