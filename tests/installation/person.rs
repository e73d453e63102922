//! A person who registers and logs in through the API, and sends requests with the session's tokens.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::Database;

use super::server::{Answer, Remote, Server};
use super::{Installation, PATIENCE, comes, ledger};

/// The password of every test person.
pub const PASSWORD: &str = "correct horse battery staple";

/// A logged-in person.
#[derive(Clone)]
pub struct Person {
    /// `usr_…`
    pub id: String,
    pub email: String,
    pub access_token: String,
    pub refresh_token: String,
    pub session_id: String,
    pub csrf_token: String,
    /// A client of the same server without tokens.
    pub server: Remote,
}

impl Installation {
    /// Creates a person with this role, logged in and stepped up, as `POST /v1/approvals/{id}/approve` requires.
    pub async fn person(&self, server: &Server, name: &str, role: Role) -> Person {
        appoint(&self.database, server, name, role).await
    }
}

/// Registers a person through the API, sets the role directly in the database, because for staff it takes two admins, and
/// logs them in. The address counts as proved.
pub async fn appoint(database: &Database, server: &Server, name: &str, role: Role) -> Person {
    let email = format!("{name}@people.example");
    let registered = register(server, &email).await;
    assert_eq!(registered.status, 201, "{registered:?}");
    let id = registered.text("/id");
    if role != Role::Investor {
        ledger::write(database, &format!("delete from investors where user_id = '{id}'")).await;
        ledger::write(database, &format!("update users set roles = '{role}' where id = '{id}'")).await;
    }
    prove(database, &email).await;
    Person::fresh(server, &email).await
}

/// Sets an address to proved, as the link of the mail does.
pub async fn prove(database: &Database, email: &str) {
    let set = "update users set email_verified_at = created_at where email_verified_at is null";
    ledger::write(database, &format!("{set} and email = '{email}'")).await;
}

/// Registers an investor.
pub async fn register(server: &Server, email: &str) -> Answer {
    let body = json!({ "email": email, "password": PASSWORD, "name": "Somebody", "country": "DE" });
    server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap()
}

impl Server {
    /// The token of the newest mail to this address, from the server's log.
    pub async fn mailed(&self, purpose: &str, email: &str) -> String {
        let words = format!("mail.to={email} mail.purpose={purpose}");
        self.process.line_with(&words, PATIENCE).expect("a mail");
        let log = self.process.log();
        let newest = log.lines().rfind(|line| line.contains(&words)).unwrap_or_default();
        newest.split("mail.token=").nth(1).unwrap_or_default().trim().trim_matches('"').to_owned()
    }

    /// The token of the first mail after an earlier one.
    pub async fn mailed_after(&self, earlier: &str, purpose: &str, email: &str) -> String {
        let came = comes(async || self.mailed(purpose, email).await != earlier).await;
        assert!(came, "no mail came after the first one\n{}", self.process.log());
        self.mailed(purpose, email).await
    }

    /// A client without tokens.
    pub fn anonymous(&self) -> Remote {
        self.client().with_key("")
    }

    /// Tries to log in.
    pub async fn log_in(&self, email: &str, password: &str) -> Answer {
        let body = json!({ "email": email, "password": password, "device_name": "test" });
        self.anonymous().change("POST", "/v1/auth/login", Some(body)).await.unwrap()
    }
}

impl Person {
    /// Logs in a registered person without a second factor.
    pub async fn log_in(server: &Server, email: &str) -> Self {
        Self::of(server, &server.log_in(email, PASSWORD).await).await
    }

    /// Logs in and steps up.
    pub async fn fresh(server: &Server, email: &str) -> Self {
        let person = Self::log_in(server, email).await;
        let shown = person.post("/v1/auth/step-up", json!({ "password": PASSWORD })).await;
        assert_eq!(shown.status, 200, "{shown:?}");
        person
    }

    /// The person of a login or refresh response.
    pub async fn of(server: &Server, answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{answer:?}");
        let (access_token, server) = (answer.text("/access_token"), server.anonymous());
        let csrf = server.clone().with_key(&access_token).get("/v1/csrf-token").await.unwrap();
        assert_eq!(csrf.status, 200, "{csrf:?}");
        Self {
            id: answer.text("/user/id"),
            email: answer.text("/user/email"),
            refresh_token: answer.text("/refresh_token"),
            session_id: answer.text("/session_id"),
            csrf_token: csrf.text("/csrfToken"),
            access_token,
            server,
        }
    }

    /// A client with the tokens of this person.
    pub fn client(&self) -> Remote {
        self.server.clone().in_session(&self.access_token, &self.csrf_token)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.client().get(path).await.unwrap()
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.client().change("POST", path, Some(body)).await.unwrap()
    }

    pub async fn change(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        self.client().change(method, path, body).await.unwrap()
    }

    /// Requests a new pair of tokens.
    pub async fn refresh(&self) -> Answer {
        let body = json!({ "refresh_token": self.refresh_token });
        self.server.change("POST", "/v1/auth/refresh", Some(body)).await.unwrap()
    }

    /// Returns the status and error code of a request with this access token.
    pub async fn session_status(&self) -> (u16, String) {
        self.get("/v1/auth/me").await.problem()
    }
}
