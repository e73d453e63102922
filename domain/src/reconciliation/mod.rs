//! Reconciliation: comparisons of chain and database. A run has parts, one for each token and for the signers of each chain.

mod belief;
mod finding;
mod payment;

use alloy_primitives::B256;
use chrono::{DateTime, Duration, Utc};
use serde_json::json;

use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::filter::CreatedBetween;
use crate::id::{OfferingId, RunId, of};
use crate::sql::{Sql, insert_into, sql, update_table};
use crate::{Code, Error, Result, event};

pub use belief::{KnownStep, TokenState, of_token, steps_of_token};
pub use finding::{Finding, FindingKind, Severity, StoredFinding};
pub use payment::{DistributorStep, Payment, declared, payments};

const ROWS_PER_STATEMENT: usize = 200;
/// After this many seconds without progress the sweep wakes a run again.
pub const PATIENCE_SECONDS: i64 = 90;

crate::words! {
    /// The status of a run.
    Status {
        /// Parts are not compared yet.
        Running = "running",
        /// Every part is compared.
        Completed = "completed",
        /// The run could not be finished.
        Failed = "failed",
    }
}

/// One row of `reconciliation_runs`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Run {
    pub id: RunId,
    pub status: Status,
    pub offering_id: Option<OfferingId>,
    pub at_block: Option<i64>,
    pub findings: i64,
    pub error: Option<String>,
    pub requested_by: String,
    pub next_action_at: Option<DateTime<Utc>>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub completed_at: Option<DateTime<Utc>>,
}

/// One row of `reconciliation_parts`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Part {
    pub run_id: RunId,
    pub position: i64,
    pub subject_type: String,
    pub subject_id: String,
    pub chain_id: i64,
    pub block_number: Option<i64>,
    pub block_hash: Option<Hex<B256>>,
    pub compared: i64,
    pub calls: i64,
    pub done_at: Option<DateTime<Utc>>,
}

