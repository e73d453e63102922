//! Approvals: a request is executed once, unchanged, after another person approves it.

use muniment_domain::approval::{self as approvals, Approval, Status};
use muniment_domain::operation::Resolution;
use muniment_domain::point::{Point, When};
use muniment_domain::user::{Role, Roles};
use muniment_domain::{Code, Error};
use muniment_workflows::approval;
use muniment_workflows::approval::Decision;
use muniment_workflows::approval::action::Action;
use muniment_workflows::engine::Engine;
use muniment_workflows::operator::abandon;
use muniment_workflows::requester::Requester;
use world::{Database, Mining, on_both_databases};

use crate::installation::{EngineFixture, Installation, Terms, ended};

/// Commit points at which these tests end a single move instead of a process.
pub const ENDED_AT: &[Point] = &[Point::Approval];

fn person(name: &str) -> Requester {
    Requester { actor: name.to_owned(), request_id: None, idempotency_key: None }
}

/// Requests an approval to abandon a deployment that failed unsigned.
async fn requested_abandonment(database: Database) -> (Installation, EngineFixture, String, Approval) {
    let site = Installation::new(database, Mining::Quick, &[Terms::free(2)]).await;
    // More than the token's cap, so the simulation fails.
    site.write("update subscriptions set quantity = '99999999999999'").await;
    let fixture = site.engine_fixture(|_| {}).await;
    fixture.deploy(&site.offerings[0]).await;
    site.settled().await;
    let mint = fixture.mint(&site.offerings[0]).await;
    site.settled().await;
    let approval = request_abandonment(&fixture.engine, &mint).await.unwrap();
    (site, fixture, mint, approval)
}

async fn request_abandonment(engine: &Engine, operation_id: &str) -> Result<Approval, Error> {
    let mut tx = engine.db.begin().await?;
    let request = abandon::Request {
        operation_id: operation_id.into(),
        reason: "a test".to_owned(),
        missing: Vec::new(),
        unsent: false,
    };
    let requested = approval::request(&mut tx, &engine.settings, Action::Abandon(request), &person("maker")).await?;
    tx.commit(Point::Accept).await?;
    Ok(requested)
}

async fn approve(engine: &Engine, a: &Approval, by: &str) -> Result<Approval, Error> {
    let mut tx = engine.db.begin().await?;
    let decision = Decision {
        approval_id: a.id.clone(),
        version: a.version,
        by: person(by),
        roles: Roles::only(Role::Operator),
        comment: None,
    };
    let approved = approval::approve(&mut tx, &engine.settings, &a.payload_sha256, decision).await?;
    tx.commit(Point::Accept).await?;
    Ok(approved)
}

async fn now(engine: &Engine, id: &str) -> Approval {
    approvals::find(&mut engine.db.read().await.unwrap(), &id.into()).await.unwrap()
}

fn refused<T: std::fmt::Debug>(outcome: Result<T, Error>) -> Code {
    match outcome {
        Err(Error::Refused { code, .. }) => code,
        other => panic!("it was not refused: {other:?}"),
    }
}

