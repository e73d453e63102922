//! Bulk retries: each operation passes the retry check by itself, in order, at a limited rate that survives a restart.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, Mining, on_both_databases};

use crate::installation::{Installation, Server, Terms};

const PATH: &str = "/blockchain/operations/bulk-retry";
const PAGES: usize = 7;

/// A mint of several pages, all refused because the signer lost its role.
async fn pages_refused(database: Database) -> (Installation, Server) {
    let mut site = Installation::new(database, Mining::Quick, &[Terms::free(PAGES)]).await;
    site.config.engine("mint_page_holders", 1);
    let server = site.start().await;
    site.mint_refused(&server, 0).await;
    (site, server)
}

fn ids(answer: &Value) -> Vec<String> {
    answer.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
}

on_both_databases! {
    async fn a_dry_run_reports_and_changes_nothing(database: Database) {
        let (site, server) = pages_refused(database).await;
        let one = site.rows("select id from operations where kind = 'mint' order by id").await[0][0].clone();
        site.write(&format!("update operations set error_code = 'effect_mismatch' where id = '{one}'")).await;
        site.write(&format!("update operation_steps set state = 'final', outcome = 'reverted', block_number = 1 where operation_id = '{one}'")).await;
        let body = json!({ "filter": { "type": "mint" }, "limit": 5, "dry_run": true });
        let dry = server.post(PATH, "dry", body).await;
        assert_eq!((dry.status, &dry.body["matched"]), (200, &json!(PAGES)), "{dry:?}");
        assert_eq!(dry.body["skipped"], json!([{ "id": one, "code": "effect_mismatch" }]));
        assert_eq!(ids(&dry.body["queued"]).len(), 4, "the limit counts examined operations");
        for filter in [json!({ "type": "deploy_token" }), json!({ "error_code": "stuck" }), json!({ "status": "dead_letter" })] {
            let none = server.post(PATH, &filter.to_string().replace('"', "'"), json!({ "filter": filter, "dry_run": true })).await;
            assert_eq!((none.status, &none.body["matched"]), (200, &json!(0)), "{none:?}");
        }
        assert_eq!((site.count("commands").await, site.unfinished().await), (0, 0));
    }

    async fn queued_retries_run_once_even_if_the_process_ends(database: Database) {
        let (site, mut server) = pages_refused(database).await;
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        let body = json!({ "filter": { "status": "failed", "error_code": "reverts", "offering_id": site.offerings[0] } });
        let requested = server.post(PATH, "bulk", body.clone()).await;
        assert_eq!((requested.status, &requested.body["matched"]), (202, &json!(PAGES)), "{requested:?}");
        let queued = ids(&requested.body["queued"]);
        assert_eq!(queued.len(), PAGES);
        let sorted = { let mut sorted = queued.clone(); sorted.sort(); sorted };
        assert_eq!(queued, sorted, "without nonces the oldest comes first");
        let again = server.post(PATH, "bulk-2", body).await;
        assert!(ids(&again.body["queued"]).iter().all(|id| !queued.contains(id)) , "{again:?}");
        server.process.kill();
        let server = site.start().await;
        site.until("every command is done", async || site.count("commands where done_at is null").await == 0).await;
        site.settled().await;
        for id in &queued {
            let shown = server.get(&format!("/blockchain/operations/{id}")).await;
            assert_eq!((shown.text("/status"), &shown.body["attempts"]["cycle"]), ("confirmed".to_owned(), &json!(2)));
            assert_eq!(shown.text("/wishes/0/outcome"), "new_cycle");
        }
        assert_eq!(site.exactly_once().await.minted, PAGES);
    }

    async fn five_retries_start_per_second(database: Database) {
        let (site, server) = pages_refused(database).await;
        site.set_roles(Roles::ALL).await;
        site.followed().await;
        let requested = server.post(PATH, "bulk", json!({ "filter": {}, "reason": "the role is back" })).await;
        assert_eq!(requested.status, 202);
        let due = site.rows("select cast(count(*) as text) from commands group by due_at order by due_at").await;
        assert_eq!(due, [["5"], ["2"]]);
        let reasons = site.rows("select distinct reason from commands").await;
        assert_eq!(reasons, [["the role is back"]]);
        site.until("every command is done", async || site.count("commands where done_at is null").await == 0).await;
        site.settled().await;
        site.exactly_once().await;
    }

    async fn an_invalid_bulk_retry_is_refused(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        let auditor = site.key_of(Role::Auditor, "ops:read ops:write").await;
        let server = site.start().await;
        for (body, pointer) in [
            (json!({}), "/filter"),
            (json!({ "filter": {}, "limit": 0 }), "/limit"),
            (json!({ "filter": {}, "limit": 501 }), "/limit"),
            (json!({ "filter": { "status": "pending" } }), "/filter/status"),
            (json!({ "filter": { "status": "lost" } }), "/filter/status"),
            (json!({ "filter": { "offering_id": "off_7" } }), "/filter/offering_id"),
            (json!({ "filter": { "created_from": "yesterday" } }), "/filter/created_from"),
            (json!({ "filter": { "lane": "x" } }), "/filter/lane"),
            (json!({ "filter": {}, "reason": "" }), "/reason"),
        ] {
            let answer = server.post(PATH, "bad", body).await;
            assert_eq!((answer.status, answer.text("/errors/0/pointer")), (422, pointer.to_owned()), "{answer:?}");
        }
        let refused = server.client().with_key(&auditor).post(PATH, "x", json!({ "filter": {} })).await.unwrap();
        assert_eq!(refused.problem(), (403, "role_forbidden".to_owned()));
        let empty = server.post(PATH, "none", json!({ "filter": {} })).await;
        assert_eq!((empty.status, &empty.body["queued"], &empty.body["bulk_id"]), (202, &json!([]), &Value::Null));
    }
}
