//! Payouts as the engine runs them: straight from the payer, through the distributor, and the declaration of an audit report.

use std::iter::repeat_n;

use alloy_primitives::{Address, B256, U256};
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::Chain;
use muniment_activities::chain::receipt::Receipt;
use muniment_activities::chain::simulate::{At, Call};
use muniment_activities::contract::line::{Line, LineOutcome};
use muniment_activities::contract::operation::{Execution, MissingEffect};
use muniment_activities::fault::Fault;
use muniment_activities::payout::claim::{effect, find_execution as find_claim};
use muniment_activities::payout::distributor as contract;
use muniment_activities::payout::{coin, direct};
use muniment_activities::revert::Revert;
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Scope};
use muniment_domain::entitlement::{self, Status};
use muniment_domain::operation::{Operation, Stage};
use muniment_domain::step::Step;
use muniment_domain::{Error, Result};

use crate::engine::effect::{Effect, Inclusion, Shown, payload, shown};
use crate::engine::failure::Failure;
use crate::engine::kind::OperationKind;
use crate::engine::{Engine, Network};
use crate::payout::{self, allowance, claim, distributor, reclaim, split, withheld};
use crate::requester::Requester;

/// Pays pages of holders directly from the payer.
pub struct DirectPayout;

/// Pays a list through the distributor, claims what it keeps, or reclaims the rest of the escrow.
pub struct DistributorPayout;

/// Declares the hash of an audit report.
pub struct AuditDeclaration;

/// A contract of ours may pull a coin from its owner.
#[derive(Debug)]
struct Allowed {
    asset: Address,
    owner: Address,
    spender: Address,
}

/// The sum of a distribution is in escrow. It belongs to nobody yet: its pages change the domain.
#[derive(Debug)]
struct EscrowFunded;

/// So many units, the rest of the escrow, were returned to its funder.
#[derive(Debug)]
struct EscrowReturned(U256);

/// These lines of an operation were paid, or the distributor keeps them for their holders.
#[derive(Debug)]
struct LinesPaid {
    first: i64,
    outcomes: Vec<LineOutcome>,
}

/// This audit report was declared.
#[derive(Debug)]
struct AuditDeclared(B256);

impl OperationKind for DirectPayout {
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        if step.name == allowance::STEP {
            return allowed(op, step, receipt);
        }
        let page = direct::page_of(&step.calldata).ok_or_else(|| damaged(op))?;
        let paid = direct::page_effect(receipt, step.target.0, payload(op, "payer")?, &page);
        let outcomes = page.lines.iter().map(|line| LineOutcome::Paid(line.holder())).collect();
        Ok(shown(paid.map(|()| LinesPaid { first: 0, outcomes })))
    }

    fn abandon_takes_two(&self) -> bool {
        true
    }

    fn moves_nothing(&self, step: &Step) -> bool {
        step.name == allowance::STEP
    }

    fn ended_by(&self, op: &Operation) -> Option<String> {
        Some(reclaim::key(&op.subject()))
    }

    fn waits_for<'a>(
        &'a self,
        tx: &'a mut Tx,
        op: &'a Operation,
        step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<&'static str>>> {
        async move { Ok(allowance::is_under_way(tx, op, step).await?.then_some(allowance::PENDING)) }.boxed()
    }

    fn split_reverting<'a>(
        &'a self,
        engine: &'a Engine,
        network: &'a Network,
        op: &'a Operation,
        step: &'a Step,
        call: &'a Call,
        revert: &'a Revert,
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        split::split_reverting(engine, network, op, step, call, revert).boxed()
    }

    fn split_oversized<'a>(
        &'a self,
        engine: &'a Engine,
        op: &'a Operation,
        step: &'a Step,
        why: &'a str,
    ) -> BoxFuture<'a, Result<bool, Failure>> {
        split::split_oversized(engine, op, step, why).boxed()
    }

    fn renew<'a>(&'a self, tx: &'a mut Tx, op: &'a mut Operation, by: &'a Requester) -> BoxFuture<'a, Result<bool>> {
        allowance::renew(tx, op, by).boxed()
    }

    fn give_up<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation) -> BoxFuture<'a, Result<()>> {
        payout::give_up(tx, op).boxed()
    }
}