on_both_databases! {
    async fn an_approved_action_on_the_chain_is_executed_by_the_engine(database: Database) {
        let (site, fixture, mint, requested) = requested_abandonment(database).await;
        assert_eq!(refused(request_abandonment(&fixture.engine, &mint).await), Code::OperationInProgress, "a second request is refused");
        assert_eq!(refused(approve(&fixture.engine, &requested, "maker").await), Code::SelfApprovalForbidden);
        assert_eq!(approve(&fixture.engine, &requested, "checker").await.unwrap().status, Status::Approved);
        site.until("it is executed", async || now(&fixture.engine, &requested.id).await.status == Status::Executed).await;
        assert_eq!(fixture.operation(&mint).await.resolution, Some(Resolution::Abandoned));
        let reason = "operation_history where actor = 'checker' and reason like 'a test (requested by maker, apr_%'";
        assert_eq!(site.count(reason).await, 1);
        assert_eq!(refused(approve(&fixture.engine, &requested, "checker").await), Code::VersionConflict);
        assert_eq!(site.count("operation_items where live").await, 0, "its subscriptions are released");
        assert_eq!(site.rows("select to_status from approval_history order by version").await.concat(),
            ["pending", "approved", "executed"]);
        let events = "select type from events where subject_type = 'approval' order by sequence";
        assert_eq!(site.rows(events).await.concat(), ["approval.requested", "approval.approved", "approval.executed"]);
        fixture.close().await;
    }

    async fn executing_an_approval_survives_a_crash_on_either_side(database: Database) {
        let (site, fixture, mint, requested) = requested_abandonment(database).await;
        // No engine runs, so the test makes each move itself.
        let engine = fixture.engine.clone();
        fixture.halt().await;
        let mut tx = engine.db.begin().await.unwrap();
        let decision = Decision {
            approval_id: requested.id.clone(), version: 1, by: person("checker"), roles: Roles::only(Role::Admin), comment: Some("fine".to_owned()),
        };
        approval::approve(&mut tx, &engine.settings, &requested.payload_sha256, decision).await.unwrap();
        tx.commit(Point::Accept).await.unwrap();
        ended(Point::Approval, When::Before, approval::run_due(&engine, &requested.id)).await;
        assert_eq!(site.count("operations where resolution = 'abandoned'").await, 0);
        ended(Point::Approval, When::After, approval::run_due(&engine, &requested.id)).await;
        for _ in 0..2 {
            approval::run_due(&engine, &requested.id).await.unwrap();
        }
        assert_eq!(site.count(&format!("operations where resolution = 'abandoned' and id = '{mint}'")).await, 1);
        assert_eq!(site.count("approvals where status = 'executed' and version = 3").await, 1);
        assert_eq!(site.count("events where type = 'operation.resolved'").await, 1);
        engine.db.close().await;
    }

    async fn an_undecided_approval_expires_once_and_can_be_requested_again(database: Database) {
        let (site, fixture, mint, requested) = requested_abandonment(database).await;
        let engine = fixture.engine.clone();
        fixture.halt().await;
        approval::run_due(&engine, &requested.id).await.unwrap();
        assert_eq!(now(&engine, &requested.id).await.status, Status::Pending, "an early wake does nothing");
        let past = "update approvals set expires_at = '2001-01-01T00:00:00+00:00', next_action_at = '2001-01-01T00:00:00+00:00'";
        site.write(past).await;
        assert_eq!(refused(approve(&engine, &requested, "checker").await), Code::ApprovalNotPending, "the approval has expired although its timer is late");
        assert_eq!(approval::sweep(&engine).await.unwrap(), 1);
        assert_eq!(approval::sweep(&engine).await.unwrap(), 0);
        ended(Point::Approval, When::Before, approval::run_due(&engine, &requested.id)).await;
        ended(Point::Approval, When::After, approval::run_due(&engine, &requested.id)).await;
        approval::run_due(&engine, &requested.id).await.unwrap();
        assert_eq!(site.count("events where type = 'approval.expired'").await, 1);
        assert_eq!(now(&engine, &requested.id).await.live_key, None);
        request_abandonment(&engine, &mint).await.unwrap();
        engine.db.close().await;
    }

    async fn an_approval_that_became_impossible_fails_with_the_reason(database: Database) {
        let (site, fixture, mint, requested) = requested_abandonment(database).await;
        abandon::abandon(&fixture.engine, &mint.as_str().into(), "somebody", "quicker").await.unwrap();
        approve(&fixture.engine, &requested, "checker").await.unwrap();
        site.until("the execution has failed", async || now(&fixture.engine, &requested.id).await.status == Status::ExecutionFailed).await;
        assert_eq!(now(&fixture.engine, &requested.id).await.error_code.as_deref(), Some("invalid_state"));
        assert_eq!(site.count("events where type = 'operation.resolved'").await, 1);
        fixture.close().await;
    }

    async fn two_approvers_at_once_make_one_decision(database: Database) {
        let (site, fixture, _, requested) = requested_abandonment(database).await;
        let checkers = ["one", "two", "three", "four"];
        let decided = futures::future::join_all(checkers.iter().map(|name| approve(&fixture.engine, &requested, name))).await;
        assert_eq!(decided.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{decided:?}");
        site.until("it is executed", async || now(&fixture.engine, &requested.id).await.status == Status::Executed).await;
        assert_eq!(site.count("operations where resolution = 'abandoned'").await, 1);
        fixture.close().await;
    }
}
