//! The oracle: every effect on the chain is confirmed once in the database, and no lane has a nonce gap.

use std::collections::{BTreeMap, BTreeSet};

use alloy::primitives::{Address, U256};
use muniment_activities::contract::line::Line;
use serde_json::{Value, json};

use super::Installation;
use super::token::Executed;

/// Events without an audit entry about their object.
pub const UNLOGGED: &str = "select e.type, e.subject_id from events e where not exists (select 1 from audit_log a \
    where a.object_id = e.subject_id and a.detail like '%\"' || e.type || '\"%')";

/// Totals of the comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Tokens deployed.
    pub deployed: usize,
    /// Mint pages executed.
    pub minted: usize,
    /// Failed operations and dead letters.
    pub attention: i64,
}

impl Installation {
    /// Compares chain and database when no operation is unfinished.
    pub async fn exactly_once(&self) -> Report {
        let deployed = self.tokens_agree().await;
        for offering in deployed.keys() {
            assert_eq!(self.tokens_of(offering).await.len(), 1, "{offering} was deployed again");
        }
        let minted = self.mints_agree(&deployed).await;
        self.holdings_agree(&deployed).await;
        self.lanes_have_no_gap().await;
        self.each_effect_was_reported_once().await;
        let attention = self.count("operations where status in ('failed', 'dead_letter') and resolution is null").await;
        Report { deployed: deployed.len(), minted, attention }
    }

    /// Compares what must agree even if part of a lane's history is from another database; returns the number of executed mint pages.
    pub async fn executed_once_and_held_once(&self) -> usize {
        let deployed = self.tokens_agree().await;
        self.holdings_agree(&deployed).await;
        self.lanes_have_no_gap().await;
        self.mints_agree(&deployed).await
    }

    async fn tokens_agree(&self) -> BTreeMap<String, Address> {
        let mut deployed = BTreeMap::new();
        let confirmed =
            "select coalesce(tx_hash, '') from operations where kind = 'deploy_token' and status = 'confirmed' and";
        for row in self.rows("select id, token_status, coalesce(token_address, ''), token_tx_hash from offerings").await
        {
            let [id, status, address, tx_hash] = row.try_into().unwrap();
            let told = self.tokens_of(&id).await;
            let made = told.iter().filter(|token| token.created).count();
            let confirmed = self.rows(&format!("{confirmed} offering_id = '{id}'")).await;
            assert_eq!((made, status == "deployed"), (confirmed.len().min(1), !told.is_empty()), "{id} is {status}");
            assert!(confirmed.len() <= 1, "{id} was confirmed twice");
            if let Some(token) = told.iter().find(|token| token.tx_hash == tx_hash) {
                assert_eq!(address.parse::<Address>().unwrap(), token.address, "{id}");
                assert_eq!(confirmed[0][0], tx_hash, "{id}");
                deployed.insert(id, token.address);
            } else {
                assert!(told.is_empty(), "{id} names {tx_hash}, the factory {told:?}");
            }
        }
        deployed
    }

    async fn mints_agree(&self, deployed: &BTreeMap<String, Address>) -> usize {
        let mut executed = BTreeSet::new();
        for token in deployed.values() {
            let ours = self.executed_by(*token).await;
            let count = ours.len();
            let numbers: BTreeSet<_> = ours.iter().map(|e| e.number.clone()).collect();
            assert_eq!(numbers.len(), count, "{token} executed an operation twice");
            executed.extend(ours);
        }
        let confirmed = self
            .rows(
                "select s.target, cast(s.op_number as text), s.tx_hash from operations o join operation_steps s on s.operation_id = o.id \
                 where s.op_number is not null and o.status = 'confirmed'",
            )
            .await;
        let confirmed: BTreeSet<_> = confirmed
            .into_iter()
            .map(|row| {
                let [token, number, tx_hash] = row.try_into().unwrap();
                Executed { token: token.to_lowercase(), number, tx_hash }
            })
            .collect();
        assert_eq!(executed, confirmed, "executed on the chain (left), confirmed in the database (right)");
        let pages = "operations o join operation_steps s on s.operation_id = o.id where o.kind = 'mint' and o.status = 'confirmed'";
        usize::try_from(self.count(pages).await).unwrap()
    }

