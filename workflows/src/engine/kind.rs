//! The interface between the engine and the kinds of operations. The kinds implement it above the engine, which names none of them.

use futures::future::{BoxFuture, FutureExt, ready};
use muniment_activities::chain::Chain;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::{At, Call};
use muniment_activities::contract::operation::{Execution, find_execution, is_operation_executed};
use muniment_activities::fault::Fault;
use muniment_activities::revert::Revert;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::{Operation, Stage};
use muniment_domain::step::Step;

use crate::engine::effect::Shown;
use crate::engine::failure::Failure;
use crate::engine::{Engine, Network};
use crate::requester::Requester;

/// A kind of operation. Most need only to read their effect: the other methods have defaults.
pub trait OperationKind: Send + Sync {
    /// Reads the effect of a step from its successful receipt.
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown>;

    /// Whether abandoning an operation takes two people: true for kinds that issue units or move value.
    fn abandon_takes_two(&self) -> bool {
        false
    }

    /// Whether a step moves no value, so that the operation can still be abandoned after it.
    fn moves_nothing(&self, _step: &Step) -> bool {
        false
    }

    /// The live key of an operation that ends this one. While that operation is unfinished, this one is not retried.
    fn ended_by(&self, _op: &Operation) -> Option<String> {
        None
    }

    /// Whether the contract itself executes a step only once and can name its transaction.
    fn is_traced(&self, step: &Step) -> bool {
        step.op_number.is_some()
    }

    /// Finds the transaction that executed a traced step, among the logs since a block. `at` is the newest block that was followed.
    fn find_execution<'a>(
        &'a self,
        chain: &'a Chain,
        _op: &'a Operation,
        step: &'a Step,
        since: u64,
        _at: At,
    ) -> BoxFuture<'a, Result<Option<Execution>, Failure>> {
        async move {
            let Some(number) = step.op_number else { return Ok(None) };
            find_execution(chain, step.target.0, &step.calldata, number.cast_unsigned(), since)
                .await
                .map_err(|fault| Failure::of_fault(&fault, Stage::Tracking))
        }
        .boxed()
    }

    /// Asks the chain whether a step took effect. A step without an operation number can be repeated without harm.
    fn is_executed<'a>(
        &'a self,
        chain: &'a Chain,
        _op: &'a Operation,
        step: &'a Step,
        at: At,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        match step.op_number {
            Some(number) => {
                is_operation_executed(chain, step.target.0, &step.calldata, number.cast_unsigned(), at).boxed()
            }
            None => ready(Ok(false)).boxed(),
        }
    }

    /// The reason why a step that would revert now waits instead of failing.
    fn waits_for<'a>(
        &'a self,
        _tx: &'a mut Tx,
        _op: &'a Operation,
        _step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<&'static str>>> {
        ready(Ok(None)).boxed()
    }

    /// Splits a page that would revert because of some of its lines. Returns whether it did.
    fn split_reverting<'a>(
        &'a self,
        _engine: &'a Engine,
        _network: &'a Network,
        _op: &'a Operation,
        _step: &'a Step,
        _call: &'a Call,
        _revert: &'a Revert,
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        ready(Ok(false)).boxed()
    }

    /// Splits a page that needs more gas than one transaction can have. Returns whether it did.
    fn split_oversized<'a>(
        &'a self,
        _engine: &'a Engine,
        _op: &'a Operation,
        _step: &'a Step,
        _why: &'a str,
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        ready(Ok(false)).boxed()
    }

    /// Renews the preconditions of an operation, in the commit of its retry. Returns whether it waits for them.
    fn renew<'a>(&'a self, _tx: &'a mut Tx, _op: &'a mut Operation, _by: &'a Requester) -> BoxFuture<'a, Result<bool>> {
        ready(Ok(false)).boxed()
    }

    /// Releases the subjects of an operation that a person gives up.
    fn give_up<'a>(&'a self, _tx: &'a mut Tx, _op: &'a Operation) -> BoxFuture<'a, Result<()>> {
        ready(Ok(())).boxed()
    }
}

/// Whether a step took effect, as many endpoints as the quorum requires show at this block. None while they do not agree.
pub async fn agreed_execution(
    kind: &dyn OperationKind,
    chain: &Chain,
    op: &Operation,
    step: &Step,
    at: At,
) -> Result<Option<bool>, Fault> {
    let ask = |endpoint: Chain| async move { kind.is_executed(&endpoint, op, step, at).await };
    chain.agreed(ask, |one, other| one == other).await
}
