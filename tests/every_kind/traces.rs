//! Traces of an effect, read past the platform's code: none, or all of it once.

use std::collections::BTreeMap;

use alloy::primitives::{Address, B256, Bytes, U256, keccak256};
use serde_json::{Value, json};

use super::ask::Asked;
use super::kind::Kind;
use super::stage::{Stage, holder, partition, receiver, replacement, report};
use crate::foreign_key::calls_of;
use crate::installation::wallet;

/// How often an effect is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traces {
    /// By calls of the contracts.
    pub chain: usize,
    /// In the ledger of investors and offerings.
    pub books: usize,
    /// In the events.
    pub told: usize,
}

pub const NONE: Traces = Traces { chain: 0, books: 0, told: 0 };
pub const ONCE: Traces = Traces { chain: 1, books: 1, told: 1 };

/// How often a part fits into a whole, without remainder.
fn times(whole: U256, part: usize) -> usize {
    assert_eq!(whole % U256::from(part), U256::ZERO, "{whole} is no multiple of {part}");
    (whole / U256::from(part)).to()
}

/// The units that a numbered holder subscribed to.
fn subscribed(number: usize) -> usize {
    100_000 + 100 * number
}

impl Stage {
    pub async fn traces(&self, asked: &Asked) -> Traces {
        Traces { chain: self.on_chain(asked).await, books: self.in_books(asked).await, told: self.told(asked).await }
    }

    async fn on_chain(&self, asked: &Asked) -> usize {
        let (site, token, round) = (self.site(), self.day.token, asked.round);
        let address = wallet(holder(asked.kind, round));
        match asked.kind {
            Kind::Deploy => {
                let tokens = site.tokens_of(self.offering(asked.kind, round)).await;
                tokens.iter().filter(|token| token.created).count()
            }
            Kind::Mint => times(site.balance_of(self.token(1).await, address).await, subscribed(round)),
            Kind::MintLocked => times(site.locked_of(self.token(2).await, address).await, subscribed(round)),
            Kind::Freeze => usize::from(site.is_frozen(token, address).await),
            Kind::Unfreeze => usize::from(!site.is_frozen(token, address).await),
            Kind::Lock => times(site.locked_of(token, address).await, 100),
            Kind::Unlock => usize::from(site.tranches_of(token, address, 1).await.is_empty()),
            Kind::Restrict => usize::from(site.is_restricted(token, partition(asked.kind, round)).await),
            Kind::Unrestrict => usize::from(!site.is_restricted(token, partition(asked.kind, round)).await),
            Kind::Force => {
                let to = receiver(round);
                times(site.balance_of(token, wallet(to)).await - U256::from(subscribed(to)), 100)
            }
            Kind::Recover => {
                let (number, new) = (holder(asked.kind, round), replacement(asked.kind, round));
                let moved = times(site.balance_of(token, new).await, subscribed(number));
                assert_eq!(site.successor_of(token, address).await == new, moved == 1);
                moved
            }
            Kind::Reinstate => usize::from(site.successor_of(token, address).await == Address::ZERO),
            Kind::Redeem => {
                let left = site.balance_of(token, address).await;
                times(U256::from(subscribed(holder(asked.kind, round))) - left, 100)
            }
            Kind::ReleaseLock => usize::from(site.tranches_of(token, address, 1).await.is_empty()),
            Kind::Pause => usize::from(site.is_paused(self.token_of(asked.kind, round).await).await),
            Kind::Unpause => usize::from(!site.is_paused(self.token_of(asked.kind, round).await).await),
            Kind::Pay | Kind::PayBatch | Kind::Escrow => self.transferred(asked).await,
            Kind::Audit => {
                let logs = self.logs(json!({ "address": site.platform.distributor })).await;
                let declared = logs.iter().any(|log| log["data"].as_str().unwrap().contains(&report(round)));
                usize::from(declared)
            }
        }
    }

