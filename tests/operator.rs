//! An operator's moves on operations that the engine could not finish: every check passes and fails, decided at the final block,
//! and each move is ended before and after its write.

use alloy::primitives::{B256, Bytes};
use muniment_activities::contract::registry::Roles;
use muniment_domain::operation::{Resolution, Status};
use muniment_domain::point::{Point, When};
use muniment_domain::{Code, Error};
use muniment_workflows::operator::cancel::Cancelled;
use muniment_workflows::operator::mark_confirmed::verify;
use muniment_workflows::operator::retry::RetryOutcome;
use muniment_workflows::operator::{abandon, cancel, mark_confirmed, retry};
use serde_json::Value;
use world::{Database, KEYS, Mining, on_both_databases};

use crate::foreign_key::{execute_elsewhere, send};
use crate::installation::{EngineFixture, Installation, Terms, ended};

/// Commit points at which these tests end a single move instead of a process.
pub const ENDED_AT: &[Point] = &[Point::Cancel, Point::Retry, Point::MarkConfirmed, Point::Abandon];

const WHO: &str = "operator";
const WHY: &str = "a test";

fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Code {
    match outcome {
        Err(Error::Refused { code, .. }) => code,
        Err(Error::Illegal { .. }) => Code::InvalidState,
        other => panic!("it was not refused: {other:?}"),
    }
}

async fn status(fixture: &EngineFixture, id: &str) -> (Status, Option<String>) {
    let op = fixture.operation(id).await;
    (op.status, op.error_code)
}

/// A deployed token, and its mint, refused because the signer lost its role.
async fn mint_refused(database: Database) -> (Installation, EngineFixture, String) {
    let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
    let fixture = site.engine_fixture(|_| {}).await;
    fixture.deploy(&site.offerings[0]).await;
    site.settled().await;
    site.set_roles(Roles(0)).await;
    let mint = fixture.mint(&site.offerings[0]).await;
    site.settled().await;
    site.all_read().await;
    assert_eq!(status(&fixture, &mint).await, (Status::Failed, Some("reverts".to_owned())));
    (site, fixture, mint)
}

/// The code and the operation of each event about a stuck lane.
pub async fn stuck_lanes(site: &Installation) -> Vec<(String, String)> {
    let told = site.rows("select cast(data as text) from events where type = 'lane.stuck' order by id").await.concat();
    let text = |data: &Value, pointer: &str| data.pointer(pointer).and_then(Value::as_str).unwrap().to_owned();
    let read = |data: &String| {
        let data: Value = serde_json::from_str(data).unwrap();
        (text(&data, "/error/code"), text(&data, "/operation_id"))
    };
    told.iter().map(read).collect()
}

/// A sent deployment whose fee cannot rise and whose time is over: a dead letter with an open nonce.
async fn stuck(database: Database) -> (Installation, EngineFixture, String) {
    let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
    let fixture = site
        .engine_fixture(|chain| {
            (chain.bump_after_seconds, chain.bump_percent, chain.stuck_after_seconds) = (1, 40_000, 1)
        })
        .await;
    let deploy = fixture.deploy(&site.offerings[0]).await;
    site.outbid().await;
    assert_eq!(status(&fixture, &deploy).await, (Status::DeadLetter, Some("stuck".to_owned())));
    assert_eq!(stuck_lanes(&site).await, [("stuck".to_owned(), deploy.clone())]);
    (site, fixture, deploy)
}

