//! The simulation of an approval, as its page shows it: what it would do now, and the balances before and after.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::wording;
use crate::http::error::Problem;

/// What an approval would do now.
#[derive(Deserialize)]
pub struct Simulation {
    /// When it was tried.
    pub tried_at: DateTime<Utc>,
    /// Why it would be refused before anything is sent.
    pub refusal: Option<Refusal>,
    /// Why it is not tried before its approval.
    pub untried_because: Option<String>,
    /// The trial on each chain.
    pub chains: Vec<OnChain>,
}

/// A refusal by the rules of the platform.
#[derive(Deserialize)]
pub struct Refusal {
    /// The code.
    pub code: String,
    /// The explanation.
    pub detail: Option<String>,
}

/// The trial on one chain.
#[derive(Deserialize)]
pub struct OnChain {
    /// The name of the chain.
    pub network: String,
    /// `succeeds`, `reverts` or `unknown`.
    pub outcome: String,
    /// Why it reverts or is unknown.
    pub detail: Option<String>,
    /// The block on which it was tried.
    pub block_number: Option<i64>,
    /// The balances that change.
    pub balances: Vec<Balance>,
    /// The balances that are not listed.
    pub balances_omitted: i64,
    /// Why the balances are not known.
    pub balances_unknown: Option<String>,
    transactions: Vec<Transaction>,
    transactions_total: i64,
}

#[derive(Deserialize)]
struct Transaction {
    from: String,
    gas_used: Option<i64>,
    revert: Option<String>,
}

/// A balance before and after.
#[derive(Deserialize)]
pub struct Balance {
    /// The account; none for a supply.
    pub account: Option<String>,
    partition: Option<String>,
    symbol: Option<String>,
    contract: String,
    before: String,
    after: String,
    change: String,
}

impl Simulation {
    /// Asks for it. Without an answer, the page shows why.
    pub async fn of(desk: &Desk, id: &str) -> Result<Self, String> {
        let asked = desk.read(&format!("/v1/approvals/{id}/simulation")).await;
        asked.map_err(|problem: Problem| problem.detail().unwrap_or_else(|| problem.code.title()).to_owned())
    }
}

impl OnChain {
    /// The token or coin of a balance, and whether the signer holds it.
    pub fn of(&self, balance: &Balance) -> String {
        let signs = self.transactions.iter().any(|one| balance.account.as_ref() == Some(&one.from));
        format!("{}{}", balance.of(), if signs { ", of the signer" } else { "" })
    }

    /// What follows from a revert. A transaction that would revert is refused before it is signed, and the others are sent.
    pub fn consequence(&self) -> String {
        let tried = self.transactions.len();
        match self.transactions.iter().filter(|one| one.revert.is_some()).count() {
            failing if failing == tried => "It would be refused before it is signed: nothing would be sent.".to_owned(),
            failing => {
                format!("{failing} of {tried} transactions would be refused before signing, and the others sent.")
            }
        }
    }

    /// How many transactions, and their gas.
    pub fn cost(&self) -> String {
        let sent = wording::count(self.transactions_total, "transaction", "transactions");
        let tried = i64::try_from(self.transactions.len()).unwrap_or(i64::MAX);
        let few = if tried < self.transactions_total {
            format!(", of which the first {tried} were tried")
        } else {
            String::new()
        };
        let gas: Option<i64> = self.transactions.iter().map(|one| one.gas_used).sum();
        let gas = gas.filter(|gas| *gas > 0).map(|gas| format!(", {} gas", wording::number(gas))).unwrap_or_default();
        format!("{sent}{few}{gas}")
    }
}

impl Balance {
    /// The short address, or `Supply`.
    pub fn name(&self) -> String {
        self.account.as_deref().map_or_else(|| "Supply".to_owned(), wording::short_hex)
    }

    fn of(&self) -> String {
        let symbol =
            self.symbol.clone().unwrap_or_else(|| format!("base units of {}", wording::short_hex(&self.contract)));
        match &self.partition {
            Some(partition) => format!("{symbol}, partition {partition}"),
            None => symbol,
        }
    }

    /// Before.
    pub fn now(&self) -> String {
        amount(&self.before)
    }

    /// After.
    pub fn after(&self) -> String {
        amount(&self.after)
    }

    /// The difference with its sign; none where the transactions cancel each other out.
    pub fn change(&self) -> Option<String> {
        let moves = self.change.bytes().any(|byte| (b'1'..=b'9').contains(&byte));
        let sign = if self.change.starts_with('-') { "" } else { "+" };
        moves.then(|| format!("{sign}{}", amount(&self.change)))
    }
}

/// An amount with at least two decimals: a coin of six would fill the page with zeros.
fn amount(text: &str) -> String {
    let shown = match text.find('.') {
        Some(point) => &text[..text.trim_end_matches('0').len().max((point + 3).min(text.len()))],
        None => text,
    };
    wording::long_digits(shown)
}

#[cfg(test)]
mod tests {
    use super::amount;

    #[test]
    fn zeros_behind_the_second_decimal_are_left_out() {
        let shown = ["957160.000000", "0.125000", "1.50", "12", "-42000.000000", "0.000001"].map(amount);
        assert_eq!(shown, ["957,160.00", "0.125", "1.50", "12", "\u{2212}42,000.00", "0.000001"]);
    }
}
