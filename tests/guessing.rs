//! An attacker and an honest user at once: what slows the guesses must not keep the owner out. The table at the end of each run says how many
//! guesses an attacker had judged in a minute, and how long the honest user waited.

use std::time::{Duration, Instant};

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use world::on_both_databases;

use crate::installation::{Answer, ApiFixture, PASSWORD, Server, register};

const ADA: &str = "ada@people.example";
const WRONG: &str = "wrong wrong wrong";

/// An API whose callers come from the networks that they name.
async fn start(api: &mut ApiFixture) -> Server {
    api.set("limits", "trusted_proxies", "[\"127.0.0.1\"]");
    let server = api.start().await;
    register(&server, ADA).await;
    server
}

async fn log_in(server: &Server, network: &str, email: &str, password: &str, cookie: Option<&str>) -> Answer {
    let mut headers = vec![("x-forwarded-for", network)];
    headers.extend(cookie.map(|cookie| ("cookie", cookie)));
    let body = json!({ "email": email, "password": password }).to_string();
    server.anonymous().send("POST", "/v1/auth/login", &headers, Some(body)).await.unwrap()
}

fn cookie_of(answer: &Answer) -> Option<String> {
    Some(answer.headers.get("set-cookie")?.to_str().ok()?.split(';').next()?.to_owned())
}

/// How many of these guesses were judged.
async fn guesses(server: &Server, networks: usize, each: usize) -> usize {
    let mut judged = 0;
    for network in 0..networks {
        for _ in 0..each {
            judged +=
                usize::from(log_in(server, &format!("203.0.113.{network}"), ADA, WRONG, None).await.status == 401);
        }
    }
    judged
}

/// How long the owner is told to wait; zero if the login succeeds.
fn wait(answer: &Answer) -> u64 {
    match answer.status {
        200 => 0,
        _ => answer.headers.get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(u64::MAX),
    }
}

fn print(rows: &[(&str, usize, u64)]) {
    println!("{:<52} {:>16} {:>18}", "attack", "guesses a minute", "owner waits, s");
    for (attack, judged, seconds) in rows {
        println!("{attack:<52} {judged:>16} {seconds:>18}");
    }
}