impl OperationKind for DistributorPayout {
    fn effect(&self, op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        let (data, target) = (step.calldata.as_slice(), step.target.0);
        match step.name.as_str() {
            // The first step of an operation of an earlier edition.
            allowance::STEP => allowed(op, step, receipt),
            distributor::CREATE => Ok(shown(contract::create_effect(receipt, target, data).map(|()| EscrowFunded))),
            distributor::PAGE => {
                let page = contract::page_of(data).ok_or_else(|| damaged(op))?;
                let first = i64::try_from(page.from).map_err(|_| damaged(op))?;
                let outcomes = contract::page_effect(receipt, target, payload(op, "asset")?, data);
                Ok(shown(outcomes.map(|outcomes| LinesPaid { first, outcomes })))
            }
            claim::ONE | claim::PAGE => {
                let sums = withheld::sums(op)?;
                let outcomes = effect(receipt, target, payload(op, "asset")?, data, &withheld::units(op, &sums)?);
                let lines = |outcomes: Vec<LineOutcome>| {
                    outcomes.into_iter().zip(&sums).flat_map(|(o, sum)| repeat_n(o, sum.lines))
                };
                Ok(shown(outcomes.map(|outcomes| LinesPaid { first: 0, outcomes: lines(outcomes).collect() })))
            }
            reclaim::STEP => {
                let returned = contract::cancel_effect(receipt, target, payload(op, "asset")?, data);
                Ok(shown(returned.map(EscrowReturned)))
            }
            _ => Err(damaged(op)),
        }
    }

    fn abandon_takes_two(&self) -> bool {
        true
    }

    fn moves_nothing(&self, step: &Step) -> bool {
        step.name == allowance::STEP
    }

    fn ended_by(&self, op: &Operation) -> Option<String> {
        Some(reclaim::key(&op.subject()))
    }

    fn waits_for<'a>(
        &'a self,
        tx: &'a mut Tx,
        op: &'a Operation,
        step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<&'static str>>> {
        async move { Ok(allowance::is_under_way(tx, op, step).await?.then_some(allowance::PENDING)) }.boxed()
    }

    fn renew<'a>(&'a self, tx: &'a mut Tx, op: &'a mut Operation, by: &'a Requester) -> BoxFuture<'a, Result<bool>> {
        allowance::renew(tx, op, by).boxed()
    }

    /// The distributor itself refuses to execute a call twice, and its events name the call.
    fn is_traced(&self, step: &Step) -> bool {
        let traced = [distributor::CREATE, distributor::PAGE, claim::ONE, claim::PAGE, reclaim::STEP];
        traced.contains(&step.name.as_str())
    }

    fn find_execution<'a>(
        &'a self,
        chain: &'a Chain,
        op: &'a Operation,
        step: &'a Step,
        since: u64,
        at: At,
    ) -> BoxFuture<'a, Result<Option<Execution>, Failure>> {
        async move {
            let (target, data) = (step.target.0, step.calldata.as_slice());
            let found = if [claim::ONE, claim::PAGE].contains(&step.name.as_str()) {
                let units = withheld::units(op, &withheld::sums(op)?)?;
                find_claim(chain, target, data, &units, since, at).await
            } else {
                contract::find_execution(chain, target, data, since).await
            };
            found.map_err(|fault| Failure::of_fault(&fault, Stage::Tracking))
        }
        .boxed()
    }

    fn is_executed<'a>(
        &'a self,
        chain: &'a Chain,
        _: &'a Operation,
        step: &'a Step,
        at: At,
    ) -> BoxFuture<'a, Result<bool, Fault>> {
        async move { Ok(self.is_traced(step) && contract::is_in_effect(chain, step.target.0, &step.calldata, at).await?) }
            .boxed()
    }

    fn give_up<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation) -> BoxFuture<'a, Result<()>> {
        payout::give_up(tx, op).boxed()
    }
}

impl OperationKind for AuditDeclaration {
    fn effect(&self, _: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
        Ok(shown(contract::audit_effect(receipt, step.target.0, &step.calldata).map(AuditDeclared)))
    }

