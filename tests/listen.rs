//! `muniment listen` hands a developer's own server the requests that a webhook endpoint gets.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Launch, on_both_databases};

use crate::installation::{ApiFixture, PATIENCE, Person, Receiver, Reply, Server};
use crate::webhook_delivery::{endpoint, fixture, is_signed, operation_event};

/// The key of an admin.
async fn key(api: &ApiFixture, server: &Server, scope: &str) -> (Person, String) {
    let (admin, second) =
        (api.person(server, "admin", Role::Admin).await, api.person(server, "second", Role::Admin).await);
    let made = admin.key(&second, json!({ "name": "listener", "scopes": [scope] })).await;
    assert_eq!(made.status, 201, "{made:?}");
    (admin, made.text("/key"))
}

fn listen(server: &Server, key: &str) -> Launch {
    Launch::new(["listen", "--api-url", &server.url, "--type", "operation.failed"]).env("MUNIMENT_API_KEY", key)
}

on_both_databases! {
    async fn events_are_forwarded_with_the_bytes_and_a_signature_of_a_webhook(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (admin, key) = key(&api, &server, "webhooks:write").await;
        let (webhook, own) = (Receiver::start().await, Receiver::start().await);
        endpoint(&admin, &webhook, json!(["operation.failed"])).await;
        let url = own.url();
        let arguments = ["listen", "--api-url", &server.url, "--type", "operation.failed", "--forward-to", &url];
        let listener = Launch::new(arguments).env("MUNIMENT_API_KEY", key).spawn();
        let secret = listener.line_with("Signing secret: ", PATIENCE).unwrap();
        let secret = secret.split("Signing secret: ").nth(1).unwrap().trim().to_owned();
        listener.line_with("Listening at ", PATIENCE).unwrap();
        // The line is printed when the stream is open, and its place is then known.
        let first = operation_event(&api, 1).await;
        api.until("it is forwarded and delivered", async || own.received().len() + webhook.received().len() == 2).await;
        let (forwarded, delivered) = (&own.received()[0], &webhook.received()[0]);
        assert_eq!((forwarded.header("webhook-id"), &forwarded.body), (first.as_str(), &delivered.body));
        assert!(is_signed(forwarded, &secret), "{forwarded:?}");
        assert!(listener.line_with(&first, PATIENCE).unwrap().contains("-> 200 in "));
        // A server that fails or is away is named, and the next event comes all the same.
        own.reply(Reply::Status(500, ""));
        let second = operation_event(&api, 2).await;
        assert!(listener.line_with(&second, PATIENCE).unwrap().contains("-> 500 in "));
        own.reply(Reply::Drop);
        let third = operation_event(&api, 3).await;
        assert!(listener.line_with(&third, PATIENCE).unwrap().contains("-> no answer: protocol"));
        own.reply(Reply::Status(200, ""));
        let fourth = operation_event(&api, 4).await;
        assert!(listener.line_with(&fourth, PATIENCE).unwrap().contains("-> 200 in "));
        assert_eq!(own.count("operation.failed"), 4, "each once");
    }

    async fn a_listener_that_cannot_listen_says_why(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (_, poor) = key(&api, &server, "ops:read").await;
        let nobody = Launch::new(["listen", "--api-url", "http://127.0.0.1:1"]).env("MUNIMENT_API_KEY", "rap_x");
        let wrong = Launch::new(["listen", "--api-url", &server.url, "--forward-to", "localhost:3000"]);
        for (launch, words) in [
            (listen(&server, &poor), "The API refused the stream with 403 scope_insufficient"),
            (listen(&server, "rap_live_unknown"), "The API refused the stream with 401 "),
            (nobody, "The API at http://127.0.0.1:1 does not answer"),
            (wrong.env("MUNIMENT_API_KEY", "rap_x"), "--forward-to must be a URL such as http://localhost:3000/hook"),
        ] {
            let (status, output) = launch.output();
            assert!(status.code() == Some(1) && output.contains(words), "{status}: {output}");
        }
    }

    async fn a_command_ends_when_nobody_reads_its_output(database: Database) {
        let one_line = "{ \"$0\" \"$@\"; echo \"ended with $?\" >&2; } | head -n 1; exit";
        let (status, output) = Launch::new(["openapi"]).behind(one_line).output();
        assert!(status.success() && output.contains("ended with 0"), "{output}");
        let api = fixture(database).await;
        let server = api.start().await;
        let (_, key) = key(&api, &server, "webhooks:write").await;
        let listener = listen(&server, &key).behind(one_line).spawn();
        listener.line_with("Listening at ", PATIENCE).unwrap();
        operation_event(&api, 1).await;
        assert!(listener.line_with("ended with 0", PATIENCE).is_some(), "{}", listener.log());
    }
}
