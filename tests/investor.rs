//! Investor identity: submitted, decided and expired; submitted data is never returned.

use chrono::{Duration, Utc};
use muniment_domain::clock::Clock;
use muniment_domain::user::Role;
use muniment_workflows::engine::Engine;
use muniment_workflows::engine::timer;
use muniment_workflows::settings::Settings;
use serde_json::{Value, json};
use world::{Database, on_both_databases};

use crate::installation::{Answer, ApiFixture, PASSWORD, PayoutFixture, Person, Server, open_at, prove, wallet};

const NUMBER: &str = "L01X00T47";

fn identity() -> Value {
    json!({ "level": "basic", "data": { "date_of_birth": "1984-02-29", "document_type": "passport", "document_number": NUMBER,
        "nationality": "DE", "address": "Hafenstrasse 7, Hamburg" } })
}

fn evidence() -> String {
    "ab".repeat(32)
}

fn approval() -> Value {
    json!({ "decision": "approve", "reason_code": "documents_match", "evidence_sha256": evidence(), "screening": "clear" })
}

async fn investor_of(person: &Person) -> String {
    person.get("/v1/auth/me").await.text("/investor_id")
}

async fn decide(reviewer: &Person, investor: &str, body: Value) -> Answer {
    reviewer.post(&format!("/v1/investors/{investor}/kyc/decision"), body).await
}

/// An investor under review, and the reviewer.
async fn applicant(api: &ApiFixture, server: &Server) -> (Person, String, Person) {
    let (ada, olga) =
        (api.person(server, "ada", Role::Investor).await, api.person(server, "olga", Role::Operator).await);
    let handed = ada.post("/v1/investor/kyc", identity()).await;
    assert_eq!((handed.status, handed.text("/kyc/status")), (202, "pending".to_owned()), "{handed:?}");
    let id = investor_of(&ada).await;
    (ada, id, olga)
}

/// The engine alone, with a clock that the test moves; no process may have the database open.
async fn engine(database: &Database, clock: &Clock) -> Engine {
    Engine::reader(open_at(&database.url(), clock.clone()).await, Settings::default(), Vec::new())
}

