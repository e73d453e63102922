//! What can be done about an investor at the console: what the domain allows, and a decision on the papers that were shown.

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use super::visitor::Visitor;
use crate::installation::{ApiFixture, Person, Server};

/// The acts on the identity check in each status.
const ACTS: &[(&str, &[&str])] = &[
    ("not_started", &[]),
    ("pending", &["start-review", "approve", "ask", "reject"]),
    ("in_review", &["approve", "ask", "reject"]),
    ("needs_information", &[]),
    ("approved", &["renew", "suspend"]),
    ("rejected", &["reset"]),
    ("expired", &["suspend"]),
    ("suspended", &["suspend", "reinstate"]),
];
/// The acts in every status.
const ALWAYS: [&str; 3] = ["accredit", "tax", "erase"];

/// An investor and the address of their page.
async fn investor(api: &ApiFixture, server: &Server) -> (Person, String) {
    let ada = api.person(server, "ada", Role::Investor).await;
    let id = ada.get("/v1/auth/me").await.text("/investor_id");
    (ada, format!("/console/investors/{id}"))
}

async fn operator(api: &ApiFixture, server: &Server) -> (Person, Visitor) {
    let olga = api.person(server, "olga", Role::Operator).await;
    let mut visitor = Visitor::new(server);
    visitor.sign_in(&olga.email).await;
    (olga, visitor)
}

/// The addresses of the buttons of a page.
fn buttons<'a>(page: &'a str, at: &str) -> Vec<&'a str> {
    let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    links.filter(|link| link.starts_with(&format!("{at}/act/"))).collect()
}

async fn hand_in(ada: &Person) {
    let papers = json!({ "level": "basic", "provider_reference": "case-1" });
    assert_eq!(ada.post("/v1/investor/kyc", papers).await.status, 202);
}

on_both_databases! {
    async fn an_investor_is_offered_what_the_state_machine_allows(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ((_, at), (_, mut visitor)) = (investor(&api, &server).await, operator(&api, &server).await);
        for (status, expected) in ACTS {
            api.write(&format!("update investors set kyc_status = '{status}'")).await;
            let page = visitor.get(&at).await;
            let words = buttons(&page.text, &at).into_iter().map(|link| link.rsplit('/').next().unwrap().split('?').next().unwrap());
            let words: Vec<_> = words.filter(|word| !ALWAYS.contains(word)).collect();
            assert_eq!(words, *expected, "{status}");
        }
        // A screening can have a hit after another cause.
        let suspend = format!("{at}/act/suspend");
        let sheet = visitor.get(&suspend).await;
        let done = visitor.submit(&sheet, &suspend, &[("reason_code", "sanctions_hit")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        assert_eq!(api.rows("select kyc_status, sanctions_status from investors").await, [["suspended", "hit"]]);
    }

    async fn an_old_page_decides_nothing_about_new_papers(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ((ada, at), (olga, mut visitor)) = (investor(&api, &server).await, operator(&api, &server).await);
        hand_in(&ada).await;
        let approve = format!("{at}/act/approve");
        let page = visitor.get(&at).await;
        let link = buttons(&page.text, &at).into_iter().find(|link| link.starts_with(&approve)).unwrap().to_owned();
        let sheet = visitor.get(&link).await;
        // A colleague asks for more meanwhile, and gets it.
        let more = json!({ "decision": "needs_information", "reason_code": "blurred" });
        let decision = format!("{}/kyc/decision", at.replace("/console", "/v1"));
        assert_eq!(olga.post(&decision, more).await.status, 200);
        hand_in(&ada).await;
        let evidence = "ab".repeat(32);
        let yes = [("screening", "clear"), ("evidence_sha256", evidence.as_str())];
        let old = visitor.get(&link).await;
        let refused = visitor.submit(&sheet, &approve, &yes).await;
        let again = visitor.submit(&old, &approve, &yes).await;
        for stale in [refused, again] {
            assert!(stale.status == 412 && stale.text.contains("Read it again, with the papers."), "{stale:?}");
            assert!(stale.text.contains(&evidence), "what was typed is kept: {}", stale.text);
        }
        assert_eq!(api.rows("select kyc_status from investors").await, [["pending"]]);
        let page = visitor.get(&at).await;
        let link = buttons(&page.text, &at).into_iter().find(|link| link.starts_with(&approve)).unwrap().to_owned();
        let sheet = visitor.get(&link).await;
        let done = visitor.submit(&sheet, &approve, &yes).await;
        assert_eq!(done.status, 303, "{}", done.text);
        assert_eq!(api.rows("select kyc_status from investors").await, [["approved"]]);
    }
}
