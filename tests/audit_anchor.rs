//! Daily anchors: each day's chain hash is signed and logged, so that a cut or rewritten log is found.

use muniment_domain::audit::{Act, ActorKind, acting, chain_entries};
use muniment_domain::canonical::sha256;
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use muniment_domain::event;
use muniment_domain::point::Point;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::audit::{drop_triggers, run_directly};
use crate::installation::{ApiFixture, PATIENCE, Person, Server, in_days, open, open_at};

/// Writes entries of some days ago and seals them.
async fn write_entries(api: &ApiFixture, days: i64, acts: usize) {
    let db = open_at(&api.database.url(), Clock::manual(in_days(-days))).await;
    for number in 0..acts {
        let act = Act {
            actor: Some(format!("usr_{number}")),
            kind: ActorKind::Person,
            ..Act::host_command("POST /v1/things")
        };
        acting(act, async {
            let mut tx = db.begin().await.unwrap();
            event::write(&mut tx, "thing.done", "offering", &format!("off_{days}_{number}"), 1, json!({}))
                .await
                .unwrap();
            tx.commit(Point::Account).await.unwrap();
        })
        .await;
    }
    seal_all(&db).await;
    db.close().await;
}

async fn seal_all(db: &Db) {
    let mut tx = db.begin().await.unwrap();
    chain_entries(&mut tx, 1000).await.unwrap();
    tx.commit(Point::Chain).await.unwrap();
}

/// Computes the root from a proof.
fn root_of(proof: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(sha256(&format!("{}{}", text(&proof["prev_hash"]), text(&proof["text"]))), text(&proof["hash"]));
    let leaf = sha256(&format!("\0{}", text(&proof["hash"])));
    proof["path"].as_array().unwrap().iter().fold(leaf, |below, step| match step["side"].as_str().unwrap() {
        "left" => sha256(&format!("\u{1}{}{below}", text(&step["hash"]))),
        _ => sha256(&format!("\u{1}{below}{}", text(&step["hash"]))),
    })
}

/// Writes past the platform, as a database administrator could.
async fn forge(api: &ApiFixture, statements: &[&str]) {
    let db = open(&api.database.url()).await;
    assert!(run_directly(&db, "delete from audit_anchors").await.is_err(), "triggers protect the tables");
    drop_triggers(&db).await;
    for sql in statements {
        run_directly(&db, sql).await.unwrap();
    }
    db.close().await;
}

async fn flaws(server: &Server, auditor: &Person) -> (Value, Vec<Value>) {
    let mut auditor = auditor.clone();
    auditor.server = server.anonymous();
    let found = auditor.get("/v1/audit-log/verify").await;
    let flaws = found.body["anchors"].as_array().unwrap().iter().map(|anchor| anchor["flaw"].clone()).collect();
    (found.body["ok"].clone(), flaws)
}

