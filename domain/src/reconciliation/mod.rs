//! Comparisons of chain and database: the runs, their parts, and what was found. A part is one token or one chain's signers.

mod belief;
mod payment;

use alloy_primitives::B256;
use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use sqlx::QueryBuilder;

use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::narrow::{self, Created};
use crate::{Code, Error, Result, event, on};

pub use belief::{Belief, Known, of_token, steps_of_token};
pub use payment::{Declared, Payment, declared, payments};

const ROWS_PER_STATEMENT: usize = 200;
/// How long a woken run has for its next part before the sweep wakes it again, in seconds.
pub const PATIENCE_SECONDS: i64 = 90;

crate::words! {
    /// How far a run is.
    Status {
        /// Parts are open.
        Running = "running",
        /// Every part was compared.
        Completed = "completed",
        /// It could not be finished.
        Failed = "failed",
    }
}

crate::words! {
    /// How bad a finding is.
    Severity {
        /// Somebody holds or moves what the platform does not know of.
        Critical = "critical",
        /// Nothing is lost, but what is shown is not so.
        Warning = "warning",
    }
}

/// One row of `reconciliation_runs`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Run {
    pub id: String,
    pub status: Status,
    pub offering_id: Option<String>,
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
    pub run_id: String,
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

/// A difference.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Finding {
    pub kind: &'static str,
    pub severity: Severity,
    /// What it is about: a wallet, a partition, an operation.
    pub subject: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub suggested_action: &'static str,
}

/// One row of `reconciliation_findings`.
#[derive(Clone, Debug, sqlx::FromRow, serde::Serialize)]
#[allow(missing_docs)]
pub struct Found {
    #[serde(skip)]
    pub position: i64,
    pub kind: String,
    pub severity: Severity,
    pub subject: String,
    pub expected: Option<String>,
    pub actual: Option<String>,
    pub suggested_action: String,
}

/// Stores a run with a part for each deployed token in question and, unless it is about one offering, each chain's signers.
pub async fn insert(tx: &mut Tx, offering_id: Option<&str>, at_block: Option<i64>, requested_by: &str) -> Result<Run> {
    let running = on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select id from reconciliation_runs where status = 'running' and coalesce(offering_id, '') = $1")
        .bind(offering_id.unwrap_or_default()).fetch_optional(conn).await?);
    if let Some(id) = running {
        return Err(Error::refused(Code::OperationInProgress, format!("{id} compares the same and is not finished.")));
    }
    let (id, now) = (tx.new_id("rec"), tx.now());
    let run = on!(tx, conn => sqlx::query_as::<_, Run>(
        "insert into reconciliation_runs (id, status, offering_id, at_block, findings, requested_by, next_action_at, version, created_at) \
         values ($1, 'running', $2, $6, 0, $3, $5, 1, $4) returning *")
        .bind(&id).bind(offering_id).bind(requested_by).bind(now).bind(now + Duration::seconds(PATIENCE_SECONDS)).bind(at_block).fetch_one(conn).await?);
    let mut subjects = on!(tx, conn => sqlx::query_as::<_, (String, i64)>(
        "select id, chain_id from offerings where token_status = 'deployed' and (cast($1 as text) is null or id = $1) order by id")
        .bind(offering_id).fetch_all(conn).await?)
    .into_iter().map(|(id, chain_id)| ("offering", id, chain_id)).collect::<Vec<_>>();
    if offering_id.is_none() {
        let chains = on!(tx, conn => sqlx::query_scalar::<_, i64>("select chain_id from chains order by chain_id").fetch_all(conn).await?);
        subjects.extend(chains.into_iter().map(|chain_id| ("chain", chain_id.to_string(), chain_id)));
    }
    for (position, (kind, subject_id, chain_id)) in (0i64..).zip(subjects) {
        on!(tx, conn => sqlx::query(
            "insert into reconciliation_parts (run_id, position, subject_type, subject_id, chain_id, compared, calls) \
             values ($1, $2, $3, $4, $5, 0, 0)")
            .bind(&id).bind(position).bind(kind).bind(subject_id).bind(chain_id).execute(conn).await?.rows_affected());
    }
    Ok(run)
}

/// One run; `not_found` if there is none.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Run> {
    on!(tx, conn => sqlx::query_as::<_, Run>("select * from reconciliation_runs where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no run {id}.")))
}

