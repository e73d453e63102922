//! Mails about events: at most one a cause and hour, none lost by a crash, and only what their reader may see.

use std::sync::{Arc, Mutex};

use muniment_domain::user::Role;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use world::{Database, on_both_databases};

use crate::installation::{ApiFixture, PATIENCE, Receiver, Reply, register_issuer};
use crate::mail::{mail_fixture, mails, sender};
use crate::webhook_delivery::{endpoint, happen, operation_event};

const SETTINGS: &str = "/v1/auth/me/alerts";

/// A mail server that keeps what it is given, and refuses as many mails as it is told.
#[derive(Clone)]
struct MailServer {
    port: u16,
    refuse: Arc<Mutex<usize>>,
    mails: Arc<Mutex<Vec<String>>>,
}

impl MailServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, refuse: Arc::default(), mails: Arc::default() };
        let own = server.clone();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let own = own.clone();
                tokio::spawn(async move { own.serve(socket).await });
            }
        });
        server
    }

    fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap().clone()
    }

    /// Speaks as much SMTP (RFC 5321) as a sender needs.
    async fn serve(&self, mut socket: TcpStream) -> Option<()> {
        let (reader, mut writer) = socket.split();
        let mut lines = BufReader::new(reader).lines();
        writer.write_all(b"220 mail.test ESMTP\r\n").await.ok()?;
        while let Some(line) = lines.next_line().await.ok()? {
            let answer = match line.get(..4).unwrap_or_default() {
                "MAIL" if *self.refuse.lock().unwrap() > 0 => {
                    *self.refuse.lock().unwrap() -= 1;
                    "450 4.2.0 try again later"
                }
                "DATA" => {
                    writer.write_all(b"354 go on\r\n").await.ok()?;
                    let mut mail = String::new();
                    while let Some(line) = lines.next_line().await.ok()?.filter(|line| line != ".") {
                        mail += line.strip_prefix('.').unwrap_or(&line);
                        mail += "\r\n";
                    }
                    self.mails.lock().unwrap().push(mail);
                    "250 2.0.0 kept"
                }
                "QUIT" => "221 2.0.0 bye",
                _ => "250 OK",
            };
            writer.write_all(format!("{answer}\r\n").as_bytes()).await.ok()?;
        }
        None
    }
}

/// The mails about events among these.
fn alerts(all: &[String]) -> Vec<&String> {
    all.iter().filter(|mail| mail.contains("purpose=alert")).collect()
}

async fn fixture(database: Database) -> (ApiFixture, TempDir) {
    mail_fixture(database, "").await
}

/// Lets the hour pass.
async fn hour(api: &ApiFixture) {
    api.write("update alert_mails set free_at = created_at").await;
    api.write("update alert_mails set try_at = created_at where try_at is not null").await;
}

async fn told(api: &ApiFixture, count: usize, folder: &TempDir) {
    api.until("the mail is out", async || alerts(&mails(folder.path())).len() == count).await;
    api.until("it is noted", async || api.count("alert_mails where tries > 0").await == 0).await;
}

