//! Operations: the list, one of them, and the acts on it.

use std::time::Duration;

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use super::decisions::waiting;
use super::visitor::Visitor;
use crate::installation::{Installation, OPERATOR, PASSWORD, Terms};

/// How long a change may take to be heard on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

on_both_databases! {
    async fn a_failed_mint_says_why_what_it_means_and_what_each_act_would_do(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let list = olga.get("/console/operations?status=attention").await;
        assert!(list.text.contains(&mint) && list.text.contains("Nothing signed"), "{}", list.text);
        let typed = olga.get("/console/operations?typed=mint+reverts").await;
        assert_eq!(typed.location, "/console/operations?type=mint&error_code=reverts");
        assert!(olga.get(&typed.location).await.text.contains(&mint));
        let strange = olga.get("/console/operations?typed=%3Cmelted%3E").await;
        let strange = olga.get(&strange.location).await;
        assert!(strange.text.contains("cannot be filtered by <code>&#60;melted&#62;</code>"), "{}", strange.text);
        let page = olga.get(&format!("/console/operations/{mint}")).await;
        assert!(page.text.contains("Nothing was signed, so no value moved and no gas was spent."), "{}", page.text);
        assert!(page.text.contains("Not now: nothing of it waits for a block."), "{}", page.text);
        let actions = server.get(&format!("/blockchain/operations/{mint}")).await.body["actions"].clone();
        let allowed: Vec<_> = actions.as_array().unwrap().iter().map(|act| (&act["action"], &act["allowed"])).collect();
        let (yes, no) = (json!(true), json!(false));
        let names = ["mark_confirmed", "retry", "speed_up", "cancel", "close_nonce", "abandon"].map(|name| json!(name));
        assert_eq!(allowed, names.iter().zip([&yes, &yes, &no, &no, &no, &yes]).collect::<Vec<_>>());
        let missing = olga.get("/console/operations/op_01jc8yq3k5e9v8w2m4n6p7r9st").await;
        assert!(missing.status == 404 && missing.text.contains("There is no operation"), "{missing:?}");
    }

    async fn two_clicks_on_one_form_are_one_retry_and_an_old_page_changes_nothing(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        site.set_roles(Roles::ALL).await;
        let path = format!("/console/operations/{mint}/act/retry");
        let (page, old) = (olga.get(&path).await, olga.get(&path).await);
        let reason = [("reason", "The role of the signer is back.")];
        assert_eq!(olga.submit(&page, &path, &reason).await.status, 303);
        assert_eq!(olga.submit(&page, &path, &reason).await.status, 303, "the same form again");
        site.settled().await;
        let late = olga.submit(&old, &path, &reason).await;
        assert_eq!(late.status, 409, "{late:?}");
        assert!(late.text.contains("invalid_state") && late.text.contains(reason[0].1), "{}", late.text);
        let history = server.get(&format!("/blockchain/operations/{mint}")).await.body["history"].to_string();
        assert_eq!(history.matches(reason[0].1).count(), 1, "{history}");
    }

    async fn a_dead_letter_that_was_executed_is_confirmed_by_its_hash(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1)]).await;
        site.impatient();
        let server = site.start().await;
        let deploy = site.stuck(&server).await;
        site.anvil.mine(1).await;
        site.finalised().await;
        site.all_read().await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let shown = olga.get(&format!("/console/operations/{deploy}")).await;
        assert!(shown.text.contains("The two disagree: a person has to decide."), "{}", shown.text);
        let path = format!("/console/operations/{deploy}/reconcile");
        let page = olga.get(&path).await;
        let proposed = page.text.split("?tx_hash=").nth(1).unwrap().split('"').next().unwrap().to_owned();
        let foreign = olga.get(&format!("{path}?tx_hash=0x{}", "11".repeat(32))).await;
        assert!(foreign.text.contains("it proves nothing") && !foreign.text.contains("Confirm as executed"), "{}", foreign.text);
        let strange = olga.get(&format!("{path}?tx_hash=0x12")).await;
        assert!(strange.status == 200 && strange.text.contains("role=\"alert\""), "{}", strange.text);
        let proof = olga.get(&format!("{path}?tx_hash={proposed}")).await;
        assert!(proof.text.contains("all passed"), "{}", proof.text);
        let done = olga.submit(&proof, &path, &[("reason", "Mined after the engine gave up.")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        assert_eq!(server.state(&deploy).await.0, "confirmed");
        assert_eq!(site.exactly_once().await.deployed, 1);
    }

    async fn a_second_person_approves_in_the_console_and_the_first_cannot(database: Database) {
        let (site, server, path) = waiting(database).await;
        let mut second = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let page = second.get("/console/approvals").await;
        assert!(page.text.contains(&path) && page.text.contains("you did not ask for it"), "{}", page.text);
        let mut first = Visitor::new(&server);
        first.sign_in(OPERATOR).await;
        let own = first.get(&path).await;
        assert!(own.text.contains("You asked for it, so a colleague decides.") && !own.text.contains("Approve, and run it"), "{}", own.text);
        let yes = [("decision", "approve"), ("reason", "I have looked at the list.")];
        // The form of the second person in the hands of the first: the token is not theirs, and neither is the decision.
        assert_eq!(first.submit(&page, &path, &yes).await.status, 403);
        let proof = second.submit(&page, &path, &yes).await;
        assert!(proof.status == 403 && proof.text.contains("Confirm that it is you"), "{proof:?}");
        let wrong = second.submit(&proof, &path, &[("identity_password", "no")]).await;
        assert!(wrong.status == 403 && wrong.text.contains("The password is wrong."), "{}", wrong.text);
        let done = second.submit(&wrong, &path, &[("identity_password", PASSWORD)]).await;
        assert_eq!((done.status, done.location.as_str()), (303, "/console/approvals"), "{}", done.text);
        assert!(second.get("/console/approvals").await.text.contains("Approved. What was asked for runs now."));
        site.settled().await;
        assert_eq!(site.exactly_once().await.minted, 1);
        let late = second.submit(&page, &path, &yes).await;
        assert_eq!(late.status, 303, "the same form again: {late:?}");
        assert_eq!(site.exactly_once().await.minted, 1);
    }

    async fn an_open_page_hears_of_a_change_at_once(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let mut stream = olga.listen().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        let mut heard = String::new();
        while !heard.contains("event: change\ndata: now\n\n") {
            let piece = tokio::time::timeout(PATIENCE, stream.chunk()).await.expect("a change").unwrap();
            heard += std::str::from_utf8(&piece.expect("the stream goes on")).unwrap();
        }
    }

    async fn a_person_has_a_bounded_number_of_live_pages(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let mut open = Vec::new();
        for number in 1..=20 {
            open.push(olga.listen().await);
            assert_eq!(open.last().unwrap().status(), 200, "{number}");
        }
        let refused = olga.listen().await;
        assert_eq!(refused.status(), 429);
        assert!(refused.text().await.unwrap().contains("You can have 20 live pages open at once."));
        let oscar = Visitor::with_role(&site, &server, "oscar", Role::Operator).await;
        assert_eq!(oscar.listen().await.status(), 200, "each person has their own");
        // A closed page gives its place back.
        open.pop();
        site.until("there is room again", async || olga.listen().await.status() == 200).await;
    }
}
