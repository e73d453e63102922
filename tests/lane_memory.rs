//! A burst of more operations than a lane keeps in memory.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use muniment_domain::clock::Clock;
use muniment_domain::id::OperationId;
use muniment_domain::meanwhile::{self, Call};
use muniment_workflows::engine::prepare;
use muniment_workflows::engine::process::intake::{self, Intake, Refill};
use muniment_workflows::engine::process::submitters::Submitters;
use tokio_util::sync::CancellationToken;
use world::{FaultProxy, Mining, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, deploy_with};
use crate::signed_ahead::all_are_deployed_once;

const OPERATIONS: usize = 48;
const IN_FLIGHT: u32 = 2;
/// The lane's limit in flight, and four times as many that wait.
const PLACES: u64 = 10;

on_both_databases! {
    async fn a_burst_is_tried_only_as_far_as_its_lane_has_places(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(1); OPERATIONS]).await;
        let proxy = FaultProxy::start(site.anvil.url(), 1);
        site.stop_blocks().await;
        let engine = site
            .engine_at(Clock::System, |chain| {
                chain.in_flight_max = IN_FLIGHT;
                chain.endpoints = vec![proxy.url().to_owned()];
            })
            .await;
        let mut ids: Vec<OperationId> = Vec::new();
        for offering in &site.offerings {
            ids.push(deploy_with(&engine, offering).await.as_str().into());
        }
        let tried = || proxy.calls("eth_estimateGas") + proxy.calls("eth_call");
        let before = tried();
        let submitters = Submitters::new(engine.clone());
        let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
        // At once, so that several groups of moves look for places in the lane at the same time.
        futures::future::join_all(ids.iter().map(|id| intake.wake(id))).await;
        drop(intake);
        moves.await.unwrap();

        let parked = site.count("operations where blocked_reason = 'lane_full'").await;
        let trials = tried() - before;
        // A group may have read the lane just before it signed: then its limit in flight counts twice.
        let most = PLACES + u64::from(IN_FLIGHT);
        assert!((PLACES..=most).contains(&trials), "{trials} of {OPERATIONS} were tried, {parked} are parked");
        assert_eq!(u64::try_from(parked).unwrap() + trials, OPERATIONS as u64, "no trial was in vain");

        submitters.drain().await;
        site.resume_blocks().await;
        all_are_deployed_once(&site, EngineFixture::run(engine)).await;
    }

    async fn a_process_takes_what_it_has_the_key_for_and_leaves_the_rest(database: Database) {
        let site = Installation::with_signers(database, Mining::Quick, &[Terms::free(1); 4], 2).await;
        let engine = site.engine_with(2, Clock::System, |_| {}).await;
        let chain_id = *engine.networks.keys().next().unwrap();
        let lanes = site.rows("select id from lanes order by id").await;
        // Another process has the key of the second lane.
        site.write(&format!("update lanes set signer = '0x{}' where id = '{}'", "99".repeat(20), lanes[1][0])).await;
        let no_signer = prepare::no_signer(chain_id);
        let mut ids = Vec::new();
        for (offering, (lane, cause)) in site.offerings.iter().zip([
            (None, no_signer.as_str()), (Some(0), no_signer.as_str()), (Some(1), no_signer.as_str()), (Some(1), "lane_full"),
        ]) {
            let id = deploy_with(&engine, offering).await;
            let lane = lane.map_or("null".to_owned(), |number: usize| format!("'{}'", lanes[number][0]));
            site.write(&format!("update operations set next_action_at = null, blocked_reason = '{cause}', lane_id = {lane} where id = '{id}'")).await;
            ids.push(id);
        }
        let submitters = Submitters::new(engine.clone());
        let taken = intake::parked(&engine, &submitters, chain_id).await.unwrap();
        assert_eq!(taken.iter().map(|hold| hold.id().to_string()).collect::<Vec<_>>(), ids[..2]);
        drop(taken);
        assert_eq!(intake::refill_once(&engine, &submitters, chain_id).await.unwrap(), Refill::Moved);
        submitters.drain().await;
        assert_eq!(site.count("operations where status = 'submitted'").await, 2);
        engine.db.close().await;
    }

    async fn a_full_lane_beside_a_paused_one_is_not_tried_without_a_pause(database: Database) {
        let site = Installation::with_signers(database, Mining::Quick, &[Terms::free(1); OPERATIONS], 2).await;
        site.stop_blocks().await;
        let engine = site.engine_with(2, Clock::System, |chain| chain.in_flight_max = IN_FLIGHT).await;
        let paused = "id = (select max(id) from lanes)";
        site.write(&format!("update lanes set mode = 'paused' where {paused}")).await;
        let submitters = Submitters::new(engine.clone());
        let (intake, moves) = Intake::start(engine.clone(), submitters.clone());
        for offering in &site.offerings {
            intake.wake(&deploy_with(&engine, offering).await.as_str().into()).await;
        }
        drop(intake);
        moves.await.unwrap();
        let parked = "operations where blocked_reason = 'lane_full'";
        assert!(site.count(parked).await > 0);

        let chain_id = *engine.networks.keys().next().unwrap();
        let refill = || intake::refill_once(&engine, &submitters, chain_id);
        site.until("the lane has no place left", async || refill().await.unwrap() == Refill::InVain).await;
        let (begun, stop) = (Arc::new(AtomicUsize::new(0)), CancellationToken::new());
        let counted = begun.clone();
        meanwhile::visit(Some(Arc::new(move |call| {
            counted.fetch_add(usize::from(call == Call::Begin), Ordering::Relaxed);
            None
        })));
        // Not as a task of its own: only this thread is visited.
        tokio::join!(intake::refill(engine.clone(), submitters.clone(), chain_id, stop.clone()), async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            stop.cancel();
        });
        meanwhile::visit(None);
        let begun = begun.load(Ordering::Relaxed);
        // Three for each of some ten turns.
        assert!((1..100).contains(&begun), "{begun} transactions in a second without a change");

        site.write(&format!("update lanes set mode = 'active' where {paused}")).await;
        assert_eq!(refill().await.unwrap(), Refill::Moved);
        submitters.drain().await;
        site.resume_blocks().await;
        all_are_deployed_once(&site, EngineFixture::run(engine)).await;
    }
}
