//! The own account of a person at the console.

use muniment_domain::user::Role;
use world::on_both_databases;

use super::visitor::Visitor;
use crate::installation::{ApiFixture, PASSWORD};
use crate::second_factor::App;

const ACCOUNT: &str = "/console/account";

on_both_databases! {
    async fn staff_are_led_to_set_up_a_second_factor_and_may_then_go_on(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "staff_second_factor", "true");
        let server = api.start().await;
        let email = api.person(&server, "olga", Role::Operator).await.email;
        let mut olga = Visitor::new(&server);
        olga.sign_in(&email).await;
        for path in ["/console", "/console/operations", "/console/settings"] {
            let led = olga.get(path).await;
            assert_eq!((led.status, led.location.as_str()), (303, ACCOUNT), "{path}");
        }
        let own = olga.get(ACCOUNT).await;
        assert!(own.text.contains("Set up a second factor first.") && !own.text.contains("/console/operations"), "{}", own.text);
        let set_up = format!("{ACCOUNT}/act/set-up");
        let page = olga.get(&set_up).await;
        let asked = olga.submit(&page, &set_up, &[]).await;
        assert!(asked.status == 403 && asked.text.contains("Confirm that it is you"), "{asked:?}");
        let shown = olga.submit(&asked, &set_up, &[("identity_password", PASSWORD)]).await;
        let app = App::with_secret(&once(&shown.text));
        assert_eq!(olga.get("/console/operations").await.location, ACCOUNT, "a secret alone is no second factor");

        let confirm = format!("{ACCOUNT}/act/confirm");
        let page = olga.get(&confirm).await;
        let wrong = olga.submit(&page, &confirm, &[("code", "12345")]).await;
        assert!(wrong.status == 401 && wrong.text.contains("The code is wrong or already used."), "{wrong:?}");
        let done = olga.submit(&wrong, &confirm, &[("code", &app.code(-1))]).await;
        assert_eq!((done.status, done.location.as_str()), (303, ACCOUNT), "{done:?}");
        assert_eq!(olga.get("/console/operations").await.status, 200);

        let renew = format!("{ACCOUNT}/act/recovery-codes");
        let page = olga.get(&renew).await;
        let codes = once(&olga.submit(&page, &renew, &[]).await.text);
        assert_eq!(codes.lines().count(), 10, "{codes}");
        let code = codes.lines().next().unwrap();
        let mut elsewhere = Visitor::new(&server);
        for status in [303, 401] {
            let asked = elsewhere.post("/console/sign-in", &[("email", &email), ("password", PASSWORD)]).await;
            let opened = elsewhere.submit(&asked, "/console/sign-in/code", &[("code", code)]).await;
            assert_eq!(opened.status, status, "a recovery code is good for one sign-in: {opened:?}");
        }
    }
}

/// What a page shows once.
fn once(page: &str) -> String {
    let shown = page.split("id=\"secret\">").nth(1).unwrap_or_else(|| panic!("no secret: {page}"));
    shown.split("</pre>").next().unwrap().to_owned()
}
