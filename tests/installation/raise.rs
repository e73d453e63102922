//! An open offering at the interface alone, and the people around it.

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
use super::{Door, Person, data, ledger, wallet};

/// An offering that takes subscriptions, with an investor of a proved wallet, an operator and a member of the issuer.
pub struct Raise {
    pub door: Door,
    pub server: Server,
    pub offering: String,
    pub investor: Person,
    pub operator: Person,
    pub issuer: Person,
}

impl Raise {
    /// The offering, with what a test changes in it.
    pub async fn new(database: Database, change: impl FnOnce(&mut Offering)) -> Self {
        let door = Door::new(database).await;
        let (issuer_id, offering) = data::offer(&door.database.url(), change).await;
        let server = door.open().await;
        let investor = door.person(&server, "ines", Role::Investor).await;
        let operator = door.person(&server, "olga", Role::Operator).await;
        let issuer = door.person(&server, "isak", Role::Issuer).await;
        let raise = Self { door, server, offering, investor, operator, issuer };
        raise.write(&format!("update users set issuer_id = '{issuer_id}' where id = '{}'", raise.issuer.id)).await;
        raise.approve(&raise.investor).await;
        raise.give_wallet(&raise.investor, 0).await;
        raise
    }

    /// Another investor, whose identity is approved.
    pub async fn another(&self, name: &str) -> Person {
        let person = self.door.person(&self.server, name, Role::Investor).await;
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

    /// A proved wallet of this number.
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
        ledger::write(&self.door.database, sql).await;
    }

    /// Every row of a statement, each column as text.
    pub async fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        ledger::rows(&self.door.database, sql).await
    }

    /// The path of the request.
    pub fn path(&self) -> String {
        format!("/v1/offerings/{}/subscribe", self.offering)
    }

    /// Subscribes, as the specification does it: without an Idempotency-Key.
    pub async fn subscribe(&self, person: &Person, amount: &str) -> Answer {
        person.post(&self.path(), json!({ "amount": amount })).await
    }

    /// A subscription of the investor, and its id.
    pub async fn committed(&self, amount: &str) -> String {
        let answer = self.subscribe(&self.investor, amount).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.text("/subscription_id")
    }

    /// The same, past its cooling-off time.
    pub async fn binding(&self, amount: &str) -> String {
        let id = self.committed(amount).await;
        self.write(&format!("update subscriptions set status = 'binding' where id = '{id}'")).await;
        id
    }

    /// What somebody does to a subscription.
    pub async fn act(&self, person: &Person, id: &str, act: &str, body: Value) -> Answer {
        person.post(&format!("/v1/subscriptions/{id}/{act}"), body).await
    }

    /// Money that came for it.
    pub async fn pay(&self, id: &str, amount: &str, reference: &str) -> Answer {
        let body =
            json!({ "type": "received", "amount": amount, "method": "bank_transfer", "external_reference": reference });
        self.act(&self.operator, id, "payments", body).await
    }

    pub async fn status(&self, id: &str) -> String {
        self.operator.get(&format!("/v1/subscriptions/{id}")).await.text("/status")
    }

    /// What the offering has reserved; it is what its subscriptions come to, or the books are wrong.
    pub async fn reserved(&self) -> String {
        let sql = "select cast(o.committed_total as text), cast(coalesce(sum(s.amount), 0) as text) from offerings o left join subscriptions s \
            on s.offering_id = o.id and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted') \
            group by o.id, o.committed_total";
        let rows = self.rows(sql).await;
        assert!(rows.iter().all(|row| row[0] == row[1]), "{rows:?}");
        Money::from_minor(rows[0][0].parse().unwrap()).to_string()
    }

    /// What was told of a subscription, oldest first.
    pub async fn told(&self, id: &str) -> Vec<String> {
        self.rows(&format!("select type from events where subject_id = '{id}' order by sequence, id")).await.concat()
    }

    /// Closes the door, rings what is due by this clock, and opens the door again. By its wake, or by the sweep when the wake was lost.
    pub async fn at(&mut self, clock: Clock, woken: Option<&str>) {
        self.server.process.kill();
        let db = data::open_at(&self.door.database.url(), clock).await;
        let engine = Engine::start(db.clone(), Settings::default(), Vec::new()).await.unwrap();
        match woken {
            Some(id) => timer::ring(&engine, id).await.unwrap(),
            None => while timer::sweep(&engine).await.unwrap() > 0 {},
        }
        drop(engine);
        db.close().await;
        drop(db);
        self.server = self.door.open().await;
        let people = [&mut self.investor, &mut self.operator, &mut self.issuer];
        people.into_iter().for_each(|person| person.server = self.server.anybody());
    }
}

/// The address of a wallet, as answers show it.
pub fn shown(address: Address) -> String {
    address.to_checksum(None)
}
