//! Compliance operations as the engine runs them: each row of the table is a kind.

use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::At;
use muniment_activities::fault::Fault;
use muniment_domain::Result;
use muniment_domain::db::Tx;
use muniment_domain::operation::Operation;
use muniment_domain::step::Step;

use super::Call;
use super::table::{People, Row};
use crate::engine::Network;
use crate::engine::effect::{Effect, Inclusion, Shown, shown};
use crate::engine::kind::OperationKind;

impl OperationKind for Row {
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        let call = Call::read(op)?;
        Ok(shown(call.effect(receipt, step.target.0).map(|()| call)))
    }

    fn abandon_takes_two(&self) -> bool {
        self.abandon == People::Two
    }
}

impl Effect for Call {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        Self::settle(self, tx, op, at.tx_hash).boxed()
    }

    fn contradicted_by_chain<'a>(
        &'a self,
        network: &'a Network,
        step: &'a Step,
        at: At,
    ) -> BoxFuture<'a, Result<Option<String>, Fault>> {
        self.contradiction(&network.chain, step.target.0, at).boxed()
    }
}