    async fn holdings_agree(&self, deployed: &BTreeMap<String, Address>) {
        let mut minted: BTreeMap<String, U256> = BTreeMap::new();
        for row in self.rows("select offering_id, quantity from subscriptions where status = 'minted'").await {
            let [offering, quantity] = row.try_into().unwrap();
            *minted.entry(offering).or_default() += quantity.parse::<U256>().unwrap();
        }
        for row in self.rows("select offering_id, cast(payload as text) from operations where kind = 'redeem' and status = 'confirmed'").await {
            let [offering, payload] = row.try_into().unwrap();
            let payload: Value = serde_json::from_str(&payload).unwrap();
            let line: Line = serde_json::from_value(payload["redeem"]["line"].clone()).unwrap();
            *minted.entry(offering).or_default() -= U256::from(line.units());
        }
        let mut held: BTreeMap<String, U256> = BTreeMap::new();
        let locks = self.locks().await;
        for row in
            self.rows("select offering_id, wallet_address, cast(partition_id as text), balance from holdings").await
        {
            let [offering, wallet, partition, balance] = row.try_into().unwrap();
            let (token, account) = (deployed[&offering], wallet.parse::<Address>().unwrap());
            let balance = balance.parse::<U256>().unwrap();
            let locked = locks.get(&[offering.clone(), wallet.clone(), partition.clone()]).copied().unwrap_or_default();
            let place = format!("{wallet} in partition {partition} of {offering}");
            let partition = partition.parse().unwrap();
            assert_eq!(self.balance_in(token, account, partition).await, balance, "balance of {place}");
            assert_eq!(self.locked_in(token, account, partition).await, locked, "locked of {place}");
            *held.entry(offering).or_default() += balance;
        }
        assert_eq!(held, minted, "units held (left), units minted and not redeemed (right)");
    }

    /// Returns what is locked in the ledger now, by the chain's clock.
    async fn locks(&self) -> BTreeMap<[String; 3], U256> {
        let head = self.anvil.rpc().call("eth_getBlockByNumber", json!(["latest", false])).await;
        let now = u64::from_str_radix(head["timestamp"].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        let mut locks = BTreeMap::new();
        let tranches =
            "select offering_id, wallet_address, cast(partition_id as text), quantity from tranches where release_at >";
        for row in self.rows(&format!("{tranches} {now}")).await {
            let [offering, wallet, partition, quantity] = row.try_into().unwrap();
            *locks.entry([offering, wallet, partition]).or_default() += quantity.parse::<U256>().unwrap();
        }
        locks
    }

    async fn lanes_have_no_gap(&self) {
        for row in self.rows("select signer, cast(next_nonce as text) from lanes").await {
            let [signer, next] = row.try_into().unwrap();
            for block in ["latest", "pending"] {
                let count = self.anvil.rpc().number("eth_getTransactionCount", json!([signer, block])).await;
                assert_eq!(count.to_string(), next, "{signer}: {block} count of the chain, next nonce of the lane");
            }
        }
    }

    /// Checks for one event and one history row for each confirmation, and one event for each minted subscription.
    async fn each_effect_was_reported_once(&self) {
        let confirmed = self.count("operations where status = 'confirmed'").await;
        assert_eq!(self.count("events where type = 'operation.confirmed'").await, confirmed);
        assert_eq!(self.count("operation_history where to_status = 'confirmed'").await, confirmed);
        let minted = self.count("subscriptions where status = 'minted'").await;
        assert_eq!(self.count("events where type = 'subscription.minted'").await, minted);
        assert_eq!(self.count("operation_items where live").await, self.live_items().await);
        assert_eq!(self.rows(UNLOGGED).await, Vec::<Vec<String>>::new(), "events without an audit entry");
    }

    async fn live_items(&self) -> i64 {
        self.count(
            "operation_items i join operations o on o.id = i.operation_id where i.live and o.status <> 'confirmed' \
             and o.resolution is null",
        )
        .await
    }
}
