//! A mint above the threshold, through the API: nothing exists before a second person approves exactly the request.

use alloy::primitives::Address;
use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Database, Mining, on_both_databases};

use crate::installation::{Answer, Installation, PATIENCE, Person, Remote, Server, Terms};

/// An installation where two subscriptions together exceed the threshold and one alone does not.
struct ApprovalFixture {
    site: Installation,
    colleague: Person,
    /// An API key of the colleague.
    keyed: String,
    auditor: String,
}

/// The pending approval, as the approver reads it.
struct PendingApproval {
    path: String,
    version: i64,
    hash: String,
}

impl ApprovalFixture {
    async fn new(database: Database, terms: &[Terms]) -> (Self, Server) {
        let mut site = Installation::new(database, Mining::Quick, terms).await;
        site.config.mint_threshold("1500.00");
        let keyed = site.hire("keyed", Role::Operator).await;
        let auditor = site.hire("auditor", Role::Auditor).await;
        let server = site.start().await;
        for offering in &site.offerings {
            assert_eq!(server.deploy(&format!("deploy-{offering}"), offering).await.status, 202);
        }
        site.settled().await;
        let colleague = site.person(&server, "colleague", Role::Operator).await;
        let own = format!("(select id from users where email = '{}')", colleague.email);
        let keys = "user_id = (select id from users where email = 'keyed@test.example')";
        assert_eq!(site.write(&format!("update api_keys set user_id = {own} where {keys}")).await, 1);
        (Self { site, colleague, keyed, auditor }, server)
    }

    /// Requests the mint of an offering and returns the pending approval.
    async fn ask(&self, server: &Server, key: &str, offering: &str) -> PendingApproval {
        let requested = server.mint(key, offering).await;
        assert_eq!(
            (requested.status, requested.text("/approval/status")),
            (202, "pending".to_owned()),
            "{requested:?}"
        );
        let path = requested.headers["location"].to_str().unwrap().to_owned();
        self.read(server, path).await
    }

    async fn read(&self, server: &Server, path: String) -> PendingApproval {
        let read = self.colleague(server).get(&path).await.unwrap();
        let version = read.body["version"].as_i64().unwrap();
        assert_eq!(read.headers["etag"], format!("\"v{version}\""));
        PendingApproval { path, version, hash: read.text("/payload_sha256") }
    }

    fn colleague(&self, server: &Server) -> Remote {
        server.client().in_session(&self.colleague.access_token, &self.colleague.csrf_token)
    }

    /// Approves as the second person.
    async fn approve(&self, server: &Server, key: &str, w: &PendingApproval) -> Answer {
        decide(self.colleague(server), "approve", key, w, json!({ "payload_sha256": w.hash })).await
    }

    async fn mints(&self) -> i64 {
        self.site.count("operations where kind = 'mint'").await
    }

    async fn statuses(&self) -> Vec<String> {
        self.site.rows("select status from approvals order by id").await.concat()
    }
}

async fn decide(who: Remote, verb: &str, key: &str, w: &PendingApproval, body: Value) -> Answer {
    who.on_version(w.version).post(&format!("{}/{verb}", w.path), key, body).await.unwrap()
}