    /// How often each holder of a distribution received exactly its coin amount, by the coin's own events.
    async fn transferred(&self, asked: &Asked) -> usize {
        let transfer = keccak256("Transfer(address,address,uint256)");
        let mut counts = Vec::new();
        for (_, payee, cents, ..) in self.day.parts(self.distribution(asked.kind, asked.round)).await {
            let to = B256::left_padding_from(payee.as_slice());
            let logs =
                self.logs(json!({ "address": self.site().platform.coin, "topics": [transfer, Value::Null, to] })).await;
            let units = U256::from(cents) * U256::from(10_000);
            let is_part = |log: &&Value| log["data"].as_str().unwrap().parse::<U256>().unwrap() == units;
            counts.push(logs.iter().filter(is_part).count());
        }
        counts.sort_unstable();
        // The pages of an escrow are paid one after the other.
        let whole = asked.kind == Kind::Escrow || counts.first() == counts.last();
        assert!(whole && counts.last() <= Some(&1), "only some were paid, or twice: {counts:?}");
        counts[0]
    }

    async fn logs(&self, mut filter: Value) -> Vec<Value> {
        filter["fromBlock"] = json!("0x0");
        filter["toBlock"] = json!("latest");
        self.site().anvil.rpc().call("eth_getLogs", json!([filter])).await.as_array().unwrap().clone()
    }

    async fn in_books(&self, asked: &Asked) -> usize {
        let (site, round) = (self.site(), asked.round);
        let address = wallet(holder(asked.kind, round));
        let offering = self.offering(asked.kind, round);
        let of = format!("offering_id = '{offering}' and wallet_address = '{address:#x}'");
        let in_partition = format!("token_partitions where partition_id = {}", partition(asked.kind, round));
        let rows = match asked.kind {
            Kind::Deploy => {
                let shown = self.day.server.get(&format!("/v1/offerings/{offering}")).await;
                return usize::from(shown.text("/tokenDeployment/status") == "deployed");
            }
            Kind::Mint | Kind::MintLocked => {
                let minted = format!("subscriptions where {of} and status = 'minted' and mint_tx_hash is not null");
                let held = format!("holdings where {of} and balance = '{}'", subscribed(round));
                return usize::from(site.count(&minted).await == 1 && site.count(&held).await == 1);
            }
            Kind::Freeze => format!("token_accounts where {of} and frozen"),
            Kind::Unfreeze => format!("token_accounts where {of} and not frozen"),
            Kind::Lock => format!("tranches where {of} and quantity = '100'"),
            // An expired lock does not count in the ledger anyway: only the operation log shows the removal.
            Kind::Unlock => format!("operations where id = '{}' and status = 'confirmed'", asked.ids[0]),
            Kind::Restrict => format!("{in_partition} and restricted"),
            Kind::Unrestrict => format!("{in_partition} and not restricted"),
            Kind::Force => {
                let to = receiver(round);
                let more = subscribed(to) + 100;
                format!(
                    "holdings where wallet_address = '{:#x}' and offering_id = '{offering}' and balance = '{more}'",
                    wallet(to)
                )
            }
            Kind::Recover => {
                format!(
                    "wallets where address = '{address:#x}' and successor = '{:#x}'",
                    replacement(asked.kind, round)
                )
            }
            Kind::Reinstate => {
                format!("wallets where address = '{address:#x}' and successor is null and retired_at is null")
            }
            Kind::Redeem => {
                let left = subscribed(holder(asked.kind, round)) - 100;
                format!("holdings where {of} and balance = '{left}'")
            }
            Kind::ReleaseLock => {
                return usize::from(site.count(&format!("tranches where {of} and quantity <> '0'")).await == 0);
            }
            Kind::Pause => {
                format!("token_partitions where offering_id = '{offering}' and partition_id = 0 and restricted")
            }
            Kind::Unpause => {
                format!("token_partitions where offering_id = '{offering}' and partition_id = 0 and not restricted")
            }
            Kind::Pay | Kind::PayBatch | Kind::Escrow => return self.receipted(asked).await,
            Kind::Audit => {
                let shown = self.day.shown(self.distribution(asked.kind, round)).await;
                return usize::from(shown.text("/audit_declaration/report_sha256") == report(round));
            }
        };
        usize::try_from(site.count(&rows).await).unwrap()
    }