on_both_databases! {
    async fn guesses_are_bounded_and_the_owner_does_not_wait(database: Database) {
        let mut api = ApiFixture::new(database).await;
        let server = start(&mut api).await;
        let home = log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await;
        let cookie = cookie_of(&home).unwrap_or_default();
        let known = Some(cookie.as_str());
        let mut rows = Vec::new();
        let one = guesses(&server, 1, 30).await;
        rows.push(("one network; owner at home", one, wait(&log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await)));
        rows.push(("one network; owner in that network, known device", one, wait(&log_in(&server, "203.0.113.0", ADA, PASSWORD, known).await)));
        let many = guesses(&server, 40, 8).await;
        rows.push(("40 networks; owner at home, known device", many, wait(&log_in(&server, "198.51.100.1", ADA, PASSWORD, known).await)));
        let stranger = log_in(&server, "198.51.100.77", ADA, PASSWORD, None).await;
        rows.push(("40 networks; owner on a new device", many, wait(&stranger)));
        print(&rows);
        assert_eq!((one, rows[0].2, rows[1].2, rows[2].2), (5, 0, 0, 0), "{rows:?}");
        assert!(many <= 100 && stranger.status == 429, "{rows:?}");
        // The cookie of another account, or a changed one, makes no device known.
        register(&server, "bruno@people.example").await;
        let foreign = cookie_of(&log_in(&server, "198.51.100.9", "bruno@people.example", PASSWORD, None).await);
        assert_eq!(log_in(&server, "198.51.100.77", ADA, PASSWORD, foreign.as_deref()).await.status, 429);
        let changed = cookie.replace("dev_0", "dev_1");
        assert_eq!(log_in(&server, "198.51.100.77", ADA, PASSWORD, Some(&changed)).await.status, 429);
        // A known device has its own count, so that a stolen one is no free pass.
        let mut stolen = 0;
        for _ in 0..10 {
            stolen += usize::from(log_in(&server, "203.0.113.99", ADA, WRONG, known).await.status == 401);
        }
        assert_eq!(stolen, 5);
        // The owner shows the mailbox: the wait is over everywhere.
        server.anonymous().change("POST", "/v1/auth/password/forgot", Some(json!({ "email": ADA }))).await.unwrap();
        let body = json!({ "token": server.mailed("reset_password", ADA).await, "new_password": "another horse battery staple" });
        assert_eq!(server.anonymous().change("POST", "/v1/auth/password/reset", Some(body)).await.unwrap().status, 204);
        assert_eq!(log_in(&server, "198.51.100.77", ADA, "another horse battery staple", None).await.status, 200);
    }

    async fn an_overloaded_server_counts_no_wrong_password(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("auth", "password_memory_kib", "32768");
        let server = start(&mut api).await;
        let (mut busy, mut attempts) = (0, 0);
        while busy < 6 && attempts < 60 {
            attempts += 1;
            let flood = (0..120).map(|number| {
                let (client, network) = (server.anonymous(), format!("203.0.{attempts}.{number}"));
                async move {
                    let body = json!({ "email": format!("x{number}@y.example"), "password": WRONG }).to_string();
                    client.send("POST", "/v1/auth/login", &[("x-forwarded-for", network.as_str())], Some(body)).await
                }
            });
            let honest = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await
            };
            let (_, answer) = tokio::join!(futures::future::join_all(flood), honest);
            assert!([200, 503].contains(&answer.status), "{answer:?}");
            busy += usize::from(answer.status == 503);
        }
        assert!(busy > 0, "the gate was never full");
        assert_eq!(log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await.status, 200);
        assert_eq!(api.count("attempt_counters where subject like 'account:%:198.51.100.1'").await, 0);
    }

    async fn one_network_sends_only_so_many_bodies_at_once(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "bodies_per_network_max", "4");
        let server = start(&mut api).await;
        let mut slow = Vec::new();
        for _ in 0..4 {
            let mut stream = TcpStream::connect(server.url.trim_start_matches("http://")).await.unwrap();
            let head = "POST /v1/auth/login HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 203.0.113.9\r\n\
                content-type: application/json\r\ncontent-length: 90\r\n\r\n{";
            stream.write_all(head.as_bytes()).await.unwrap();
            slow.push(stream);
        }
        let refused = loop {
            let answer = log_in(&server, "203.0.113.9", ADA, PASSWORD, None).await;
            if answer.status != 200 {
                break answer;
            }
        };
        assert_eq!(refused.problem(), (503, "service_unavailable".to_owned()), "{refused:?}");
        assert_eq!(log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await.status, 200, "another network is not refused");
    }

    async fn strangers_do_not_take_the_places_of_others(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "requests_max", "8");
        api.set("limits", "body_seconds_max", "5");
        api.set("limits", "connections_max", "200");
        api.set("limits", "connections_per_address_max", "100");
        api.set("rates", "login_per_minute", "20");
        let server = start(&mut api).await;
        let address = server.url.trim_start_matches("http://").to_owned();
        let mut slow = Vec::new();
        for number in 0..60 {
            let mut stream = TcpStream::connect(&address).await.unwrap();
            let head = format!("POST /v1/auth/login HTTP/1.1\r\nhost: a\r\nx-forwarded-for: 203.0.113.{}\r\n\
                content-type: application/json\r\ncontent-length: 90\r\n\r\n{{", number % 36);
            stream.write_all(head.as_bytes()).await.unwrap();
            slow.push(stream);
        }
        let began = Instant::now();
        let honest = log_in(&server, "198.51.100.1", ADA, PASSWORD, None).await;
        print(&[("60 slow bodies of 36 networks, 8 places", 0, began.elapsed().as_secs())]);
        assert_eq!((honest.status, began.elapsed() < Duration::from_secs(4)), (200, true), "{honest:?}");
        let mut answer = String::new();
        slow[0].read_to_string(&mut answer).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 408") && answer.to_lowercase().contains("connection: close"), "{answer}");
        drop(slow);

        // More networks than the table has room for, each refused by its page: a newcomer still logs in.
        let body = json!({ "email": ADA, "password": WRONG }).to_string();
        let client = server.anonymous();
        for chunk in 0..60 {
            let ask = (0..180).map(|number| {
                let headers = [("x-forwarded-for", format!("10.{chunk}.{number}.1")), ("origin", "https://evil.example".to_owned())];
                let (client, body) = (client.clone(), body.clone());
                async move {
                    let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    client.send("POST", "/v1/auth/login", &headers, Some(body)).await.map(|answer| answer.status)
                }
            });
            futures::stream::iter(ask).buffer_unordered(40).collect::<Vec<_>>().await;
        }
        let newcomer = log_in(&server, "198.51.100.200", ADA, PASSWORD, None).await;
        assert_eq!(newcomer.status, 200, "{newcomer:?}");
        let usage = newcomer.headers["ratelimit"].to_str().unwrap();
        assert!(usage.contains("r=19"), "a bucket of one's own: {usage}");
    }

    async fn one_site_of_many_networks_gets_only_so_many_guesses(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("rates", "login_per_minute", "5");
        let server = start(&mut api).await;
        let mut judged = 0;
        for number in 0..240 {
            let email = format!("nobody-{number}@people.example");
            judged += usize::from(log_in(&server, &format!("2001:db8:7:{number:x}::1"), &email, WRONG, None).await.status == 401);
        }
        let owner = log_in(&server, "2001:db8:8:1::1", ADA, PASSWORD, None).await;
        print(&[("240 networks of one IPv6 site, 5 logins a minute each", judged, wait(&owner))]);
        // Sixteen times the room of one network. The bucket refills a little meanwhile.
        assert!((80..200).contains(&judged) && owner.status == 200, "{judged}, {owner:?}");
    }

    async fn connections_of_one_address_are_bounded(database: Database) {
        let mut api = ApiFixture::new(database).await;
        api.set("limits", "connections_per_address_max", "20");
        let server = api.start().await;
        let address = server.url.trim_start_matches("http://").to_owned();
        let mut idle = Vec::new();
        for _ in 0..40 {
            idle.push(TcpStream::connect(&address).await.unwrap());
        }
        let mut closed = 0;
        for stream in &mut idle {
            let mut byte = [0; 1];
            let read = tokio::time::timeout(Duration::from_millis(50), stream.read(&mut byte)).await;
            closed += usize::from(matches!(read, Ok(Ok(0) | Err(_))));
        }
        assert!((20..=21).contains(&closed), "{closed} of 40 were closed");
    }

    async fn wrong_codes_count_whatever_password_was_right(database: Database) {
        let api = ApiFixture::new(database).await;
        let server = api.start().await;
        let ada = api.person(&server, "ada", muniment_domain::user::Role::Investor).await;
        assert_eq!(ada.post("/v1/auth/mfa/totp", json!({})).await.status, 200);
        api.write("update second_factors set confirmed_at = created_at").await;
        let mut judged = 0;
        for _ in 0..12 {
            let first = server.log_in(ADA, PASSWORD).await;
            let body: Value = json!({ "mfa_token": first.text("/mfa_token"), "code": "000000" });
            let second = server.anonymous().change("POST", "/v1/auth/mfa/verify", Some(body)).await.unwrap();
            judged += usize::from(second.status == 401);
            // Neither does a right password in the session clear the count.
            let change = json!({ "current_password": PASSWORD, "new_password": PASSWORD });
            ada.post("/v1/auth/password/change", change).await;
        }
        assert_eq!(judged, 5);
    }
}
