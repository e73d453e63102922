//! Where deliveries may go: no name leads into a private network, at the save or at any attempt, and each connection is made to what was
//! vetted.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Launch, Mining, on_both_databases};

use crate::installation::{ApiFixture, Installation, Receiver, Reply, Terms};
use crate::webhook_delivery::{endpoint, fixture, operation_event, staff};

const ENDPOINTS: &str = "/v1/webhooks/endpoints";
const HOST: &str = "hooks.portal.example";

/// Addresses where no delivery may go, as a resolver answers them.
const FORBIDDEN: &[&str] = &[
    "0.0.0.0",
    "10.0.0.1",
    "100.64.0.1",
    "127.0.0.1",
    "169.254.169.254",
    "172.16.0.1",
    "192.0.0.170",
    "192.0.2.1",
    "192.168.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    // IPv4 as IPv6: mapped, compatible, NAT64 (both prefixes), 6to4, Teredo.
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "::127.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a00:1",
    "2002:a00:1::1",
    "2001:0:a00:1::1",
    "100::1",
    "2001:db8::1",
    "5f00::1",
    "fd00::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    // One of several is enough.
    "8.8.8.8 10.0.0.1",
    "2606:4700::1111 ::1",
];

/// Names and their addresses, for a process that is started with them.
struct Hosts(std::path::PathBuf);

impl Hosts {
    fn new(api: &ApiFixture) -> Self {
        Self(api.folder.path().join("hosts"))
    }

    /// The name leads there from now on.
    fn lead_to(&self, addresses: &str) {
        let draft = self.0.with_extension("draft");
        std::fs::write(&draft, format!("{HOST} {addresses}\n")).unwrap();
        std::fs::rename(draft, &self.0).unwrap();
    }

    fn of(&self, launch: Launch) -> Launch {
        launch.env("MUNIMENT_HOSTS", &self.0)
    }
}

on_both_databases! {
    async fn a_name_that_leads_into_a_private_network_is_refused_when_it_is_saved_and_at_each_attempt(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("webhooks", "timeout_seconds", "1");
        let hosts = Hosts::new(&api);
        hosts.lead_to("8.8.8.8 2606:4700::1111");
        let server = api.serve(hosts.of(api.launch())).await;
        let operator = api.person(&server, "operator", Role::Operator).await;
        let wanted = json!({ "url": format!("https://{HOST}/in"), "event_types": ["operation.*"] });
        let made = operator.post(ENDPOINTS, wanted.clone()).await;
        assert_eq!(made.status, 201, "{made:?}");
        let path = format!("{ENDPOINTS}/{}", made.text("/id"));
        for (number, addresses) in FORBIDDEN.iter().enumerate() {
            hosts.lead_to(addresses);
            let again = json!({ "url": format!("https://{HOST}/{number}") });
            for refused in [operator.post(ENDPOINTS, wanted.clone()).await, operator.change("PATCH", &path, Some(again)).await] {
                assert_eq!(refused.field(), (422, "/url".to_owned(), "url_forbidden".to_owned()), "{addresses}");
            }
            let event = operation_event(&api, number + 1).await;
            let tried = format!("webhook_deliveries where event_id = '{event}' and status = 'retrying'");
            api.until("it is tried", async || api.count(&tried).await == 1).await;
            let fault = format!("select a.fault from webhook_attempts a join webhook_deliveries d on d.id = a.delivery_id where d.event_id = '{event}'");
            assert_eq!(api.rows(&fault).await[0], ["forbidden_address"], "{addresses}");
        }
        assert_eq!(api.count("webhook_attempts where fault <> 'forbidden_address' or status_code is not null").await, 0);
        assert_eq!(api.count("webhook_endpoints").await, 1);
    }

    async fn the_connection_is_made_to_the_address_that_was_vetted_and_to_no_proxy(database: Database) {
        let api = fixture(database).await;
        let (hosts, receiver, proxy) = (Hosts::new(&api), Receiver::start().await, Receiver::start().await);
        hosts.lead_to("127.0.0.1");
        let mut launch = hosts.of(api.launch());
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
            launch = launch.env(name, format!("http://127.0.0.1:{}", proxy.port));
        }
        let server = api.serve(launch).await;
        let operator = staff(&api, &server).await;
        let url = format!("http://{HOST}:{}/in", receiver.port);
        let made = operator.post(ENDPOINTS, json!({ "url": url, "event_types": ["operation.*"] })).await;
        assert_eq!(made.status, 201, "{made:?}");
        operation_event(&api, 1).await;
        api.until("it arrives", async || receiver.received().len() == 1).await;
        assert_eq!(receiver.received()[0].header("host"), format!("{HOST}:{}", receiver.port));
        assert_eq!(proxy.received().len(), 0);
    }

    async fn endpoints_that_hang_delay_no_operation(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        // The longest time that is allowed: requests still hang when the operations are done.
        let launch = site.launch(&["run"]).env("MUNIMENT_WEBHOOKS_ALLOW_INSECURE", "true");
        let server = site.serve(launch.env("MUNIMENT_WEBHOOKS_TIMEOUT_SECONDS", "15")).await;
        let (operator, hanging) = (site.second_person(&server).await, Receiver::start().await);
        hanging.reply(Reply::Hang);
        for _ in 0..20 {
            endpoint(&operator, &hanging, json!(["*"])).await;
        }
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        site.until("each endpoint hangs", async || hanging.received().len() >= 20).await;
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);
        site.settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (1, 1, 0));
        assert_eq!(site.count("webhook_attempts where status_code is not null").await, 0);
    }

    async fn a_pause_that_a_receiver_asks_for_holds_all_its_deliveries_and_is_shown(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, receiver) = (staff(&api, &server).await, Receiver::start().await);
        receiver.reply(Reply::Status(429, "retry-after: 6\r\n"));
        let path = format!("{ENDPOINTS}/{}", endpoint(&operator, &receiver, json!(["operation.*"])).await.text("/id"));
        let before = operator.get(&path).await;
        assert_eq!(before.body["backlog"], json!({ "deliveries": 0, "oldest_at": null, "paused_until": null }));
        operation_event(&api, 1).await;
        api.until("the attempt is recorded", async || api.count("webhook_attempts").await == 1).await;
        receiver.reply(Reply::Status(200, ""));
        operation_event(&api, 2).await;
        api.until("both wait", async || api.count("webhook_deliveries where status in ('pending', 'retrying')").await == 2).await;
        for shown in [operator.get(&path).await.body, operator.get(ENDPOINTS).await.body["data"][0].clone()] {
            assert_eq!(shown["backlog"]["deliveries"], 2, "{shown}");
            assert!(shown["backlog"]["paused_until"].is_string() && shown["backlog"]["oldest_at"].is_string(), "{shown}");
        }
        // Everything is due: the pause alone holds it.
        api.write("update webhook_deliveries set next_attempt_at = created_at where next_attempt_at is not null").await;
        api.until("both are delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 2).await;
        let paused = "webhook_attempts a join webhook_endpoints e on e.id = a.endpoint_id where a.created_at < e.throttled_until";
        assert_eq!((api.count(paused).await, api.count("webhook_attempts").await), (1, 3));
        assert_eq!(operator.get(&path).await.body["backlog"], before.body["backlog"]);
    }
}