on_both_databases! {
    async fn documents_are_submitted_encrypted_and_decided_once(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = applicant(&api, &server).await;
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.problem(), (409, "invalid_state".to_owned()));
        // The reviewer reads what the decision is about, after a step-up, and the read is in the audit log.
        let path = format!("/v1/investors/{id}/kyc");
        let idle = crate::installation::Person::log_in(&server, &olga.email).await;
        assert_eq!(idle.get(&path).await.problem(), (403, "step_up_required".to_owned()));
        let review = olga.get(&path).await;
        assert_eq!((review.status, &review.body["cases"][0]["data"]["document_number"]), (200, &identity()["data"]["document_number"]), "{review:?}");
        assert!(api.count("audit_log where action = 'GET /v1/investors/{id}/kyc'").await > 0);
        assert_eq!(ada.get(&path).await.problem(), (403, "role_forbidden".to_owned()));
        let rows = "select data_sealed from kyc_cases union all select cast(data as text) from events";
        let texts = api.rows(rows).await.concat().concat();
        assert!(!texts.is_empty() && !texts.contains(NUMBER) && !texts.contains("1984"), "{texts}");

        let listed = olga.get("/v1/investors?status=pending,in_review&q=SOMEBODY").await;
        assert_eq!((listed.text("/data/0/id"), &listed.body["pagination"]["total"]), (id.clone(), &json!(1)));
        assert_eq!(decide(&olga, &id, json!({ "decision": "start_review" })).await.text("/kyc/status"), "in_review");
        // Of two concurrent reviewers one decides.
        let (one, other) = futures::join!(decide(&olga, &id, approval()), decide(&olga, &id, json!({ "decision": "reject", "reason_code": "forged" })));
        let (first, second) = if one.status == 200 { (one, other) } else { (other, one) };
        assert_eq!((first.status, second.problem()), (200, (409, "invalid_state".to_owned())), "{first:?} {second:?}");
        assert!(second.body["allowed_transitions"].is_array() && second.text("/current_status") == first.text("/kyc/status"), "{second:?}");
        let shown = olga.get(&format!("/v1/investors/{id}")).await;
        let words: Vec<_> = shown.body["decisions"].as_array().unwrap().iter().map(|d| d["to"].as_str().unwrap()).collect();
        assert_eq!(words, ["pending", "in_review", &first.text("/kyc/status")]);
        assert_eq!(shown.text("/decisions/2/decided_by"), olga.id);
        let screened = if first.text("/kyc/status") == "approved" { json!("clear") } else { Value::Null };
        assert_eq!(shown.body["decisions"][2]["screening"], screened);
        assert!(!shown.body.to_string().contains(NUMBER) && !ada.get("/v1/investor/profile").await.body.to_string().contains(NUMBER));
        assert_eq!(api.count("events where type in ('investor.kyc_approved', 'investor.kyc_rejected')").await, 1);
    }

    async fn an_identity_approval_expires_even_without_its_wake(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = applicant(&api, &server).await;
        let mut body = approval();
        body["high_risk"] = json!(true);
        body["accreditation"] = json!({ "basis": "net_worth", "expires_at": Utc::now() + Duration::days(90) });
        body["expires_at"] = json!(Utc::now() + Duration::days(400));
        let late = decide(&olga, &id, body.clone()).await;
        assert_eq!((late.status, late.text("/errors/0/pointer")), (422, "/expires_at".to_owned()), "a year for high risk");
        body.as_object_mut().unwrap().remove("expires_at");
        let approved = decide(&olga, &id, body).await;
        assert_eq!((approved.status, approved.text("/accreditation/status"), approved.text("/sanctions/status")), (200, "verified".into(), "clear".into()), "{approved:?}");
        let locked = ada.change("PATCH", "/v1/investor/profile", Some(json!({ "country": "PT" }))).await;
        assert_eq!(locked.problem(), (409, "invalid_state".to_owned()));
        drop(server);

        let clock = Clock::manual(Utc::now());
        let engine = engine(&api.database, &clock).await;
        // The wake is missing: the row alone is enough.
        clock.advance(Duration::days(360));
        assert_eq!(timer::sweep(&engine).await.unwrap(), 0, "not yet expired");
        clock.advance(Duration::days(8));
        assert_eq!(timer::sweep(&engine).await.unwrap(), 1);
        timer::run(&engine, &id).await.unwrap();
        engine.db.close().await;
        drop(engine);
        assert_eq!(api.rows("select kyc_status from investors").await, [["expired"]]);
        assert_eq!((api.count("events where type = 'investor.kyc_expired'").await, api.count("timers where subject_id like 'inv%'").await), (1, 0));
        let server = api.start().await;
        let ada = Person::log_in(&server, &ada.email).await;
        assert_eq!(ada.get("/v1/investor/profile").await.body["kyc"]["required_documents"], json!(["identity_document", "proof_of_address"]));
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.status, 202, "submitted again");
    }

    async fn the_country_is_known_before_a_decision(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let said = async |country: Value| {
            let body = json!({ "email": "nora@people.example", "password": PASSWORD, "name": "Nora", "country": country });
            server.anonymous().change("POST", "/v1/auth/register", Some(body)).await.unwrap()
        };
        for nowhere in ["XX", "ZZ", "de", "DEU"] {
            let refused = said(json!(nowhere)).await;
            assert_eq!((refused.status, refused.text("/errors/0/pointer")), (422, "/country".to_owned()), "{nowhere}");
        }
        assert_eq!(said(Value::Null).await.status, 201);
        prove(&api.database, "nora@people.example").await;
        let nora = Person::log_in(&server, "nora@people.example").await;
        let refused = nora.post("/v1/investor/kyc", identity()).await;
        assert_eq!(refused.field(), (422, "/country".to_owned(), "required".to_owned()));
        assert_eq!(api.count("kyc_cases").await, 0);
        let mut with = identity();
        with["country"] = json!("PT");
        assert_eq!(nora.post("/v1/investor/kyc", with).await.status, 202);
        assert_eq!(nora.get("/v1/investor/profile").await.text("/country"), "PT");
        // A row from before the question existed.
        api.write("update investors set country = 'ZZ'").await;
        let (olga, id) = (api.person(&server, "olga", Role::Operator).await, investor_of(&nora).await);
        let blind = decide(&olga, &id, approval()).await;
        assert_eq!((blind.status, blind.text("/errors/0/code")), (422, "country_required".to_owned()), "{blind:?}");
        assert_eq!(nora.get("/v1/investor/profile").await.text("/kyc/status"), "pending");
    }

    async fn a_decision_names_the_version_that_the_reviewer_read(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = applicant(&api, &server).await;
        let (shown, path) = (format!("/v1/investors/{id}"), format!("/v1/investors/{id}/kyc/decision"));
        let on = async |version, body| olga.client().on_version(version).change("POST", &path, Some(body)).await.unwrap();
        let seen = olga.get(&shown).await.body["version"].as_i64().unwrap();
        assert_eq!(on(seen, json!({ "decision": "needs_information", "reason_code": "blurred" })).await.status, 200);
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.status, 202);
        assert_eq!(on(seen, approval()).await.problem(), (412, "version_conflict".to_owned()), "other papers are there now");
        let read = olga.get(&shown).await;
        assert_eq!((read.text("/kyc/status"), read.headers["etag"].to_str().unwrap()), ("pending".to_owned(), format!("\"v{}\"", seen + 2).as_str()));
        assert_eq!(on(seen + 2, approval()).await.text("/kyc/status"), "approved");
    }

    async fn a_rejected_investor_waits_or_is_approved_again(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = applicant(&api, &server).await;
        assert_eq!(decide(&olga, &id, json!({ "decision": "needs_information", "reason_code": "blurred" })).await.status, 200);
        assert_eq!(ada.get("/v1/investor/profile").await.text("/kyc/reason_code"), "blurred");
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.status, 202);
        assert_eq!(decide(&olga, &id, json!({ "decision": "reject", "reason_code": "forged" })).await.status, 200);
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.problem(), (409, "invalid_state".to_owned()));
        api.write(&format!("update investors set kyc_decided_at = '{}'", (Utc::now() - Duration::days(31)).to_rfc3339())).await;
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.status, 202, "thirty days are over");
        assert_eq!(decide(&olga, &id, json!({ "decision": "reject", "reason_code": "forged" })).await.status, 200);
        assert_eq!(decide(&olga, &id, json!({ "decision": "reset" })).await.text("/kyc/status"), "not_started");
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.status, 202);
    }

    async fn one_person_suspends_and_two_reinstate(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let (ada, id, olga) = applicant(&api, &server).await;
        let petra = api.person(&server, "petra", Role::Operator).await;
        let (stop, back) = (format!("/v1/investors/{id}/suspend"), format!("/v1/investors/{id}/reinstate"));
        let hit = json!({ "reason_code": "sanctions_hit" });
        assert_eq!(olga.post(&stop, hit.clone()).await.problem(), (409, "invalid_state".to_owned()), "no identity was approved");
        assert_eq!(decide(&olga, &id, approval()).await.status, 200);
        let reason = json!({ "reason": "a namesake", "evidence_sha256": evidence() });
        assert_eq!(olga.post(&back, reason.clone()).await.problem(), (409, "invalid_state".to_owned()));
        let first = olga.post(&stop, json!({ "reason_code": "operator" })).await;
        assert_eq!((first.status, first.text("/sanctions/status")), (200, "clear".into()), "{first:?}");
        let stopped = olga.post(&stop, hit).await;
        assert_eq!((stopped.status, stopped.text("/kyc/status"), stopped.text("/sanctions/status")), (200, "suspended".into(), "hit".into()), "{stopped:?}");
        assert_eq!(ada.post("/v1/investor/kyc", identity()).await.problem(), (409, "invalid_state".to_owned()));
        let unscreened = olga.post(&back, reason).await;
        assert_eq!((unscreened.text("/errors/0/pointer"), unscreened.text("/errors/0/code")), ("/screening".to_owned(), "sanctions_not_clear".to_owned()));
        let reason = json!({ "reason": "a namesake", "evidence_sha256": evidence(), "screening": "clear" });
        let requested = olga.post(&back, reason.clone()).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        let asked = olga.get(&format!("/v1/approvals/{}", requested.text("/approval/id"))).await;
        assert_eq!(asked.text("/payload/evidence_sha256"), evidence(), "a digest is answered as it was sent");
        assert_eq!(olga.post(&back, reason).await.problem(), (409, "operation_in_progress".to_owned()));
        assert_eq!(ada.get("/v1/investor/profile").await.text("/kyc/status"), "suspended");
        // A new cause ends the request that did not know it.
        assert_eq!(olga.post(&stop, json!({ "reason_code": "fraud" })).await.status, 200);
        let outdated = server.approve(&petra, &requested).await;
        assert_eq!(outdated.problem(), (409, "approval_not_pending".to_owned()), "{outdated:?}");
        let requested = olga.post(&back, json!({ "reason": "cleared", "evidence_sha256": evidence(), "screening": "clear" })).await;
        let own = server.approve(&olga, &requested).await;
        assert_eq!(own.problem(), (403, "self_approval_forbidden".to_owned()));
        let allowed = server.approve(&petra, &requested).await;
        assert_eq!(allowed.text("/status"), "executed", "{allowed:?}");
        assert_eq!(ada.get("/v1/investor/profile").await.text("/sanctions/status"), "clear");
        let shown = olga.get(&format!("/v1/investors/{id}")).await;
        let decisions = shown.body["decisions"].as_array().unwrap().iter();
        let papers: Vec<_> = decisions.filter_map(|one| one["evidence_sha256"].as_str()).collect();
        assert!(papers.len() >= 2 && papers.iter().all(|paper| *paper == evidence()), "{shown:?}");
        assert_eq!(api.count("events where type in ('investor.kyc_suspended', 'investor.kyc_reinstated')").await, 4);
        assert_eq!(api.count("timers where subject_id like 'inv%'").await, 1, "the approval still ends");
    }

    async fn a_suspended_investor_is_not_paid_and_others_are(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let olga = fixture.site.person(&fixture.server, "olga", Role::Operator).await;
        let id = fixture.calculated("direct_payout", "300.00").await;
        let submitted = fixture.act("submit", &id, "submit").await;
        assert_eq!(submitted.text("/status"), "approved", "{submitted:?}");
        let sql = format!("select investor_id from wallets where address = '{:#x}'", wallet(1));
        let investor = fixture.site.rows(&sql).await[0][0].clone();
        let stopped = olga.post(&format!("/v1/investors/{investor}/suspend"), json!({ "reason_code": "fraud" })).await;
        assert_eq!(stopped.status, 200, "{stopped:?}");
        assert_eq!(stopped.body["freeze_proposals"], json!([{ "offering_id": fixture.site.offerings[0], "address": wallet(1).to_checksum(None) }]));
        assert_eq!(fixture.act("execute-early", &id, "execute").await.problem(), (409, "invalid_state".to_owned()), "the screening list has changed");
        fixture.executed(&id).await;
        fixture.reaches(&id, "partially_completed").await;
        for (_, holder, _, status, reason) in fixture.parts(&id).await {
            let expected = if holder == wallet(1) { ("held", "kyc_required") } else { ("paid", "") };
            assert_eq!((status.as_str(), reason.as_str()), expected);
        }
        assert_eq!(fixture.sums_agree().await, 2);
    }

    async fn a_suspension_takes_an_investor_out_of_the_pages_that_wait(database: Database) {
        let fixture = PayoutFixture::with(database, 3, |site| site.config.engine("payout_page_holders", 3)).await;
        let olga = fixture.site.person(&fixture.server, "olga", Role::Operator).await;
        let id = fixture.calculated("direct_payout", "300.00").await;
        fixture.submitted(&id).await;
        let investor = fixture.site.rows(&format!("select investor_id from wallets where address = '{:#x}'", wallet(1))).await[0][0].clone();
        let set = async |status: &str| fixture.site.write(&format!("update investors set kyc_status = '{status}' where id = '{investor}'")).await;
        set("suspended").await;
        let early = fixture.act("execute-early", &id, "execute").await;
        assert_eq!(early.problem(), (409, "invalid_state".to_owned()), "an entitlement that escaped the suspension is not paid");
        assert!(early.text("/detail").contains(&investor), "{early:?}");
        set("approved").await;
        fixture.site.lanes("paused").await;
        assert_eq!(fixture.act("execute", &id, "execute").await.status, 202);
        let stopped = olga.post(&format!("/v1/investors/{investor}/suspend"), json!({ "reason_code": "sanctions_hit" })).await;
        assert_eq!(stopped.status, 200, "{stopped:?}");
        fixture.site.lanes("active").await;
        fixture.reaches(&id, "partially_completed").await;
        for (_, holder, _, status, reason) in fixture.parts(&id).await {
            let expected = if holder == wallet(1) { ("held", "kyc_required") } else { ("paid", "") };
            assert_eq!((status.as_str(), reason.as_str()), expected);
        }
        assert_eq!((fixture.sums_agree().await, fixture.cents(wallet(1)).await), (2, 0));
        let pages = fixture.site.rows("select status, error_code from operations where kind = 'payout' order by batch_index").await;
        assert_eq!(pages, [["confirmed", ""], ["failed", "page_split"], ["confirmed", ""]]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_caller_sees_only_their_own_data() {
    let api = ApiFixture::new(Database::fresh(world::Engine::Sqlite).await).await;
    let server = api.start().await;
    let (ada, id, olga) = applicant(&api, &server).await;
    let (bruno, issuer, auditor, admin) = (
        api.person(&server, "bruno", Role::Investor).await,
        api.person(&server, "ines", Role::Issuer).await,
        api.person(&server, "aude", Role::Auditor).await,
        api.person(&server, "adam", Role::Admin).await,
    );
    let forbidden = (403, "role_forbidden".to_owned());
    let (detail, nobody) = (format!("/v1/investors/{id}"), "/v1/investors/inv_01jc0000000000000000000000");
    for person in [&ada, &bruno, &issuer] {
        for path in ["/v1/investors", detail.as_str(), nobody] {
            assert_eq!(person.get(path).await.problem(), forbidden, "{path}");
        }
    }
    for person in [&olga, &admin, &auditor] {
        assert_eq!(person.get(&detail).await.status, 200);
        assert_eq!(person.get(nobody).await.problem(), (404, "not_found".to_owned()));
        assert_eq!(person.get("/v1/investor/profile").await.problem(), forbidden);
    }
    for person in [&ada, &bruno, &issuer, &auditor] {
        assert_eq!(decide(person, &id, approval()).await.problem(), forbidden);
        for verb in ["suspend", "reinstate"] {
            assert_eq!(person.post(&format!("{detail}/{verb}"), json!({})).await.problem(), forbidden);
        }
    }
    let masked = auditor.get(&detail).await;
    assert_eq!((masked.text("/legal_name"), masked.text("/email")), ("S…".to_owned(), "a…@people.example".to_owned()));
    assert_eq!(auditor.get("/v1/investors?q=some").await.problem(), (403, "forbidden".to_owned()));
    assert_eq!(server.anonymous().get("/v1/investor/profile").await.unwrap().problem().0, 401);
    assert_eq!(decide(&admin, &id, approval()).await.status, 200);
}

/// Requests that are invalid in every state, each with its error.
fn invalid_requests<'a>(
    decision: &'a str,
    stop: &'a str,
) -> Vec<(&'static str, &'a str, Value, &'static str, &'static str)> {
    vec![
        ("POST", "/v1/investor/kyc", json!({ "level": "basic" }), "/data", "required"),
        ("POST", "/v1/investor/kyc", json!({ "level": "gold", "data": {} }), "/level", "type_mismatch"),
        (
            "POST",
            "/v1/investor/kyc",
            json!({ "level": "basic", "data": { "colour": "red" } }),
            "/data/colour",
            "unknown_field",
        ),
        (
            "POST",
            "/v1/investor/kyc",
            json!({ "level": "basic", "data": { "nationality": "Germany" } }),
            "/data/nationality",
            "country_format",
        ),
        (
            "POST",
            "/v1/investor/kyc",
            json!({ "level": "basic", "provider_reference": "a\nb" }),
            "/provider_reference",
            "text_format",
        ),
        ("PATCH", "/v1/investor/profile", json!({ "country": "de" }), "/country", "country_format"),
        ("PATCH", "/v1/investor/profile", json!({ "kyc_status": "approved" }), "/kyc_status", "unknown_field"),
        ("PATCH", "/v1/investor/profile", json!({ "legal_name": "" }), "/legal_name", "name_format"),
        ("POST", decision, json!({ "decision": "approve" }), "/evidence_sha256", "required"),
        ("POST", decision, json!({ "decision": "approve", "evidence_sha256": evidence() }), "/screening", "required"),
        (
            "POST",
            decision,
            json!({ "decision": "approve", "evidence_sha256": evidence(), "screening": "not_screened" }),
            "/screening",
            "type_mismatch",
        ),
        (
            "POST",
            decision,
            json!({ "decision": "approve", "evidence_sha256": evidence(), "screening": "hit" }),
            "/screening",
            "sanctions_not_clear",
        ),
        ("POST", decision, json!({ "decision": "reject" }), "/reason_code", "required"),
        ("POST", decision, json!({ "decision": "suspend" }), "/decision", "type_mismatch"),
        ("POST", decision, json!({ "decision": "reject", "reason_code": "Not nice" }), "/reason_code", "code_format"),
        ("POST", stop, json!({ "reason_code": "because" }), "/reason_code", "type_mismatch"),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_with_its_pointer_and_changes_nothing() {
    let api = ApiFixture::new(Database::fresh(world::Engine::Sqlite).await).await;
    let server = api.start().await;
    let (ada, olga) =
        (api.person(&server, "ada", Role::Investor).await, api.person(&server, "olga", Role::Operator).await);
    let id = investor_of(&ada).await;
    let (decision, stop) = (format!("/v1/investors/{id}/kyc/decision"), format!("/v1/investors/{id}/suspend"));
    for (method, path, body, pointer, code) in invalid_requests(&decision, &stop) {
        let person = if path.contains("investors") { &olga } else { &ada };
        let answer = person.change(method, path, Some(body)).await;
        assert_eq!(answer.field(), (422, pointer.into(), code.into()), "{answer:?}");
    }
    let read = ada.get("/v1/investor/profile").await;
    let version = read.body["version"].as_i64().unwrap();
    assert_eq!((read.text("/kyc/status"), version), ("not_started".to_owned(), 1));
    let change = Some(json!({ "legal_name": "Ada Brandt", "tax_form": "w8ben", "treaty_country": "DE" }));
    let changed =
        ada.client().on_version(version).change("PATCH", "/v1/investor/profile", change.clone()).await.unwrap();
    assert_eq!(
        (changed.status, changed.text("/legal_name"), changed.text("/tax/status")),
        (200, "Ada Brandt".into(), "declared".into()),
        "{changed:?}"
    );
    let stale = ada.client().on_version(version).change("PATCH", "/v1/investor/profile", change).await.unwrap();
    assert_eq!(stale.problem(), (412, "version_conflict".to_owned()));
}
