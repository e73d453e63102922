//! Two issuers, their investors and the platform's staff, each with an object of every kind.

use muniment_domain::user::Role;
use serde_json::json;
use world::Database;

use super::table::Line;
use crate::installation::{Answer, OfferingFixture, Person, Remote, Server};

/// An object with an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thing {
    /// The path segment before its id.
    pub noun: &'static str,
    pub id: String,
    /// The issuer that it belongs to.
    pub org: &'static str,
    /// The users who own it.
    pub people: Vec<&'static str>,
    /// Whether everybody sees it.
    pub public: bool,
    /// The object that contains it.
    pub within: Option<String>,
}

/// A caller.
pub struct Caller {
    pub name: &'static str,
    /// The letter of the role table; a blank for an anonymous caller.
    pub letter: char,
    pub org: &'static str,
    /// Whether the caller uses an API key.
    pub keyed: bool,
    pub client: Remote,
}

/// Every object and every caller.
pub struct Ownership {
    pub fixture: OfferingFixture,
    pub callers: Vec<Caller>,
    pub things: Vec<Thing>,
}

impl Caller {
    fn is_staff(&self) -> bool {
        "OAU".contains(self.letter)
    }

    /// Whether the route refuses this caller before it looks at an object.
    pub fn is_refused(&self, line: &Line) -> bool {
        !line.is_free() && (!line.admits(self.letter) || self.keyed && line.scope == "-")
    }

    /// Whether the caller sees this object on this route; of several objects in a path, also those before it.
    pub fn sees(&self, line: &Line, before: &[&Thing], thing: &Thing) -> bool {
        let own = thing.people.contains(&self.name);
        let of_org = self.letter == 'S' && thing.org == self.org;
        match thing.noun {
            "sessions" | "wallets" => own,
            // An admin revokes keys of others but never gets their secrets.
            "api-keys" => own || ("AU".contains(self.letter) || of_org) && !line.path.ends_with("/rotate"),
            "members" if before.iter().any(|whole| thing.within.as_ref() != Some(&whole.id)) => false,
            "issuers" | "members" => self.is_staff() || of_org,
            "endpoints" | "deliveries" if self.is_staff() => thing.people == ["staff"],
            "endpoints" | "deliveries" => of_org || self.letter == 'I' && own,
            // Only the requester collects an approved key.
            "approvals" if line.path.ends_with("/api-key") => own,
            "approvals" | "investors" => self.is_staff() || own,
            "offerings" => self.is_staff() || of_org || thing.public && is_for_everybody(line),
            // A part is found only under its own whole.
            "entitlements" if before.iter().any(|whole| thing.within.as_ref() != Some(&whole.id)) => false,
            "partitions" => true,
            "balances" | "frozen" | "can-transfer" => {
                let of_its_org = self.letter == 'S' && before.iter().any(|offering| offering.org == self.org);
                self.is_staff() || of_its_org || self.letter == 'I' && own
            }
            "subscriptions" | "distributions" | "entitlements" | "events" => {
                self.is_staff() || of_org || self.letter == 'I' && own
            }
            _ => self.is_staff(),
        }
    }
}

/// What everybody may read of a public offering, and what investors may do with it.
fn is_for_everybody(line: &Line) -> bool {
    line.who == "public"
        || line.path.contains("/token/")
        || line.path.ends_with("/subscribe")
        || line.path == "/v1/offerings"
}

/// Returns the id of a successful response.
pub fn sound(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.text("/id")
}

impl Ownership {
    pub async fn new(database: Database) -> Self {
        let fixture = OfferingFixture::new(database).await;
        let mut all = Self { fixture, callers: Vec::new(), things: Vec::new() };
        all.of_the_platform().await;
        let ida = Person::fresh(all.server(), &all.fixture.issuer.email).await;
        let ((ivo, left), (ines, other)) = (all.found("ivo").await, all.found("ines").await);
        // A user who joins another issuer leaves an issuer without members, so the test moves the user directly in the database.
        let own = all.fixture.issuer_id.clone();
        all.fixture.api.write(&format!("update users set issuer_id = '{own}' where id = '{}'", ivo.id)).await;
        for (id, org) in [(own, "first"), (other, "second"), (left, "third")] {
            all.put("issuers", id, org, &[]);
        }
        for (who, org, email) in [(&ida, "first", "one@issuer.example"), (&ines, "second", "two@issuer.example")] {
            let issuer = who.get("/v1/auth/me").await.text("/issuer_id");
            let invited = who
                .post(&format!("/v1/issuers/{issuer}/members"), json!({ "email": email, "name": "Colleague" }))
                .await;
            all.put("members", sound(&invited, 201), org, &[]).within = Some(issuer);
        }
        all.put("users", ines.id.clone(), "second", &["ines"]);
        all.of_the_log().await;
        let ada = all.fixture.investor.clone();
        let bruno = all.fixture.api.person(all.server(), "bruno", Role::Investor).await;
        let carl = all.fixture.api.person(all.server(), "carl", Role::Investor).await;
        for (number, (name, who)) in [("ada", &ada), ("bruno", &bruno), ("carl", &carl)].into_iter().enumerate() {
            all.of_an_investor(name, who, number).await;
        }
        for (name, org, who) in [("ida", "first", &ida), ("ivo", "first", &ivo), ("ines", "second", &ines)] {
            all.of_everybody(name, org, who, name != "ivo").await;
            all.key(name, org, who, who).await;
        }
        all.of_an_organisation("first", &[("ida", &ida), ("ivo", &ivo)], &[("ada", &ada), ("bruno", &bruno)]).await;
        all.of_an_organisation("second", &[("ines", &ines)], &[("carl", &carl)]).await;
        all.callers.push(Caller { name: "", letter: ' ', org: "", keyed: false, client: all.server().anonymous() });
        all.calls("ada", 'I', "", &ada);
        all.calls("ida", 'S', "first", &ida);
        all.keyed("ida", 'S', "first", &ida, &ida).await;
        all
    }

