//! Pages that act: several operations at once, signers, and whatever else has a form of the same kind.

use muniment_activities::contract::registry::Roles;
use muniment_domain::user::Role;
use serde_json::json;
use world::{Mining, on_both_databases};

use super::visitor::Visitor;
use crate::installation::{Installation, PASSWORD, Terms};

/// Every page of the navigation that staff sees.
pub(super) const PAGES: &[&str] = &[
    "/console",
    "/console/operations",
    "/console/approvals",
    "/console/signers",
    "/console/offerings",
    "/console/distributions",
    "/console/investors",
    "/console/webhooks",
    "/console/reconciliation",
    "/console/audit",
    "/console/audit/verify",
    "/console/users",
    "/console/queue",
    "/console/settings",
];

on_both_databases! {
    async fn selected_operations_are_previewed_and_retried_and_the_others_are_not(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        site.config.engine("mint_page_holders", 1);
        let server = site.start().await;
        site.mint_refused(&server, 0).await;
        let failed = site.rows("select id from operations where kind = 'mint' order by id").await.concat();
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let list = olga.get("/console/operations?status=failed").await;
        assert_eq!(list.text.matches("type=\"checkbox\" name=\"id\"").count(), 3, "{}", list.text);
        assert!(list.text.contains("/console/operations/retry?status=failed"), "{}", list.text);
        let path = "/console/operations/retry";
        let preview = olga.get(&format!("{path}?id={}&id={}", failed[0], failed[1])).await;
        assert!(preview.text.contains("Retry 2 of 2") && preview.text.contains("Nothing was changed yet."), "{}", preview.text);
        assert_eq!(server.state(&failed[0]).await.0, "failed", "a preview changes nothing");
        let long = "x".repeat(501);
        let refused = olga.submit(&preview, path, &[("reason", &long)]).await;
        assert!(refused.status >= 400 && refused.text.contains(&long) && refused.text.contains("role=\"alert\""), "{}", refused.text);
        let strange = olga.get(&format!("{path}?id=op_melted")).await;
        assert!(strange.status == 422 && strange.text.contains("The id of an operation looks like op_01k"), "{}", strange.text);
        let none = olga.get(path).await;
        assert_eq!((none.status, none.location.as_str()), (303, "/console/operations"), "no selection retries nothing");
        let mut auditor = Visitor::with_role(&site, &server, "aude", Role::Auditor).await;
        let seen = auditor.get("/console/operations?status=failed").await;
        assert!(seen.text.contains(&failed[0]) && !seen.text.contains("type=\"checkbox\" name"), "{}", seen.text);
        assert_eq!(auditor.get(&format!("{path}?id={}", failed[0])).await.status, 403);
        site.set_roles(Roles::ALL).await;
        let done = olga.submit(&refused, path, &[("reason", "The role of the signer is back.")]).await;
        assert_eq!((done.status, done.location.as_str()), (303, "/console/operations"), "{}", done.text);
        assert!(olga.get("/console/operations").await.text.contains("2 retries are accepted."));
        site.until("two are confirmed", async || site.count("operations where kind = 'mint' and status = 'confirmed'").await == 2).await;
        assert_eq!(server.state(&failed[2]).await.0, "failed", "it was not selected");
        let page = format!("/console/operations/{}", failed[0]);
        assert!(olga.get(&page).await.text.contains(">Somebody</span>"), "the history names who asked");
        assert!(auditor.get(&page).await.text.contains(">S…</span>"), "an auditor sees names masked");
        let all = olga.get(&format!("{path}?status=failed")).await;
        assert!(all.text.contains("Retry 1 of 1"), "{}", all.text);
        assert_eq!(olga.submit(&all, path, &[("reason", "The role of the signer is back.")]).await.status, 303);
        site.until("all are confirmed", async || site.count("operations where kind = 'mint' and status = 'confirmed'").await == 3).await;
        assert_eq!(site.exactly_once().await.minted, 3);
    }

    async fn a_signer_is_paused_and_resumed_and_its_ruler_shows_each_nonce(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let deploy = server.deploy("deploy", &site.offerings[0]).await.text("/id");
        site.settled().await;
        let lane = site.rows("select id from lanes").await.concat()[0].clone();
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let page = olga.get("/console/signers").await;
        assert!(page.text.contains(&format!("href=\"/console/operations/{deploy}\"")), "{}", page.text);
        assert!(page.text.contains("mined and final. Deploy the token") && page.text.contains("None needs a person."), "{}", page.text);
        let path = format!("/console/signers/{lane}/act/pause");
        assert!(page.text.contains(&path) && !page.text.contains("/act/resume"), "an active lane cannot be resumed");
        let mut auditor = Visitor::with_role(&site, &server, "aude", Role::Auditor).await;
        assert!(!auditor.get("/console/signers").await.text.contains("/act/"), "an auditor has a button");
        let form = auditor.get(&path).await;
        assert_eq!(auditor.submit(&form, &path, &[("reason", "I would like to.")]).await.status, 403);
        let (sheet, old) = (olga.get(&path).await, olga.get(&path).await);
        let long = "x".repeat(501);
        let refused = olga.submit(&sheet, &path, &[("reason", &long)]).await;
        assert!(refused.status >= 400 && refused.text.contains("what you typed is kept") && refused.text.contains(&long), "{}", refused.text);
        let done = olga.submit(&refused, &path, &[("reason", "The key is moved.")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        olga.reload("/console/signers").await;
        let paused = olga.get("/console/signers").await;
        assert!(paused.text.contains("Paused") && paused.text.contains("The key is moved."), "{}", paused.text);
        assert!(paused.text.contains("The signer is paused."), "{}", paused.text);
        let late = olga.submit(&old, &path, &[("reason", "Once more.")]).await;
        assert!(late.status == 409 && late.text.contains("Once more."), "{late:?}");
        let resume = format!("/console/signers/{lane}/act/resume");
        let sheet = olga.get(&resume).await;
        assert_eq!(olga.submit(&sheet, &resume, &[("reason", "It is back.")]).await.status, 303);
        assert!(!olga.get("/console/signers").await.text.contains("The key is moved."));
        assert_eq!(olga.get("/console/signers/lan_01jc8yq3k5e9v8w2m4n6p7r9st/act/pause").await.status, 404);
        assert_eq!(site.rows("select mode from lanes").await.concat(), ["active"]);
    }

    async fn an_offering_shows_who_would_be_minted_to_and_mints_to_exactly_them(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let server = site.start().await;
        let offering = site.offerings[0].clone();
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let list = olga.get("/console/offerings").await;
        assert!(list.text.contains(&format!("/console/offerings/{offering}")), "{}", list.text);
        let deploy = format!("/console/offerings/{offering}/act/deploy");
        let sheet = olga.get(&deploy).await;
        assert_eq!(olga.submit(&sheet, &deploy, &[]).await.status, 303);
        site.settled().await;
        let page = olga.get(&format!("/console/offerings/{offering}")).await;
        assert!(page.text.contains("Accepted") && page.text.contains("Nobody holds units."), "{}", page.text);
        let path = format!("/console/offerings/{offering}/mint");
        let preview = olga.get(&path).await;
        assert!(preview.text.contains("to <b>2</b> subscriptions") && preview.text.contains("Nobody is skipped."), "{}", preview.text);
        let mut auditor = Visitor::with_role(&site, &server, "aude", Role::Auditor).await;
        let form = auditor.get(&path).await;
        assert!(!form.text.contains("type=\"submit\">Mint"), "an auditor has a button");
        assert_eq!(auditor.submit(&form, &path, &[]).await.status, 403);
        assert_eq!(olga.submit(&preview, &path, &[]).await.status, 303);
        assert_eq!(olga.submit(&preview, &path, &[]).await.status, 303, "the same form again");
        site.settled().await;
        site.all_read().await;
        assert_eq!(site.exactly_once().await.minted, 1, "one page of two holders");
        let again = olga.get(&path).await;
        assert!(again.status == 200 && again.text.contains("Nothing can be minted now"), "{}", again.text);
        let page = olga.get(&format!("/console/offerings/{offering}")).await;
        assert!(page.text.contains("Freeze…"), "{}", page.text);
        let freeze = format!("/console/offerings/{offering}/act/freeze");
        let sheet = olga.get(&format!("{freeze}?address=0x12")).await;
        assert!(sheet.text.contains("value=\"0x12\""), "{}", sheet.text);
        let fields = [("address", "0x12"), ("reason_code", "investigation")];
        let refused = olga.submit(&sheet, &freeze, &fields).await;
        assert!(refused.status >= 400 && refused.text.contains("value=\"0x12\"") && refused.text.contains("role=\"alert\""), "{}", refused.text);
        let holder = site.rows("select wallet_address from subscriptions order by id").await.concat()[0].clone();
        let done = olga.submit(&refused, &freeze, &[("address", &holder), ("reason_code", "investigation")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        site.settled().await;
        site.all_read().await;
        assert!(olga.get(&format!("/console/offerings/{offering}")).await.text.contains("Unfreeze…"));
    }

    async fn an_investor_is_suspended_with_a_cause_and_papers_take_a_fresh_proof(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let investor = site.rows("select id from investors order by id").await.concat()[0].clone();
        let at = format!("/console/investors/{investor}");
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        assert!(olga.get("/console/investors?status=approved").await.text.contains(&at));
        let page = olga.get(&at).await;
        assert!(page.text.contains("Show the papers") && page.text.contains("Not now: the status is approved."), "{}", page.text);
        let review = format!("{at}/review");
        let proof = olga.submit(&page, &review, &[]).await;
        assert!(proof.status == 403 && proof.text.contains("Confirm that it is you"), "{}", proof.text);
        let papers = olga.submit(&proof, &review, &[("identity_password", PASSWORD)]).await;
        assert!(papers.status == 200 && papers.text.contains("No papers were handed in."), "{}", papers.text);
        let suspend = format!("{at}/act/suspend");
        let sheet = olga.get(&suspend).await;
        let fields = [("reason_code", "fraud"), ("evidence_sha256", "ab")];
        let refused = olga.submit(&sheet, &suspend, &fields).await;
        assert!(refused.status >= 400 && refused.text.contains("value=\"ab\""), "{}", refused.text);
        let mut auditor = Visitor::with_role(&site, &server, "aude", Role::Auditor).await;
        let seen = auditor.get(&at).await;
        assert!(seen.status == 200 && !seen.text.contains("/act/") && !seen.text.contains("Show the papers"), "{}", seen.text);
        let form = auditor.get(&suspend).await;
        assert_eq!(auditor.submit(&form, &suspend, &[("reason_code", "fraud")]).await.status, 403);
        assert_eq!(site.rows("select kyc_status from investors").await.concat(), ["approved"], "nothing was changed");
        let done = olga.submit(&refused, &suspend, &[("reason_code", "fraud"), ("evidence_sha256", "")]).await;
        assert_eq!(done.status, 303, "{}", done.text);
        assert_eq!(site.rows("select kyc_status from investors").await.concat(), ["suspended"]);
    }

    async fn an_endpoint_is_made_with_a_secret_shown_once_and_disabled(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let path = "/console/webhooks/act/create";
        let sheet = olga.get(path).await;
        let refused = olga.submit(&sheet, path, &[("url", "http://127.0.0.1/"), ("event_types", "*")]).await;
        assert!(refused.status >= 400 && refused.text.contains("value=\"http://127.0.0.1/\""), "{}", refused.text);
        let fields = [("url", "https://hooks.portal.example/in"), ("event_types", "*")];
        let made = olga.submit(&refused, path, &fields).await;
        assert!(made.status == 200 && made.text.contains("Shown once"), "{}", made.text);
        let secret = made.text.split("id=\"secret\">").nth(1).unwrap().split('<').next().unwrap().to_owned();
        let id = site.rows("select id from webhook_endpoints").await.concat()[0].clone();
        let at = format!("/console/webhooks/{id}");
        let shown = olga.get(&at).await;
        assert!(secret.len() > 20 && !shown.text.contains(&secret), "{secret}");
        assert!(shown.text.contains("Nothing was sent."), "{}", shown.text);
        let disable = format!("{at}/act/disable");
        let sheet = olga.get(&disable).await;
        assert_eq!(olga.submit(&sheet, &disable, &[]).await.status, 303);
        assert_eq!(site.rows("select status from webhook_endpoints").await.concat(), ["disabled"]);
        let late = olga.submit(&sheet, &disable, &[("key", "another")]).await;
        assert!(late.status == 412 || late.status == 409, "the version that it showed is old: {late:?}");
    }

    async fn two_admins_change_a_policy_and_an_operator_cannot(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        let mut ada = Visitor::with_role(&site, &server, "ada", Role::Admin).await;
        let path = "/console/settings/act/change";
        let sheet = ada.get(path).await;
        let values = |name: &str| {
            let field = sheet.text.split(&format!("name=\"limits/{name}\"")).nth(1).unwrap();
            field.split("value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned()
        };
        let names = [
            "mint_dual_control_threshold", "payout_dual_control_threshold", "payout_dust_threshold", "payment_due_days", "kyc_months",
            "kyc_months_at_high_risk", "issuer_invitations_per_day", "unverified_hours", "unverified_investor_percent",
            "unverified_total_percent", "unpaid_investor_percent", "mint_platform_dual_control_threshold",
            "payout_platform_dual_control_threshold", "means_raise_days",
        ];
        let mut fields: Vec<(String, String)> = names.iter().map(|name| (format!("limits/{name}"), values(name))).collect();
        fields.push(("limits/approval_hours".to_owned(), "48".to_owned()));
        fields.push(("reason".to_owned(), "Two days are enough.".to_owned()));
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let proof = ada.submit(&sheet, path, &fields).await;
        assert!(proof.status == 403 && proof.text.contains("Confirm that it is you"), "{}", proof.text);
        let asked = ada.submit(&proof, path, &[("identity_password", PASSWORD)]).await;
        assert_eq!((asked.status, asked.location.as_str()), (303, "/console/settings"), "{}", asked.text);
        assert!(ada.get("/console/settings").await.text.contains("A second person has to decide."));
        assert_eq!(site.count("approvals where status = 'pending'").await, 1);
        let mut olga = Visitor::with_role(&site, &server, "olga", Role::Operator).await;
        let seen = olga.get("/console/settings").await;
        assert!(seen.text.contains("48") || !seen.text.contains(path), "an operator has no button");
        let form = olga.get(path).await;
        assert_eq!(olga.submit(&form, path, &fields).await.status, 403);
    }

    async fn every_page_opens_for_each_of_the_staff_and_shows_an_auditor_no_form(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1)]).await;
        let server = site.start().await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        assert_eq!(server.post("/blockchain/reconciliation-runs", "run", json!({})).await.status, 202);
        for (name, role) in [("olga", Role::Operator), ("ada", Role::Admin), ("aude", Role::Auditor)] {
            let mut visitor = Visitor::with_role(&site, &server, name, role).await;
            for path in PAGES {
                let seen = visitor.get(path).await;
                assert_eq!(seen.status, 200, "{path} for {name}: {}", seen.text);
                assert!(!seen.text.contains(" style=\""), "{path} has a style of its own");
                if role == Role::Auditor {
                    assert!(!seen.text.contains("/act/"), "{path} shows an auditor a button");
                    assert_eq!(seen.text.matches("method=\"post\"").count(), 1, "{path}: only the sign-out");
                }
            }
        }
        let run = site.rows("select id from reconciliation_runs").await.concat()[0].clone();
        let mut olga = Visitor::new(&server);
        olga.sign_in(crate::installation::OPERATOR).await;
        let report = olga.get(&format!("/console/reconciliation/{run}")).await;
        assert!(report.status == 200 && report.text.contains("Findings"), "{}", report.text);
        let searched = olga.get("/console/audit?typed=%3Cmelted%3E").await;
        assert!(searched.status == 200 && !searched.text.contains("<melted>"), "{}", searched.text);
        let user = site.rows("select id from users order by id").await.concat()[0].clone();
        assert_eq!(olga.get(&format!("/console/users/{user}")).await.status, 200);
    }
}
