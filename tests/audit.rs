//! The audit log: every change has its entry, and a changed entry is found.

use std::sync::atomic::{AtomicUsize, Ordering};

use muniment_domain::audit::{Act, ActorKind, ChainProblem, Verification, acting, chain_entries, verify};
use muniment_domain::db::Db;
use muniment_domain::point::{Point, When};
use muniment_domain::sql::sql;
use muniment_domain::user::Role;
use muniment_domain::{Error, event};
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::sweep;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{ApiFixture, PATIENCE, Person, ended, open, register};

/// Commit points at which these tests end a single move instead of a process.
pub const ENDED_AT: &[Point] = &[Point::Chain];

fn by(user: &str) -> Act {
    Act { actor: Some(user.to_owned()), kind: ActorKind::Person, ..Act::host_command("POST /v1/things") }
}

/// Performs an audited action.
async fn act(db: &Db, user: &str, thing: &str) -> Result<(), Error> {
    acting(by(user), async {
        let mut tx = db.begin().await?;
        event::write(&mut tx, "thing.done", "offering", thing, 1, json!({})).await?;
        tx.commit(Point::Account).await
    })
    .await
}

async fn verdict(db: &Db) -> Verification {
    verify(&mut db.read().await.unwrap(), 1, None, i64::MAX).await.unwrap()
}

async fn seal_all(db: &Db) -> usize {
    let mut all = 0;
    loop {
        let mut tx = db.begin().await.unwrap();
        let sealed = match chain_entries(&mut tx, 7).await {
            Ok(sealed) => sealed,
            // Another process has sealed these entries meanwhile.
            Err(Error::Stale { .. }) => continue,
            Err(error) => panic!("{error}"),
        };
        tx.commit(Point::Chain).await.unwrap();
        all += sealed;
        if sealed == 0 {
            return all;
        }
    }
}

/// Runs a statement on the database past the platform.
pub async fn run_directly(db: &Db, text: &str) -> Result<u64, Error> {
    let mut tx = db.begin().await?;
    let done = sql("").push(text).execute(&mut tx).await?;
    tx.commit(Point::Housekeeping).await?;
    Ok(done)
}

/// Drops the triggers, as a database administrator could.
pub async fn drop_triggers(db: &Db) {
    for table in ["audit_log", "audit_seals", "audit_anchors"] {
        for name in ["updated", "deleted", "replaced"] {
            if !db.is_shared() {
                run_directly(db, &format!("drop trigger {table}_is_never_{name}")).await.unwrap();
            }
        }
        if db.is_shared() {
            run_directly(db, &format!("alter table {table} disable trigger user")).await.unwrap();
        }
    }
}

