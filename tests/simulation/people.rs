//! People: they ask, ask again when no answer came, and decide what the engine may not.

use alloy::primitives::B256;
use muniment_domain::{Error, Result};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use crate::fault::Fault;
use crate::request::{self, Request, What};
use crate::run::Run;
use crate::worker::Move;

type Broken = std::result::Result<(), String>;

/// Somebody asks for something, new or once more.
pub async fn ask(run: &mut Run<'_>) -> Broken {
    if run.seed.chance(0.15) {
        run.empty_queue().await;
    }
    let again = run.unanswered.pop();
    let request = match again {
        Some(request) => {
            run.hit(Fault::AskedAgain);
            request
        }
        None => {
            let offering = run.seed.pick(&run.offerings).clone();
            run.asked += 1;
            let what = match run.seed.below(10) {
                0..4 => What::Deploy,
                4..6 => What::MintAll,
                6..8 => What::MintSome(1 + run.seed.below(3) as usize),
                _ => What::MintInTwo,
            };
            Request { what, offering, key: format!("key-{}", run.asked) }
        }
    };
    answer(run, request).await
}

/// Makes a request; one that was lost with its answer is remembered.
pub async fn answer(run: &mut Run<'_>, request: Request) -> Broken {
    let said: Result<String> = request::make(&run.stage.db, &run.settings, &run.shared, &request).await;
    if matches!(said, Err(Error::Crashed(_))) {
        run.unanswered.push(request.clone());
    }
    run.judge(0, &format!("{request:?}"), said)?;
    run.look().await
}

/// A person looks at an operation or a lane and does something about it, wise or not.
pub async fn operate(run: &mut Run<'_>, index: usize) -> Broken {
    if run.waits || run.seed.chance(0.35) {
        return tend_lanes(run, index).await;
    }
    // Mostly what needs a person, if anything does.
    let sql = "select id, suggested_action ->> 'tx_hash', status in ('failed', 'dead_letter') and resolution is null from operations \
               where status <> 'confirmed' order by id";
    let mut rows = sqlx::query(sql).fetch_all(run.stage.pool()).await.expect("operations");
    let needs_person = |row: &SqliteRow| row.get::<bool, _>(2);
    if rows.iter().any(needs_person) && run.seed.chance(0.7) {
        rows.retain(needs_person);
    }
    if rows.is_empty() {
        return Ok(());
    }
    let row = run.seed.pick(&rows);
    let (id, proposed): (String, Option<String>) = (row.get(0), row.get(1));
    let order = match run.seed.below(8) {
        0..3 => Move::Retry(id),
        3 | 4 => match proposed.and_then(|hash| hash.parse().ok()).or_else(|| some_hash(run)) {
            Some(hash) => Move::Confirm(id, hash),
            None => Move::Retry(id),
        },
        5 => Move::Abandon(id),
        _ => Move::Cancel(id),
    };
    run.act(index, order).await
}

/// The hash of any transaction on the chain: mostly the wrong proof.
fn some_hash(run: &mut Run<'_>) -> Option<B256> {
    let hashes: Vec<B256> =
        run.shared.net().blocks.iter().flat_map(|b| &b.receipts).map(|receipt| receipt.tx.hash).collect();
    let pick = run.seed.below(hashes.len().max(1) as u64) as usize;
    hashes.get(pick).copied()
}

/// Stopped lanes go on; now and then one is stopped.
pub async fn tend_lanes(run: &mut Run<'_>, index: usize) -> Broken {
    let stopped = "select id from lanes where mode <> 'active' order by id";
    let stopped: Vec<String> = sqlx::query_scalar(stopped).fetch_all(run.stage.pool()).await.expect("lanes");
    for lane in &stopped {
        run.act(index, Move::Resume(lane.clone())).await?;
    }
    if stopped.is_empty() && !run.oracle.draining && run.seed.chance(0.2) {
        let lanes: Vec<String> =
            sqlx::query_scalar("select id from lanes order by id").fetch_all(run.stage.pool()).await.expect("lanes");
        if let Some(lane) = lanes.first() {
            run.act(index, Move::Pause(lane.clone())).await?;
        }
    }
    Ok(())
}