    pub fn server(&self) -> &Server {
        self.fixture.server.as_ref().unwrap()
    }

    /// Records an object.
    pub(super) fn put(
        &mut self,
        noun: &'static str,
        id: String,
        org: &'static str,
        people: &[&'static str],
    ) -> &mut Thing {
        assert!(!id.is_empty(), "{noun} of {people:?}");
        self.things.push(Thing { noun, id, org, people: people.to_vec(), public: false, within: None });
        self.things.last_mut().unwrap()
    }

    /// Returns the id of this person's object of a kind.
    pub fn of(&self, noun: &str, name: &str) -> &str {
        &self.things.iter().find(|thing| thing.noun == noun && thing.people.contains(&name)).unwrap().id
    }

    pub(super) fn calls(&mut self, name: &'static str, letter: char, org: &'static str, person: &Person) {
        // An object to decide on or change is at its first version here.
        let client = person.client().on_version(1);
        self.callers.push(Caller { name, letter, org, keyed: false, client });
    }

    pub(super) async fn keyed(
        &mut self,
        name: &'static str,
        letter: char,
        org: &'static str,
        person: &Person,
        second: &Person,
    ) {
        let scopes = super::scopes_that_are_given_by(letter);
        let scopes: Vec<_> = scopes.iter().map(String::as_str).collect();
        let client = super::key(person, second, self.server(), &scopes).await.on_version(1);
        self.callers.push(Caller { name, letter, org, keyed: true, client });
    }

    async fn found(&self, name: &str) -> (Person, String) {
        let (person, id) = self.fixture.other_issuer(name).await;
        self.fixture.approve(&id).await;
        (Person::fresh(self.server(), &person.email).await, id)
    }

    pub(super) async fn event(&mut self, subject: &str, org: &'static str, people: &[&'static str]) {
        let sql = format!("select id from events where subject_id = '{subject}' order by id limit 1");
        let id = self.fixture.api.rows(&sql).await[0][0].clone();
        self.put("events", id, org, people);
    }

    /// Objects of every person who can log in.
    pub(super) async fn of_everybody(&mut self, name: &'static str, org: &'static str, who: &Person, endpoint: bool) {
        let session = Person::log_in(self.server(), &who.email).await.session_id;
        self.put("sessions", session, "", &[name]);
        if endpoint {
            let wanted = json!({ "url": "https://hooks.portal.example/in", "event_types": ["*"] });
            let id = sound(&who.post("/v1/webhooks/endpoints", wanted).await, 201);
            let told: &[&'static str] = &[if org == "staff" { "staff" } else { name }];
            let sent = sound(&who.post(&format!("/v1/webhooks/endpoints/{id}/test"), json!({})).await, 202);
            self.put("deliveries", sent, org, told);
            self.put("endpoints", id, org, told);
        }
    }

    /// Creates an API key; an admin's key needs another admin.
    pub(super) async fn key(&mut self, name: &'static str, org: &'static str, who: &Person, second: &Person) {
        let id = sound(&who.key(second, json!({ "name": "k", "scopes": ["me:read"] })).await, 201);
        self.put("api-keys", id, org, &[name]);
    }

    /// Audit entries with a position in the chain.
    async fn of_the_log(&mut self) {
        for (number, row) in
            self.fixture.api.rows("select id from audit_log order by id limit 2").await.iter().enumerate()
        {
            let seal = format!(
                "insert into audit_seals (position, audit_id, prev_hash, hash) values ({}, '{}', 'a', 'b')",
                number + 1,
                row[0]
            );
            self.fixture.api.write(&seal).await;
            self.put("audit-log", row[0].clone(), "", &[]);
        }
    }

    async fn of_an_investor(&mut self, name: &'static str, who: &Person, number: usize) {
        self.of_everybody(name, "", who, true).await;
        let investor = who.get("/v1/auth/me").await.text("/investor_id");
        self.put("investors", investor, "", &[name]);
        let address = format!("0x{:040x}", 0xa1_0000 + number);
        let wallet = sound(&who.post("/v1/investor/wallets", json!({ "address": address })).await, 201);
        self.fixture.api.write(&format!("update wallets set verified_at = created_at where id = '{wallet}'")).await;
        self.put("wallets", wallet, "", &[name]);
        for noun in ["balances", "frozen", "can-transfer"] {
            self.put(noun, address.clone(), "", &[name]);
        }
        // Disabled users and ended sessions are not callers here.
        if name != "ada" {
            self.put("users", who.id.clone(), "", &[name]);
        }
    }
}
