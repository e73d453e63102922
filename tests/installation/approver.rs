//! The approver: another operator, logged in and stepped up.

use muniment_domain::user::Role;
use serde_json::{Value, json};

use super::server::{Answer, Remote, Server};
use super::{Installation, Person};

impl Installation {
    /// Creates another operator.
    pub async fn second_person(&self, server: &Server) -> Person {
        self.person(server, "second", Role::Operator).await
    }
}

impl Server {
    /// Approves the pending approval of a response as the second person.
    pub async fn approve(&self, second: &Person, asked: &Answer) -> Answer {
        self.try_approve(second, asked).await.unwrap()
    }

    /// Approves it; none if the process ends before it answers.
    pub async fn try_approve(&self, second: &Person, asked: &Answer) -> Option<Answer> {
        approve(self.client().in_session(&second.access_token, &second.csrf_token), asked).await
    }

    /// Requests an operation and approves it as the second person; returns the operation.
    pub async fn request_and_approve(&self, second: &Person, path: &str, key: &str, body: Value) -> Answer {
        let asked = self.post(path, key, body).await;
        let allowed = self.approve(second, &asked).await;
        assert_eq!((allowed.status, allowed.text("/status")), (202, "executed".to_owned()), "{allowed:?}");
        self.get(allowed.headers["location"].to_str().unwrap()).await
    }
}

impl Person {
    /// Approves the pending approval of a response.
    pub async fn approve(&self, asked: &Answer) -> Answer {
        approve(self.client(), asked).await.unwrap()
    }

    /// Creates an API key; a platform key is first approved by another admin.
    pub async fn key(&self, second: &Self, wanted: Value) -> Answer {
        let asked = self.post("/v1/api-keys", wanted).await;
        if asked.status != 202 {
            return asked;
        }
        let allowed = second.approve(&asked).await;
        assert_eq!((allowed.status, allowed.text("/status")), (202, "executed".to_owned()), "{allowed:?}");
        self.post(&format!("/v1/approvals/{}/api-key", asked.text("/approval/id")), json!({})).await
    }
}

async fn approve(client: Remote, asked: &Answer) -> Option<Answer> {
    assert_eq!(asked.status, 202, "{asked:?}");
    let path = asked.headers["location"].to_str().unwrap();
    let shown = client.get(path).await?;
    let body = json!({ "payload_sha256": shown.text("/payload_sha256") });
    let client = client.on_version(shown.body["version"].as_i64().unwrap());
    client.post(&format!("{path}/approve"), &format!("allow-{path}"), body).await
}
