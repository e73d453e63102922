//! The effect of a final receipt. A successful transaction without the effect of its step is not a success.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use alloy_primitives::B256;
use futures::future::{BoxFuture, FutureExt, ready};
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_activities::contract::operation::MissingEffect;
use muniment_activities::fault::Fault;
use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;
use muniment_domain::{Error, Result};
use serde::de::DeserializeOwned;

use crate::engine::Network;
use crate::engine::failure::Failure;

/// The place of an effect on the chain.
#[derive(Clone, Copy, Debug)]
pub struct Inclusion {
    /// The transaction.
    pub tx_hash: B256,
    /// The height of its block.
    pub block_number: i64,
}

/// A final effect that is to be applied.
pub struct FinalEffect<'a> {
    /// The operation.
    pub op: &'a Operation,
    /// What its receipt showed.
    pub effect: &'a dyn Effect,
    /// Where.
    pub at: Inclusion,
}

/// The effect of a successful receipt, as the operation's kind reads it.
pub trait Effect: Any + Debug + Send + Sync {
    /// Applies it to the domain, in the commit that makes the step final.
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>>;

    /// Applies effects of the same kind in their order. This is the first of them. A kind of which many become final together does it
    /// with a few statements for all.
    fn settle_all<'a>(&'a self, tx: &'a mut Tx, all: &'a [FinalEffect<'a>]) -> BoxFuture<'a, Result<()>> {
        async move {
            for one in all {
                one.effect.settle(tx, one.op, one.at).await?;
            }
            Ok(())
        }
        .boxed()
    }

    /// Asks the chain for the part of the effect that the receipt does not show. Returns what is missing.
    fn missing<'a>(
        &'a self,
        _network: &'a Network,
        _op: &'a Operation,
        _receipt: &'a Receipt,
    ) -> BoxFuture<'a, Result<Option<MissingEffect>, Failure>> {
        ready(Ok(None)).boxed()
    }

    /// Returns the contradiction in the database, when a person names the transaction as a proof.
    fn contradicted_by_records<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _op: &'a Operation,
        _step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        ready(Ok(None)).boxed()
    }

    /// Returns the contradiction on the chain now: a freeze that was undone since proves nothing.
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

/// Boxes the effect of a receipt for the engine.
pub fn shown<E: Effect + 'static>(effect: std::result::Result<E, MissingEffect>) -> Shown {
    effect.map(|effect| Arc::new(effect) as Arc<dyn Effect>)
}

/// Reads one field of an operation's payload. This program wrote it, so an unreadable one is a damaged row.
pub fn payload<T: DeserializeOwned>(op: &Operation, field: &str) -> Result<T> {
    serde_json::from_value(op.payload.0[field].clone()).map_err(|e| Error::Unreadable {
        what: "operation",
        id: op.id.to_string(),
        why: format!("payload.{field}: {e}"),
    })
}
