//! Distributions of an issuer: its members prepare them, see their progress, and see no others.

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::on_both_databases;

use crate::installation::{Answer, PayoutFixture, Person, register_issuer, wallet};
use crate::portfolio::holder;

/// A member of the issuer of the offering.
async fn member(fixture: &PayoutFixture, name: &str) -> Person {
    let person = fixture.site.person(&fixture.server, name, Role::Issuer).await;
    let (offering, id) = (&fixture.site.offerings[0], &person.id);
    let organisation = format!("(select issuer_id from offerings where id = '{offering}')");
    fixture.site.write(&format!("update users set issuer_id = {organisation} where id = '{id}'")).await;
    person
}

async fn act(person: &Person, key: &str, id: &str, verb: &str, body: Value) -> Answer {
    person.client().post(&format!("/v1/distributions/{id}/{verb}"), key, body).await.unwrap()
}

async fn status(person: &Person, id: &str) -> String {
    person.get(&format!("/v1/distributions/{id}")).await.text("/status")
}

fn has(answer: &Value, field: &str) -> bool {
    answer.as_object().unwrap().contains_key(field)
}

on_both_databases! {
    async fn an_issuer_prepares_a_distribution_and_sees_its_payments(database: Database) {
        let fixture = PayoutFixture::new(database, 3).await;
        let ida = member(&fixture, "ida").await;
        let draft = fixture.body("direct_payout", "300.00").await;
        let drafted = ida.client().post("/v1/distributions", "draft", draft.clone()).await.unwrap();
        assert_eq!((drafted.status, drafted.text("/status")), (201, "draft".to_owned()), "{drafted:?}");
        let again = ida.client().post("/v1/distributions", "draft", draft).await.unwrap();
        assert_eq!((again.body == drafted.body, again.headers.contains_key("idempotent-replayed")), (true, true));
        let id = drafted.text("/id");
        // The stored response is deleted after a day; the used key never is.
        fixture.site.write("delete from idempotency_keys").await;
        let spent = ida.client().post("/v1/distributions", "draft", fixture.body("direct_payout", "300.00").await).await.unwrap();
        assert_eq!((spent.problem(), spent.text("/resource")), ((409, "idempotency_key_spent".to_owned()), format!("/v1/distributions/{id}")));
        assert_eq!(fixture.site.count("distributions").await, 1);
        assert_eq!(act(&ida, "early", &id, "calculate", json!({})).await.problem(), (409, "invalid_state".to_owned()));
        assert_eq!(act(&ida, "snapshot", &id, "snapshot", json!({})).await.status, 202);
        fixture.site.until("the balances are known", async || status(&ida, &id).await == "snapshotted").await;
        for (verb, reached) in [("calculate", "calculated"), ("submit", "approved")] {
            let moved = act(&ida, verb, &id, verb, json!({})).await;
            assert_eq!((moved.status, moved.text("/status")), (200, reached.to_owned()), "{moved:?}");
        }
        // Moving money needs the platform, and the paying operations are the platform's.
        assert_eq!(act(&ida, "execute", &id, "execute", json!({})).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(fixture.act("execute", &id, "execute").await.status, 202);
        fixture.reaches(&id, "completed").await;
        let shown = ida.get(&format!("/v1/distributions/{id}")).await;
        assert_eq!((shown.text("/totals/paid"), shown.body["operation_count"].clone()), ("300.00".to_owned(), json!(3)), "{shown:?}");
        for field in ["funding_wallet", "operations", "created_by"] {
            assert!(has(&fixture.shown(&id).await.body, field) && !has(&shown.body, field), "{field}");
        }
        let lines = format!("/v1/distributions/{id}/entitlements");
        let (full, org) = (fixture.server.get(&lines).await, ida.get(&lines).await);
        for place in 0..3 {
            let (full, org) = (&full.body["data"][place], &org.body["data"][place]);
            assert_eq!((&org["id"], &org["net_amount"], &org["status"]), (&full["id"], &full["net_amount"], &json!("paid")));
            assert_eq!((&org["holder"]["investor_id"], &org["holder"]["country"]), (&full["investor_id"], &json!("DE")));
            assert!(org["holder"]["display_name"].as_str().unwrap().starts_with("Investor "), "{org}");
            assert!(has(full, "note") && has(full, "operation_id") && !has(org, "note") && !has(org, "operation_id"));
        }
        assert_eq!(ida.get(&format!("/v1/distributions/{id}/report")).await.problem(), (403, "role_forbidden".to_owned()));
        assert_eq!(fixture.sums_agree().await, 3);
    }

    async fn an_issuer_sees_no_other_issuer_and_no_other_holders(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (ida, (eve, _)) = (member(&fixture, "ida").await, register_issuer(&fixture.site.database, &fixture.server, "eve").await);
        let loose = fixture.site.person(&fixture.server, "loose", Role::Issuer).await;
        let id = fixture.calculated("direct_payout", "20.00").await;
        let (nobody, none) = ("dist_01jc0000000000000000000000", (404, "not_found".to_owned()));
        for stranger in [&eve, &loose] {
            for id in [id.as_str(), nobody] {
                for path in [format!("/v1/distributions/{id}"), format!("/v1/distributions/{id}/entitlements")] {
                    assert_eq!(stranger.get(&path).await.problem(), none, "{path}");
                }
                for verb in ["snapshot", "calculate", "submit", "cancel"] {
                    let body = if verb == "cancel" { json!({ "reason": "mine" }) } else { json!({}) };
                    assert_eq!(act(stranger, verb, id, verb, body).await.problem(), none, "{verb}");
                }
            }
            let draft = fixture.body("direct_payout", "1.00").await;
            assert_eq!(stranger.client().post("/v1/distributions", "draft", draft).await.unwrap().problem(), none);
            assert_eq!(stranger.get("/v1/distributions").await.body["pagination"]["total"], json!(0));
        }
        let shown = fixture.shown(&id).await;
        assert_eq!((shown.text("/status"), fixture.site.count("distributions").await), ("calculated".to_owned(), 1));
        let own = ida.get("/v1/distributions").await;
        assert_eq!((own.body["pagination"]["total"].clone(), own.text("/data/0/id")), (json!(1), id.clone()), "{own:?}");

        // An investor sees their own part. A person who is both sees the issuer's whole list, and elsewhere only their part.
        let (ada, _) = holder(&fixture.site, &fixture.server, 0).await;
        let part = ada.get(&format!("/v1/distributions/{id}")).await;
        assert_eq!(part.text("/my_entitlement/wallet_address"), wallet(0).to_checksum(None), "{part:?}");
        assert_eq!((part.body["my_entitlements"].as_array().unwrap().len(), has(&part.body, "totals")), (1, false));
        assert_eq!(ada.get(&format!("/v1/distributions/{id}/entitlements")).await.problem().0, 403);
        let join = |of: &str| format!("update users set roles = 'investor issuer', issuer_id = ({of}) where id = '{}'", ada.id);
        fixture.site.write(&join(&format!("select issuer_id from users where id = '{}'", eve.id))).await;
        let both = ada.get(&format!("/v1/distributions/{id}")).await;
        assert_eq!((both.body["my_entitlement"] == part.body["my_entitlement"], has(&both.body, "totals")), (true, false));
        assert_eq!(act(&ada, "mine", &id, "submit", json!({})).await.problem(), none, "a holder cannot manage the distribution");
        fixture.site.write(&join(&format!("select issuer_id from users where id = '{}'", ida.id))).await;
        assert!(has(&ada.get(&format!("/v1/distributions/{id}")).await.body, "totals"));
        // A user without the issuer role has no issuer, whatever the row says.
        fixture.site.write(&format!("update users set roles = 'investor' where id = '{}'", ida.id)).await;
        assert_eq!(ida.get(&format!("/v1/distributions/{id}")).await.problem(), none);
    }

    async fn the_approver_of_a_payout_that_an_issuer_submitted_cannot_execute_it(database: Database) {
        let fixture = PayoutFixture::with(database, 2, |site| site.config.payout_threshold("100.00")).await;
        let (ida, otto) = (member(&fixture, "ida").await, fixture.site.person(&fixture.server, "otto", Role::Operator).await);
        let approver = &fixture.colleague;
        let alone = async |key: &str, id: &str| act(approver, key, id, "execute", json!({})).await;
        let forbidden = (403, "self_approval_forbidden".to_owned());
        let set = async |person: &Person, status: &str| {
            fixture.site.write(&format!("update users set status = '{status}' where id = '{}'", person.id)).await
        };
        let id = fixture.calculated("direct_payout", "100.00").await;
        let requested = act(&ida, "submit", &id, "submit", json!({})).await;
        let approved = fixture.approve(&requested).await;
        assert_eq!((approved.text("/maker"), approved.text("/checker")), (ida.id.clone(), approver.id.clone()), "{approved:?}");
        let refused = alone("alone", &id).await;
        assert_eq!(refused.problem(), forbidden, "{refused:?}");
        assert!(refused.text("/detail").ends_with("Another member of the staff must execute it."), "{refused:?}");
        set(&ida, "disabled").await;
        assert_eq!(alone("without-her", &id).await.problem(), forbidden);
        assert_eq!((status(&otto, &id).await, fixture.site.count("operations where subject_type = 'distribution'").await), ("approved".to_owned(), 0));
        let executed = act(&otto, "together", &id, "execute", json!({})).await;
        assert_eq!((executed.status, executed.text("/status")), (202, "executing".to_owned()), "{executed:?}");
        fixture.reaches(&id, "completed").await;

        // Two members of the staff already took part if one of them submitted it, as long as that person is one.
        let id = fixture.calculated("direct_payout", "200.00").await;
        fixture.approve(&act(&otto, "submit", &id, "submit", json!({})).await).await;
        set(&otto, "disabled").await;
        assert_eq!(alone("without-him", &id).await.problem(), forbidden);
        set(&otto, "active").await;
        assert_eq!(alone("second-of-two", &id).await.status, 202);
        fixture.reaches(&id, "completed").await;
        assert_eq!(fixture.sums_agree().await, 4);
    }

    async fn one_of_two_concurrent_submissions_succeeds(database: Database) {
        let fixture = PayoutFixture::new(database, 2).await;
        let (ida, isa) = (member(&fixture, "ida").await, member(&fixture, "isa").await);
        let id = fixture.calculated("direct_payout", "20.00").await;
        let (one, other) = futures::join!(act(&ida, "a", &id, "submit", json!({})), act(&isa, "b", &id, "submit", json!({})));
        let mut statuses = [one.status, other.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409], "{one:?} {other:?}");
        let called_off = act(&isa, "c", &id, "cancel", json!({ "reason": "no money" })).await;
        assert_eq!((called_off.status, called_off.text("/status")), (200, "cancelled".to_owned()), "{called_off:?}");
        let events = fixture.site.rows(&format!("select type from events where subject_id = '{id}' order by sequence")).await;
        let expected = ["created", "snapshotting", "snapshotted", "calculated", "approved", "cancelled"];
        assert_eq!(events.concat(), expected.map(|w| format!("distribution.{w}")));
    }
}
