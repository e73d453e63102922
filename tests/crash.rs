//! The process ends just before or just after each durable write; the next start finishes everything, exactly once.

use std::os::unix::process::ExitStatusExt;

use muniment_domain::point::Point;
use world::{Binary, Database, Fault, FaultProxy, Mining, Rule, campaign, on_both_databases};

use crate::installation::{Installation, Lacks, PATIENCE, Server, Terms};
use crate::{
    approval, audit, commands, foreign_key, offering_calendar, operator, reconciliation, sessions, webhook_delivery,
};

pub const SIDES: [&str; 2] = ["before", "after"];
const SIGABRT: i32 = 6;

/// Commit points at which these tests end a process; other files test the rest.
const TESTED_HERE: &[Point] = &[
    Point::Accept,
    Point::Refuse,
    Point::Fault,
    Point::Sign,
    Point::Send,
    Point::Answer,
    Point::Bump,
    Point::Follow,
    Point::Index,
    Point::Finalise,
    Point::DeadLetter,
    Point::Sweep,
    Point::Mode,
    Point::Lease,
    Point::Contact,
    Point::Adopt,
    Point::Housekeeping,
    // Tested in `snapshot.rs`.
    Point::Snapshot,
];

#[test]
fn every_write_has_a_crash_test() {
    for point in Point::ALL {
        let tests = [
            TESTED_HERE,
            operator::ENDED_AT,
            approval::ENDED_AT,
            reconciliation::ENDED_AT,
            commands::ENDED_AT,
            sessions::ENDED_AT,
            audit::ENDED_AT,
            offering_calendar::ENDED_AT,
            webhook_delivery::ENDED_AT,
        ];
        assert!(tests.iter().any(|points| points.contains(point)), "no test ends at {point}");
    }
}

/// Starts the platform with a planned crash and drives an offering until the crash.
async fn drive_to_crash(site: &Installation, offering: &str, plan: &str) {
    let process = site.launch(&["run"]).env("MUNIMENT_CRASH", plan).spawn();
    let mut process = match Server::of(process, &site.key).await {
        Ok(mut server) => {
            // The last passing may come when everything is final already.
            site.drive(&mut server, offering).await;
            server.process
        }
        Err(process) => process,
    };
    assert_crashed(&mut process, plan);
}

/// The process ends at each passing of a point, before and after it; everything is confirmed once after the next start.
async fn survives(site: &Installation, point: Point, passings: &[u64], stir: impl Fn()) {
    assert!(TESTED_HERE.contains(&point));
    let plans = SIDES.iter().flat_map(|side| passings.iter().map(move |nth| format!("{point}.{side}:{nth}")));
    for (offering, plan) in site.offerings.iter().zip(plans) {
        stir();
        drive_to_crash(site, offering, &plan).await;
        let mut server = site.start().await;
        assert!(site.drive(&mut server, offering).await, "{plan}: the second process ended too");
        assert_eq!(site.lacks(offering).await, Lacks::Nothing);
        site.exactly_once().await;
        server.process.kill();
    }
    let report = site.exactly_once().await;
    let all = 2 * passings.len();
    assert_eq!((report.deployed, report.minted, report.attention), (all, all, 0));
}

/// Every run ends the process at the first passing only; the whole campaign at each passing.
async fn crash_in_plain_work(database: Database, point: Point, passings: &[u64]) {
    let passings = campaign((&passings[..1], passings));
    let terms = vec![Terms::locked(2); 2 * passings.len()];
    let site = Installation::new(database, Mining::Quick, &terms).await;
    survives(&site, point, passings, || {}).await;
}

/// Starts the platform with a planned crash and waits for its end.
pub async fn start_and_crash(site: &Installation, plan: &str) {
    assert_crashed(&mut site.launch(&["run"]).env("MUNIMENT_CRASH", plan).spawn(), plan);
}

/// Checks that a process ended as planned.
pub fn assert_crashed(process: &mut Binary, plan: &str) {
    let status = process.wait(PATIENCE).unwrap_or_else(|| panic!("{plan} was never reached\n{}", process.log()));
    assert_eq!(status.signal(), Some(SIGABRT), "{plan}: {status}\n{}", process.log());
}