on_both_databases! {
    async fn operators_get_one_mail_a_cause_and_hour_without_asking(database: Database) {
        let (api, folder) = fixture(database).await;
        let server = api.start().await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        api.person(&server, "auditor", Role::Auditor).await;
        let settings = operator.get(SETTINGS).await;
        assert_eq!((settings.status, &settings.body["is_default"]), (200, &json!(true)));
        let first = operation_event(&api, 1).await;
        told(&api, 1, &folder).await;
        let sent = mails(folder.path());
        let mail = alerts(&sent)[0];
        for part in ["Subject: 1 event operation.failed\r\n", &format!("&purpose=alert&about={first}"), "1 x operation.failed: The operation failed"] {
            assert!(mail.contains(part), "{part}: {mail}");
        }
        // A flood within the hour is no mail, but another cause is.
        for number in 2..=40 {
            operation_event(&api, number).await;
        }
        happen(&api, 1, "approval.requested", ("approval", "apr_1")).await;
        happen(&api, 1, "policy.changed", ("policy", "1")).await;
        told(&api, 2, &folder).await;
        let counted = async || api.count("alert_mails where cause = 'operation.failed' and try_at >= free_at and waiting is not null").await == 1;
        api.until("the flood is counted", counted).await;
        api.fanned_out().await;
        assert_eq!(alerts(&mails(folder.path())).len(), 2);
        hour(&api).await;
        told(&api, 3, &folder).await;
        let sent = mails(folder.path());
        assert!(sent.iter().any(|mail| mail.contains("Subject: 39 events operation.failed\r\n")), "{sent:?}");
        assert_eq!(api.count("alert_mails where try_at is not null").await, 0, "nothing is left");
    }

    async fn operators_are_mailed_about_each_kind_that_needs_a_person(database: Database) {
        let (api, folder) = fixture(database).await;
        let server = api.start().await;
        api.person(&server, "operator", Role::Operator).await;
        api.person(&server, "admin", Role::Admin).await;
        let kinds = [
            ("operation.failed", "operation"), ("operation.dead_letter", "operation"), ("operation.late_confirmation", "operation"),
            ("operation.history_lost", "operation"), ("approval.requested", "approval"), ("lane.stuck", "lane"),
            ("lane.quarantined", "lane"), ("lane.funds_low", "lane"), ("chain.halted", "chain"), ("chain.endpoint_down", "chain"),
            ("endpoint.disabled", "webhook_endpoint"),
        ];
        for (kind, subject) in kinds {
            happen(&api, 1, kind, (subject, "1")).await;
        }
        for (kind, subject) in [("operation.confirmed", "operation"), ("lane.active", "lane"), ("approval.approved", "approval")] {
            happen(&api, 2, kind, (subject, "1")).await;
        }
        told(&api, kinds.len(), &folder).await;
        let sent = mails(folder.path());
        for (kind, _) in kinds {
            let of_kind = |mail: &&&String| mail.contains(&format!("Subject: 1 event {kind}\r\n")) && mail.contains("To: operator@");
            assert_eq!(alerts(&sent).iter().filter(of_kind).count(), 1, "{kind}");
        }
        api.fanned_out().await;
        assert_eq!(api.count("alert_mails").await, kinds.len() as i64);
    }

    async fn an_owner_is_mailed_that_an_endpoint_was_disabled(database: Database) {
        let (mut api, folder) = fixture(database).await;
        api.set("webhooks", "allow_insecure", "true");
        let server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let (ida, _) = register_issuer(&api.database, &server, "ida").await;
        let none = bruno.change("PUT", SETTINGS, Some(json!({ "rules": [] }))).await;
        assert_eq!((none.status, &none.body), (200, &json!({ "rules": [], "is_default": false })), "{none:?}");
        let gone = Receiver::start().await;
        gone.reply(Reply::Status(410, ""));
        for person in [&ada, &bruno, &ida] {
            let path = format!("/v1/webhooks/endpoints/{}/test", endpoint(person, &gone, json!(["*"])).await.text("/id"));
            assert_eq!(person.post(&path, json!({})).await.status, 202);
        }
        api.until("all are disabled", async || api.count("webhook_endpoints where status = 'disabled'").await == 3).await;
        told(&api, 2, &folder).await;
        api.fanned_out().await;
        let sent = mails(folder.path());
        for person in [&ada, &ida] {
            let theirs = |mail: &&&String| mail.contains(&format!("To: {}\r\n", person.email));
            assert_eq!(alerts(&sent).iter().filter(theirs).count(), 1, "{}: {sent:?}", person.email);
        }
        assert!(alerts(&sent).iter().all(|mail| mail.contains("Subject: 1 event endpoint.disabled\r\n")), "{sent:?}");
        assert_eq!(api.count("alert_mails").await, 2);
    }

    async fn a_mail_whose_end_is_unknown_is_sent_again_an_hour_later(database: Database) {
        let (api, folder) = fixture(database).await;
        let mut server = api.start().await;
        api.person(&server, "operator", Role::Operator).await;
        api.until("the links are sent", async || api.count("email_links where sent_at is null and used_at is null").await == 0).await;
        // The mail is out, and the process ends before it notes that.
        sender(folder.path(), &format!("cat > {0}/first.eml; kill -9 $PPID; exit", folder.path().display()));
        let event = operation_event(&api, 1).await;
        server.process.wait(PATIENCE).expect("it ended");
        sender(folder.path(), "");
        let server = api.start().await;
        let second = operation_event(&api, 2).await;
        api.until("the second is counted", async || api.count(&format!("alert_mails where event_id = '{second}'")).await == 1).await;
        happen(&api, 1, "approval.requested", ("approval", "apr_1")).await;
        api.until("a later mail of another cause is out", async || alerts(&mails(folder.path())).len() == 2).await;
        let sent = mails(folder.path());
        assert_eq!(sent.iter().filter(|mail| mail.contains("operation.failed:")).count(), 1, "not twice in an hour");
        hour(&api).await;
        told(&api, 3, &folder).await;
        let sent = mails(folder.path());
        assert!(sent.iter().any(|mail| mail.contains("Subject: 2 events operation.failed\r\n")), "{event} is not lost: {sent:?}");
        drop(server);
    }

    async fn a_mail_server_gets_the_mails_and_a_refused_one_again(database: Database) {
        let (mut api, postbox) = (ApiFixture::new(database).await, MailServer::start().await);
        api.set("mail", "smtp_url", &format!("\"smtp://127.0.0.1:{}\"", postbox.port));
        api.set("mail", "from", "\"no-reply@muniment.example\"");
        api.set("mail", "page", "\"https://portal.example/account\"");
        let server = api.start().await;
        api.person(&server, "operator", Role::Operator).await;
        api.until("the links are sent", async || api.count("email_links where sent_at is null and used_at is null").await == 0).await;
        *postbox.refuse.lock().unwrap() = 1;
        operation_event(&api, 1).await;
        api.until("it is refused", async || server.process.log().contains("an alert was not sent")).await;
        api.until("the refusal is noted", async || api.count("alert_mails where tries = 1 and free_at <= updated_at").await == 1).await;
        assert_eq!(alerts(&postbox.mails()).len(), 0);
        api.write("update alert_mails set try_at = created_at").await;
        api.until("it is sent", async || alerts(&postbox.mails()).len() == 1).await;
        let sent = postbox.mails();
        let mail = alerts(&sent)[0];
        assert!(mail.contains("From: no-reply@muniment.example\r\n") && mail.contains("Subject: 1 event operation.failed\r\n"), "{mail}");
    }

    async fn a_digest_sums_up_a_day(database: Database) {
        let (api, folder) = fixture(database).await;
        let server = api.start().await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        let rules = json!({ "rules": [{ "event_types": ["operation.*", "policy.changed"], "offering_ids": null, "pace": "digest" }] });
        assert_eq!(operator.change("PUT", SETTINGS, Some(rules)).await.status, 200);
        for number in 1..=3 {
            operation_event(&api, number).await;
        }
        happen(&api, 1, "policy.changed", ("policy", "1")).await;
        happen(&api, 1, "approval.requested", ("approval", "apr_1")).await;
        api.fanned_out().await;
        assert_eq!(api.count("alert_mails where cause = 'digest' and try_at > created_at and free_at <= created_at").await, 1);
        assert_eq!((api.count("alert_mails").await, alerts(&mails(folder.path())).len()), (1, 0));
        hour(&api).await;
        told(&api, 1, &folder).await;
        let sent = mails(folder.path());
        let mail = alerts(&sent)[0];
        for part in ["Subject: 4 events of the last day\r\n", "3 x operation.failed: ", "1 x policy.changed: "] {
            assert!(mail.contains(part), "{part}: {mail}");
        }
    }

    async fn a_user_is_mailed_only_what_the_role_may_see(database: Database) {
        let (api, folder) = fixture(database).await;
        let server = api.start().await;
        let (ada, bruno) = (api.person(&server, "ada", Role::Investor).await, api.person(&server, "bruno", Role::Investor).await);
        let default = json!({ "is_default": true,
            "rules": [{ "event_types": ["endpoint.disabled"], "offering_ids": null, "pace": "immediately" }] });
        assert_eq!(ada.get(SETTINGS).await.body, default);
        let set = async |rules: Value| ada.change("PUT", SETTINGS, Some(json!({ "rules": rules }))).await;
        let rule = |types: Value, offerings: Value, pace: &str| json!([{ "event_types": types, "offering_ids": offerings, "pace": pace }]);
        for (rules, pointer, code) in [
            (rule(json!(["operation.failed"]), json!(null), "digest"), "/rules/0/event_types/0", "event_type_unknown"),
            (rule(json!([]), json!(null), "digest"), "/rules/0/event_types", "required"),
            (rule(json!(["*"]), json!(["off_1"]), "digest"), "/rules/0/offering_ids/0", "reference_format"),
            (json!(vec![rule(json!(["*"]), json!(null), "digest")[0].clone(); 21]), "/rules", "too_long"),
        ] {
            assert_eq!(set(rules).await.field(), (422, pointer.to_owned(), code.to_owned()));
        }
        let wanted = rule(json!(["wallet.*"]), json!(null), "immediately");
        let stored = set(wanted.clone()).await;
        assert_eq!((stored.status, &stored.body), (200, &json!({ "rules": wanted, "is_default": false })), "{stored:?}");
        assert_eq!(ada.get(SETTINGS).await.body, stored.body);
        for (number, person) in [(1, &bruno), (2, &ada)] {
            let investor = person.get("/v1/auth/me").await.text("/investor_id");
            let id = format!("wal_01jc000000000000000000000{number}");
            api.write(&format!("insert into wallets (id, investor_id, address, created_at) \
                values ('{id}', '{investor}', '0x0{number}', '2026-01-01T00:00:00+00:00')")).await;
            happen(&api, 1, "wallet.frozen", ("wallet", &id)).await;
        }
        told(&api, 1, &folder).await;
        let sent = mails(folder.path());
        let mail = alerts(&sent)[0];
        assert!(mail.contains("To: ada@") && mail.contains("Subject: 1 event wallet.frozen\r\n"), "{mail}");
        let reset = set(json!(null)).await;
        assert_eq!((&reset.body, api.count("alert_settings").await), (&default, 0));
    }
}