    /// Returns 1 if every entitlement of a distribution is paid, and 0 if none is.
    async fn receipted(&self, asked: &Asked) -> usize {
        let id = self.distribution(asked.kind, asked.round);
        let paid = self.site().count(&format!("entitlements where distribution_id = '{id}' and status = 'paid'")).await;
        let shown = self.day.shown(id).await;
        assert_eq!(shown.text("/totals/paid") == "0.00", paid == 0, "{shown:?}");
        let receipts = self.site().count(&format!("payout_receipts where distribution_id = '{id}'")).await;
        assert_eq!(receipts, paid);
        let all = shown.text("/status") == "completed";
        assert!(all || paid == 0 || asked.kind == Kind::Escrow, "a page is paid completely: {shown:?}");
        usize::from(all)
    }

    async fn told(&self, asked: &Asked) -> usize {
        let (kind, round) = (asked.kind, asked.round);
        let Some(name) = kind.facts().told else { return self.told_of_operations(asked).await };
        let subject = match kind {
            Kind::Deploy => format!("subject_id = '{}'", self.offering(kind, round)),
            Kind::Mint | Kind::MintLocked => format!("subject_id = '{}'", self.subscription(kind, round).await),
            Kind::Pay | Kind::PayBatch | Kind::Escrow | Kind::Audit => {
                let id = self.distribution(kind, round);
                format!("(subject_id = '{id}' or cast(data as text) like '%{id}%')")
            }
            _ => format!("cast(data as text) like '%{}%'", wallet(holder(kind, round)).to_checksum(None)),
        };
        let events =
            usize::try_from(self.site().count(&format!("events where type = '{name}' and {subject}")).await).unwrap();
        if name != "distribution.entitlement_paid" {
            return events;
        }
        times(U256::from(events), self.day.parts(self.distribution(kind, round)).await.len())
    }

    /// How often the confirmations of a row's operations were reported.
    async fn told_of_operations(&self, asked: &Asked) -> usize {
        let mut told = 0;
        for id in &asked.ids {
            let of = format!("events where type = 'operation.confirmed' and subject_id = '{id}'");
            told += usize::try_from(self.site().count(&of).await).unwrap();
        }
        times(U256::from(told), asked.ids.len())
    }

    /// Checks that no trace is seen.
    pub async fn is_undone(&self, asked: &[Asked]) {
        for one in asked {
            assert_eq!(self.traces(one).await, NONE, "{:?}", one.kind);
        }
    }

    /// Checks that the whole effect is seen once, by this many executed calls.
    pub async fn is_done(&self, asked: &[Asked], executed: impl Fn(Kind) -> usize) {
        let ran = self.executed().await;
        for one in asked {
            assert_eq!(self.traces(one).await, ONCE, "{:?}", one.kind);
            let mut functions = Vec::new();
            for id in &one.ids {
                let shown = self.day.server.get(&format!("/blockchain/operations/{id}")).await;
                assert_eq!(shown.text("/status"), "confirmed", "{:?}: {shown:?}", one.kind);
                let moves = shown.body["history"].as_array().unwrap();
                assert_eq!(moves.iter().filter(|line| line["to"] == "confirmed").count(), 1, "{:?}", one.kind);
                let steps = shown.body["steps"].as_array().unwrap();
                functions.extend(steps.iter().map(|step| step["function"].as_str().unwrap().to_owned()));
                for call in calls_of(self.site(), id).await {
                    let times = ran.get(&call).copied().unwrap_or_default();
                    assert_eq!(times, executed(one.kind), "{:?}: how often the chain executed it", one.kind);
                }
            }
            assert_eq!(functions, one.kind.facts().steps, "{:?}", one.kind);
        }
        assert_eq!(self.site().count("operation_items where live").await, 0);
    }

    /// Every successful call on the chain, by any sender, with its count.
    async fn executed(&self) -> BTreeMap<(Address, Bytes), usize> {
        let rpc = self.site().anvil.rpc();
        let mut executed = BTreeMap::new();
        for number in 0..=rpc.number("eth_blockNumber", json!([])).await {
            let block = rpc.call("eth_getBlockByNumber", json!([format!("{number:#x}"), true])).await;
            for sent in block["transactions"].as_array().unwrap().iter().filter(|sent| !sent["to"].is_null()) {
                let receipt = rpc.call("eth_getTransactionReceipt", json!([sent["hash"]])).await;
                if receipt["status"] == "0x1" {
                    let text = |field: &str| sent[field].as_str().unwrap().to_owned();
                    *executed.entry((text("to").parse().unwrap(), text("input").parse().unwrap())).or_default() += 1;
                }
            }
        }
        executed
    }
}
