//! How each kind is requested through the API.

use serde_json::{Value, json};

use super::kind::{ALL, Kind};
use super::stage::{Stage, holder, partition, receiver, replacement, report};
use crate::installation::{Answer, wallet};

/// Locks of this time never end in a test.
pub const FAR: &str = "2045-01-01T00:00:00Z";

/// A request and the operations that it made.
#[derive(Clone, Debug)]
pub struct Asked {
    pub kind: Kind,
    pub round: usize,
    pub ids: Vec<String>,
}

fn operations(answer: &Answer) -> Vec<String> {
    let id = |op: &Value| op["id"].as_str().unwrap().to_owned();
    let many = ["operations", "data"].iter().find_map(|list| answer.body[*list].as_array());
    many.map_or_else(|| vec![id(&answer.body)], |list| list.iter().map(id).collect())
}

impl Stage {
    /// Requests one kind, with an approval where needed. A repetition returns the same operations.
    pub async fn ask(&self, kind: Kind, round: usize) -> Asked {
        self.ask_under("first", kind, round).await
    }

    /// Another key makes another request.
    pub async fn ask_under(&self, key: &str, kind: Kind, round: usize) -> Asked {
        let answer = self.try_ask(key, kind, round).await.unwrap_or_else(|| panic!("{kind:?}: no response"));
        let ids = operations(&answer);
        Asked { kind, round, ids }
    }

    /// Requests one kind; none if the process ends before it answers.
    pub async fn try_ask(&self, key: &str, kind: Kind, round: usize) -> Option<Answer> {
        let (path, body) = self.request(kind, round).await;
        let server = &self.day.server;
        let asked = server.try_post(&path, &format!("{key}-{kind:?}-{round}"), body).await?;
        assert_eq!(asked.status, 202, "{kind:?}: {asked:?}");
        if kind.facts().people == 1 {
            return Some(asked);
        }
        let allowed = server.try_approve(&self.day.colleague, &asked).await?;
        assert_eq!((allowed.status, allowed.text("/status")), (202, "executed".to_owned()), "{kind:?}: {allowed:?}");
        server.client().get(allowed.headers["location"].to_str().unwrap()).await
    }

    /// Requests every kind.
    pub async fn ask_all(&self, round: usize) -> Vec<Asked> {
        let mut all = Vec::with_capacity(ALL.len());
        for kind in ALL {
            all.push(self.ask(kind, round).await);
        }
        all
    }

    async fn request(&self, kind: Kind, round: usize) -> (String, Value) {
        let site = self.site();
        let address = wallet(holder(kind, round)).to_checksum(None);
        let offering = self.offering(kind, round);
        let (verb, body) = match kind {
            Kind::Deploy => ("deploy-token", json!({ "offering_id": offering })),
            Kind::Mint | Kind::MintLocked => {
                let subscription = self.subscription(kind, round).await;
                ("trigger-mint", json!({ "offering_id": offering, "subscription_ids": [subscription] }))
            }
            Kind::Freeze => ("freeze", site.about(json!({ "address": address }))),
            Kind::Unfreeze => ("unfreeze", site.about(json!({ "address": address }))),
            Kind::Lock => {
                let lock = json!({ "address": address, "partition": "1", "quantity": "1.00", "release_at": FAR });
                ("lock", site.about(lock))
            }
            Kind::Unlock => ("unlock", site.about(json!({ "address": address, "partition": "1" }))),
            Kind::Restrict => ("restrict", site.about(json!({ "partition": partition(kind, round).to_string() }))),
            Kind::Unrestrict => ("unrestrict", site.about(json!({ "partition": partition(kind, round).to_string() }))),
            Kind::Force => {
                let to = wallet(receiver(round)).to_checksum(None);
                let force = json!({ "from": address, "to": to, "partition": "1", "quantity": "1.00",
                    "document_sha256": "ab".repeat(32), "reason_code": "court_order" });
                ("force-transfer", site.about(force))
            }
            Kind::Recover => ("recover", self.recovery(kind, round).await),
            Kind::Reinstate => ("reinstate", site.about(json!({ "address": address }))),
            Kind::Redeem => ("redeem", site.about(json!({ "address": address, "partition": "1", "quantity": "1.00" }))),
            Kind::ReleaseLock => {
                let lock = json!({ "address": address, "partition": "1", "quantity": "5.00", "release_at": FAR });
                ("release-lock", site.about(lock))
            }
            Kind::Pause | Kind::Unpause => {
                let verb = if kind == Kind::Pause { "pause" } else { "unpause" };
                (verb, json!({ "offering_id": offering, "reason_code": "investigation" }))
            }
            Kind::Pay | Kind::PayBatch | Kind::Escrow => return (self.path(kind, round, "execute"), json!({})),
            Kind::Audit => {
                return (self.path(kind, round, "declare-audit"), json!({ "report_sha256": report(round) }));
            }
        };
        (format!("/blockchain/{verb}"), body)
    }

    fn path(&self, kind: Kind, round: usize, verb: &str) -> String {
        format!("/v1/distributions/{}/{verb}", self.distribution(kind, round))
    }

    /// The request of a recovery. A reinstatement takes back another one.
    pub async fn recovery(&self, kind: Kind, round: usize) -> Value {
        let lost = wallet(holder(kind, round));
        let owner = format!("select investor_id from wallets where address = '{lost:#x}'");
        let owner = self.site().rows(&owner).await[0][0].clone();
        json!({ "offering_id": self.site().offerings[0], "investor_id": owner, "lost_address": lost.to_checksum(None),
            "new_address": replacement(kind, round).to_checksum(None), "evidence_document_sha256": "cd".repeat(32) })
    }

    /// The subscription that a row mints.
    pub async fn subscription(&self, kind: Kind, round: usize) -> String {
        let (offering, address) = (self.offering(kind, round), wallet(holder(kind, round)));
        let of = format!("offering_id = '{offering}' and wallet_address = '{address:#x}'");
        self.site().rows(&format!("select id from subscriptions where {of}")).await[0][0].clone()
    }
}
