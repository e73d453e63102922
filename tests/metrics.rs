//! The figures for Prometheus: on a listener of their own, true, and with labels that no caller can invent.

use muniment_domain::user::Role;
use serde_json::json;
use world::{Database, Engine, Launch, Mining, http_client, on_both_databases};

use crate::installation::{ApiFixture, Installation, PATIENCE, Receiver, Reply, Server, Terms};
use crate::webhook_delivery;

const ANYWHERE: (&str, &str) = ("MUNIMENT_METRICS_LISTEN", "127.0.0.1:0");

async fn scrape(server: &Server) -> String {
    let line = server.process.line_with("metrics.address=", PATIENCE).expect("it names the address");
    let address = line.split("metrics.address=").nth(1).unwrap().trim().to_owned();
    let answer = http_client().get(format!("http://{address}/metrics")).send().await.unwrap();
    assert_eq!(answer.status(), 200);
    assert!(answer.headers()["content-type"].to_str().unwrap().starts_with("application/openmetrics-text"));
    answer.text().await.unwrap()
}

/// The value of the line that begins with this name and has all these labels.
fn figure(page: &str, name: &str, labels: &[&str]) -> Option<f64> {
    let fits = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
            && labels.iter().all(|l| line.contains(l))
    };
    page.lines().find(fits)?.rsplit(' ').next()?.parse().ok()
}

on_both_databases! {
    async fn what_an_endpoint_has_not_received_yet_is_counted(database: Database) {
        let api = webhook_delivery::fixture(database).await;
        let server = api.serve(api.launch().env(ANYWHERE.0, ANYWHERE.1)).await;
        let (operator, receiver) = (webhook_delivery::staff(&api, &server).await, Receiver::start().await);
        receiver.reply(Reply::Status(500, ""));
        let made = webhook_delivery::endpoint(&operator, &receiver, json!(["operation.*"])).await;
        for number in 1..=3 {
            webhook_delivery::operation_event(&api, number).await;
        }
        api.until("all are retried", async || api.count("webhook_deliveries where status = 'retrying'").await == 3).await;
        let label = format!("endpoint=\"{}\"", made.text("/id"));
        let waiting = async || figure(&scrape(&server).await, "muniment_webhook_deliveries_waiting", &[&label]);
        assert_eq!(waiting().await, Some(3.0));
        let page = scrape(&server).await;
        assert!(figure(&page, "muniment_webhook_delivery_oldest_seconds", &[&label]).is_some_and(|age| age > 0.0), "{page}");
        assert_eq!(figure(&page, "muniment_events_waiting", &[]), Some(0.0), "{page}");
        receiver.reply(Reply::Status(200, ""));
        webhook_delivery::hurry(&api).await;
        api.until("all are delivered", async || api.count("webhook_deliveries where status = 'delivered'").await == 3).await;
        assert_eq!(waiting().await, None);
    }

    async fn the_figures_show_what_waits_and_why(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(3)]).await;
        let server = site.serve(site.launch(&["run"]).env(ANYWHERE.0, ANYWHERE.1)).await;
        assert_eq!(server.deploy("deploy", &site.offerings[0]).await.status, 202);
        site.settled().await;
        let lane = server.get("/blockchain/signers").await.text("/data/0/id");
        let paused = server.post(&format!("/blockchain/signers/{lane}/pause"), "pause", json!({ "reason": "wait" })).await;
        assert_eq!(paused.status, 200, "{paused:?}");
        assert_eq!(server.mint("mint", &site.offerings[0]).await.status, 202);

        let page = scrape(&server).await;
        assert!(page.ends_with("# EOF\n"), "{page}");
        let lane = format!("lane=\"{lane}\"");
        let expected = [
            ("muniment_operations", vec!["status=\"pending\"", "kind=\"mint\""], 1.0),
            ("muniment_lane_active", vec![lane.as_str()], 0.0),
            ("muniment_lane_in_flight", vec![lane.as_str()], 0.0),
            ("muniment_chain_halted", vec!["chain=\"31337\""], 0.0),
            ("muniment_chain_unreachable", vec![], 0.0),
            ("muniment_approvals_pending", vec![], 0.0),
            ("muniment_http_requests_total", vec!["route=\"/blockchain/signers/{id}/pause\"", "status=\"200\""], 1.0),
            ("muniment_http_request_seconds_count", vec!["route=\"/blockchain/signers/{id}/pause\""], 1.0),
        ];
        for (name, labels, value) in expected {
            assert_eq!(figure(&page, name, &labels), Some(value), "{name} {labels:?}\n{page}");
        }
        let above = [
            ("muniment_chain_final_block", "chain="), ("muniment_lane_balance_ether", "lane="), ("muniment_lane_next_nonce", "lane="),
            ("muniment_loop_lease_seconds", "loop=\"chain:31337\""), ("muniment_loop_lease_seconds", "loop=\"settle:31337\""),
            ("muniment_operation_oldest_seconds", "status=\"pending\""),
        ];
        for (name, label) in above {
            assert!(figure(&page, name, &[label]).is_some_and(|value| value > 0.0), "{name} {label}\n{page}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_invents_no_label_and_finds_no_figures_at_the_api() {
    let api = ApiFixture::new(Database::fresh(Engine::Sqlite).await).await;
    let server = api.serve(api.launch().env(ANYWHERE.0, ANYWHERE.1)).await;
    let admin = api.person(&server, "ada", Role::Admin).await;
    for path in ["/metrics", "/invented-1", "/invented-2", "/v1/offerings/off_invented"] {
        assert_eq!(admin.get(path).await.status, 404, "{path}");
    }
    for method in ["INVENTED1", "INVENTED2"] {
        assert_eq!(admin.client().send(method, "/healthz", &[], None).await.unwrap().status, 405, "{method}");
    }
    let page = scrape(&server).await;
    assert!(!page.to_lowercase().contains("invented"), "{page}");
    assert_eq!(
        figure(&page, "muniment_http_requests_total", &["method=\"other\"", "status=\"405\""]),
        Some(2.0),
        "{page}"
    );
    assert_eq!(
        figure(&page, "muniment_http_requests_total", &["method=\"\"", "route=\"\"", "status=\"404\""]),
        Some(3.0),
        "{page}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_address_of_the_metrics_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Launch::new(["worker"]).folder(folder.path()).env(ANYWHERE.0, "9464").spawn();
    assert_eq!(process.wait(PATIENCE).expect("it refuses to start").code(), Some(1), "{}", process.log());
    assert!(process.log().contains("metrics_listen (MUNIMENT_METRICS_LISTEN) is \"9464\""), "{}", process.log());
}
