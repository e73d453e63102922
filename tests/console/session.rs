//! Sign-in, its end, and who may do what.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use world::{Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, PASSWORD, Terms};

on_both_databases! {
    async fn a_session_begins_with_the_same_account_and_ends_at_once(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let person = site.person(&server, "olga", Role::Operator).await;
        let mut olga = Visitor::new(&server);
        let door = olga.get("/console/operations?status=failed").await;
        assert_eq!((door.status, door.location.as_str()), (303, "/console/sign-in?next=%2Fconsole%2Foperations%3Fstatus%3Dfailed"));
        let wrong = olga.post("/console/sign-in", &[("email", &person.email), ("password", "no")]).await;
        assert_eq!(wrong.status, 401);
        assert!(wrong.text.contains("The e-mail address or the password is wrong.") && wrong.text.contains(&person.email), "{wrong:?}");
        let opened = olga.sign_in(&person.email).await;
        let cookie = opened.cookies.iter().find(|cookie| cookie.starts_with("muniment_console=")).unwrap();
        assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
        let list = olga.get("/console/operations").await;
        assert_eq!(list.status, 200);
        assert!(!list.policy.contains("unsafe-inline") && list.policy.contains("default-src 'none'"), "{}", list.policy);
        assert!(!list.text.contains(" style=\"") && !list.text.contains("<script>"), "a page has a style or a script of its own");
        let foreign = olga.post("/console/sign-in", &[("email", &person.email), ("password", PASSWORD), ("next", "//evil.example")]).await;
        assert_eq!(foreign.location, "/console", "a sign-in leads only to pages of the console");
        let page = olga.get("/console").await;
        assert_eq!(olga.post("/console/sign-out", &[]).await.status, 403, "a form without its token");
        assert_eq!(olga.submit(&page, "/console/sign-out", &[]).await.location, "/console/sign-in");
        assert_eq!(olga.get("/console").await.status, 303);
    }

    async fn a_session_that_ends_in_the_middle_keeps_what_was_typed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let person = site.person(&server, "olga", Role::Operator).await;
        let mut olga = Visitor::new(&server);
        olga.sign_in(&person.email).await;
        let path = format!("/console/operations/{mint}/act/retry");
        let page = olga.get(&path).await;
        olga.forget();
        let reason = "The role of the signer is back.";
        let stopped = olga.submit(&page, &path, &[("reason", reason)]).await;
        assert_eq!(stopped.status, 401);
        assert!(stopped.text.contains("Nothing was changed, and what you typed is kept."), "{stopped:?}");
        let fields = [("email", person.email.as_str()), ("password", PASSWORD)];
        let back = olga.submit(&stopped, "/console/sign-in", &fields).await;
        assert!(back.status == 200 && back.text.contains(reason), "{back:?}");
        assert_eq!(server.state(&mint).await.0, "failed", "nothing is sent by itself");
        site.set_roles(Roles::ALL).await;
        let sent = olga.submit(&back, &path, &[("reason", reason)]).await;
        assert_eq!((sent.status, sent.location), (303, format!("/console/operations/{mint}")), "{}", sent.text);
        let shown = olga.get(&format!("/console/operations/{mint}")).await;
        assert!(shown.text.contains("The retry is accepted."), "{}", shown.text);
        site.settled().await;
        assert_eq!(server.state(&mint).await.0, "confirmed");
    }

    async fn a_form_of_another_site_is_neither_done_nor_kept(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let person = site.person(&server, "olga", Role::Operator).await;
        let act = "/console/webhooks/act/create";
        let given = ("url", "https://evil.example/in");
        let fields = [given, ("kept.url", given.1), ("next", act), ("email", person.email.as_str()), ("password", PASSWORD)];
        let signed_in = Visitor::with_role(&site, &server, "petra", Role::Operator).await;
        for mut visitor in [Visitor::new(&server), signed_in] {
            for page in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site"), ("sec-fetch-site", "same-site")] {
                for path in [act, "/console/sign-in", "/console/sign-in/code", "/console/sign-out"] {
                    let seen = visitor.post_from(Some(page), path, &fields).await;
                    assert_eq!((seen.status, seen.location.as_str()), (403, ""), "{page:?} {path}");
                    assert!(seen.text.contains("A page of another site sent this form.") && !seen.text.contains("evil.example"), "{seen:?}");
                }
            }
        }
        for page in [("origin", server.url.as_str()), ("sec-fetch-site", "same-origin"), ("sec-fetch-site", "none")] {
            let mut olga = Visitor::new(&server);
            let seen = olga.post_from(Some(page), act, &fields).await;
            assert!(seen.status == 401 && seen.text.contains("what you typed is kept"), "{page:?}: {seen:?}");
            assert_eq!(olga.post_from(Some(page), "/console/sign-in", &fields[3..]).await.status, 303, "{page:?}");
        }
        assert_eq!(site.count("webhook_endpoints").await, 0);
    }

    async fn an_auditor_sees_each_page_and_no_button_and_the_handler_refuses(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mint = site.mint_refused(&server, 0).await;
        let mut auditor = Visitor::with_role(&site, &server, "aude", Role::Auditor).await;
        let (page, act) = (format!("/console/operations/{mint}"), format!("/console/operations/{mint}/act/retry"));
        let seen = auditor.get(&page).await;
        assert_eq!(seen.status, 200);
        assert!(seen.text.contains("What a person can do") && !seen.text.contains(&act), "an auditor has a button");
        let form = auditor.get(&act).await;
        let refused = auditor.submit(&form, &act, &[("reason", "I would like to.")]).await;
        assert_eq!(refused.status, 403);
        assert!(refused.text.contains("role_forbidden") && refused.text.contains("I would like to."), "{}", refused.text);
        assert_eq!(server.state(&mint).await.0, "failed");
        let mut investor = Visitor::new(&server);
        let person = site.person(&server, "ida", Role::Investor).await;
        investor.sign_in(&person.email).await;
        let outside = investor.get("/console").await;
        assert!(outside.status == 403 && outside.text.contains("Investors use their portal."), "{outside:?}");
    }
}
