//! With private registration a response never shows whether an address has an account; the mail to the address does.

use serde_json::json;
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, PASSWORD, register};

const ADA: &str = "ada@people.example";

/// The whole response except its own id and time.
fn comparable(answer: &Answer) -> (u16, String, Vec<String>) {
    let names = answer.headers.iter().filter(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
    (answer.status, answer.body.to_string(), names.map(|(name, value)| format!("{name}: {value:?}")).collect())
}

on_both_databases! {
    async fn a_taken_and_a_free_address_get_the_same_response(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "registration_privacy", "\"strict\"");
        let server = api.start().await;
        let free = register(&server, ADA).await;
        assert_eq!((free.status, &free.body), (202, &json!({ "status": "check_your_mail" })), "{free:?}");
        let unread = server.mailed("verify_email", ADA).await;
        assert_eq!(comparable(&register(&server, ADA).await), comparable(&free));
        // A login does not show it either.
        let unknown = server.log_in("nobody@people.example", PASSWORD).await;
        let unproved = server.log_in(ADA, PASSWORD).await;
        assert_eq!((unproved.problem(), unproved.text("/detail")), (unknown.problem(), unknown.text("/detail")));
        let links = async |of: &str| api.count(&format!("email_links where {of}")).await;
        assert_eq!((links("purpose = 'verify_email'").await, links("registered_again = true").await), (1, 1));

        // The second registration is answered by a mail that sets a password: the first one may be a stranger's, who keeps nothing.
        let choice = json!({ "token": server.mailed("reset_password", ADA).await, "new_password": "a horse of the owner" });
        let proof = server.anonymous().change("POST", "/v1/auth/verify-email", Some(json!({ "token": unread }))).await.unwrap();
        assert!(proof.status >= 400 && links("used_at is null").await == 1, "{proof:?}");
        assert_eq!(server.anonymous().change("POST", "/v1/auth/password/reset", Some(choice)).await.unwrap().status, 204);
        assert_eq!((server.log_in(ADA, PASSWORD).await.status, server.log_in(ADA, "a horse of the owner").await.status), (401, 200));
        // Its owner is told of the next one, too.
        let first = server.mailed("reset_password", ADA).await;
        assert_eq!(comparable(&register(&server, "ADA@people.example").await), comparable(&free));
        let choice = json!({ "token": server.mailed_after(&first, "reset_password", ADA).await, "new_password": "another horse another battery" });
        assert_eq!(server.anonymous().change("POST", "/v1/auth/password/reset", Some(choice)).await.unwrap().status, 204);

        // Many concurrent registrations make one account and few mails.
        let many = futures::future::join_all((0..8).map(|_| register(&server, "bruno@people.example"))).await;
        assert!(many.iter().all(|one| comparable(one) == comparable(&free)), "{many:?}");
        assert_eq!((api.count("users").await, api.count("investors").await), (2, 2));
        let bruno = "user_id = (select id from users where email = 'bruno@people.example')";
        assert_eq!(links(bruno).await, 4);
        // A disabled account gets no mail.
        api.write("update users set status = 'disabled' where email = 'bruno@people.example'").await;
        api.write(&format!("update email_links set used_at = created_at where {bruno}")).await;
        assert_eq!((comparable(&register(&server, "bruno@people.example").await), links(bruno).await), (comparable(&free), 4));
        // Invalid input is still reported: it concerns the request alone.
        let short = json!({ "email": ADA, "password": "short", "name": "Ada" });
        assert_eq!(server.anonymous().change("POST", "/v1/auth/register", Some(short)).await.unwrap().field().2, "password_too_short");
    }
}
