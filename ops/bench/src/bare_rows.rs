//! The baseline of `accept`: a loop that inserts the rows of an operation in one transaction.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use chrono::{DateTime, Utc};
use futures::future::join_all;
use serde_json::{Value, json};
use sqlx::types::Json;

use crate::installation::CHAIN_ID;
use crate::pace;
use crate::seed::Series;
use crate::view::View;

/// About as long as the call data of a deployment, or of a mint with one holder.
const CALLDATA: [u8; 356] = [7; 356];
const OPERATION: &str = "insert into operations (id, kind, status, subject_type, subject_id, offering_id, batch_id, batch_index, chain_id, \
     payload, payload_sha256, live_key, cycle, faults, next_action_at, requested_by, request_id, idempotency_key, version, created_at, \
     updated_at) values ($1, $2, 'pending', 'offering', $3, $3, $4, 0, $5, $6, $7, $8, 1, 0, $9, 'usr_bare', 'req_bare', $1, 1, $9, $9)";
const STEP: &str = "insert into operation_steps (operation_id, position, name, target, calldata, op_number, payload_hash, state, chain_id) \
     values ($1, 0, 'bare', $2, $3, $4, $5, 'unsigned', $6)";
const HISTORY: &str = "insert into operation_history (operation_id, version, cycle, from_status, to_status, at, actor, reason) \
     values ($1, 1, 1, null, 'pending', $2, 'usr_bare', 'accepted')";
const EVENT: &str = "insert into events (id, type, subject_type, subject_id, sequence, data, created_at) \
     values ($1, 'operation.pending', 'operation', $1, 1, $2, $3)";
const KEY: &str = "insert into idempotency_keys (principal, method, path, key, fingerprint, status, location, body, created_at) \
     values ('usr_bare', 'POST', '/bare', $1, $2, 202, $3, $4, $5)";
const ITEM: &str = "insert into operation_items (operation_id, subject_type, subject_id, wallet_address, quantity, live) \
     values ($1, 'subscription', $1, $2, '100000', true)";
const NUMBER: &str = "update contracts set next_op_number = next_op_number + 1 where chain_id = $1 and kind = 'token' returning next_op_number";
// The queue has different tables on each database.
const JOB_SQLITE: &str = "insert into Jobs (job, id, job_type, status, attempts, max_attempts, run_at, priority, metadata) values ($2, $1, 'bare', 'Pending', 0, 1, \
     9999999999, 0, '{}')";
const JOB_POSTGRES: &str = "insert into apalis.jobs (id, job_type, job, status, attempts, max_attempts, run_at, priority, metadata) \
     values ($1, 'bare', $2, 'Pending', 0, 1, to_timestamp(9999999999), 0, '')";

/// The rows of a kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// A deployment.
    Deploy,
    /// A mint with one subscription. It also has an item and an operation number.
    Mint,
}

/// Inserts for this time with this concurrency. Returns the operations in a second.
pub async fn rate(view: &View, rows: Rows, at_once: usize, time: Duration) -> f64 {
    let (count, series) = (AtomicU64::new(0), Series::fresh());
    let start = Instant::now();
    let one = || async {
        while start.elapsed() < time {
            let number = count.fetch_add(1, Ordering::Relaxed);
            insert(view, rows, &series.offering(number)).await.expect("the rows are valid");
        }
    };
    join_all((0..at_once).map(|_| one())).await;
    count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Inserts at this rate. Returns the milliseconds from the time when each was due.
pub async fn paced(view: &View, rows: Rows, rate: f64, at_once: usize, time: Duration) -> Vec<f64> {
    let series = Series::fresh();
    let one = async |(): &mut (), turn: usize| {
        insert(view, rows, &series.offering(turn as u64)).await.expect("the rows are valid");
    };
    pace::paced(rate, time, &mut vec![(); at_once], one).await
}

/// Inserts the rows of one operation in an open transaction of either database.
macro_rules! fill {
    ($tx:ident, $job:ident, $rows:ident, $id:ident, $now:ident) => {{
        let (hex, chain_id) = (format!("0x{}", "7".repeat(64)), CHAIN_ID.cast_signed());
        let (kind, wallet) = (if $rows == Rows::Mint { "mint" } else { "deploy_token" }, &hex[..42]);
        if $rows == Rows::Mint {
            sqlx::query_scalar::<_, i64>(NUMBER).bind(chain_id).fetch_one(&mut *$tx).await?;
        }
        sqlx::query(OPERATION)
            .bind($id)
            .bind(kind)
            .bind(format!("off_{}", $id))
            .bind(($rows == Rows::Mint).then_some($id))
            .bind(chain_id)
            .bind(Json(payload(&hex)))
            .bind(&hex)
            .bind(($rows == Rows::Deploy).then(|| format!("deploy_token:{}", $id)))
            .bind($now)
            .execute(&mut *$tx)
            .await?;
        let step =
            sqlx::query(STEP).bind($id).bind(wallet).bind(CALLDATA.as_slice()).bind(1_i64).bind(&hex).bind(chain_id);
        step.execute(&mut *$tx).await?;
        sqlx::query(HISTORY).bind($id).bind($now).execute(&mut *$tx).await?;
        sqlx::query(EVENT).bind($id).bind(Json(payload(&hex))).bind($now).execute(&mut *$tx).await?;
        if $rows == Rows::Mint {
            sqlx::query(ITEM).bind($id).bind(wallet).execute(&mut *$tx).await?;
        }
        sqlx::query($job).bind($id).bind($id.as_bytes()).execute(&mut *$tx).await?;
        let key = sqlx::query(KEY).bind($id).bind(&hex).bind(format!("/blockchain/operations/{}", $id));
        key.bind(payload(&hex).to_string().repeat(2)).bind($now).execute(&mut *$tx).await?;
        $tx.commit().await
    }};
}

async fn insert(view: &View, rows: Rows, id: &str) -> sqlx::Result<()> {
    let now = DateTime::<Utc>::from(SystemTime::now());
    match view {
        View::Sqlite(pool) => {
            let mut tx = pool.begin_with("begin immediate").await?;
            fill!(tx, JOB_SQLITE, rows, id, now)
        }
        View::Postgres(pool) => {
            let mut tx = pool.begin().await?;
            fill!(tx, JOB_POSTGRES, rows, id, now)
        }
    }
}

/// About as long as the payload, the event and the answer of a deployment.
fn payload(hash: &str) -> Value {
    let terms = json!({ "cap": "500000000", "restricted": false, "rule144": false });
    json!({ "deployment": { "offering_id": hash, "symbol": "BENCH", "total_cap": "500000000", "partitions": [terms] } })
}