on_both_databases! {
    async fn a_change_is_audited_and_a_failed_or_read_request_is_not(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let issuer = api.person(&server, "issuer", Role::Issuer).await;
        let before = api.count("audit_log").await;
        admin.get("/v1/auth/me").await;
        issuer.post("/v1/api-keys", json!({ "name": "reader", "scopes": ["all"] })).await;
        assert_eq!(server.log_in(&admin.email, "not the password at all").await.status, 401);
        assert_eq!(api.count("audit_log").await, before);

        let made = issuer.post("/v1/api-keys", json!({ "name": "reader", "scopes": ["me:read"] })).await;
        let path = format!("/v1/users/{}/disable", issuer.id);
        let headers = [("x-request-id", "req-of-the-test")];
        assert_eq!(admin.client().send("POST", &path, &headers, None).await.unwrap().status, 200);
        assert_eq!(api.count("audit_log").await, before + 3);
        let session = api.rows("select detail from audit_log where object_type = 'session' and detail like '%session.revoked%'").await;
        assert_eq!(session, [[r#"{"events":["session.revoked"]}"#]], "the entry names the revoked session");
        let mut lines = admin.get("/v1/audit-log?limit=3").await;
        lines.body["data"].as_array_mut().unwrap().retain(|line| line["object_type"] != "session");
        let shown = |at: usize, field: &str| lines.text(&format!("/data/{at}/{field}"));
        assert_eq!(shown(0, "action"), "POST /v1/users/{id}/disable");
        assert_eq!((shown(0, "object_type"), shown(0, "object_id")), ("user".to_owned(), issuer.id.clone()));
        assert_eq!((shown(0, "actor"), shown(0, "actor_kind")), (admin.id.clone(), "person".to_owned()));
        assert_eq!((shown(0, "session_id"), shown(0, "ip")), (admin.session_id.clone(), "127.0.0.1".to_owned()));
        assert_eq!(shown(0, "request_id"), "req-of-the-test");
        let detail = &lines.body["data"][0]["detail"];
        assert_eq!(detail["events"], json!(["user.disabled"]));
        assert_eq!(detail["diff_redacted"], json!({ "status": { "from": "active", "to": "disabled" } }));
        assert_eq!((shown(1, "object_type"), shown(1, "object_id")), ("api_key".to_owned(), made.text("/id")));
        assert!(!lines.body.to_string().contains('@'), "no email address is in the log: {lines:?}");
    }

    async fn refused_access_and_failed_authentication_are_audited(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "write_per_minute", "9");
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let refused = async || {
            let lines = admin.get(&format!("/v1/audit-log?actor={}&limit=1", ada.id)).await;
            let line = &lines.body["data"][0];
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (text(&line["action"]), text(&line["detail"]["refused"]))
        };
        let said = |action: &str, code: &str| (action.to_owned(), code.to_owned());
        assert_eq!(ada.post(&format!("/v1/users/{}/disable", admin.id), json!({})).await.status, 403);
        assert_eq!(refused().await, said("POST /v1/users/{id}/disable", "role_forbidden"));
        let line = api.rows("select object_id, actor_kind from audit_log where detail like '%role_forbidden%'").await;
        assert_eq!(line, [[admin.id.clone(), "person".to_owned()]]);
        assert_eq!(ada.post("/v1/auth/step-up", json!({ "password": "wrong" })).await.status, 401);
        assert_eq!(refused().await, said("POST /v1/auth/step-up", "invalid_credentials"));
        let change = json!({ "current_password": "wrong", "new_password": "another long password" });
        assert_eq!(ada.post("/v1/auth/password/change", change).await.status, 401);
        assert_eq!(refused().await, said("POST /v1/auth/password/change", "invalid_credentials"));
        let without = server.anonymous().with_key(&ada.access_token).change("POST", "/v1/auth/logout", None).await.unwrap();
        assert_eq!((without.status, refused().await), (403, said("POST /v1/auth/logout", "csrf_token_missing")));
        let nothing = admin.client().on_version(1).send("POST", "/v1/approvals/apr_01jc0000000000000000000000/cancel",
            &[("idempotency-key", "one")], Some("{}".to_owned())).await.unwrap();
        assert_eq!(nothing.status, 404, "{nothing:?}");
        assert_eq!(api.count("audit_log where detail like '%\"refused\":\"not_found\"%' and object_type = 'approval'").await, 1);
        // A rate-limited request writes no entry.
        let mut statuses = Vec::new();
        for _ in 0..12 {
            statuses.push(ada.post(&format!("/v1/users/{}/disable", admin.id), json!({})).await.status);
        }
        assert!(statuses.contains(&429), "{statuses:?}");
        let lines = api.count("audit_log where detail like '%role_forbidden%'").await;
        assert_eq!(lines, 1 + i64::try_from(statuses.iter().filter(|status| **status == 403).count()).unwrap());
    }

    async fn reading_all_data_of_a_person_is_audited(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", Role::Investor).await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        let id = ada.get("/v1/investor/profile").await.text("/id");
        let before = api.count("audit_log").await;
        assert_eq!(auditor.get("/v1/investors").await.status, 200);
        assert_eq!(auditor.get("/v1/investors/inv_01jc0000000000000000000000").await.status, 404);
        assert_eq!(api.count("audit_log").await, before);
        assert_eq!(auditor.get(&format!("/v1/investors/{id}")).await.status, 200);
        assert_eq!(auditor.get(&format!("/v1/investors/{id}/documents")).await.status, 200);
        assert_eq!(ada.get(&format!("/v1/investors/{id}")).await.status, 403);
        let lines = auditor.get(&format!("/v1/audit-log?object={id}&limit=3")).await;
        let line = |at: usize, field: &str| lines.text(&format!("/data/{at}/{field}"));
        assert_eq!((line(0, "actor"), line(0, "detail/refused")), (ada.id.clone(), "role_forbidden".to_owned()));
        assert_eq!((line(1, "action"), line(1, "actor")), ("GET /v1/investors/{id}/documents".to_owned(), auditor.id.clone()));
        assert_eq!((line(2, "action"), line(2, "object_type")), ("GET /v1/investors/{id}".to_owned(), "investor".to_owned()));
    }

    async fn the_audit_log_names_the_actor_and_the_owner_of_a_key(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        let ada = Person::log_in(&server, "ada@people.example").await;
        let admin = api.person(&server, "admin", Role::Admin).await;
        let lines = admin.get(&format!("/v1/audit-log?actor={}", ada.id)).await;
        let (kind, action) = (lines.text("/data/0/actor_kind"), lines.text("/data/0/action"));
        assert_eq!((kind, action), ("anonymous".to_owned(), "POST /v1/auth/login".to_owned()));
        assert_eq!(lines.text("/data/0/session_id"), ada.session_id);
        let registered = admin.get(&format!("/v1/audit-log?object={}", ada.id)).await;
        assert_eq!(registered.text("/data/0/action"), "POST /v1/auth/register");

        let second = api.person(&server, "second", Role::Admin).await;
        let key = admin.key(&second, json!({ "name": "k", "scopes": ["audit:read", "ops:write"] })).await;
        let with_key = server.client().with_key(&key.text("/key"));
        let refused = with_key.post("/blockchain/deploy-token", "one", json!({ "offering_id": "off_01jc0000000000000000000000" })).await;
        let refused = refused.unwrap();
        let listed = with_key.get("/v1/audit-log?limit=1").await.unwrap();
        match refused.status {
            404 => assert_ne!(listed.text("/data/0/actor_kind"), "key"),
            status => {
                let line = &listed.body["data"][0];
                assert_eq!((&line["actor_kind"], &line["actor"]), (&json!("key"), &json!(admin.id)));
                assert_eq!((&line["detail"]["key_id"], &line["detail"]["status"]), (&json!(key.text("/id")), &json!(status)));
            }
        }
        for query in ["actor=ada", "after=usr_01jc0000000000000000000000", "limit=0", "created_from=now"] {
            assert_eq!(admin.get(&format!("/v1/audit-log?{query}")).await.problem(), (400, "invalid_parameter".to_owned()), "{query}");
        }
        let (all, first) = (admin.get("/v1/audit-log").await, admin.get("/v1/audit-log?limit=1").await);
        let second = admin.get(&format!("/v1/audit-log?limit=1&after={}", first.text("/pagination/next_after"))).await;
        assert_eq!(second.body["data"][0], all.body["data"][1]);
        assert_eq!(ada.get("/v1/audit-log").await.problem(), (403, "role_forbidden".to_owned()));
    }

    async fn the_platform_chains_entries_and_the_command_line_verifies_them(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("engine", "sweep_seconds", "1");
        let mut server = api.serve(api.launch_as(&["run"])).await;
        let auditor = api.person(&server, "auditor", Role::Auditor).await;
        let verify = async || auditor.get("/v1/audit-log/verify").await;
        api.until("all entries are sealed", async || verify().await.body["unsealed"] == json!(0)).await;
        let sealed = verify().await;
        assert_eq!((&sealed.body["ok"], &sealed.body["first_bad"]), (&json!(true), &Value::Null));
        assert_eq!(sealed.body["head_hash"], sealed.body["hash"]);
        let at = auditor.get("/v1/audit-log/verify?from=2&to=2").await;
        assert_eq!((&at.body["from"], &at.body["to"], &at.body["ok"]), (&json!(2), &json!(2), &json!(true)));
        assert_eq!(auditor.get("/v1/audit-log/verify?from=0").await.status, 400);
        server.process.terminate(PATIENCE);
        let command = |expected: i32| {
            let mut process = api.launch_as(&["audit", "verify"]).spawn();
            let code = process.wait(PATIENCE).expect("it ends").code();
            assert_eq!(code, Some(expected), "{}", process.log());
        };
        command(0);
        let db = open(&api.database.url()).await;
        drop_triggers(&db).await;
        run_directly(&db, "update audit_log set ip = '10.9.8.7' where id = (select audit_id from audit_seals where position = 1)").await.unwrap();
        db.close().await;
        command(1);
    }

    async fn an_entry_changed_behind_the_platform_is_found(database: Database) {
        let db = open(&database.url()).await;
        for number in 0..6 {
            act(&db, &format!("usr_{number}"), &format!("off_{number}")).await.unwrap();
        }
        assert_eq!(seal_all(&db).await, 6);
        assert!(verdict(&db).await.is_ok());
        drop_triggers(&db).await;
        run_directly(&db, "create table lines_kept as select * from audit_log").await.unwrap();
        run_directly(&db, "create table seals_kept as select * from audit_seals").await.unwrap();
        let third = "(select audit_id from seals_kept where position = 3)";
        let (line, seal) = (format!("where id = {third}"), "where position = 3");
        let columns = ["actor = 'usr_9'", "actor_kind = 'key'", "session_id = 'ses_9'", "ip = '1.1.1.1'", "action = 'GET'",
            "object_type = 'user'", "object_id = 'off_9'", "detail = '{}'", "request_id = 'x'", "at = '2001-01-01T00:00:00+00:00'"];
        let mut tampered: Vec<_> = columns.iter().map(|set| (format!("update audit_log set {set} {line}"), 3, ChainProblem::LineChanged)).collect();
        tampered.extend([
            (format!("delete from audit_log {line}"), 3, ChainProblem::LineMissing),
            (format!("update audit_seals set hash = 'ab' {seal}"), 3, ChainProblem::LineChanged),
            (format!("update audit_seals set prev_hash = 'ab' {seal}"), 3, ChainProblem::ChainBroken),
            (format!("delete from audit_seals {seal}"), 3, ChainProblem::SealMissing),
            ("update audit_seals set position = position + 100 where position > 4".to_owned(), 5, ChainProblem::SealMissing),
            // Two entries swap places.
            ("update audit_seals set audit_id = case position when 2 then 'x' else 'y' end where position in (2, 3)".to_owned(), 2, ChainProblem::LineMissing),
            ("update audit_seals set position = -position where position in (2, 3)".to_owned(), 2, ChainProblem::SealMissing),
        ]);
        if db.is_shared() {
            run_directly(&db, "alter table audit_seals drop constraint audit_seals_position_check").await.unwrap();
        } else {
            tampered.pop();
        }
        for (sql, position, flaw) in tampered {
            assert!(run_directly(&db, &sql).await.unwrap() > 0, "{sql}");
            let found = verdict(&db).await;
            let bad = found.first_bad.as_ref().map(|bad| (bad.position, bad.flaw));
            assert_eq!((bad, found.is_ok()), (Some((position, flaw)), false), "{sql}");
            for table in ["audit_log", "audit_seals"] {
                run_directly(&db, &format!("delete from {table}")).await.unwrap();
            }
            run_directly(&db, "insert into audit_log select * from lines_kept").await.unwrap();
            run_directly(&db, "insert into audit_seals select * from seals_kept").await.unwrap();
            assert!(verdict(&db).await.is_ok(), "restored after {sql}");
        }
        // An entry inserted past the platform is not in the chain; an entry deleted before its seal is missed.
        run_directly(&db, "insert into audit_log select 'aud_forged', at, actor, actor_kind, session_id, ip, action, object_type, object_id, detail, \
             request_id from lines_kept where object_id = 'off_1'").await.unwrap();
        assert_eq!((verdict(&db).await.unaccounted, verdict(&db).await.is_ok()), (1, false));
        run_directly(&db, "delete from audit_log where id = 'aud_forged'").await.unwrap();
        act(&db, "usr_7", "off_7").await.unwrap();
        run_directly(&db, "delete from audit_log where object_id = 'off_7'").await.unwrap();
        assert_eq!(verdict(&db).await.unaccounted, -1);
        db.close().await;
    }

    async fn audit_tables_refuse_changes_and_a_start_restores_their_guards(database: Database) {
        let db = open(&database.url()).await;
        act(&db, "usr_1", "off_1").await.unwrap();
        seal_all(&db).await;
        let mut forbidden = vec!["update audit_log set ip = 'x'", "delete from audit_log", "update audit_seals set hash = 'x'", "delete from audit_seals"];
        if db.is_shared() {
            forbidden.extend(["truncate audit_log", "truncate audit_seals"]);
        } else {
            forbidden.extend(["insert or replace into audit_log select * from audit_log", "insert or replace into audit_seals select * from audit_seals"]);
        }
        let refused = async |db: &Db| {
            for sql in &forbidden {
                let why = run_directly(db, sql).await.unwrap_err().to_string();
                assert!(why.contains("only grows"), "{sql}: {why}");
            }
        };
        refused(&db).await;
        drop_triggers(&db).await;
        db.close().await;
        drop(db);
        let db = open(&database.url()).await;
        refused(&db).await;
        assert!(verdict(&db).await.is_ok());
        db.close().await;
    }

    async fn writers_do_not_wait_and_every_entry_is_chained_once(database: Database) {
        let db = open(&database.url()).await;
        let (left, writers) = (AtomicUsize::new(8), 8);
        let writing = futures::future::join_all((0..writers).map(|writer| {
            let (db, left) = (&db, &left);
            async move {
                for number in 0..12 {
                    act(db, &format!("usr_{writer}"), &format!("off_{number}")).await.unwrap();
                }
                left.fetch_sub(1, Ordering::SeqCst);
            }
        }));
        let sealing = async || {
            let mut sealed = 0;
            while left.load(Ordering::SeqCst) > 0 {
                sealed += seal_all(&db).await;
                tokio::task::yield_now().await;
            }
            sealed
        };
        let (_, one, other) = futures::join!(writing, sealing(), sealing());
        assert_eq!(one + other + seal_all(&db).await, 96);
        let found = verdict(&db).await;
        assert!(found.is_ok() && found.unsealed == 0 && found.to == 96, "{found:?}");
        db.close().await;
    }

    async fn a_change_commits_with_its_entry_and_a_crash_loses_neither(database: Database) {
        let db = open(&database.url()).await;
        ended(Point::Account, When::Before, act(&db, "usr_1", "off_1")).await;
        let count = async |from: &str| -> i64 {
            let mut tx = db.read().await.unwrap();
            sql("select count(*) from ").push(from).scalar::<i64>(&mut tx).await.unwrap()
        };
        assert_eq!((count("events").await, count("audit_log").await, count("audit_unsealed").await), (0, 0, 0));
        ended(Point::Account, When::After, act(&db, "usr_1", "off_1")).await;
        assert_eq!((count("events").await, count("audit_log").await, count("audit_unsealed").await), (1, 1, 1));
        let engine = Engine::start(db.clone(), Settings::default(), Vec::new()).await.unwrap();
        ended(Point::Chain, When::Before, sweep::seal(&engine)).await;
        assert_eq!((verdict(&db).await.unsealed, verdict(&db).await.to), (1, 0));
        ended(Point::Chain, When::After, sweep::seal(&engine)).await;
        assert_eq!((verdict(&db).await.unsealed, verdict(&db).await.to), (0, 1));
        assert_eq!(sweep::seal(&engine).await.unwrap(), 0);
        assert!(verdict(&db).await.is_ok());
        db.close().await;
    }
}