/// Stores a run with a part for each deployed token and, unless it is for one offering, for the signers of each chain.
pub async fn insert(
    tx: &mut Tx,
    offering_id: Option<&OfferingId>,
    at_block: Option<i64>,
    requested_by: &str,
) -> Result<Run> {
    let running = sql("select id from reconciliation_runs
        where status = 'running' and coalesce(offering_id, '') = $1")
    .bind(offering_id.map_or("", OfferingId::as_str))
    .optional_scalar::<RunId>(tx)
    .await?;
    if let Some(id) = running {
        return Err(Error::refused(
            Code::OperationInProgress,
            format!("The reconciliation {id} compares the same and is not finished."),
        ));
    }
    let (id, now) = (tx.new_id::<of::Run>(), tx.now());
    let run = insert_into("reconciliation_runs")
        .set("id", &id)
        .set("status", "running")
        .set("offering_id", offering_id)
        .set("at_block", at_block)
        .set("findings", 0)
        .set("requested_by", requested_by)
        .set("next_action_at", now + Duration::seconds(PATIENCE_SECONDS))
        .set("version", 1)
        .set("created_at", now)
        .push(" returning *")
        .row::<Run>(tx)
        .await?;
    let mut subjects = sql("select id, chain_id from offerings
        where token_status = 'deployed' and (cast($1 as text) is null or id = $1) order by id")
    .bind(offering_id)
    .rows::<(OfferingId, i64)>(tx)
    .await?
    .into_iter()
    .map(|(id, chain_id)| ("offering", id.to_string(), chain_id))
    .collect::<Vec<_>>();
    if offering_id.is_none() {
        let chains = sql("select chain_id from chains order by chain_id").scalars::<i64>(tx).await?;
        subjects.extend(chains.into_iter().map(|chain_id| ("chain", chain_id.to_string(), chain_id)));
    }
    for (position, (kind, subject_id, chain_id)) in (0i64..).zip(subjects) {
        insert_into("reconciliation_parts")
            .set("run_id", &id)
            .set("position", position)
            .set("subject_type", kind)
            .set("subject_id", subject_id)
            .set("chain_id", chain_id)
            .set("compared", 0)
            .set("calls", 0)
            .execute(tx)
            .await?;
    }
    Ok(run)
}

/// One run; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, id: &RunId) -> Result<Run> {
    sql("select * from reconciliation_runs where id = $1")
        .bind(id)
        .optional::<Run>(tx)
        .await?
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no reconciliation run {id}.")))
}

/// A page of runs, newest first, and their number.
pub async fn page(
    tx: &mut Tx,
    statuses: &[Status],
    created: CreatedBetween,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Run>, i64)> {
    let matching = |select: Sql| {
        select.push(" from reconciliation_runs where 1 = 1").one_of("status", statuses).created::<of::Run>(created, "")
    };
    let runs = matching(sql("select *")).push(" order by id desc").page(limit, offset).rows(tx).await?;
    let total = matching(sql("select count(*)")).scalar(tx).await?;
    Ok((runs, total))
}

/// The parts of a run, in order.
pub async fn parts(tx: &mut Tx, run_id: &RunId) -> Result<Vec<Part>> {
    sql("select * from reconciliation_parts where run_id = $1 order by position").bind(run_id).rows(tx).await
}

/// A page of a run's findings in the order of discovery, and their number.
pub async fn findings(tx: &mut Tx, run_id: &RunId, limit: i64, offset: i64) -> Result<(Vec<StoredFinding>, i64)> {
    let found = sql("select position, kind, severity, subject, expected, actual, suggested_action
        from reconciliation_findings where run_id = $1
        order by position, number limit $2 offset $3")
    .bind((run_id, limit, offset))
    .rows::<StoredFinding>(tx)
    .await?;
    let total =
        sql("select count(*) from reconciliation_findings where run_id = $1").bind(run_id).scalar::<i64>(tx).await?;
    Ok((found, total))
}

/// The number of findings of each kind.
pub async fn counts(tx: &mut Tx, run_id: &RunId) -> Result<Vec<(FindingKind, Severity, i64)>> {
    sql("select kind, severity, count(*) from reconciliation_findings where run_id = $1
         group by kind, severity order by kind, severity")
    .bind(run_id)
    .rows(tx)
    .await
}

/// Stores the result of a part. If two workers did the same part, the second is stale and writes nothing.
pub async fn finish_part(tx: &mut Tx, run: &mut Run, part: &Part, findings: &[Finding]) -> Result<()> {
    let now = tx.now();
    let rows = sql("update reconciliation_parts
        set block_number = $3, block_hash = $4, compared = $5, calls = $6, done_at = $7
        where run_id = $1 and position = $2 and done_at is null")
    .bind((&part.run_id, part.position, part.block_number, part.block_hash, part.compared, part.calls, now))
    .execute(tx)
    .await?;
    expect_updated(rows, "part of", &part.run_id)?;
    let numbered: Vec<_> = (0i64..).zip(findings).collect();
    for chunk in numbered.chunks(ROWS_PER_STATEMENT) {
        sql("insert into reconciliation_findings (run_id, position, number, kind, severity, subject, expected, actual,
                 suggested_action)")
        .values(chunk, |(number, f)| {
            (
                &part.run_id,
                part.position,
                *number,
                f.kind,
                f.severity,
                &f.subject,
                &f.expected,
                &f.actual,
                f.suggested_action,
            )
        })
        .execute(tx)
        .await?;
    }
    run.findings += i64::try_from(findings.len()).unwrap_or(i64::MAX);
    Ok(())
}

/// Writes the state of a run, unless it has changed since it was read.
pub async fn save(tx: &mut Tx, run: &mut Run) -> Result<()> {
    let read = run.version;
    run.version += 1;
    if run.status != Status::Running {
        run.completed_at = Some(tx.now());
        run.next_action_at = None;
    }
    let rows = update_table("reconciliation_runs")
        .set("status", run.status)
        .set("findings", run.findings)
        .set("error", &run.error)
        .set("next_action_at", run.next_action_at)
        .set("completed_at", run.completed_at)
        .set("version", run.version)
        .with(" where id = ", &run.id)
        .with(" and version = ", read)
        .execute(tx)
        .await?;
    expect_updated(rows, "run", &run.id)?;
    if run.status == Status::Completed && run.findings > 0 {
        let data = json!({ "findings": run.findings, "offering_id": run.offering_id });
        event::write(tx, "reconciliation.difference_found", "reconciliation_run", &run.id, run.version, data).await?;
    }
    Ok(())
}

/// Runs whose next action is due; the sweep wakes them.
pub async fn overdue(tx: &mut Tx, now: DateTime<Utc>) -> Result<Vec<Run>> {
    sql("select * from reconciliation_runs where status = 'running' and next_action_at <= $1
         order by next_action_at limit 50")
    .bind(now)
    .rows(tx)
    .await
}
