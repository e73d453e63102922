//! An offering from draft to end: who may act in which state, and who sees it.

use muniment_domain::offering::{Move, Status};
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, OfferingFixture, Person, Server, later};

/// Paths of actions, with their names and valid bodies.
fn moves() -> Vec<(&'static str, Move, Value)> {
    let reason = json!({ "reason": "because" });
    vec![
        ("submit", Move::Submit, json!({})),
        ("request-changes", Move::RequestChanges, json!({ "comment": "more" })),
        ("approve", Move::Approve, json!({})),
        ("publish", Move::Publish, json!({})),
        ("pause", Move::Pause, reason.clone()),
        ("resume", Move::Resume, json!({})),
        (
            "material-change",
            Move::MaterialChange,
            json!({ "reason": "because", "changes": { "hard_cap": "600000.00" } }),
        ),
        ("close", Move::Close, json!({})),
        ("cancel", Move::Cancel, reason),
        ("archive", Move::Archive, json!({})),
    ]
}

fn refused(status: u16, code: &str) -> (u16, String) {
    (status, code.to_owned())
}

async fn patch(who: &Person, id: &str, version: Option<i64>, change: Value) -> Answer {
    let client = who.client();
    let client = match version {
        Some(version) => client.on_version(version),
        None => client,
    };
    client.change("PATCH", &format!("/v1/offerings/{id}"), Some(change)).await.unwrap()
}

/// Approves as the second person.
async fn approve(who: &Person, requested: &Answer) -> Answer {
    let path = requested.text("/approval/id");
    let path = format!("/v1/approvals/{path}");
    let read = who.get(&path).await;
    assert_eq!(read.body["outlook"]["ok"], true, "{read:?}");
    let client = who.client().on_version(read.body["version"].as_i64().unwrap());
    let body = json!({ "payload_sha256": read.text("/payload_sha256") });
    client.post(&format!("{path}/approve"), &path, body).await.unwrap()
}

