//! With a single admin, a two-person action waits a day and all staff are notified; a new admin must approve it.

use chrono::{DateTime, Duration, Utc};
use muniment_domain::approval::{Approval, Status};
use muniment_domain::clock::Clock;
use muniment_domain::db::Db;
use muniment_domain::id::of;
use muniment_domain::point::Point;
use muniment_domain::user::{self, Role, Roles};
use muniment_domain::{Code, Error, email_link};
use muniment_workflows::approval;
use muniment_workflows::approval::Decision;
use muniment_workflows::approval::action::Action;
use muniment_workflows::requester::Requester;
use muniment_workflows::settings::Settings;
use muniment_workflows::staff::Invite;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, Person, open_at};

fn invitation(name: &str) -> Value {
    json!({ "email": format!("{name}@people.example"), "name": name, "roles": ["operator"], "reason": "nights" })
}

async fn ask(admin: &Person, name: &str) -> Answer {
    let requested = admin.post("/v1/users", invitation(name)).await;
    assert_eq!(requested.status, 202, "{requested:?}");
    requested
}

/// Waits until the mails that notify the staff are sent: before that nobody approves alone.
async fn staff_notified(api: &ApiFixture) {
    let untold = "email_links where purpose = 'notice' and sent_at is null";
    api.until("the staff is notified", async || api.count(untold).await == 0).await;
}

/// Moves pending approvals one day on; their mails are sent.
async fn a_day_later(api: &ApiFixture) {
    staff_notified(api).await;
    api.write("update approvals set alone_from = created_at where alone_from is not null").await;
}

fn requester(id: &str) -> Requester {
    Requester { actor: id.to_owned(), request_id: None, idempotency_key: None }
}

async fn approve(db: &Db, a: &Approval) -> Result<Status, Error> {
    let mut tx = db.begin().await?;
    let (approval_id, by) = (a.id.clone(), requester(&a.maker));
    let d = Decision { approval_id, version: a.version, by, roles: Roles::only(Role::Admin), comment: None };
    let approved = approval::approve(&mut tx, &Settings::default(), &a.payload_sha256, d).await?;
    tx.commit(Point::Accept).await?;
    Ok(approved.status)
}

/// Requests an action as the only admin and checks that all staff were notified.
async fn requested_alone(db: &Db, admin: &str, name: &str) -> Approval {
    let mut tx = db.begin().await.unwrap();
    let (email, name, user_id) = (format!("{name}@people.example"), name.to_owned(), tx.new_id::<of::User>());
    let action = Action::Invite(Invite { user_id, email, name, roles: vec![Role::Operator], reason: "x".to_owned() });
    let requested = approval::request(&mut tx, &Settings::default(), action, &requester(admin)).await.unwrap();
    for due in email_link::due(&mut tx, 100).await.unwrap() {
        email_link::sent(&mut tx, &due.link.id).await.unwrap();
    }
    tx.commit(Point::Accept).await.unwrap();
    requested
}

fn is_forbidden(outcome: &Result<Status, Error>) -> bool {
    matches!(outcome, Err(Error::Refused { code: Code::SelfApprovalForbidden, .. }))
}