/// A page of runs, newest first, and how many there are.
pub async fn page(
    tx: &mut Tx,
    statuses: &[Status],
    created: Created,
    limit: i64,
    offset: i64,
) -> Result<(Vec<Run>, i64)> {
    let words = || statuses.iter().map(|status| status.as_str());
    let runs = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from reconciliation_runs where 1 = 1");
        narrow::words(&mut query, "status", words());
        created.narrow(&mut query, "", "rec");
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Run>().fetch_all(conn).await?
    });
    let total = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from reconciliation_runs where 1 = 1");
        narrow::words(&mut query, "status", words());
        created.narrow(&mut query, "", "rec");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((runs, total))
}

/// The parts of a run, in order.
pub async fn parts(tx: &mut Tx, run_id: &str) -> Result<Vec<Part>> {
    Ok(
        on!(tx, conn => sqlx::query_as::<_, Part>("select * from reconciliation_parts where run_id = $1 order by position")
        .bind(run_id).fetch_all(conn).await?),
    )
}

/// A page of what a run found, in the order in which it was found, and how many there are.
pub async fn findings(tx: &mut Tx, run_id: &str, limit: i64, offset: i64) -> Result<(Vec<Found>, i64)> {
    let found = on!(tx, conn => sqlx::query_as::<_, Found>(
        "select position, kind, severity, subject, expected, actual, suggested_action from reconciliation_findings \
         where run_id = $1 order by position, number limit $2 offset $3")
        .bind(run_id).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>("select count(*) from reconciliation_findings where run_id = $1")
        .bind(run_id).fetch_one(conn).await?);
    Ok((found, total))
}

/// How many findings of each kind a run has.
pub async fn counts(tx: &mut Tx, run_id: &str) -> Result<Vec<(String, Severity, i64)>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, (String, Severity, i64)>(
        "select kind, severity, count(*) from reconciliation_findings where run_id = $1 group by kind, severity order by kind, severity")
        .bind(run_id).fetch_all(conn).await?))
}

/// Writes what a part came to. Of two that did the same part the second finds the run moved, and writes nothing.
pub async fn finish_part(tx: &mut Tx, run: &mut Run, part: &Part, findings: &[Finding]) -> Result<()> {
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update reconciliation_parts set block_number = $3, block_hash = $4, compared = $5, calls = $6, done_at = $7 \
         where run_id = $1 and position = $2 and done_at is null")
        .bind(&part.run_id).bind(part.position).bind(part.block_number).bind(part.block_hash).bind(part.compared).bind(part.calls)
        .bind(now).execute(conn).await?.rows_affected());
    touched(rows, "part of", &part.run_id)?;
    let numbered: Vec<_> = (0i64..).zip(findings).collect();
    for chunk in numbered.chunks(ROWS_PER_STATEMENT) {
        on!(tx, conn => {
            let mut query = sqlx::QueryBuilder::new(
                "insert into reconciliation_findings (run_id, position, number, kind, severity, subject, expected, actual, suggested_action) ");
            query.push_values(chunk, |mut row, (number, f)| {
                row.push_bind(&part.run_id).push_bind(part.position).push_bind(*number).push_bind(f.kind).push_bind(f.severity)
                    .push_bind(&f.subject).push_bind(&f.expected).push_bind(&f.actual).push_bind(f.suggested_action);
            });
            query.build().execute(conn).await?.rows_affected()
        });
    }
    run.findings += i64::try_from(findings.len()).unwrap_or(i64::MAX);
    Ok(())
}

/// Writes where a run stands, if nobody moved it since it was read.
pub async fn save(tx: &mut Tx, run: &mut Run) -> Result<()> {
    let read = run.version;
    run.version += 1;
    if run.status != Status::Running {
        run.completed_at = Some(tx.now());
        run.next_action_at = None;
    }
    let rows = on!(tx, conn => sqlx::query(
        "update reconciliation_runs set status = $3, findings = $4, error = $5, next_action_at = $6, completed_at = $7, version = $8 \
         where id = $1 and version = $2")
        .bind(&run.id).bind(read).bind(run.status).bind(run.findings).bind(&run.error).bind(run.next_action_at)
        .bind(run.completed_at).bind(run.version).execute(conn).await?.rows_affected());
    touched(rows, "run", &run.id)?;
    if run.status == Status::Completed && run.findings > 0 {
        let data = json!({ "findings": run.findings, "offering_id": run.offering_id });
        event::write(tx, "reconciliation.difference_found", "reconciliation_run", &run.id, run.version, data).await?;
    }
    Ok(())
}

/// Runs whose time has come: what the sweep wakes.
pub async fn overdue(tx: &mut Tx, now: DateTime<Utc>) -> Result<Vec<Run>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Run>(
        "select * from reconciliation_runs where status = 'running' and next_action_at <= $1 order by next_action_at limit 50")
        .bind(now).fetch_all(conn).await?))
}
