//! A command is carried out once, wherever the process ends between accepting it and its outcome.

use std::os::unix::process::ExitStatusExt;

use muniment_activities::contract::registry::Roles;
use muniment_domain::point::Point;
use serde_json::{Value, json};
use world::{Mining, on_both_databases};

use crate::installation::{Installation, PATIENCE, Server, Terms};

/// Commit points at which these tests end a process.
pub const ENDED_AT: &[Point] = &[Point::SpeedUp, Point::Command];

const SIGABRT: i32 = 6;

/// Starts a process that ends at this point.
async fn start_with_crash(site: &Installation, plan: &str) -> Server {
    site.serve(site.launch(&["run"]).env("MUNIMENT_CRASH", plan)).await
}

async fn wait_for_crash(server: &mut Server, plan: &str) {
    let status = server.process.wait(PATIENCE).unwrap_or_else(|| panic!("{plan} was never reached"));
    assert_eq!(status.signal(), Some(SIGABRT), "{plan}\n{}", server.process.log());
}

async fn outcome(server: &Server, id: &str) -> Value {
    server.get(&format!("/blockchain/operations/{id}")).await.body["wishes"][0]["outcome"].clone()
}

on_both_databases! {
    async fn crash_around_an_operators_fee_bump(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1)]).await;
        site.config.chain("bump_after_seconds", "3600");
        for (number, side) in ["before", "after"].into_iter().enumerate() {
            let plan = format!("speed_up.{side}:1");
            let mut server = start_with_crash(&site, &plan).await;
            let deploy = server.deploy(&format!("deploy-{number}"), &site.offerings[number]).await.text("/id");
            let sent = format!("attempts where operation_id = '{deploy}' and sends > 0");
            site.until("it is sent", async || site.count(&sent).await == 1).await;
            _ = server.client().post(&format!("/blockchain/operations/{deploy}/speed-up"), "speed", json!({})).await;
            wait_for_crash(&mut server, &plan).await;
            let server = site.start().await;
            site.until("it is replaced", async || outcome(&server, &deploy).await == "replaced").await;
            let bumps = format!("attempts where operation_id = '{deploy}' and kind = 'bump'");
            assert_eq!(site.count(&bumps).await, 1, "{plan}: requested once, signed once");
            site.finalised().await;
        }
        assert_eq!(site.exactly_once().await.deployed, 2);
    }

    async fn crash_around_refusing_a_command(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let mut server = site.start().await;
        site.mint_refused(&server, 0).await;
        server.process.kill();
        // Commands of a bulk retry whose operations were resolved meanwhile: nothing is left to retry.
        for side in ["before", "after"] {
            let plan = format!("wish.{side}:1");
            site.write("update lanes set mode = 'paused'").await;
            let mut server = start_with_crash(&site, &plan).await;
            let wished = "insert into commands (id, operation_id, kind, position, actor, reason, due_at, created_at) \
                select 'cmd_' || substr(id, 4), id, 'retry', 0, 'somebody', 'a test', created_at, created_at from operations where status = 'confirmed'";
            site.write(wished).await;
            wait_for_crash(&mut server, &plan).await;
            let server = site.start().await;
            let confirmed = site.rows("select id from operations where status = 'confirmed'").await[0][0].clone();
            site.until("it is refused", async || outcome(&server, &confirmed).await == "invalid_state").await;
            assert_eq!(server.state(&confirmed).await.0, "confirmed");
            site.write("delete from commands").await;
        }
        site.set_roles(Roles::ALL).await;
        site.write("update lanes set mode = 'active'").await;
    }
}
