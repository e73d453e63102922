//! The advice of `muniment doctor` about a configuration that works and misses something.

use world::{Database, Engine};

use crate::installation::ApiFixture;

fn advice(api: &ApiFixture) -> String {
    api.launch_as(&["doctor"]).env("MUNIMENT_PROFILE", "production").output().1
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_for_the_proxy_that_ends_tls() {
    let mut api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    api.set("auth", "public_url", "\"https://portal.example\"");
    let text = advice(&api);
    assert!(text.contains("set limits.trusted_proxies"), "{text}");
    api.set("limits", "trusted_proxies", "[\"10.0.0.1\"]");
    let text = advice(&api);
    assert!(text.contains("check") && !text.contains("set limits.trusted_proxies"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_asks_for_a_way_to_send_mails_where_there_is_none() {
    let mut api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    let text = advice(&api);
    assert!(text.contains("set mail.smtp_url or mail.command"), "{text}");
    api.set("mail", "smtp_url", "\"smtps://mail.example\"");
    api.set("mail", "from", "\"no-reply@muniment.example\"");
    api.set("mail", "page", "\"https://portal.example/account\"");
    let text = advice(&api);
    assert!(text.contains("check") && !text.contains("no mails are sent"), "{text}");
}
