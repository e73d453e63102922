//! A form that is refused comes back as it was: what it was decided on, and the key under which it may already be in work.

use futures::future::join_all;
use muniment_domain::user::Role;
use world::{Mining, on_both_databases};

use super::visitor::{Visitor, field};
use crate::installation::{Installation, Terms};

on_both_databases! {
    async fn what_was_decided_on_an_old_version_is_refused_again_until_the_page_is_read_again(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let mut otto = Visitor::with_role(&site, &server, "otto", Role::Operator).await;
        let create = "/console/webhooks/act/create";
        let sheet = olga.get(create).await;
        let made = olga.submit(&sheet, create, &[("url", "https://hooks.portal.example/in"), ("event_types", "*")]).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = site.rows("select id from webhook_endpoints").await.concat()[0].clone();
        let (disable, enable) = (format!("/console/webhooks/{id}/act/disable"), format!("/console/webhooks/{id}/act/enable"));
        let old = olga.get(&disable).await;
        for path in [&disable, &enable] {
            let sheet = otto.get(path).await;
            assert_eq!(otto.submit(&sheet, path, &[]).await.status, 303);
        }
        let mut refused = olga.submit(&old, &disable, &[]).await;
        for _ in 0..2 {
            assert_eq!(refused.status, 412, "{}", refused.text);
            assert_eq!(field(&refused, "version"), field(&old, "version"), "the version that she saw");
            assert!(refused.text.contains(&format!("<a href=\"/console/webhooks/{id}\">Load the page again</a>")), "{}", refused.text);
            refused = olga.submit(&refused, &disable, &[]).await;
        }
        assert_eq!(site.rows("select status from webhook_endpoints").await.concat(), ["enabled"]);
        let fresh = olga.get(&disable).await;
        assert_eq!(olga.submit(&fresh, &disable, &[]).await.status, 303);
    }

    async fn a_form_that_is_still_being_done_keeps_its_key_and_does_not_say_that_nothing_was_changed(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        let lane = site.rows("select id from lanes").await.concat()[0].clone();
        let path = format!("/console/signers/{lane}/act/pause");
        let sheet = olga.get(&path).await;
        let reason = [("reason", "The key is moved.")];
        let windows = (0..20).map(|_| {
            let (mut window, sheet, path) = (olga.clone(), &sheet, &path);
            async move { window.submit(sheet, path, &reason).await }
        });
        let answers = join_all(windows).await;
        let (done, busy): (Vec<_>, Vec<_>) = answers.into_iter().partition(|seen| seen.status == 303);
        assert!(!done.is_empty(), "{busy:?}");
        for seen in &busy {
            assert_eq!(seen.status, 409, "{}", seen.text);
            assert!(seen.text.contains("The platform still works on it") && !seen.text.contains("Nothing was changed"), "{}", seen.text);
            assert_eq!(field(seen, "key"), field(&sheet, "key"));
        }
        for seen in busy.iter().take(2) {
            assert_eq!(olga.submit(seen, &path, &reason).await.status, 303, "the answer of the first one");
        }
        assert_eq!(site.rows("select mode from lanes").await.concat(), ["paused"]);
    }
}