    fn ended_by(&self, op: &Operation) -> Option<String> {
        Some(reclaim::key(&op.subject()))
    }
}

fn damaged(op: &Operation) -> Error {
    Error::Unreadable { what: "step", id: op.id.to_string(), why: "its call cannot be read".to_owned() }
}

fn allowed(op: &Operation, step: &Step, receipt: &Receipt) -> Result<Shown> {
    let spender = coin::spender_of(&step.calldata).ok_or_else(|| damaged(op))?;
    let asset = step.target.0;
    let owner: Result<Address, MissingEffect> = coin::approve_effect(receipt, asset, spender);
    Ok(shown(owner.map(|owner| Allowed { asset, owner, spender })))
}

impl Effect for Allowed {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, _: Inclusion) -> BoxFuture<'a, Result<()>> {
        allowance::settle(tx, op, self.asset, self.owner, self.spender).boxed()
    }
}

impl Effect for EscrowFunded {
    fn settle<'a>(&'a self, _: &'a mut Tx, _: &'a Operation, _: Inclusion) -> BoxFuture<'a, Result<()>> {
        futures::future::ready(Ok(())).boxed()
    }
}

impl Effect for EscrowReturned {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        reclaim::settle(tx, op, self.0, at.tx_hash).boxed()
    }
}

impl Effect for AuditDeclared {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        distributor::settle_audit(tx, op, self.0, at.tx_hash).boxed()
    }
}

impl Effect for LinesPaid {
    fn settle<'a>(&'a self, tx: &'a mut Tx, op: &'a Operation, at: Inclusion) -> BoxFuture<'a, Result<()>> {
        payout::settle(tx, op, self.first, &self.outcomes, at.tx_hash, at.block_number).boxed()
    }

    fn contradicted_by_records<'a>(
        &'a self,
        tx: &'a mut Tx,
        op: &'a Operation,
        step: &'a Step,
    ) -> BoxFuture<'a, Result<Option<String>>> {
        self.not_due(tx, op, step).boxed()
    }
}

impl LinesPaid {
    /// Why these lines are not the ones that are due: each must still be this operation's and unpaid, for exactly its units, and paid to
    /// the holder that the call names or to its successor.
    async fn not_due(&self, tx: &mut Tx, op: &Operation, step: &Step) -> Result<Option<String>> {
        let d = distribution::find(tx, &Scope::All, &op.subject()).await?;
        let list = entitlement::of_operation(tx, &op.id).await?;
        let mut due = Vec::with_capacity(self.outcomes.len());
        for (line, _) in (self.first..).zip(&self.outcomes) {
            match list.iter().find(|e| e.line_index == Some(line)) {
                Some(e) if e.status == Status::Queued => due.push(e),
                Some(e) => return Ok(Some(format!("{}, its line {line}, is {}", e.id, e.status))),
                None => return Ok(Some(format!("its line {line} is in another operation by now"))),
            }
        }
        let Some(called) = called_lines(&step.calldata) else {
            // A claim names no line: the contract pays what it kept for all of them together.
            let (claimed, sum): (String, u128) = (payload(op, "units")?, due.iter().map(|e| d.units(e.net)).sum());
            let differs = claimed != sum.to_string();
            return Ok(differs.then(|| format!("{claimed} units were claimed, {sum} are to be paid")));
        };
        for (e, line) in due.into_iter().zip(called) {
            let (units, payee, holder) = (d.units(e.net), e.payee_address.0, line.holder());
            if line.units() != units {
                return Ok(Some(format!("{} is to get {units} units, and the call pays {}", e.id, line.units())));
            }
            if holder != payee && payout::distribution::last_successor(tx, holder).await? != payee {
                return Ok(Some(format!("{} is to be paid to {payee}, and the call pays {holder}", e.id)));
            }
        }
        Ok(None)
    }
}

/// The lines that a call pays; none where it names none.
fn called_lines(calldata: &[u8]) -> Option<Vec<Line>> {
    let page = direct::page_of(calldata).map(|page| page.lines);
    page.or_else(|| contract::page_of(calldata).map(|page| page.lines))
}
