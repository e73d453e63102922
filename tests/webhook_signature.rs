//! The official npm package of Standard Webhooks accepts what the platform sends, with every secret that is valid, and nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

use muniment_domain::user::Role;
use serde_json::{Value, json};
use world::{Launch, on_both_databases, repository};

use crate::installation::{Received, Receiver, Reply};
use crate::webhook_delivery::{endpoint, fixture, is_signed, operation_event};

/// What the package says of a request.
fn verdict(request: &Received, secret: &str) -> String {
    let folder = repository().join("tests/standardwebhooks");
    assert!(folder.join("node_modules").exists(), "the package is not installed: cd {} && npm ci", folder.display());
    let headers: serde_json::Map<_, _> =
        request.headers.iter().map(|(name, text)| (name.clone(), json!(text))).collect();
    let input = json!({ "secret": secret, "headers": headers, "body": request.body });
    let mut node = Command::new("node")
        .arg(folder.join("verify.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Node.js 20 or newer is installed");
    node.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = node.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    assert_eq!(output.status.success(), said == "valid", "{said}");
    said
}

on_both_databases! {
    async fn the_npm_package_accepts_each_secret_of_a_rotation_and_nothing_else(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (api.person(&server, "operator", Role::Operator).await, Receiver::start().await);
        let made = endpoint(&operator, &receiver, json!(["operation.*"])).await;
        let old = made.text("/secret");
        operation_event(&api, 1).await;
        api.until("it arrives", async || receiver.received().len() == 1).await;
        let first = receiver.received().remove(0);
        assert_eq!(verdict(&first, &old), "valid");
        let path = format!("/v1/webhooks/endpoints/{}/rotate-secret", made.text("/id"));
        let new = operator.post(&path, json!({ "overlap_hours": 1 })).await.text("/secret");
        operation_event(&api, 2).await;
        api.until("the second arrives", async || receiver.received().len() == 2).await;
        let second = receiver.received().remove(1);
        assert_eq!(second.header("webhook-signature").split(' ').count(), 2);
        assert_eq!((verdict(&second, &old), verdict(&second, &new)), ("valid".to_owned(), "valid".to_owned()));

        let refused = "WebhookVerificationError: No matching signature found";
        assert_eq!(verdict(&first, &new), refused, "the new secret signed nothing before it existed");
        let changed = Received { body: second.body.replace("op_1", "op_2"), ..second.clone() };
        assert_eq!(verdict(&changed, &new), refused);
        let mut late = second.clone();
        let stamp = late.headers.iter_mut().find(|(name, _)| name == "webhook-timestamp").unwrap();
        stamp.1 = (stamp.1.parse::<i64>().unwrap() - 600).to_string();
        assert_eq!(verdict(&late, &new), "WebhookVerificationError: Message timestamp too old");
        // At the end of the overlap the old secret signs no more.
        api.write("update webhook_secrets set expires_at = created_at where expires_at is not null").await;
        operation_event(&api, 3).await;
        api.until("the third arrives", async || receiver.received().len() == 3).await;
        let third = receiver.received().remove(2);
        assert_eq!((verdict(&third, &old).as_str(), verdict(&third, &new).as_str()), (refused, "valid"));
    }
}

fn trigger(kind: &str, url: &str) -> Launch {
    Launch::new(["trigger", kind, "--forward-to", url])
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_of_an_event_is_posted_with_a_valid_signature() {
    let receiver = Receiver::start().await;
    let (status, output) = trigger("offering.token_deployed", &receiver.url()).output();
    assert!(status.success() && output.contains("-> 200 in "), "{output}");
    let secret = output.split("Signing secret: ").nth(1).unwrap().lines().next().unwrap().trim().to_owned();
    let request = receiver.received().remove(0);
    assert!(is_signed(&request, &secret), "{request:?}");
    assert_eq!(verdict(&request, &secret), "valid");
    let body: Value = serde_json::from_str(&request.body).unwrap();
    let names: Vec<_> = body["data"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(names, ["chain_id", "contract_address", "offering_id", "tx_hash"]);
    let given = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oDaa2fYpJhZHs=";
    let again = Launch::new(["trigger", "subscription.minted", "--forward-to", &receiver.url(), "--secret", given]);
    assert!(again.output().0.success() && is_signed(&receiver.received()[1], given));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_that_cannot_be_sent_says_why() {
    let receiver = Receiver::start().await;
    let url = receiver.url();
    receiver.reply(Reply::Status(500, ""));
    for (launch, words) in [
        (
            trigger("offering.token_deploid", &url),
            "There is no event type offering.token_deploid. Similar types are:\n  offering.token_deployed",
        ),
        (trigger("nonsense", &url), "There is no event type nonsense. The types are:\n  approval.approved\n"),
        (trigger("wallet.frozen", "localhost:3000"), "--forward-to must be a URL such as http://localhost:3000/hook"),
        (trigger("wallet.frozen", "http://127.0.0.1:1/"), "no server listens at http://127.0.0.1:1/"),
        (trigger("wallet.frozen", &url), "The server did not accept the sample."),
        (trigger("wallet.frozen", &url).env("MUNIMENT_PROFILE", "production"), "The production profile is set."),
    ] {
        let (status, output) = launch.output();
        assert!(status.code() == Some(1) && output.contains(words), "{status}: {output}");
    }
    assert_eq!(receiver.received().len(), 1, "only one of them was sent");
}
