//! An API with an open offering and the people around it, without a chain.

use alloy::primitives::Address;
use muniment_domain::clock::Clock;
use muniment_domain::money::Money;
use muniment_domain::offering::Offering;
use muniment_domain::user::Role;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::timer;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};
use world::Database;

use super::server::{Answer, Server};
use super::{ApiFixture, Person, data, ledger, wallet};

/// An offering that takes subscriptions, with an investor of a proved wallet, an operator and a member of the issuer.
pub struct SubscriptionFixture {
    pub api: ApiFixture,
    pub server: Server,
    pub offering: String,
    pub investor: Person,
    pub operator: Person,
    pub issuer: Person,
}

impl SubscriptionFixture {
    /// Creates the fixture; the test may change the offering. One investor may reserve all of it.
    pub async fn new(database: Database, change: impl FnOnce(&mut Offering)) -> Self {
        let mut api = ApiFixture::new(database).await;
        for limit in ["unpaid_investor_percent", "unverified_investor_percent", "unverified_total_percent"] {
            api.set("engine", limit, "100");
        }
        let (issuer_id, offering) = data::offer(&api.database.url(), change).await;
        let server = api.start().await;
        let investor = api.person(&server, "ines", Role::Investor).await;
        let operator = api.person(&server, "olga", Role::Operator).await;
        let issuer = api.person(&server, "isak", Role::Issuer).await;
        let fixture = Self { api, server, offering, investor, operator, issuer };
        fixture.write(&format!("update users set issuer_id = '{issuer_id}' where id = '{}'", fixture.issuer.id)).await;
        fixture.approve(&fixture.investor).await;
        fixture.give_wallet(&fixture.investor, 0).await;
        fixture
    }

    /// Registers another investor and approves the identity.
    pub async fn another(&self, name: &str) -> Person {
        let person = self.api.person(&self.server, name, Role::Investor).await;
        self.approve(&person).await;
        person
    }

    async fn approve(&self, person: &Person) {
        self.write(&format!(
            "update investors set kyc_status = 'approved', sanctions_status = 'clear' where user_id = '{}'",
            person.id
        ))
        .await;
    }

    /// Gives the person a proved wallet.
    pub async fn give_wallet(&self, person: &Person, number: usize) {
        let id = format!("wal_01jc00000000000000000000{number:02}");
        self.write(&format!(
            "insert into wallets (id, investor_id, address, verified_at, created_at) select '{id}', id, '{:#x}', created_at, created_at \
             from investors where user_id = '{}'",
            wallet(number),
            person.id
        ))
        .await;
    }

    pub async fn write(&self, sql: &str) {
        ledger::write(&self.api.database, sql).await;
    }

    /// Returns every row of a statement, each column as text.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        ledger::rows(&self.api.database, sql).await
    }

    /// Path of the subscribe request.
    pub fn path(&self) -> String {
        format!("/v1/offerings/{}/subscribe", self.offering)
    }

    /// Subscribes as in the specification, without an Idempotency-Key.
    pub async fn subscribe(&self, person: &Person, amount: &str) -> Answer {
        person.post(&self.path(), json!({ "amount": amount })).await
    }

    /// Makes a subscription of the investor; returns its id.
    pub async fn committed(&self, amount: &str) -> String {
        let answer = self.subscribe(&self.investor, amount).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.text("/subscription_id")
    }

    /// Makes a subscription and moves it past its cooling-off period; returns its id.
    pub async fn binding(&self, amount: &str) -> String {
        let id = self.committed(amount).await;
        self.write(&format!("update subscriptions set status = 'binding' where id = '{id}'")).await;
        id
    }

    /// Performs an action on a subscription.
    pub async fn act(&self, person: &Person, id: &str, act: &str, body: Value) -> Answer {
        person.post(&format!("/v1/subscriptions/{id}/{act}"), body).await
    }

    /// Records a payment.
    pub async fn pay(&self, id: &str, amount: &str, reference: &str) -> Answer {
        let body =
            json!({ "type": "received", "amount": amount, "method": "bank_transfer", "external_reference": reference });
        self.act(&self.operator, id, "payments", body).await
    }

    pub async fn status(&self, id: &str) -> String {
        self.operator.get(&format!("/v1/subscriptions/{id}")).await.text("/status")
    }

    /// Amount that the offering has reserved; checks that it equals the sum of its subscriptions.
    pub async fn reserved(&self) -> String {
        let sql = "select cast(o.committed_total as text), cast(coalesce(sum(s.amount), 0) as text) from offerings o left join subscriptions s \
            on s.offering_id = o.id and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted') \
            group by o.id, o.committed_total";
        let rows = self.rows(sql).await;
        assert!(rows.iter().all(|row| row[0] == row[1]), "{rows:?}");
        Money::from_minor(rows[0][0].parse().unwrap()).to_string()
    }

    /// Types of the subscription's events, oldest first.
    pub async fn events(&self, id: &str) -> Vec<String> {
        self.rows(&format!("select type from events where subject_id = '{id}' order by sequence, id")).await.concat()
    }

    /// Stops the API, runs the timers due by this clock, and starts the API again. Timers run by their wake, or by the sweep if the wake was lost.
    pub async fn at(&mut self, clock: Clock, woken: Option<&str>) {
        self.server.process.kill();
        let db = data::open_at(&self.api.database.url(), clock).await;
        let engine = Engine::start(db.clone(), Settings::default(), Vec::new()).await.unwrap();
        match woken {
            Some(id) => timer::run(&engine, id).await.unwrap(),
            None => while timer::sweep(&engine).await.unwrap() > 0 {},
        }
        drop(engine);
        db.close().await;
        drop(db);
        self.server = self.api.start().await;
        let people = [&mut self.investor, &mut self.operator, &mut self.issuer];
        people.into_iter().for_each(|person| person.server = self.server.anonymous());
    }
}

/// The address of a wallet, as responses show it.
pub fn shown(address: Address) -> String {
    address.to_checksum(None)
}