on_both_databases! {
    async fn retrying_an_unsigned_operation_starts_over(database: Database) {
        let (site, fixture, mint) = mint_refused(database).await;
        site.set_roles(Roles::ALL).await;
        ended(Point::Retry, When::Before, retry::retry(&fixture.engine, &mint.as_str().into(), WHO, WHY)).await;
        assert_eq!(status(&fixture, &mint).await.0, Status::Failed, "nothing was written");
        ended(Point::Retry, When::After, retry::retry(&fixture.engine, &mint.as_str().into(), WHO, WHY)).await;
        site.settled().await;
        assert_eq!((fixture.operation(&mint).await.status, fixture.operation(&mint).await.cycle), (Status::Confirmed, 2));
        assert_eq!(refused(retry::retry(&fixture.engine, &mint.as_str().into(), WHO, WHY).await), Code::InvalidState);
        assert_eq!(site.exactly_once().await.minted, 1);
        fixture.close().await;
    }

    async fn a_retry_after_a_revert_takes_a_new_nonce(database: Database) {
        let site = Installation::new(database, Mining::Manual, &[Terms::free(2)]).await;
        let fixture = site.engine_fixture(|_| {}).await;
        let deploy = fixture.deploy(&site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where sends > 0").await == 1).await;
        // Its higher fee puts it first in the block, so a transaction that passed simulation reverts.
        site.set_roles(Roles(0)).await;
        site.finalised().await;
        assert_eq!(status(&fixture, &deploy).await, (Status::Failed, Some("reverted".to_owned())));
        site.set_roles(Roles::ALL).await;
        site.anvil.mine(4).await;
        assert_eq!(retry::retry(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), RetryOutcome::NewCycle);
        site.until("it is sent", async || site.count("attempts where cycle = 2 and sends > 0").await == 1).await;
        site.finalised().await;
        assert_eq!(fixture.operation(&deploy).await.status, Status::Confirmed);
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn a_retry_while_the_nonce_is_open_keeps_the_nonce(database: Database) {
        let (site, fixture, deploy) = stuck(database).await;
        assert_eq!(retry::retry(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), RetryOutcome::SameNonce);
        site.anvil.mine(1).await;
        site.finalised().await;
        assert_eq!(fixture.operation(&deploy).await.status, Status::Confirmed);
        assert_eq!(site.exactly_once().await.deployed, 1);
        assert_eq!(site.count("attempts").await, 1);
        fixture.close().await;
    }

    async fn a_retry_waits_for_finality_of_an_included_transaction(database: Database) {
        let (site, fixture, deploy) = stuck(database).await;
        site.anvil.mine(1).await;
        site.until("it is seen in a block", async || site.count("operation_steps where state = 'included'").await == 1).await;
        assert_eq!(refused(retry::retry(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await), Code::NonceStillOpen);
        assert_eq!(refused(abandon::abandon(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await), Code::NonceStillOpen);
        let hash = site.rows("select tx_hash from attempts").await[0][0].parse().unwrap();
        let early = mark_confirmed::mark_confirmed(&fixture.engine, &deploy.as_str().into(), hash, WHO, WHY).await;
        assert_eq!(refused(early), Code::ReconcileVerificationFailed);
        site.finalised().await;
        let late = fixture.operation(&deploy).await;
        assert_eq!(late.status, Status::DeadLetter, "a late success is proposed, never applied");
        assert_eq!(late.suggested_action.unwrap().0["tx_hash"], hash.to_string());
        assert_eq!(refused(abandon::abandon(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await), Code::PartialEffect);
        assert_eq!(retry::retry(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), RetryOutcome::Confirmed);
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn a_retry_adopts_an_effect_of_another_agent(database: Database) {
        let (site, fixture, mint) = mint_refused(database).await;
        let proof: B256 = execute_elsewhere(&site, &mint).await.parse().unwrap();
        site.set_roles(Roles::ALL).await;
        site.until("it is final", async || {
            verify(&fixture.engine, &mint.as_str().into(), proof).await.unwrap().iter().all(|check| check.passed)
        })
        .await;
        retry::retry(&fixture.engine, &mint.as_str().into(), WHO, WHY).await.unwrap();
        site.settled().await;
        assert_eq!(fixture.operation(&mint).await.status, Status::Confirmed);
        assert_eq!(site.exactly_once().await.minted, 1);
        fixture.close().await;
    }

    async fn a_nonce_taken_by_a_foreign_transaction_is_replaced(database: Database) {
        let (site, fixture, deploy) = stuck(database).await;
        send(&site.anvil, KEYS[1], 0, alloy::primitives::Address::repeat_byte(7), Bytes::new()).await;
        site.finalised().await;
        let taken = (Status::DeadLetter, Some("nonce_consumed_externally".to_owned()));
        assert_eq!(status(&fixture, &deploy).await, taken, "a final revert replaces the stuck error");
        assert_eq!(retry::retry(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), RetryOutcome::NewCycle);
        let waits = "operations where status = 'pending' and blocked_reason like 'lane_quarantined%'";
        site.until("it waits for the lane", async || site.count(waits).await == 1).await;
        fixture.resume().await;
        site.until("it is sent", async || site.count("attempts where cycle = 2 and sends > 0").await == 1).await;
        site.finalised().await;
        assert_eq!((site.exactly_once().await.deployed, fixture.operation(&deploy).await.status), (1, Status::Confirmed));
        fixture.close().await;
    }

    async fn a_proof_is_accepted_only_if_every_check_passes(database: Database) {
        let (site, fixture, mint) = mint_refused(database).await;
        let none = mark_confirmed::mark_confirmed(&fixture.engine, &mint.as_str().into(), B256::repeat_byte(1), WHO, WHY).await;
        assert_eq!(refused(none), Code::ReconcileVerificationFailed);
        // The deployment's own transaction is final and successful, but proves another effect.
        let other: B256 = site.rows("select tx_hash from operations where kind = 'deploy_token'").await[0][0].parse().unwrap();
        let checks = verify(&fixture.engine, &mint.as_str().into(), other).await.unwrap();
        let failed: Vec<_> = checks.iter().filter(|check| !check.passed).map(|check| check.name).collect();
        assert_eq!(failed, ["unclaimed", "effect"]);
        let wrong = mark_confirmed::mark_confirmed(&fixture.engine, &mint.as_str().into(), other, WHO, WHY).await;
        assert_eq!(refused(wrong), Code::ReconcileVerificationFailed);
        assert_eq!(fixture.operation(&mint).await.status, Status::Failed);
        let proof: B256 = execute_elsewhere(&site, &mint).await.parse().unwrap();
        site.until("it is final", async || {
            verify(&fixture.engine, &mint.as_str().into(), proof).await.unwrap().iter().all(|check| check.passed)
        })
        .await;
        let id = mint.as_str().into();
        let act = || mark_confirmed::mark_confirmed(&fixture.engine, &id, proof, WHO, WHY);
        ended(Point::MarkConfirmed, When::Before, act()).await;
        assert_eq!(fixture.operation(&mint).await.status, Status::Failed);
        ended(Point::MarkConfirmed, When::After, act()).await;
        assert_eq!(fixture.operation(&mint).await.resolution, Some(Resolution::ConfirmedExternal));
        assert_eq!(refused(act().await), Code::InvalidState);
        assert_eq!(site.exactly_once().await.minted, 1);
        fixture.close().await;
    }

    async fn an_unsigned_operation_is_abandoned_and_can_be_requested_again(database: Database) {
        let (site, fixture, mint) = mint_refused(database).await;
        let id = mint.as_str().into();
        let act = || abandon::abandon(&fixture.engine, &id, WHO, WHY);
        ended(Point::Abandon, When::Before, act()).await;
        assert_eq!(fixture.operation(&mint).await.resolution, None);
        ended(Point::Abandon, When::After, act()).await;
        assert_eq!(fixture.operation(&mint).await.resolution, Some(Resolution::Abandoned));
        assert_eq!(refused(act().await), Code::InvalidState);
        assert_eq!(refused(retry::retry(&fixture.engine, &mint.as_str().into(), WHO, WHY).await), Code::InvalidState);
        site.set_roles(Roles::ALL).await;
        let another = fixture.mint(&site.offerings[0]).await;
        site.settled().await;
        assert_eq!(fixture.operation(&another).await.status, Status::Confirmed);
        assert_eq!(site.exactly_once().await.minted, 1);
        fixture.close().await;
    }

    async fn a_pending_operation_is_cancelled_at_once(database: Database) {
        let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
        let fixture = site.engine_fixture(|_| {}).await;
        site.write("update lanes set mode = 'paused'").await;
        let deploy = fixture.deploy(&site.offerings[0]).await;
        site.until("it waits", async || site.count("operations where blocked_reason like 'lane_paused%'").await == 1).await;
        ended(Point::Cancel, When::Before, cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY)).await;
        assert_eq!(fixture.operation(&deploy).await.status, Status::Pending);
        assert_eq!(cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), Cancelled::Unsent);
        let over = fixture.operation(&deploy).await;
        assert_eq!((over.status, over.resolution), (Status::Failed, Some(Resolution::Abandoned)));
        site.write("update lanes set mode = 'active'").await;
        fixture.deploy(&site.offerings[0]).await;
        site.settled().await;
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn an_operation_can_be_abandoned_after_its_nonce_is_cancelled(database: Database) {
        let (site, fixture, deploy) = stuck(database).await;
        assert_eq!(refused(abandon::abandon(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await), Code::NonceStillOpen);
        ended(Point::Cancel, When::Before, cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY)).await;
        assert_eq!(site.count("attempts where kind = 'cancel'").await, 0);
        ended(Point::Cancel, When::After, cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY)).await;
        assert_eq!(cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap(), Cancelled::Racing);
        assert_eq!(site.count("attempts where kind = 'cancel'").await, 1, "requested twice, signed once");
        site.until("it is sent", async || site.count("attempts where kind = 'cancel' and sends > 0").await == 1).await;
        site.finalised().await;
        assert_eq!(refused(cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await), Code::InvalidState);
        abandon::abandon(&fixture.engine, &deploy.as_str().into(), WHO, WHY).await.unwrap();
        assert_eq!(site.exactly_once().await.deployed, 0);
        let again = fixture.deploy(&site.offerings[0]).await;
        site.until("it is sent", async || site.count("attempts where nonce = 1 and sends > 0").await == 1).await;
        // An operation that is stuck again is retried with the same bytes.
        site.finalised().await;
        if fixture.operation(&again).await.status != Status::Confirmed {
            retry::retry(&fixture.engine, &again.as_str().into(), WHO, WHY).await.unwrap();
        }
        assert_eq!(site.exactly_once().await.deployed, 1);
        fixture.close().await;
    }

    async fn a_cancel_committed_before_a_crash_is_sent_by_the_next_process(database: Database) {
        let (site, fixture, deploy) = stuck(database).await;
        ended(Point::Cancel, When::After, cancel::cancel(&fixture.engine, &deploy.as_str().into(), WHO, WHY)).await;
        let cancel = site.rows("select tx_hash from attempts where kind = 'cancel'").await[0][0].clone();
        fixture.close().await;
        let server = site.start().await;
        site.until("it is sent", async || site.count("attempts where kind = 'cancel' and sends > 0").await == 1).await;
        site.finalised().await;
        let over = site.rows("select status, error_code from operations").await;
        assert_eq!(over, [["dead_letter", "cancelled_by_operator"]]);
        assert_eq!(site.rows("select tx_hash from attempts where block_number is not null").await, [[cancel]]);
        assert_eq!(site.count("attempts where kind = 'cancel'").await, 1);
        assert_eq!(site.exactly_once().await.deployed, 0);
        assert_eq!(server.get(&format!("/blockchain/operations/{deploy}")).await.text("/steps/0/outcome"), "cancelled");
    }
}
