//! The outcome of the calls: what they would do, and to which balances.

use alloy_primitives::{Address, U256};
use muniment_activities::balance::Balance;
use muniment_activities::chain::sequence::CallOutcome;
use muniment_activities::revert::Revert;
use muniment_domain::operation::Kind;

use super::plan::PlannedCall;

/// What the calls would do.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The outcome as a whole.
    pub verdict: Verdict,
    /// The calls that were tried, in order.
    pub transactions: Vec<Transaction>,
    /// What a unit of gas costs now, in wei. None if the chain did not tell.
    pub gas_price: Option<u128>,
    /// The balances that they change. A call that reverts changes none.
    pub balances: Vec<BalanceChange>,
    /// The changed balances that were not read, because there are too many.
    pub balances_omitted: usize,
    /// Why the balances are not known. None if they are.
    pub balances_unknown: Option<String>,
    /// The balances that the events named.
    pub(super) changed: Vec<Balance>,
}

/// The outcome of the calls as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every call that was tried passes.
    Succeeds,
    /// One of them reverts.
    Reverts,
}

/// One call that was tried.
#[derive(Clone, Debug)]
pub struct Transaction {
    /// The kind of its operation.
    pub kind: Kind,
    /// The function.
    pub function: String,
    /// The signer.
    pub from: Address,
    /// The contract.
    pub to: Address,
    /// The gas that it used. None if the node can only say whether it passes.
    pub gas_used: Option<u64>,
    /// Why it reverts. None if it passes.
    pub revert: Option<Revert>,
}

/// A balance before and after the calls.
#[derive(Clone, Debug)]
pub struct BalanceChange {
    /// The balance.
    pub balance: Balance,
    /// The symbol of the token or coin, if it is known.
    pub symbol: Option<String>,
    /// The decimals of the amounts. Zero if they are not known: then the amounts are base units.
    pub decimals: u32,
    /// Before the calls, in base units.
    pub before: U256,
    /// After them.
    pub after: U256,
}

impl Trial {
    /// What the gas of the calls costs now, in wei. None if their gas or its price is not known.
    pub fn cost(&self) -> Option<U256> {
        let gas: u64 = self.transactions.iter().map(|one| one.gas_used).sum::<Option<u64>>()?;
        Some(U256::from(gas) * U256::from(self.gas_price?))
    }

    pub(super) fn of(transactions: Vec<Transaction>, changed: Vec<Balance>, balances_unknown: Option<String>) -> Self {
        let reverts = transactions.iter().any(|transaction| transaction.revert.is_some());
        let verdict = if reverts { Verdict::Reverts } else { Verdict::Succeeds };
        let (gas_price, balances) = (None, Vec::new());
        Self { verdict, transactions, gas_price, balances, balances_omitted: 0, balances_unknown, changed }
    }
}

impl Transaction {
    pub(super) fn of(planned: &PlannedCall, outcome: CallOutcome) -> Self {
        let (gas_used, revert) = (Some(outcome.gas_used), outcome.result.err());
        Self { gas_used, revert, ..Self::passing(planned) }
    }

    pub(super) fn passing(planned: &PlannedCall) -> Self {
        Self {
            kind: planned.kind,
            function: planned.function.clone(),
            from: planned.call.from,
            to: planned.call.to.unwrap_or_default(),
            gas_used: None,
            revert: None,
        }
    }
}
