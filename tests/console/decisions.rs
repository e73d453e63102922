//! Approvals: what a late yes does, and lists of more than a page.

use muniment_domain::user::Role;
use world::{Database, Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, PASSWORD, Server, Terms};

/// An installation with a mint that waits for a second person, and the page of its approval.
pub(super) async fn waiting(database: Database) -> (Installation, Server, String) {
    let mut site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
    site.config.mint_threshold("1500.00");
    let server = site.start().await;
    assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
    site.settled().await;
    let asked = server.mint("mint", &site.offerings[0]).await;
    let path = format!("/console/approvals/{}", asked.text("/approval/id"));
    (site, server, path)
}

/// The id of a later copy of the approval.
fn later(number: usize) -> String {
    format!("apr_7{number:0>25}")
}

on_both_databases! {
    async fn a_yes_to_what_can_no_longer_be_executed_warns_that_nothing_runs(database: Database) {
        let (site, server, path) = waiting(database).await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let page = olga.get(&path).await;
        let changed = "update subscriptions set quantity = '7' where wallet_address = (select max(address) from wallets)";
        assert_eq!(site.write(changed).await, 1);
        let proof = olga.submit(&page, &path, &[("decision", "approve")]).await;
        let done = olga.submit(&proof, &path, &[("identity_password", PASSWORD)]).await;
        assert_eq!((done.status, done.location.as_str()), (303, path.as_str()), "{}", done.text);
        let seen = olga.get(&path).await.text;
        assert!(seen.contains("Approved, but it could not be executed any more. Nothing runs."), "{seen}");
        assert!(seen.contains("class=\"note said\" role=\"alert\"") && !seen.contains("class=\"strip said\""), "{seen}");
        assert!(seen.contains("<code>snapshot_mismatch</code>"), "{seen}");
        assert_eq!(site.count("operations where kind = 'mint'").await, 0);
        assert!(!olga.get(&path).await.text.contains("Nothing runs."), "it is said once");
    }

    async fn of_many_waiting_approvals_the_first_to_expire_lead_and_all_are_reached(database: Database) {
        let (site, server, path) = waiting(database).await;
        for number in 1..=55 {
            let copy = format!(
                "insert into approvals (id, action, status, subject_type, subject_id, offering_id, amount, currency, payload, \
                     payload_canonical, payload_sha256, maker, reason, version, created_at, expires_at, updated_at) \
                 select '{}', action, status, subject_type, subject_id, offering_id, amount, currency, payload, \
                     payload_canonical, payload_sha256, maker, reason, version, created_at, expires_at, updated_at \
                 from approvals where live_key is not null",
                later(number)
            );
            assert_eq!(site.write(&copy).await, 1);
        }
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let rows = |text: &str| text.matches("<li data-row").count();
        let first = olga.get("/console/approvals").await.text;
        let place = |id: &str| first.find(&format!("href=\"/console/approvals/{id}\""));
        let oldest = path.rsplit('/').next().unwrap();
        assert!(rows(&first) == 50 && place(oldest).is_some() && place(oldest) < place(&later(1)), "{first}");
        assert!(place(&later(49)).is_some() && place(&later(50)).is_none(), "{first}");
        assert!(first.contains("href=\"/console/approvals?page=2\">Next"), "{first}");
        let second = olga.get("/console/approvals?page=2").await.text;
        let link = format!("/console/approvals/{}?page=2", later(55));
        assert!(rows(&second) == 6 && second.contains(&link) && !second.contains(">Next<"), "{second}");
        assert_eq!(rows(&olga.get(&link).await.text), 6, "the list beside it stays on its page");
        assert_eq!(rows(&olga.get("/console/approvals?page=9").await.text), 6, "its end");
        let decided = "update approvals set status = 'cancelled' where live_key is null";
        assert_eq!(site.write(decided).await, 55);
        let newest = olga.get("/console/approvals?status=decided").await.text;
        let next = "/console/approvals?status=decided&page=2";
        assert!(rows(&newest) == 50 && newest.contains(&next.replace('&', "&#38;")), "{newest}");
        let last = olga.get(next).await.text;
        assert!(rows(&last) == 5 && last.contains(&later(1)), "{last}");
    }
}
