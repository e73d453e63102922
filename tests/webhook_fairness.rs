//! A flood for some endpoints holds up no other one, also when more of them are busy than send at once.

use std::time::Duration;

use muniment_domain::user::Role;
use serde_json::json;
use world::on_both_databases;

use crate::installation::{ApiFixture, Receiver, Reply};
use crate::webhook_delivery::{endpoint, fixture, happen, hurry, operation_event, staff};

/// The platform's endpoints but one, and those of the investors. More than a process sends to at once (64).
const OF_STAFF: usize = 49;
const INVESTORS: usize = 4;
const OF_INVESTOR: usize = 5;
/// Several batches for each endpoint.
const EVENTS: usize = 160;
/// So long that a flood outlasts the wait for one batch.
const ANSWER: Duration = Duration::from_millis(700);

on_both_databases! {
    async fn a_flood_for_more_endpoints_than_are_served_at_once_holds_up_no_other(database: Database) {
        let api = fixture(database).await;
        let server = api.start().await;
        let (operator, busy, quiet) = (staff(&api, &server).await, Receiver::start().await, Receiver::start().await);
        busy.reply(Reply::Late(ANSWER));
        for _ in 0..OF_STAFF {
            endpoint(&operator, &busy, json!(["operation.*"])).await;
        }
        endpoint(&operator, &quiet, json!(["chain.cleared"])).await;
        let mut wallets = Vec::new();
        for number in 0..INVESTORS {
            let investor = api.person(&server, &format!("investor{number}"), Role::Investor).await;
            for _ in 0..OF_INVESTOR {
                endpoint(&investor, &busy, json!(["wallet.frozen"])).await;
            }
            wallets.push(wallet(&api, number, &investor.get("/v1/auth/me").await.text("/investor_id")).await);
        }
        // So the whole flood waits before the first of it is sent.
        api.write("update webhook_endpoints set throttled_until = '2999-01-01T00:00:00+00:00' where event_types <> 'chain.cleared'").await;
        for number in 1..=EVENTS {
            operation_event(&api, number).await;
            for wallet in &wallets {
                happen(&api, number, "wallet.frozen", ("wallet", wallet)).await;
            }
        }
        let flood = ((OF_STAFF + INVESTORS * OF_INVESTOR) * EVENTS) as i64;
        api.until("the flood waits", async || api.count("webhook_deliveries").await == flood).await;
        hurry(&api).await;
        api.until("the flood is sent", async || !busy.received().is_empty()).await;
        happen(&api, 1, "chain.cleared", ("chain", "31337")).await;
        api.until("the quiet endpoint has its event", async || quiet.count("chain.cleared") == 1).await;
        let waiting = api.count("webhook_deliveries where status in ('pending', 'delivering')").await;
        // Lanes that kept their place to the end would leave less.
        assert!(waiting > flood / 4, "{waiting} of {flood} still wait");
    }
}

async fn wallet(api: &ApiFixture, number: usize, investor: &str) -> String {
    let id = format!("wal_01jc000000000000000000000{number}");
    api.write(&format!(
        "insert into wallets (id, investor_id, address, created_at) \
         values ('{id}', '{investor}', '0x0{number}', '2026-01-01T00:00:00+00:00')"
    ))
    .await;
    id
}
