//! An API with an approved issuer, two operators and an investor, without a chain.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::timer;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};
use world::Database;

use super::data::open_at;
use super::person::prove;
use super::{Answer, ApiFixture, PASSWORD, Person, Server};

/// The people and the API.
pub struct OfferingFixture {
    pub api: ApiFixture,
    pub server: Option<Server>,
    pub issuer: Person,
    pub issuer_id: String,
    pub olga: Person,
    pub oleg: Person,
    pub investor: Person,
}

/// Registers an issuer with its first member; returns both.
pub async fn register_issuer(database: &Database, server: &Server, name: &str) -> (Person, String) {
    let email = format!("{name}@issuer.example");
    let body = json!({ "email": email, "password": PASSWORD, "name": name, "account_type": "issuer",
        "organization_name": format!("{name} Estates") });
    let registered = server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap();
    assert_eq!(registered.status, 201, "{registered:?}");
    prove(database, &email).await;
    (Person::log_in(server, &email).await, registered.text("/issuer_id"))
}

impl OfferingFixture {
    pub async fn new(database: Database) -> Self {
        let mut api = ApiFixture::new(database).await;
        for (key, value) in [("key", "\"dev\""), ("chain_id", "31337"), ("endpoints", "[\"http://127.0.0.1:9\"]")] {
            api.set("[chains]", key, value);
        }
        let server = api.start().await;
        let (issuer, issuer_id) = register_issuer(&api.database, &server, "ida").await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let oleg = api.person(&server, "oleg", Role::Operator).await;
        let investor = api.person(&server, "ada", Role::Investor).await;
        let fixture = Self { api, server: Some(server), issuer, issuer_id, olga, oleg, investor };
        fixture.approve(&fixture.issuer_id).await;
        fixture
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// Approves an issuer.
    pub async fn approve(&self, issuer_id: &str) {
        let allowed = self.olga.post(&format!("/v1/issuers/{issuer_id}/approve"), json!({})).await;
        assert_eq!((allowed.status, allowed.text("/status")), (200, "active".to_owned()), "{allowed:?}");
    }

    /// Registers another issuer, not approved yet.
    pub async fn other_issuer(&self, name: &str) -> (Person, String) {
        register_issuer(&self.api.database, self.server(), name).await
    }

    /// Valid terms with changes; null removes a term.
    pub fn terms(change: Value) -> Value {
        let mut terms = json!({
            "name": "Harbour House", "template": "real_estate_equity", "description": "A house by the harbour.", "currency": "EUR",
            "minimum_investment": "1000.00", "target_amount": "400000.00", "hard_cap": "500000.00", "token_symbol": "HARB",
            "network": "dev", "closes_at": later(60),
        });
        for (field, value) in change.as_object().unwrap() {
            match value {
                Value::Null => drop(terms.as_object_mut().unwrap().remove(field)),
                value => terms[field] = value.clone(),
            }
        }
        terms
    }

    /// Creates a draft with a document.
    pub async fn draft(&self, change: Value) -> String {
        self.draft_by(&self.issuer, change).await
    }

    /// Creates a draft as a member of any issuer.
    async fn draft_by(&self, by: &Person, change: Value) -> String {
        let written = by.post("/v1/offerings", Self::terms(change)).await;
        assert_eq!(written.status, 201, "{written:?}");
        let id = written.text("/id");
        let paper =
            json!({ "kind": "terms", "title": "Terms", "sha256": "ab".repeat(32), "url": "https://papers.example/1" });
        let added = by.post(&format!("/v1/offerings/{id}/documents"), paper).await;
        assert_eq!(added.status, 201, "{added:?}");
        id
    }

    /// Creates an offering that an operator approved.
    pub async fn approved(&self, change: Value) -> String {
        self.approved_by(&self.issuer, change).await
    }

    async fn approved_by(&self, by: &Person, change: Value) -> String {
        let id = self.draft_by(by, change).await;
        for (who, verb) in [(by, "submit"), (&self.olga, "approve")] {
            let moved = self.act(who, &id, verb, json!({})).await;
            assert_eq!(moved.status, 200, "{verb}: {moved:?}");
        }
        id
    }

    /// Creates an open offering.
    pub async fn open(&self, change: Value) -> String {
        self.open_by(&self.issuer, change).await
    }

    /// Creates an open offering as a member of any issuer.
    pub async fn open_by(&self, by: &Person, change: Value) -> String {
        let id = self.approved_by(by, change).await;
        let moved = self.act(by, &id, "publish", json!({})).await;
        assert_eq!(moved.status, 200, "{moved:?}");
        id
    }

    pub async fn act(&self, who: &Person, id: &str, verb: &str, body: Value) -> Answer {
        who.post(&format!("/v1/offerings/{id}/{verb}"), body).await
    }

    /// Reads the offering as its issuer.
    pub async fn shown(&self, id: &str) -> Answer {
        self.issuer.get(&format!("/v1/offerings/{id}")).await
    }

    pub async fn status(&self, id: &str) -> String {
        self.olga.get(&format!("/v1/offerings/{id}")).await.text("/status")
    }

    /// Types of the offering's events, in order.
    pub async fn events(&self, id: &str) -> Vec<String> {
        let told = self.issuer.get(&format!("/v1/offerings/{id}/timeline?limit=100")).await;
        let names = told.body["data"].as_array().unwrap_or_else(|| panic!("{told:?}")).iter();
        names.map(|e| e["type"].as_str().unwrap().trim_start_matches("offering.").to_owned()).collect()
    }

    /// Approves the investor's identity: a commitment made from now on needs no approval in time, and counts for the soft cap before its payment.
    pub async fn approve_investor(&self) {
        let approved = "update investors set kyc_status = 'approved', sanctions_status = 'clear'";
        self.api.write(&format!("{approved} where user_id = '{}'", self.investor.id)).await;
    }

    /// Writes paid subscriptions of the investor with these statuses and cents, and reserves their amounts.
    pub async fn subscribed(&self, id: &str, subscriptions: &[(&str, i64)]) {
        let investor = self.investor.get("/v1/auth/me").await.text("/investor_id");
        let owner = format!("(select id from investors where user_id = '{}')", self.investor.id);
        assert!(!investor.is_empty() || self.api.count(&format!("investors where id = {owner}")).await == 1);
        for (number, (status, cents)) in subscriptions.iter().enumerate() {
            self.api
                .write(&format!(
                    "insert into subscriptions (id, offering_id, investor_id, status, amount, received_amount, cooling_off_expires_at, version, \
                     created_at, updated_at) select 'sub_{number:026}', id, {owner}, '{status}', {cents}, {cents}, created_at, 1, created_at, \
                     created_at from offerings where id = '{id}'"
                ))
                .await;
            let reserve = format!("update offerings set committed_total = committed_total + {cents} where id = '{id}'");
            self.api.write(&reserve).await;
        }
    }

    /// Runs the calendar as of a time, by the sweep alone, until nothing is due. The API is stopped meanwhile and started again.
    pub async fn at(&mut self, time: DateTime<Utc>) {
        self.with_engine(time, async |engine| while timer::sweep(engine).await.unwrap() > 0 {}).await;
    }

    /// Runs work with an engine whose clock stands at a time.
    pub async fn with_engine(&mut self, time: DateTime<Utc>, work: impl AsyncFnOnce(&Engine)) {
        if let Some(mut server) = self.server.take() {
            server.process.kill();
        }
        let db = open_at(&self.api.database.url(), Clock::manual(time)).await;
        let engine = Engine::reader(db, Settings::default(), Vec::new());
        work(&engine).await;
        engine.db.close().await;
        drop(engine);
        let server = self.api.start().await;
        for person in [&mut self.issuer, &mut self.olga, &mut self.oleg, &mut self.investor] {
            person.server = server.anonymous();
        }
        self.server = Some(server);
    }
}

/// The time this many days from now, as text.
pub fn later(days: i64) -> String {
    in_days(days).to_rfc3339()
}

/// The time this many days from now.
#[allow(clippy::disallowed_methods, reason = "the served process goes by the machine's clock")]
pub fn in_days(days: i64) -> DateTime<Utc> {
    Utc::now() + Duration::days(days)
}
