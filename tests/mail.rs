//! Mail goes out by the configured command: none is lost, no request waits for it, and a link works once however often it is sent.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;
use world::on_both_databases;

use crate::installation::{ApiFixture, Server, register};

/// A sender that runs a command first and then keeps each mail as a file.
pub fn sender(folder: &Path, first: &str) -> PathBuf {
    let path = folder.join("send");
    fs::write(&path, format!("#!/bin/sh\n{first}\ncat > {}/$$.eml\n", folder.display())).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

pub fn mails(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mails = files.filter(|path| path.extension().is_some_and(|end| end == "eml"));
    mails.map(|path| fs::read_to_string(path).unwrap()).collect()
}

pub async fn mail_fixture(database: world::Database, first: &str) -> (ApiFixture, TempDir) {
    let (mut api, folder) = (ApiFixture::new(database).await, tempfile::tempdir().unwrap());
    api.set("mail", "command", &format!("\"{} -t\"", sender(folder.path(), first).display()));
    api.set("mail", "from", "\"no-reply@muniment.example\"");
    api.set("mail", "page", "\"https://portal.example/account?lang=en\"");
    (api, folder)
}

async fn is_sent(api: &ApiFixture) {
    api.until("a mail is sent", async || api.count("email_links where sent_at is not null").await > 0).await;
}

fn token(mail: &str) -> String {
    let rest = mail.split("https://portal.example/account?lang=en&purpose=verify_email&token=").nth(1).expect(mail);
    rest.lines().next().unwrap().to_owned()
}

async fn prove(server: &Server, token: &str) -> u16 {
    let body = Some(json!({ "token": token }));
    server.anonymous().change("POST", "/v1/auth/verify-email", body).await.unwrap().status
}

on_both_databases! {
    async fn the_verification_mail_is_sent_once_and_its_link_works_once(database: Database) {
        let (api, folder) = mail_fixture(database, "").await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        is_sent(&api).await;
        let sent = mails(folder.path());
        assert_eq!(sent.len(), 1);
        for line in ["From: no-reply@muniment.example\r\n", "To: ada@people.example\r\n", "Subject: Confirm your e-mail address\r\n"] {
            assert!(sent[0].contains(line), "{}", sent[0]);
        }
        assert!(!sent[0].contains("Somebody"), "nothing about an unknown address");
        assert!(!server.process.log().contains(&token(&sent[0])), "the log has no link");
        assert_eq!((prove(&server, &token(&sent[0])).await, prove(&server, &token(&sent[0])).await), (204, 422));
    }

    async fn a_failed_mail_is_retried_and_an_expired_link_is_not_sent(database: Database) {
        let (api, folder) = mail_fixture(database, "exit 75").await;
        let server = api.start().await;
        register(&server, "ada@people.example").await;
        register(&server, "bruno@people.example").await;
        let failed = async || server.process.log().matches("a mail was not sent").count() == 2;
        api.until("both sends are tried", failed).await;
        assert_eq!(api.count("email_links where sent_at is null and try_at > created_at").await, 2);
        assert_eq!(mails(folder.path()), Vec::<String>::new());
        sender(folder.path(), "");
        api.write("update email_links set used_at = created_at where user_id in (select id from users where email = 'bruno@people.example')").await;
        api.write("update email_links set try_at = created_at").await;
        is_sent(&api).await;
        let sent = mails(folder.path());
        assert!(sent.len() == 1 && sent[0].contains("To: ada@"), "{sent:?}");
    }

    async fn a_crash_before_recording_a_mail_sends_the_same_link_again(database: Database) {
        let (api, folder) = mail_fixture(database, "").await;
        // The first try ends the process that started it, after the mail is out.
        let ends = format!("cat > {0}/first.eml; kill -9 $PPID; exit", folder.path().display());
        sender(folder.path(), &ends);
        let mut server = api.start().await;
        register(&server, "ada@people.example").await;
        server.process.wait(crate::installation::PATIENCE).expect("it ended");
        sender(folder.path(), "");
        api.write("update email_links set try_at = created_at").await;
        let server = api.start().await;
        is_sent(&api).await;
        let sent = mails(folder.path());
        assert_eq!((sent.len(), token(&sent[0])), (2, token(&sent[1])));
        assert_eq!((prove(&server, &token(&sent[0])).await, prove(&server, &token(&sent[1])).await), (204, 422));
    }
}
