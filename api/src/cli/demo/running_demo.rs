//! A running demo: its people and its chain, with waits for both.

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::person::Person;
use super::saved::{Saved, name};
use super::{chain, client};
use crate::failure::Failure;

const POLL: Duration = Duration::from_millis(150);
const PATIENCE: Duration = Duration::from_secs(60);

/// A running demo, and its people.
pub struct RunningDemo {
    api: String,
    /// The chain's URL.
    pub chain: String,
    password: String,
    /// The first start of the demo. Times in requests are computed from it, so that a repeated request is the same.
    since: DateTime<Utc>,
    exhibit: String,
}

impl RunningDemo {
    /// The demo of this folder.
    pub fn of(saved: &Saved) -> Result<Self, Failure> {
        let value = |name| saved.need(name).map(str::to_owned);
        let since = saved.need(name::SINCE)?.parse().map_err(Failure::new)?;
        let (api, chain, password) = (value(name::API)?, value(name::CHAIN)?, value(name::PASSWORD)?);
        let exhibit = saved.get(name::EXHIBIT).unwrap_or_default().to_owned();
        Ok(Self { api, chain, password, since, exhibit })
    }

    /// Logs a person in.
    pub async fn person(&self, login: &str) -> Result<Person, Failure> {
        Person::log_in(&self.api, login, &self.password).await
    }

    /// The offering with the token, the subscriptions and the distributions.
    pub fn exhibit(&self) -> &str {
        &self.exhibit
    }

    /// The time this many days after the first start of the demo.
    pub fn in_days(&self, days: i64) -> String {
        (self.since + chrono::Duration::days(days)).to_rfc3339()
    }

    /// The wallet of an investor.
    pub async fn wallet_of(&self, login: &str) -> Result<String, Failure> {
        Ok(text(&self.person(login).await?.get("/v1/investor/wallets").await?, "/data/0/address"))
    }

    /// Reads until the answer meets a condition.
    pub async fn until(
        &self,
        reader: &Person,
        path: &str,
        what: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<Value, Failure> {
        let start = Instant::now();
        loop {
            let answer = reader.get(path).await?;
            if condition(&answer) {
                return Ok(answer);
            }
            if start.elapsed() > PATIENCE {
                return Err(Failure::new(format!(
                    "The demo waited too long until {what}: {path} has the status {}.",
                    answer["status"]
                )));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Waits until an operation has this status.
    pub async fn operation(&self, reader: &Person, id: &str, status: &str) -> Result<Value, Failure> {
        let path = format!("/blockchain/operations/{id}");
        self.until(reader, &path, &format!("the operation is {status}"), |answer| answer["status"] == status).await
    }

    /// Mines blocks until an operation meets a condition. The chain itself mines only for transactions.
    pub async fn mine_until(
        &self,
        reader: &Person,
        id: &str,
        what: &str,
        condition: impl Fn(&Value) -> bool,
    ) -> Result<(), Failure> {
        let (path, start) = (format!("/blockchain/operations/{id}"), Instant::now());
        while !condition(&reader.get(&path).await?) {
            if start.elapsed() > PATIENCE {
                return Err(Failure::new(format!("The demo waited too long until {what}: {id}.")));
            }
            self.ask_chain("evm_mine", json!([])).await?;
            tokio::time::sleep(2 * POLL).await;
        }
        Ok(())
    }

    /// Sends a request and stops mining until its transaction is signed; then raises the fees above the platform's cap, so that it waits.
    pub async fn jam(
        &self,
        reader: &Person,
        request: impl Future<Output = Result<String, Failure>>,
    ) -> Result<String, Failure> {
        self.mine_at_once(false).await?;
        let signed = async {
            let id = request.await?;
            self.operation(reader, &id, "submitted").await?;
            chain::raise_fees(&self.chain).await?;
            Ok(id)
        };
        let signed = signed.await;
        self.mine_at_once(true).await?;
        signed
    }

    /// Sets whether the chain mines a block for each transaction.
    pub async fn mine_at_once(&self, on: bool) -> Result<(), Failure> {
        self.ask_chain("evm_setAutomine", json!([on])).await.map(drop)
    }

    /// The number of the newest block.
    pub async fn head(&self) -> Result<String, Failure> {
        Ok(text(&self.ask_chain("eth_blockNumber", json!([])).await?, ""))
    }

    /// Calls a method of the chain.
    pub async fn ask_chain(&self, method: &str, params: Value) -> Result<Value, Failure> {
        client::call(&self.chain, method, params).await
    }
}

/// A text of an answer.
pub fn text(answer: &Value, pointer: &str) -> String {
    answer.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