on_both_databases! {
    async fn each_day_has_a_signed_anchor_and_a_removed_tail_is_found(database: Database) {
        let api = ApiFixture::new(database).await;
        write_entries(&api, 3, 5).await;
        write_entries(&api, 2, 6).await;
        let mut server = api.start().await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        let verify = async || auditor.get("/v1/audit-log/verify").await;
        api.until("an anchor exists", async || !verify().await.body["anchors"].as_array().unwrap().is_empty()).await;
        let verified = verify().await;
        assert_eq!(verified.body["ok"], true, "{verified:?}");
        let anchor = &verified.body["anchors"][0];
        // Both days had ended at the check: one anchor covers them, under the day of the last entry.
        assert_eq!((&anchor["from_position"], &anchor["to_position"], &anchor["flaw"]), (&json!(1), &json!(11), &Value::Null));
        assert_eq!(anchor["day"], in_days(-2).format("%Y-%m-%d").to_string());
        let noted = server.process.line_with(anchor["root"].as_str().unwrap(), PATIENCE);
        assert!(noted.is_some(), "noted where no database reaches");
        for position in 1..=11 {
            let proof = auditor.get(&format!("/v1/audit-log/{position}/proof")).await;
            assert_eq!((&proof.body["position"], root_of(&proof.body)), (&json!(position), anchor["root"].as_str().unwrap().to_owned()));
        }
        let id = api.rows("select audit_id from audit_seals where position = 4").await.concat().concat();
        let proof = auditor.get(&format!("/v1/audit-log/{id}/proof")).await;
        assert!(proof.text("/text").contains(&id) && root_of(&proof.body) == anchor["root"].as_str().unwrap(), "{proof:?}");
        for unknown in ["0", "-1", "+1", "01", "99999", "aud_01jc0000000000000000000000", "x"] {
            assert_eq!(auditor.get(&format!("/v1/audit-log/{unknown}/proof")).await.problem(), (404, "not_found".to_owned()));
        }

        server.process.kill();
        // Deletes the newest entries with their seals: the rest is a valid chain.
        let newest = "delete from audit_log where id not in (select audit_id from audit_seals where position <= 8)";
        forge(&api, &["delete from audit_unsealed", newest, "delete from audit_seals where position > 8"]).await;
        let mut server = api.start().await;
        assert_eq!(flaws(&server, &auditor).await, (json!(false), vec![json!("cut")]));
        server.process.kill();
        // Inserts other entries in their place.
        write_entries(&api, 1, 4).await;
        let mut server = api.start().await;
        let (ok, found) = flaws(&server, &auditor).await;
        assert_eq!((ok, found.last()), (json!(false), Some(&json!("differs"))));
        server.process.kill();
        // An anchor for the new chain cannot be signed without the key.
        let fitting = "update audit_anchors set head_hash = (select hash from audit_seals where position = 11) where from_position = 1";
        forge(&api, &[fitting]).await;
        let mut server = api.start().await;
        let (ok, found) = flaws(&server, &auditor).await;
        assert_eq!((ok, found.last()), (json!(false), Some(&json!("signature_invalid"))));
        server.process.kill();
    }

    async fn the_anchor_file_names_what_was_done_and_no_day_is_signed_twice(database: Database) {
        let api = ApiFixture::new(database).await;
        write_entries(&api, 2, 5).await;
        let mut server = api.start().await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        api.until("an anchor exists", async || api.count("audit_anchors").await == 1).await;
        server.process.terminate(PATIENCE);
        // The newest entries have no anchor yet; the file has the end of the chain.
        write_entries(&api, 0, 3).await;
        let newest = api.count("audit_seals").await;
        let mut server = api.start().await;
        assert!(server.process.line_with(&format!("audit.head_position={newest}"), PATIENCE).is_some());
        server.process.terminate(PATIENCE);
        let found = async || {
            let (status, text) = api.launch_as(&["audit", "verify"]).output();
            let at = text.find("{\n").unwrap_or_else(|| panic!("{text}"));
            let verdict: Value = serde_json::Deserializer::from_str(&text[at..]).into_iter().next().unwrap().unwrap();
            let named = verdict["anchor_file"].as_array().unwrap_or_else(|| panic!("{text}")).iter();
            let named: Vec<_> = named.map(|one| one["finding"].as_str().unwrap().to_owned()).collect();
            (status.success(), named)
        };
        assert_eq!(found().await, (true, vec![]));

        // The tail is cut where no anchor is.
        let hashes = api.rows("select cast(position as text), hash, prev_hash, audit_id from audit_seals order by position").await;
        forge(&api, &["delete from audit_unsealed", &format!("delete from audit_log where id = '{}'", hashes.last().unwrap()[3]),
            &format!("delete from audit_seals where position = {newest}")]).await;
        assert_eq!(found().await, (false, vec!["tail_cut".to_owned()]));

        // A line is changed and the chain computed anew, and the anchor of its day deleted.
        forge(&api, &["update audit_log set action = 'something else' where id = (select audit_id from audit_seals where position = 3)",
            "delete from audit_anchors", "insert into audit_unsealed (audit_id) select audit_id from audit_seals", "delete from audit_seals"]).await;
        let db = open(&api.database.url()).await;
        seal_all(&db).await;
        db.close().await;
        // The file's lock ends with the value.
        drop(db);
        let (ok, named) = found().await;
        assert!(!ok && ["line_changed", "anchor_deleted", "tail_cut"].iter().all(|what| named.contains(&(*what).to_owned())), "{named:?}");

        // The next start does not sign the forged day.
        let server = api.start().await;
        assert!(server.process.line_with("its day is not signed again", PATIENCE).is_some());
        assert_eq!(api.count("audit_anchors").await, 0);
        let (ok, _) = flaws(&server, &auditor).await;
        assert_eq!(ok, json!(false));
    }

    async fn an_anchor_that_a_crash_kept_from_the_database_is_stored_with_the_same_signature(database: Database) {
        let api = ApiFixture::new(database).await;
        write_entries(&api, 2, 5).await;
        let mut server = api.start().await;
        api.until("an anchor exists", async || api.count("audit_anchors").await == 1).await;
        server.process.kill();
        let signed = api.rows("select root, signature from audit_anchors").await;
        // As after a crash between the note and the commit: the file has the signature, and the database has no anchor.
        let path = api.folder.path().join("audit-anchors.jsonl");
        let text = std::fs::read_to_string(&path).unwrap();
        let signing = text.lines().position(|line| line.contains("\"signing\"")).unwrap();
        let kept: Vec<_> = text.lines().take(signing + 1).collect();
        std::fs::write(&path, format!("{}\n", kept.join("\n"))).unwrap();
        forge(&api, &["delete from audit_anchors"]).await;
        let mut server = api.start().await;
        api.until("it is stored", async || api.count("audit_anchors").await == 1).await;
        assert_eq!(api.rows("select root, signature from audit_anchors").await, signed);
        server.process.kill();
    }
}