on_both_databases! {
    async fn a_lone_admin_waits_a_day_but_not_past_the_expiry(database: Database) {
        let clock = Clock::manual("2026-11-20T10:00:00Z".parse::<DateTime<Utc>>().unwrap());
        let db = open_at(&database.url(), clock.clone()).await;
        let mut tx = db.begin().await.unwrap();
        let admin = user::insert(&mut tx, "adam@people.example", "Adam", Role::Admin).await.unwrap();
        tx.commit(Point::Account).await.unwrap();
        let (first, late) = (requested_alone(&db, &admin, "first").await, requested_alone(&db, &admin, "late").await);
        clock.advance(Duration::hours(24) - Duration::seconds(1));
        assert!(is_forbidden(&approve(&db, &first).await), "a second too early");
        clock.advance(Duration::seconds(1));
        assert_eq!(approve(&db, &first).await.unwrap(), Status::Executed);
        clock.advance(Duration::hours(48));
        let over = approve(&db, &late).await;
        assert!(matches!(over, Err(Error::Refused { code: Code::ApprovalNotPending, .. })), "{over:?}");
        db.close().await;
    }

    async fn staff_is_notified_of_a_lone_admins_request_and_can_cancel_it(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let adam = api.person(&server, "adam", Role::Admin).await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let aude = api.person(&server, "aude", Role::Auditor).await;
        api.person(&server, "ada", Role::Investor).await;
        let requested = ask(&adam, "ben").await;
        assert_ne!(requested.body["approval"]["alone_from"], Value::Null);
        for person in [&adam, &olga, &aude] {
            server.mailed("notice", &person.email).await;
        }
        assert_eq!(api.count("email_links where purpose = 'notice'").await, 3);
        assert_eq!(adam.approve(&requested).await.problem(), (403, "self_approval_forbidden".to_owned()), "before the waiting time");
        a_day_later(&api).await;
        api.write("update email_links set sent_at = null, try_at = null where purpose = 'notice'").await;
        assert_eq!(adam.approve(&requested).await.problem(), (409, "invalid_state".to_owned()), "the staff was not notified");
        api.write("update email_links set sent_at = created_at where purpose = 'notice'").await;
        assert_eq!(olga.approve(&requested).await.problem(), (403, "role_forbidden".to_owned()));
        // The refusal is repeated under its key; a new key makes a new request.
        api.write("delete from idempotency_keys").await;
        let approved = adam.approve(&requested).await;
        assert_eq!((approved.status, approved.text("/status"), approved.text("/checker")), (202, "executed".to_owned(), "break_glass".to_owned()));
        assert_eq!(api.count("users where email = 'ben@people.example'").await, 1);

        let stopped = ask(&adam, "mallory").await;
        let path = format!("{}/reject", stopped.headers["location"].to_str().unwrap());
        let rejected = olga.client().on_version(1).change("POST", &path, Some(json!({ "comment": "who is that?" }))).await.unwrap();
        assert_eq!(rejected.text("/status"), "rejected", "{rejected:?}");
        a_day_later(&api).await;
        assert_eq!(adam.approve(&stopped).await.problem(), (403, "self_approval_forbidden".to_owned()));
    }

    async fn a_lone_admin_gets_a_platform_key_after_the_same_wait(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let adam = api.person(&server, "adam", Role::Admin).await;
        let requested = adam.post("/v1/api-keys", json!({ "name": "k", "scopes": ["ops:read"] })).await;
        a_day_later(&api).await;
        assert_eq!(adam.approve(&requested).await.status, 202);
        let made = adam.post(&format!("/v1/approvals/{}/api-key", requested.text("/approval/id")), json!({})).await;
        assert_eq!(server.client().with_key(&made.text("/key")).get("/blockchain/operations").await.unwrap().status, 200);
    }

    async fn a_second_admin_must_approve_even_after_leaving(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let adam = api.person(&server, "adam", Role::Admin).await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let (kept, path) = (ask(&adam, "ben").await, format!("/v1/users/{}/roles", olga.id));
        let body = json!({ "roles": ["admin"], "reason": "two are better" });
        let promoted = adam.change("PATCH", &path, Some(body)).await;
        a_day_later(&api).await;
        assert_eq!(adam.approve(&promoted).await.status, 202);
        assert_eq!(api.count("approvals where alone_from is not null").await, 0);
        assert_eq!(adam.approve(&kept).await.problem(), (403, "self_approval_forbidden".to_owned()));
        let olga = Person::fresh(&server, &olga.email).await;
        let left = adam.post(&format!("/v1/users/{}/disable", olga.id), json!({})).await;
        assert_eq!(olga.approve(&left).await.text("/status"), "executed");
        api.write("delete from idempotency_keys").await;
        assert_eq!(adam.approve(&kept).await.problem(), (403, "self_approval_forbidden".to_owned()));
        // With two admins no one-person approval is possible.
        let back = adam.post(&format!("/v1/users/{}/enable", olga.id), json!({})).await;
        a_day_later(&api).await;
        assert_eq!(adam.approve(&back).await.text("/status"), "executed");
        assert_eq!(ask(&adam, "cleo").await.body["approval"]["alone_from"], Value::Null);
    }

    async fn a_lone_admin_acting_while_another_is_added_is_first_or_refused(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let adam = api.person(&server, "adam", Role::Admin).await;
        let eve = api.person(&server, "eve", Role::Admin).await;
        let enable = format!("/v1/users/{}/enable", eve.id);
        for round in 0..5 {
            api.write(&format!("update users set status = 'disabled' where id = '{}'", eve.id)).await;
            let (requested, back) = (ask(&adam, &format!("new-{round}")).await, adam.post(&enable, json!({})).await);
            a_day_later(&api).await;
            let (twice, approved, came) = tokio::join!(adam.approve(&requested), adam.approve(&requested), adam.approve(&back));
            assert_eq!(came.text("/status"), "executed", "{came:?}");
            let status = api.rows(&format!("select status from approvals where id = '{}'", requested.text("/approval/id"))).await[0][0].clone();
            match status.as_str() {
                "executed" => assert!([&twice, &approved].iter().any(|answer| answer.status == 202), "{twice:?} {approved:?}"),
                "pending" => assert!([&twice, &approved].iter().all(|answer| answer.status >= 403 && answer.status < 500), "{twice:?} {approved:?}"),
                other => panic!("{other}"),
            }
            let made = api.count(&format!("users where email = 'new-{round}@people.example'")).await;
            assert_eq!(made, i64::from(status == "executed"));
        }
    }

    async fn one_admin_cannot_become_two_alone(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let adam = api.person(&server, "adam", Role::Admin).await;
        let eve = api.person(&server, "eve", Role::Admin).await;
        let olga = api.person(&server, "olga", Role::Operator).await;
        let act = async |who: &Person, id: &str, verb: &str| who.post(&format!("/v1/users/{id}/{verb}"), json!({})).await;
        let tired = Person::log_in(&server, &adam.email).await;
        for verb in ["disable", "enable", "revoke-sessions"] {
            assert_eq!(act(&tired, &olga.id, verb).await.problem(), (403, "step_up_required".to_owned()), "{verb}");
        }
        for verb in ["revoke-sessions", "disable"] {
            let asked = act(&adam, &olga.id, verb).await;
            assert_eq!((asked.status, asked.body["approval"]["alone_from"].clone()), (202, Value::Null), "{asked:?}");
            assert_eq!(olga.session_status().await.0, 200, "{verb} waits for the second admin");
            assert_eq!(eve.client().on_version(1).change("POST", &format!("{}/reject", asked.headers["location"].to_str().unwrap()),
                Some(json!({ "comment": "why?" }))).await.unwrap().status, 200);
        }
        // The only other admin is the one to be removed: that takes a day, and everybody hears of it.
        let removal = act(&adam, &eve.id, "disable").await;
        staff_notified(&api).await;
        assert_eq!(adam.approve(&removal).await.problem(), (403, "self_approval_forbidden".to_owned()));
        server.mailed("notice", &eve.email).await;
        a_day_later(&api).await;
        api.write("delete from idempotency_keys").await;
        assert_eq!(adam.approve(&removal).await.text("/status"), "executed");
        assert_eq!(eve.session_status().await.0, 401);
        // Nobody is left to disagree: the day starts a day later, and the removed admin hears of the next step too.
        let puppet = ask(&adam, "puppet").await;
        let from: DateTime<Utc> = puppet.text("/approval/alone_from").parse().unwrap();
        assert!(from - Utc::now() > Duration::hours(47), "{from}");
        let told = format!("email_links where purpose = 'notice' and user_id = '{}' and subject_id = '{}'", eve.id, puppet.text("/approval/id"));
        assert_eq!(api.count(&told).await, 1);
        let back = act(&adam, &eve.id, "enable").await;
        staff_notified(&api).await;
        assert_eq!((back.status, adam.approve(&back).await.problem()), (202, (403, "self_approval_forbidden".to_owned())));
    }
}