on_both_databases! {
    async fn a_mint_above_the_threshold_needs_an_approver_and_happens_once(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::locked(3)]).await;
        let (site, offering) = (&stage.site, stage.site.offerings[0].clone());
        let one = site.rows("select id from subscriptions order by amount").await[2][0].clone();
        let small = json!({ "offering_id": offering, "subscription_ids": [one] });
        let accepted = server.post("/blockchain/trigger-mint", "small", small).await;
        assert_eq!(accepted.body["operations"].as_array().unwrap().len(), 1, "below the threshold one person is enough");
        let w = stage.ask(&server, "mint", &offering).await;
        assert_eq!(stage.mints().await, 1, "nothing exists before the approval");
        assert_eq!(stage.read(&server, w.path.clone()).await.version, 1);
        let shown = server.get(&w.path).await;
        assert_eq!(shown.text("/payload/amount"), "2001.00");
        assert_eq!((shown.text("/amount"), shown.text("/currency")), ("2001.00".to_owned(), "EUR".to_owned()));
        assert_eq!(shown.body["payload"]["lines"].as_array().unwrap().len(), 2);
        assert_eq!(shown.body["outlook"], json!({ "ok": true, "code": null, "detail": null }));
        let again = server.mint("mint-again", &offering).await;
        assert_eq!(again.problem(), (409, "operation_in_progress".to_owned()));
        assert!(again.text("/detail").contains(&shown.text("/id")), "{again:?}");
        assert_eq!(server.mint("mint", &offering).await.text("/approval/id"), shown.text("/id"), "a repetition makes no second request");

        let decision = json!({ "payload_sha256": w.hash });
        let reader = decide(server.client().with_key(&stage.auditor), "approve", "auditor", &w, decision.clone()).await;
        assert_eq!(reader.problem(), (403, "role_forbidden".to_owned()));
        let keyed = decide(server.client().with_key(&stage.keyed), "approve", "keyed", &w, decision.clone()).await;
        assert_eq!(keyed.problem(), (403, "role_forbidden".to_owned()), "an API key cannot approve");
        let idle = Person::log_in(&server, &stage.colleague.email).await;
        let idle = decide(idle.client(), "approve", "idle", &w, decision.clone()).await;
        assert_eq!(idle.problem(), (403, "step_up_required".to_owned()));
        let approve = format!("{}/approve", w.path);
        let blind = stage.colleague(&server).post(&approve, "blind", decision.clone()).await.unwrap();
        assert_eq!(blind.problem(), (428, "precondition_required".to_owned()));
        let stale = stage.colleague(&server).on_version(7).post(&approve, "stale", decision.clone()).await.unwrap();
        assert_eq!(stale.problem(), (412, "version_conflict".to_owned()));
        let other = json!({ "payload_sha256": "0".repeat(64) });
        let other = decide(stage.colleague(&server), "approve", "other", &w, other).await;
        assert_eq!(other.problem(), (409, "snapshot_mismatch".to_owned()));
        let formless = decide(stage.colleague(&server), "approve", "formless", &w, json!({ "payload_sha256": "0X" })).await;
        assert_eq!((formless.problem(), formless.text("/errors/0/pointer")), ((422, "validation_failed".to_owned()), "/payload_sha256".to_owned()));
        assert_eq!((stage.mints().await, stage.statuses().await), (1, vec!["pending".to_owned()]));

        let approved = stage.approve(&server, "yes", &w).await;
        assert_eq!((approved.status, approved.text("/status")), (202, "executed".to_owned()), "{approved:?}");
        let replayed = stage.approve(&server, "yes", &w).await;
        assert_eq!((replayed.body, replayed.headers["idempotent-replayed"].to_str().unwrap()), (approved.body.clone(), "true"));
        let late = stage.approve(&server, "late", &w).await;
        assert_eq!(late.problem(), (412, "version_conflict".to_owned()));
        site.settled().await;
        let batch = server.get(approved.headers["location"].to_str().unwrap()).await;
        let [mint] = batch.body["data"].as_array().unwrap().as_slice() else { panic!("{batch:?}") };
        let mint = server.get(&format!("/blockchain/operations/{}", mint["id"].as_str().unwrap())).await;
        assert_eq!(mint.text("/approval_id"), shown.text("/id"));
        assert_eq!(mint.text("/requested_by"), shown.text("/maker"), "the operation belongs to the requester");
        let end = server.get(&w.path).await;
        assert_ne!(end.text("/maker"), end.text("/checker"));
        let moves: Vec<_> = end.body["history"].as_array().unwrap().iter().map(|m| m["to"].clone()).collect();
        assert_eq!(moves, ["pending", "approved", "executed"]);
        assert_eq!((site.exactly_once().await.minted, site.count("subscriptions where status = 'minted'").await), (2, 3));
    }

    async fn mints_below_the_threshold_count_together(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::free(4), Terms::free(1)]).await;
        let (site, offering) = (&stage.site, stage.site.offerings[0].clone());
        let subscriptions = format!("select id from subscriptions where offering_id = '{offering}' order by amount");
        let ids = site.rows(&subscriptions).await.concat();
        let slice = |id: &String| json!({ "offering_id": offering, "subscription_ids": [id] });
        // Each alone is below the threshold. Sent at once: one is minted by one person, one waits for approval, and the rest wait behind it.
        let requested = ids[..3].iter().map(|id| {
            let (client, body, key) = (server.client(), slice(id), format!("slice-{id}"));
            async move { client.post("/blockchain/trigger-mint", &key, body).await.unwrap() }
        });
        let requested = futures::future::join_all(requested).await;
        let alone = requested.iter().filter(|answer| answer.body["operations"].is_array()).count();
        let waits: Vec<_> = requested.iter().filter(|answer| answer.body["approval"].is_object()).collect();
        assert_eq!((alone, waits.len()), (1, 1), "{requested:?}");
        let rest = requested.iter().find(|answer| answer.status == 409).unwrap();
        assert_eq!(rest.problem(), (409, "operation_in_progress".to_owned()));
        let w = stage.read(&server, waits[0].headers["location"].to_str().unwrap().to_owned()).await;
        assert_eq!(stage.approve(&server, "yes", &w).await.status, 202);
        // Approved mints do not count as minted by one person, and another offering has its own sum.
        assert_eq!(site.rows("select action, cast(amount as text) from unaided_days").await.len(), 1);
        let small = server.mint("small", &site.offerings[1]).await;
        assert_eq!(small.body["operations"].as_array().unwrap().len(), 1, "{small:?}");
        let last = server.post("/blockchain/trigger-mint", "last", slice(&ids[3])).await;
        assert_eq!(last.text("/approval/status"), "pending", "the sum of the day stays: {last:?}");
        // The sum of the next day begins at zero.
        site.write("update unaided_days set day = day - 1").await;
        let back = stage.read(&server, last.headers["location"].to_str().unwrap().to_owned()).await;
        assert_eq!(decide(server.session().await, "cancel", "back", &back, json!({})).await.status, 200);
        let next = server.post("/blockchain/trigger-mint", "next", slice(&ids[3])).await;
        assert_eq!(next.body["operations"].as_array().unwrap().len(), 1, "{next:?}");
    }

    async fn the_owner_of_a_key_cannot_approve_its_request(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::free(2)]).await;
        let body = json!({ "offering_id": stage.site.offerings[0] });
        let requested = server.client().with_key(&stage.keyed).post("/blockchain/trigger-mint", "mint", body).await.unwrap();
        assert_eq!(requested.text("/approval/maker"), stage.colleague.id, "{requested:?}");
        let w = stage.read(&server, requested.headers["location"].to_str().unwrap().to_owned()).await;
        assert_eq!(stage.approve(&server, "own", &w).await.problem(), (403, "self_approval_forbidden".to_owned()));
        let no = decide(stage.colleague(&server), "reject", "own-no", &w, json!({ "comment": "no" })).await;
        assert_eq!(no.problem(), (403, "self_approval_forbidden".to_owned()));
        let third = stage.site.person(&server, "third", Role::Admin).await;
        let decision = json!({ "payload_sha256": w.hash });
        let approved = decide(third.client(), "approve", "yes", &w, decision).await;
        assert_eq!((approved.status, approved.text("/checker")), (202, third.id), "{approved:?}");
        stage.site.settled().await;
        assert_eq!(stage.site.exactly_once().await.minted, 1);
    }

    async fn a_rejected_or_cancelled_mint_can_be_requested_again(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::free(2)]).await;
        let offering = stage.site.offerings[0].clone();
        let w = stage.ask(&server, "one", &offering).await;
        let silent = decide(stage.colleague(&server), "reject", "silent", &w, json!({ "comment": " " })).await;
        assert_eq!(silent.text("/errors/0/pointer"), "/comment");
        let no = decide(stage.colleague(&server), "reject", "no", &w, json!({ "comment": "not yet" })).await;
        assert_eq!((no.status, no.text("/status"), no.text("/decision_reason")), (200, "rejected".to_owned(), "not yet".to_owned()));
        let w = stage.read(&server, w.path).await;
        assert_eq!(stage.approve(&server, "yes", &w).await.problem(), (409, "approval_not_pending".to_owned()));
        let w = stage.ask(&server, "two", &offering).await;
        let foreign = decide(stage.colleague(&server), "cancel", "foreign", &w, json!({})).await;
        assert_eq!(foreign.problem(), (403, "role_forbidden".to_owned()));
        let back = decide(server.session().await, "cancel", "back", &w, json!({})).await;
        assert_eq!((back.status, back.text("/status")), (200, "cancelled".to_owned()), "{back:?}");
        let listed = server.get("/v1/approvals?status=rejected,cancelled&action=mint&limit=1").await;
        assert_eq!(listed.body["pagination"], json!({ "page": 1, "limit": 1, "total": 2, "total_pages": 2 }));
        assert_eq!(server.get("/v1/approvals?status=done").await.problem(), (400, "invalid_parameter".to_owned()));
        assert_eq!(server.get("/v1/approvals/apr_1").await.problem(), (404, "not_found".to_owned()));
        let w = stage.ask(&server, "three", &offering).await;
        assert_eq!(stage.approve(&server, "at-last", &w).await.status, 202);
        stage.site.settled().await;
        assert_eq!((stage.site.exactly_once().await.minted, stage.mints().await), (1, 1));
    }

    async fn a_mint_changed_after_the_request_is_not_executed(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::free(2), Terms::free(2)]).await;
        let (site, changed, forged) = (&stage.site, &stage.site.offerings[0], &stage.site.offerings[1]);
        let w = stage.ask(&server, "changed", changed).await;
        let f = stage.ask(&server, "forged", forged).await;
        let numbers = "select cast(sum(next_op_number) as text) from contracts";
        let before = site.rows(numbers).await;
        let of = |offering: &str| format!("where offering_id = '{offering}' and wallet_address = (select max(address) from wallets)");
        assert_eq!(site.write(&format!("update subscriptions set quantity = '7' {}", of(changed))).await, 1);
        let outlook = server.get(&w.path).await;
        assert_eq!(outlook.text("/outlook/code"), "snapshot_mismatch", "the approver sees it before the decision");
        let failed = stage.approve(&server, "yes", &w).await;
        assert_eq!((failed.status, failed.text("/status")), (200, "execution_failed".to_owned()), "{failed:?}");
        assert_eq!(failed.text("/error/code"), "snapshot_mismatch");

        // Somebody with database access adds their own subscription to the list.
        let thief = "0x00000000000000000000000000000000DeaDBeef";
        let wallet = site.rows("select min(address) from wallets").await[0][0].parse::<Address>().unwrap().to_checksum(None);
        let swap = |column: &str, kind: &str| format!(
            "update approvals set {column} = cast(replace(cast({column} as text), '{wallet}', '{thief}') as {kind}) where status = 'pending'"
        );
        let jsonb = if matches!(site.database, Database::Postgres(_)) { "jsonb" } else { "text" };
        for (column, kind) in [("payload", jsonb), ("payload_canonical", "text")] {
            assert_eq!(site.write(&swap(column, kind)).await, 1);
            let seen = server.get(&f.path).await;
            assert_eq!(seen.text("/outlook/code"), "snapshot_mismatch", "{column}");
            let refused = stage.approve(&server, column, &f).await;
            assert_eq!(refused.problem(), (409, "snapshot_mismatch".to_owned()), "{column}");
        }
        for (column, back) in [("payload", jsonb), ("payload_canonical", "text")] {
            let swap = format!("cast(replace(cast({column} as text), '{thief}', '{wallet}') as {back})");
            site.write(&format!("update approvals set {column} = {swap}, amount = 1 where status = 'pending'")).await;
        }
        let disguised = stage.approve(&server, "disguised", &f).await;
        assert_eq!(disguised.problem(), (409, "snapshot_mismatch".to_owned()), "it shows a small amount");
        assert_eq!(stage.statuses().await, ["execution_failed", "pending"]);
        assert_eq!((stage.mints().await, site.rows(numbers).await), (0, before), "nothing was written, and no number was used");
        assert_eq!(site.count("operation_items").await, 0);
        let again = stage.ask(&server, "as-it-is-now", changed).await;
        assert_eq!(stage.approve(&server, "now", &again).await.status, 202);
        site.settled().await;
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn one_of_many_concurrent_decisions_counts(database: Database) {
        let (stage, server) = ApprovalFixture::new(database, &[Terms::free(2), Terms::free(2)]).await;
        let (site, requester) = (&stage.site, server.session().await);
        for offering in &site.offerings {
            let requested = (0..6).map(|n| {
                let (client, body) = (server.client(), json!({ "offering_id": offering }));
                async move { client.post("/blockchain/trigger-mint", &format!("{offering}-{n}"), body).await.unwrap() }
            });
            let requested = futures::future::join_all(requested).await;
            assert_eq!(requested.iter().filter(|answer| answer.status == 202).count(), 1, "{requested:?}");
            let path = requested.iter().find(|a| a.status == 202).unwrap().headers["location"].to_str().unwrap().to_owned();
            let w = stage.read(&server, path).await;
            let words = (0..8).map(|n| {
                // Approvals of the colleague race with cancellations of the requester.
                let (who, verb, body) = match n % 2 {
                    0 => (stage.colleague(&server), "approve", json!({ "payload_sha256": w.hash })),
                    _ => (requester.clone(), "cancel", json!({})),
                };
                let (w, offering) = (&w, offering.clone());
                async move { decide(who, verb, &format!("{offering}-word-{n}"), w, body).await }
            });
            let words = futures::future::join_all(words).await;
            assert_eq!(words.iter().filter(|answer| answer.status < 300).count(), 1, "{words:?}");
            let lost = [(412, "version_conflict".to_owned()), (503, "service_unavailable".to_owned())];
            assert!(words.iter().all(|a| a.status < 300 || lost.contains(&a.problem())), "{words:?}");
        }
        site.settled().await;
        let executed = stage.statuses().await.iter().filter(|status| *status == "executed").count();
        assert_eq!((site.exactly_once().await.minted, stage.mints().await), (executed, executed as i64));
    }

    async fn a_crash_around_the_decision_executes_once_or_not_at_all(database: Database) {
        let (stage, mut server) = ApprovalFixture::new(database, &[Terms::free(2), Terms::free(2)]).await;
        let site = &stage.site;
        for (offering, side) in site.offerings.iter().zip(["before", "after"]) {
            let w = stage.ask(&server, &format!("ask-{offering}"), offering).await;
            server.process.kill();
            let launch = site.launch(&["run"]).env("MUNIMENT_CRASH", format!("accept.{side}:1"));
            let mut ending = site.serve(launch).await;
            let body = json!({ "payload_sha256": w.hash });
            let path = format!("{}/approve", w.path);
            let key = format!("yes-{offering}");
            let unheard = stage.colleague(&ending).on_version(w.version).post(&path, &key, body.clone()).await;
            assert!(unheard.is_none(), "{unheard:?}");
            assert!(ending.process.wait(PATIENCE).is_some());
            server = site.start().await;
            let heard = stage.colleague(&server).on_version(w.version).post(&path, &key, body).await.unwrap();
            assert_eq!((heard.status, heard.text("/status")), (202, "executed".to_owned()), "{side}: {heard:?}");
            assert_eq!(heard.headers.contains_key("idempotent-replayed"), side == "after");
            site.settled().await;
        }
        assert_eq!((site.exactly_once().await.minted, stage.mints().await), (2, 2));
        assert_eq!(site.count("events where type = 'approval.executed'").await, 2);
    }
}