on_both_databases! {
    async fn crash_around_accepting_a_request(database: Database) {
        crash_in_plain_work(database, Point::Accept, &[1, 2]).await;
    }

    async fn crash_around_committing_signed_bytes(database: Database) {
        crash_in_plain_work(database, Point::Sign, &[1, 2]).await;
    }

    async fn crash_around_sending(database: Database) {
        crash_in_plain_work(database, Point::Send, &[1, 2]).await;
    }

    async fn crash_around_recording_a_response(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::locked(2); 2]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        // The answer to an accepted send is stored with its block, which is there at once. A lost answer is recorded alone.
        let stir = || _ = proxy.add(Rule::new(Fault::DropResponse).on(&["eth_sendRawTransaction"]).times(2));
        survives(&site, Point::Answer, &[1], stir).await;
    }

    async fn crash_around_moving_the_cursor(database: Database) {
        crash_in_plain_work(database, Point::Follow, &[1, 3, 5]).await;
    }

    async fn crash_around_indexing_token_events(database: Database) {
        crash_in_plain_work(database, Point::Index, &[1, 2]).await;
    }

    async fn crash_around_finalising(database: Database) {
        crash_in_plain_work(database, Point::Finalise, &[1, 2]).await;
    }

    async fn crash_around_taking_leases(database: Database) {
        crash_in_plain_work(database, Point::Lease, &[1, 2, 4]).await;
    }

    async fn crash_around_first_contact_with_a_chain(database: Database) {
        crash_in_plain_work(database, Point::Contact, &[1]).await;
    }

    async fn crash_around_housekeeping(database: Database) {
        crash_in_plain_work(database, Point::Housekeeping, &[1]).await;
    }

    async fn crash_around_counting_a_fault(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        // One fault in the process that ends and one in the next process.
        let fault = Fault::Error(-32603, "Internal error".to_owned());
        let stir = || _ = proxy.add(Rule::new(fault.clone()).on(&["eth_estimateGas"]).times(2));
        survives(&site, Point::Fault, &[1], stir).await;
        assert_eq!(proxy.trace().hits["error"], 4);
    }

    async fn crash_around_the_wakes_of_the_sweep(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1); 4]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        // A blocked operation has a next time and no wake; the sweep finds it.
        let limited = Fault::Error(-32005, "rate limit exceeded".to_owned());
        let stir = || _ = proxy.add(Rule::new(limited.clone()).on(&["eth_estimateGas"]).times(4));
        survives(&site, Point::Sweep, &[1, 2], stir).await;
        assert!(proxy.trace().hits["error"] >= 8);
    }

    async fn crash_around_marking_a_chain_unavailable(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        for (offering, side) in site.offerings.iter().zip(SIDES) {
            let rule = proxy.add(Rule::new(Fault::Status(503)).after(25));
            drive_to_crash(&site, offering, &format!("mode.{side}:1")).await;
            assert!(proxy.hits(rule) > 0);
            proxy.heal();
            let mut server = site.start().await;
            assert!(site.drive(&mut server, offering).await);
            assert_eq!(site.count("chains where blocked_reason is not null").await, 0);
            server.process.kill();
        }
        assert_eq!(site.exactly_once().await.minted, 2);
    }

    async fn crash_around_committing_a_fee_bump(database: Database) {
        let mut site = Installation::new(database, Mining::Manual, &[Terms::free(1), Terms::free(1)]).await;
        site.config.chain("bump_after_seconds", "1");
        for (offering, side) in site.offerings.iter().zip(SIDES) {
            let outbidding = async {
                site.until("it is sent", async || site.count("attempts where open and sends > 0").await > 0).await;
                loop {
                    site.mine_above_offers().await;
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                }
            };
            let plan = format!("bump.{side}:1");
            tokio::select! {
                () = drive_to_crash(&site, offering, &plan) => {}
                () = outbidding => {}
            }
            let mut server = site.start().await;
            site.until("a fee bump is stored", async || {
                let stored = site.count("attempts where open and kind = 'bump'").await > 0;
                if !stored {
                    site.mine_above_offers().await;
                }
                stored
            })
            .await;
            let mining = async {
                loop {
                    site.anvil.mine(1).await;
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                }
            };
            tokio::select! {
                done = site.drive(&mut server, offering) => assert!(done),
                () = mining => {}
            }
            server.process.kill();
        }
        assert_eq!(site.exactly_once().await.minted, 2);
    }

    async fn crash_around_failing_an_operation(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        // More than the token's cap, so the simulation fails.
        let much = "update subscriptions set quantity = '99999999999999'";
        assert_eq!(site.write(much).await, 2);
        for (offering, side) in site.offerings.iter().zip(SIDES) {
            drive_to_crash(&site, offering, &format!("refuse.{side}:1")).await;
            let mut server = site.start().await;
            assert!(site.drive(&mut server, offering).await);
            server.process.kill();
        }
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (2, 0, 2));
        assert_eq!(site.rows("select distinct error_code from operations where status = 'failed'").await, [["reverts"]]);
    }

    async fn crash_around_a_dead_letter(database: Database) {
        let mut site = Installation::new(database, Mining::Quick, &[Terms::free(1), Terms::free(1)]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.config.node(proxy.url());
        site.config.engine("attempts_max", 1);
        proxy.add(Rule::new(Fault::Error(-32603, "Internal error".to_owned())).on(&["eth_estimateGas"]));
        for (offering, side) in site.offerings.iter().zip(SIDES) {
            drive_to_crash(&site, offering, &format!("dead_letter.{side}:1")).await;
            let mut server = site.start().await;
            site.settled().await;
            server.process.kill();
        }
        assert_eq!(site.statuses().await, [["dead_letter", "2"]]);
        assert_eq!(site.exactly_once().await.attention, 2);
    }

    async fn crash_around_adopting_an_executed_effect(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2), Terms::free(2)]).await;
        for (offering, side) in site.offerings.iter().zip(SIDES) {
            let mut server = site.start().await;
            server.deploy(&format!("deploy-{offering}"), offering).await;
            site.settled().await;
            site.write("update lanes set mode = 'paused'").await;
            let accepted = server.mint(&format!("mint-{offering}"), offering).await;
            server.process.kill();
            foreign_key::execute_elsewhere(&site, &accepted.text("/operations/0/id")).await;
            site.write("update lanes set mode = 'active'").await;
            drive_to_crash(&site, offering, &format!("adopt.{side}:1")).await;
            let mut server = site.start().await;
            assert!(site.drive(&mut server, offering).await);
            server.process.kill();
        }
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.minted, report.attention), (2, 2, 0));
        assert_eq!(site.count("attempts").await, 2, "the mints were not signed again");
    }
}
