//! The simulation of an approval, as its page shows it: what it would do now, and the balances before and after.

use chrono::{DateTime, Utc};
use serde::Deserialize;

use crate::console::desk::Desk;
use crate::console::wording;
use crate::http::error::Problem;

/// The changes that are named one by one.
const CHANGES_NAMED: usize = 3;
const UNCHANGED: &str = "Nothing has changed since it was asked for.";

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
    changes: Vec<Since>,
}

/// A change after the request.
#[derive(Deserialize)]
struct Since {
    what: String,
    account: Option<String>,
    display_name: Option<String>,
    changed_at: DateTime<Utc>,
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
    cost_wei: Option<String>,
    coin: Option<String>,
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
    /// The legal name of its investor, if the platform knows one.
    pub display_name: Option<String>,
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

    /// What has changed since it was asked for, newest first.
    pub fn since(&self, now: &DateTime<Utc>) -> String {
        let named = |one: &Since| format!("{} {} ago", one.name(), wording::age(now, one.changed_at));
        let few: Vec<_> = self.changes.iter().take(CHANGES_NAMED).map(named).collect();
        match self.changes.len().saturating_sub(few.len()) {
            _ if few.is_empty() => UNCHANGED.to_owned(),
            0 => format!("Since it was asked for: {}.", wording::list(&few)),
            more => format!("Since it was asked for: {}, and {more} more changes.", few.join(", ")),
        }
    }

    /// Whether a person should look again.
    pub fn has_changed(&self) -> bool {
        !self.changes.is_empty()
    }

    /// What the line of a success ends with.
    pub fn assurance(&self) -> &'static str {
        if self.has_changed() { "" } else { UNCHANGED }
    }

    /// Whether no line of a success says it.
    pub fn is_silent(&self) -> bool {
        !self.chains.iter().any(|chain| chain.outcome == "succeeds")
    }
}

impl Since {
    fn name(&self) -> String {
        match (&self.display_name, &self.account) {
            (Some(name), _) => format!("the balance of {name}"),
            (None, Some(account)) => format!("the balance of {}", wording::short_hex(account)),
            (None, None) => self.what.replace(['.', '_'], " "),
        }
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
        let gas = gas.filter(|gas| *gas > 0);
        let gas_known = gas.is_some();
        let gas = gas.map(|gas| format!(", {} gas", wording::number(gas))).unwrap_or_default();
        let price = self.cost_wei.as_deref().zip(self.coin.as_deref());
        let price = price.filter(|_| gas_known).map(|(wei, coin)| format!(", {} {coin}", about(wei)));
        format!("{sent}{few}{gas}{}", price.unwrap_or_default())
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

/// Wei as coins, of which nobody pays nothing.
fn about(wei: &str) -> String {
    match wording::coin(wei) {
        coins if coins == "0.0000" && wei != "0" => "less than 0.0001".to_owned(),
        coins => format!("about {coins}"),
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
    use chrono::{DateTime, Duration};

    use super::{Simulation, Since, about, amount};

    #[test]
    fn zeros_behind_the_second_decimal_are_left_out() {
        let shown = ["957160.000000", "0.125000", "1.50", "12", "-42000.000000", "0.000001"].map(amount);
        assert_eq!(shown, ["957,160.00", "0.125", "1.50", "12", "\u{2212}42,000.00", "0.000001"]);
    }

    #[test]
    fn gas_costs_something_however_little() {
        assert_eq!(["1700000000000000", "1", "0"].map(about), ["about 0.0017", "less than 0.0001", "about 0.0000"]);
    }

    #[test]
    fn what_changed_since_the_request_is_named_newest_first() {
        let now = DateTime::UNIX_EPOCH + Duration::hours(9);
        let since = |what: &str, name: Option<&str>, hours| Since {
            what: what.to_owned(),
            account: name.map(|_| "0x70997970C51812dc3A010C7d01b50e0d17dc79C8".to_owned()),
            display_name: name.filter(|name| !name.is_empty()).map(str::to_owned),
            changed_at: now - Duration::hours(hours),
        };
        let shown = |changes| {
            let (refusal, untried_because, chains) = (None, None, Vec::new());
            Simulation { tried_at: now, refusal, untried_because, chains, changes }.since(&now)
        };
        assert_eq!(shown(Vec::new()), "Nothing has changed since it was asked for.");
        let two = vec![since("balance", Some("Ada Almeida"), 1), since("offering.token_paused", None, 2)];
        assert_eq!(
            shown(two),
            "Since it was asked for: the balance of Ada Almeida 1 h ago and offering token paused 2 h ago."
        );
        let many = (1..=5).map(|hours| since("balance", Some(""), hours)).collect();
        assert!(shown(many).ends_with("the balance of 0x7099…79C8 3 h ago, and 2 more changes."));
    }
}
