//! A burst of more operations than a lane keeps in memory.

use muniment_domain::clock::Clock;
use muniment_domain::id::OperationId;
use muniment_workflows::engine::process::intake::Intake;
use muniment_workflows::engine::process::submitters::Submitters;
use world::{FaultProxy, Mining, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, deploy_with};

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
        let fixture = EngineFixture::run(engine);
        site.mined_until_settled().await;
        let report = site.exactly_once().await;
        assert_eq!((report.deployed, report.attention), (OPERATIONS, 0));
        fixture.close().await;
    }
}