on_both_databases! {
    async fn a_published_offering_is_visible_to_everybody(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let written = fixture.issuer.post("/v1/offerings", OfferingFixture::terms(json!({ "description": "" }))).await;
        assert_eq!((written.status, written.text("/status")), (201, "draft".to_owned()), "{written:?}");
        let id = written.text("/id");
        assert_eq!(written.headers["location"], format!("/v1/offerings/{id}"));
        assert_eq!((written.text("/unit_price"), written.text("/partition"), written.text("/network")), ("1.00".to_owned(), "1".to_owned(), "dev".to_owned()));
        assert_eq!(written.body["cooling_off"], json!({ "mode": "after_commitment", "hours": 336 }));
        assert_eq!(written.body["tokenDeployment"], json!({ "status": "not_deployed", "contractAddress": null, "chainId": 31337, "txHash": null, "predicted_address": null }));
        let missing = fixture.act(&fixture.issuer, &id, "submit", json!({})).await;
        assert_eq!((missing.status, &missing.body["errors"][0]["params"]["missing"]), (422, &json!(["/description", "/documents"])));
        let changed = patch(&fixture.issuer, &id, None, json!({ "description": "By the harbour.", "maximum_investment": "50000.00", "utc_offset_minutes": 60 })).await;
        assert_eq!((changed.status, changed.text("/maximum_investment")), (200, "50000.00".to_owned()), "{changed:?}");
        assert_eq!((&written.body["utc_offset_minutes"], &changed.body["utc_offset_minutes"]), (&json!(0), &json!(60)));
        let cleared = patch(&fixture.issuer, &id, Some(2), json!({ "maximum_investment": null })).await;
        assert_eq!((cleared.status, &cleared.body["maximum_investment"]), (200, &Value::Null), "{cleared:?}");
        assert_eq!(patch(&fixture.issuer, &id, Some(2), json!({ "name": "Stale House" })).await.problem(), refused(412, "version_conflict"));
        let paper = json!({ "kind": "terms", "title": "Terms", "sha256": "ab".repeat(32), "url": "https://papers.example/1" });
        for version in 1..=2 {
            let added = fixture.issuer.post(&format!("/v1/offerings/{id}/documents"), paper.clone()).await;
            assert_eq!((added.status, &added.body["version"]), (201, &json!(version)), "{added:?}");
        }
        assert_eq!(fixture.act(&fixture.issuer, &id, "submit", json!({})).await.text("/status"), "in_review");
        assert_eq!(fixture.investor.get(&format!("/v1/offerings/{id}")).await.problem(), refused(404, "not_found"));
        let back = fixture.act(&fixture.olga, &id, "request-changes", json!({ "comment": "say more" })).await;
        assert_eq!((back.text("/status"), back.text("/status_reason")), ("draft".to_owned(), "say more".to_owned()));
        assert_eq!(fixture.act(&fixture.issuer, &id, "submit", json!({})).await.status, 200);
        let approved = fixture.act(&fixture.olga, &id, "approve", json!({})).await;
        assert_eq!((approved.text("/status"), approved.text("/approved_by"), approved.text("/terms_sha256").len()), ("approved".to_owned(), fixture.olga.id.clone(), 64));
        assert_eq!(fixture.act(&fixture.issuer, &id, "publish", json!({})).await.text("/status"), "open");
        let seen = fixture.investor.get(&format!("/v1/offerings/{id}")).await;
        assert_eq!(seen.status, 200, "{seen:?}");
        assert_eq!(seen.body["documents"].as_array().unwrap().len(), 2);
        for hidden in ["status_reason", "submitted_by", "approved_by", "allowed_transitions"] {
            assert!(seen.body.get(hidden).is_none(), "{hidden} is shown to an investor");
        }
        let own = fixture.shown(&id).await;
        assert!(own.body.get("allowed_transitions").is_some() && own.body.get("approved_by").is_none(), "{own:?}");
        let expected = ["created", "updated", "updated", "updated", "updated", "submitted", "changes_requested", "submitted", "approved", "published"];
        assert_eq!(fixture.events(&id).await, expected);
    }

    async fn every_move_is_allowed_only_in_its_states(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let id = fixture.draft(json!({})).await;
        let state = async |status: Status| {
            let reset = format!("update offerings set status = '{status}', hard_cap = 50000000, submitted_by = null where id = '{id}'");
            fixture.api.write(&reset).await;
            let events_before = fixture.api.count(&format!("events where subject_id = '{id}'")).await;
            (fixture.olga.get(&format!("/v1/offerings/{id}")).await.body["version"].as_i64().unwrap(), events_before)
        };
        for from in Status::ALL {
            for (verb, by, body) in moves() {
                let (version, events_before) = state(*from).await;
                let answer = fixture.act(&fixture.olga, &id, verb, body).await;
                let events = fixture.api.count(&format!("events where subject_id = '{id}'")).await - events_before;
                let now = answer.body["version"].as_i64().unwrap_or(version);
                match from.next(by) {
                    Some(to) => {
                        assert_eq!((answer.status, answer.text("/status")), (200, to.to_string()), "{from} {verb}: {answer:?}");
                        assert_eq!((now - version, events), (1, 1), "{from} {verb}");
                    }
                    None => {
                        assert_eq!(answer.problem(), refused(409, "invalid_state"), "{from} {verb}: {answer:?}");
                        assert_eq!(answer.text("/current_status"), from.as_str());
                        assert_eq!(answer.body["allowed_transitions"], json!(from.requests()), "{from} {verb}");
                        let shown = fixture.olga.get(&format!("/v1/offerings/{id}")).await;
                        assert_eq!((shown.text("/status"), &shown.body["version"], events), (from.to_string(), &json!(version), 0));
                    }
                }
            }
        }
    }

    async fn changeable_terms_shrink_and_changes_need_a_version(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let id = fixture.draft(json!({})).await;
        assert_eq!(fixture.act(&fixture.issuer, &id, "submit", json!({})).await.status, 200);
        let version = fixture.shown(&id).await.body["version"].as_i64().unwrap();
        assert_eq!(patch(&fixture.issuer, &id, None, json!({ "name": "X House" })).await.problem(), refused(428, "precondition_required"));
        assert_eq!(patch(&fixture.issuer, &id, Some(version), json!({ "name": "X House" })).await.problem(), refused(409, "invalid_state"));
        assert_eq!(fixture.act(&fixture.olga, &id, "approve", json!({})).await.status, 200);
        assert_eq!(fixture.act(&fixture.issuer, &id, "publish", json!({})).await.status, 200);
        let version = version + 2;
        assert_eq!(patch(&fixture.issuer, &id, Some(version - 1), json!({ "description": "New." })).await.problem(), refused(412, "version_conflict"));
        // The ETag of a response is sent with the next change.
        let tag = fixture.shown(&id).await.headers["etag"].to_str().unwrap().to_owned();
        let path = format!("/v1/offerings/{id}");
        let change = json!({ "description": "New.", "closes_at": later(90) }).to_string();
        let changed = fixture.issuer.client().send("PATCH", &path, &[("if-match", &tag)], Some(change)).await.unwrap();
        assert_eq!((changed.status, changed.text("/description")), (200, "New.".to_owned()), "{changed:?}");
        // A change returns what a read returns, with its ETag.
        let (found, new) = (fixture.issuer.get(&path).await, changed.headers["etag"].to_str().unwrap());
        assert_eq!((found.headers["etag"].to_str().unwrap(), &found.body), (new, &changed.body));
        assert_ne!(new, tag);
        for (known, status) in [(new, 304), (tag.as_str(), 200)] {
            let again = fixture.issuer.client().send("GET", &path, &[("if-none-match", known)], None).await.unwrap();
            assert_eq!(again.status, status);
        }
        let version = version + 1;
        for (change, code) in [
            (json!({ "closes_at": later(30) }), "below_minimum"),
            (json!({ "hard_cap": "900000.00" }), "not_changeable"),
            (json!({ "issuer_id": "iss_01jc0000000000000000000000" }), "unexpected"),
        ] {
            let answer = patch(&fixture.issuer, &id, Some(version), change.clone()).await;
            assert_eq!((answer.status, answer.text("/errors/0/code")), (422, code.to_owned()), "{change}");
        }
        assert_eq!(fixture.shown(&id).await.body["version"], json!(version));
        let changed = fixture.act(&fixture.issuer, &id, "material-change", json!({ "reason": "more houses", "changes": { "hard_cap": "900000.00" } })).await;
        assert_eq!((changed.status, &changed.body["terms_version"], changed.text("/hard_cap")), (200, &json!(2), "900000.00".to_owned()), "{changed:?}");
        for (changes, pointer) in [(json!({ "token_symbol": "OTHER" }), "/token_symbol"), (json!({}), "/changes")] {
            let answer = fixture.act(&fixture.issuer, &id, "material-change", json!({ "reason": "x", "changes": changes })).await;
            assert_eq!((answer.status, answer.text("/errors/0/pointer")), (422, pointer.to_owned()), "{answer:?}");
        }
    }

    async fn terms_stay_within_the_deployed_token(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let id = fixture.open(json!({})).await;
        let raised = async |hard_cap: &str| {
            let body = json!({ "reason": "more houses", "changes": { "hard_cap": hard_cap } });
            fixture.act(&fixture.issuer, &id, "material-change", body).await
        };
        assert_eq!(raised("600000.00").await.status, 200, "there is no token yet");
        fixture.api.write("insert into contracts (chain_id, address, kind, next_op_number, created_at) select 31337, \
            '0x00000000000000000000000000000000000000fa', 'factory', 1, created_at from issuers").await;
        let body = json!({ "offering_id": id, "caps": { "supply_units": "65000000" } });
        let deploying = fixture.olga.client().post("/blockchain/deploy-token", "deploy", body).await.unwrap();
        assert_eq!(deploying.status, 202, "{deploying:?}");
        for (hard_cap, fits) in [("650000.00", true), ("650001.00", false), ("610000.00", true)] {
            let changed = raised(hard_cap).await;
            if fits {
                assert_eq!((changed.status, changed.text("/hard_cap")), (200, hard_cap.to_owned()), "{changed:?}");
            } else {
                let found = changed.field();
                assert_eq!(found, (422, "/hard_cap".to_owned(), "above_maximum".to_owned()), "{changed:?}");
            }
        }
        // Once the chain has the token, the smaller limit is that of the partition on sale.
        fixture.api.write("update operations set status = 'confirmed', tx_hash = '0x7777777777777777777777777777777777777777777777777777777777777777', live_key = null").await;
        fixture.api.write(&format!("insert into tokens (offering_id, name, symbol, supply_units, partitions, created_at) select '{id}', 'T', \
            'HARB', '99000000', '[{{\"cap\":\"62000000\",\"restricted\":false,\"rule144\":false}}]', created_at from issuers")).await;
        assert_eq!(raised("630000.00").await.text("/errors/0/pointer"), "/hard_cap");
        assert_eq!(raised("620000.00").await.status, 200);
    }

    async fn two_person_moves_are_not_decided_by_one(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let body = OfferingFixture::terms(json!({ "issuer_id": fixture.issuer_id }));
        let id = fixture.olga.post("/v1/offerings", body).await.text("/id");
        let paper = json!({ "kind": "other", "title": "Paper", "sha256": "cd".repeat(32), "url": "https://papers.example/2" });
        assert_eq!(fixture.olga.post(&format!("/v1/offerings/{id}/documents"), paper).await.status, 201);
        assert_eq!(fixture.act(&fixture.olga, &id, "submit", json!({})).await.status, 200);
        assert_eq!(fixture.act(&fixture.olga, &id, "approve", json!({})).await.problem(), refused(403, "self_approval_forbidden"));
        assert_eq!(fixture.act(&fixture.oleg, &id, "approve", json!({})).await.status, 200);
        // An issuer never cancels an offering alone.
        let over = json!({ "reason": "the house burnt down" });
        let requested = fixture.act(&fixture.issuer, &id, "cancel", over.clone()).await;
        assert_eq!((requested.status, requested.text("/approval/action")), (202, "cancel_offering".to_owned()), "{requested:?}");
        assert_eq!(fixture.status(&id).await, "approved");
        assert_eq!(fixture.act(&fixture.issuer, &id, "cancel", over.clone()).await.problem(), refused(409, "operation_in_progress"));
        let approved = approve(&fixture.olga, &requested).await;
        assert_eq!(approved.text("/status"), "executed", "{approved:?}");
        assert_eq!(fixture.status(&id).await, "cancelled");
        // Nor does an operator once money is committed; minted units stay.
        let id = fixture.open(json!({})).await;
        fixture.subscribed(&id, &[("committed", 150_000)]).await;
        let requested = fixture.act(&fixture.olga, &id, "cancel", over.clone()).await;
        assert_eq!(requested.status, 202, "{requested:?}");
        assert_eq!(approve(&fixture.olga, &requested).await.problem(), refused(403, "self_approval_forbidden"));
        assert_eq!(approve(&fixture.oleg, &requested).await.text("/status"), "executed");
        assert_eq!(fixture.status(&id).await, "cancelled");
        // An investor with a subscription still sees the offering; others do not.
        let path = format!("/v1/offerings/{id}");
        assert_eq!(fixture.investor.get(&path).await.text("/status"), "cancelled");
        let stranger = fixture.api.person(fixture.server.as_ref().unwrap(), "sven", muniment_domain::user::Role::Investor).await;
        assert_eq!(stranger.get(&path).await.problem(), refused(404, "not_found"));
        let id = fixture.open(json!({})).await;
        fixture.api.write(&format!("update subscriptions set offering_id = '{id}', status = 'refunded'")).await;
        let requested = fixture.act(&fixture.issuer, &id, "cancel", over).await;
        assert_eq!(approve(&fixture.olga, &requested).await.text("/status"), "executed");
    }

    async fn each_caller_sees_and_moves_only_their_own_offerings(database: Database) {
        let fixture = OfferingFixture::new(database).await;
        let (rival, rival_id) = fixture.other_issuer("rita").await;
        let pending = rival.post("/v1/offerings", OfferingFixture::terms(json!({}))).await;
        assert_eq!(pending.problem(), refused(409, "invalid_state"), "an issuer that is not approved");
        fixture.approve(&rival_id).await;
        let draft = fixture.draft(json!({})).await;
        let open = fixture.open(json!({ "name": "Open House" })).await;
        let members = fixture.open(json!({ "name": "Members' House", "visibility": "members" })).await;
        let private = fixture.open(json!({ "name": "Private House", "visibility": "private" })).await;
        let paper = json!({ "kind": "other", "title": "Paper", "sha256": "cd".repeat(32), "url": "https://papers.example/2" });
        for path in ["subscriptions", "holders", "timeline"] {
            let path = format!("/v1/offerings/{open}/{path}");
            assert_eq!(fixture.issuer.get(&path).await.status, 200, "{path}");
            assert_eq!(fixture.olga.get(&path).await.status, 200, "{path}");
            assert_eq!(rival.get(&path).await.problem(), refused(404, "not_found"), "{path}");
            assert_eq!(fixture.investor.get(&path).await.problem(), refused(403, "role_forbidden"), "{path}");
        }
        for (verb, _, body) in moves() {
            let (theirs, nobodys) = (fixture.act(&rival, &open, verb, body.clone()).await, "off_01jc0000000000000000000000");
            let staff_only = ["approve", "request-changes", "archive"].contains(&verb);
            let expected = if staff_only { refused(403, "role_forbidden") } else { refused(404, "not_found") };
            assert_eq!(theirs.problem(), expected, "{verb}");
            assert_eq!(fixture.act(&fixture.investor, &open, verb, body.clone()).await.problem(), refused(403, "role_forbidden"), "{verb}");
            assert_eq!(fixture.act(&fixture.olga, nobodys, verb, body).await.problem(), refused(404, "not_found"), "{verb}");
        }
        assert_eq!(patch(&rival, &open, Some(1), json!({ "name": "Mine" })).await.problem(), refused(404, "not_found"));
        assert_eq!(rival.post(&format!("/v1/offerings/{open}/documents"), paper).await.problem(), refused(404, "not_found"));
        assert_eq!(rival.post("/v1/offerings", OfferingFixture::terms(json!({ "issuer_id": fixture.issuer_id }))).await.text("/errors/0/pointer"), "/issuer_id");
        let anybody = fixture.server.as_ref().unwrap().anonymous();
        let sees = async |who: &str, id: &str| match who {
            "anybody" => anybody.get(&format!("/v1/offerings/{id}")).await.unwrap().status,
            "investor" => fixture.investor.get(&format!("/v1/offerings/{id}")).await.status,
            "rival" => rival.get(&format!("/v1/offerings/{id}")).await.status,
            _ => fixture.issuer.get(&format!("/v1/offerings/{id}")).await.status,
        };
        for (id, expected) in [(&draft, [404, 404, 404, 200]), (&open, [200; 4]), (&members, [404, 200, 200, 200]), (&private, [404, 404, 404, 200])] {
            for (who, expected) in ["anybody", "investor", "rival", "issuer"].into_iter().zip(expected) {
                assert_eq!(sees(who, id).await, expected, "{who} {id}");
            }
        }
        // An investor with a subscription sees the offering in every state.
        fixture.subscribed(&private, &[("committed", 150_000)]).await;
        assert_eq!(sees("investor", &private).await, 200);
    }

    async fn a_list_shows_own_offerings_in_pages(database: Database) {
        let mut fixture = OfferingFixture::new(database).await;
        let ids = [fixture.open(json!({ "name": "Anchor House" })).await, fixture.open(json!({ "name": "Beacon House", "closes_at": later(40) })).await];
        let draft = fixture.draft(json!({ "name": "Cellar House" })).await;
        let private = fixture.open(json!({ "name": "Dock House", "visibility": "private" })).await;
        assert_eq!(fixture.act(&fixture.issuer, &ids[0], "pause", json!({ "reason": "storm" })).await.status, 200);
        let listed = async |who: &Person, query: &str| {
            let answer = who.get(&format!("/v1/offerings?{query}")).await;
            assert_eq!(answer.status, 200, "{query}: {answer:?}");
            let names: Vec<_> = answer.body["data"].as_array().unwrap().iter().map(|o| o["id"].as_str().unwrap().to_owned()).collect();
            (names, answer)
        };
        let (seen, answer) = listed(&fixture.investor, "").await;
        assert_eq!(seen, [ids[1].clone(), ids[0].clone()]);
        assert_eq!(answer.body["pagination"], json!({ "page": 1, "limit": 20, "total": 2, "total_pages": 1 }));
        let item = &answer.body["data"][0];
        assert_eq!((&item["name"], &item["status"], &item["template"], &item["minimum_investment"]), (&json!("Beacon House"), &json!("open"), &json!("real_estate_equity"), &json!("1000.00")));
        assert_eq!((&item["issuer_name"], &item["raised_amount"]), (&json!("ida Estates"), &json!("0.00")));
        assert_eq!(listed(&fixture.investor, "status=open&page=1&limit=20").await.0, [ids[1].clone()]);
        assert_eq!(listed(&fixture.investor, "status=open,paused&sort=name").await.0, ids);
        assert_eq!(listed(&fixture.investor, "sort=closes_at").await.0, [ids[1].clone(), ids[0].clone()]);
        assert_eq!(listed(&fixture.investor, "page=2&limit=1").await.0, [ids[0].clone()]);
        assert_eq!(listed(&fixture.investor, "page=9").await.0, Vec::<String>::new());
        assert_eq!(listed(&fixture.investor, "status=settled").await.1.body["pagination"]["total_pages"], 0);
        assert_eq!(listed(&fixture.issuer, "status=draft").await.0, std::slice::from_ref(&draft));
        assert_eq!(listed(&fixture.issuer, "").await.0, [private.clone(), draft.clone(), ids[1].clone(), ids[0].clone()]);
        assert_eq!(listed(&fixture.olga, "q=beacon").await.0, [ids[1].clone()]);
        assert_eq!(listed(&fixture.olga, "q=%25").await.0, Vec::<String>::new());
        assert_eq!(listed(&fixture.olga, "created_from=2999-01-01T00:00:00Z").await.0, Vec::<String>::new());
        let (rival, _) = fixture.other_issuer("rita").await;
        assert_eq!(listed(&rival, "").await.0, [ids[1].clone(), ids[0].clone()]);
        assert_eq!(fixture.investor.get("/v1/offerings?q=x").await.problem(), refused(403, "role_forbidden"));
        let of_issuer = listed(&fixture.olga, &format!("issuer_id={}&sort=name", fixture.issuer_id)).await.0;
        assert_eq!(of_issuer, listed(&fixture.olga, "sort=name").await.0);
        assert_eq!(listed(&fixture.olga, "issuer_id=iss_01jc0000000000000000000000").await.0, Vec::<String>::new());
        assert_eq!(listed(&fixture.olga, "template=real_estate_equity&sort=name").await.0, of_issuer);
        assert_eq!(listed(&fixture.olga, "template=bond").await.0, Vec::<String>::new());
        let networks = fixture.server.as_ref().unwrap().anonymous().get("/v1/networks").await.unwrap();
        assert_eq!((networks.text("/data/0/key"), &networks.body["data"][0]["chain_id"]), ("dev".to_owned(), &json!(31337)));
        for (query, code) in [("status=loud", "invalid_parameter"), ("status=draft", "invalid_parameter"), ("state=open", "unknown_parameter"),
            ("limit=0", "invalid_parameter"), ("page=x", "invalid_parameter"), ("sort=price", "invalid_parameter"), ("issuer_id=iss_1", "invalid_parameter"), ("template=castle", "invalid_parameter")] {
            assert_eq!(fixture.investor.get(&format!("/v1/offerings?{query}")).await.problem(), refused(400, code), "{query}");
        }
        let anonymous = |server: &Server| server.anonymous();
        let closed = anonymous(fixture.server.as_ref().unwrap()).get("/v1/offerings").await.unwrap();
        assert_eq!(closed.problem(), refused(401, "token_missing"));
        fixture.server.take().unwrap().process.kill();
        let opened = start_with_public_list(&fixture.api).await;
        let answer = anonymous(&opened).get("/v1/offerings?status=open").await.unwrap();
        assert_eq!((answer.status, answer.body["data"].as_array().unwrap().len()), (200, 1), "{answer:?}");
        assert_eq!(anonymous(&opened).with_key("nonsense").get("/v1/offerings").await.unwrap().problem(), refused(401, "token_invalid"));
    }
}

/// Starts the API with a public list of offerings.
async fn start_with_public_list(api: &ApiFixture) -> Server {
    api.serve(api.launch().env("MUNIMENT_PUBLIC_OFFERING_LIST", "true")).await
}
