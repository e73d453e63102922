//! People: they ask, ask again when no answer came, and decide what the engine may not.

use alloy::primitives::B256;
use muniment_domain::Result;
use muniment_domain::sql::sql;
use world::Seed;

use crate::fault::Fault;
use crate::middle::Ended;
use crate::request::{self, Request, What};
use crate::run::Run;
use crate::worker::Move;

type Broken = std::result::Result<(), String>;

/// What people do about what waits for them. Requests they always make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum People {
    /// They look at everything.
    Diligent,
    /// They look at half of the operations, and at stopped lanes.
    Careless,
    /// Nobody comes.
    Away,
}

impl People {
    pub fn draw(seed: &mut Seed) -> Self {
        match seed.below(5) {
            0 => Self::Away,
            1 => Self::Careless,
            _ => Self::Diligent,
        }
    }

    /// Whether somebody decides something now.
    pub fn decides(self, seed: &mut Seed) -> bool {
        self != Self::Away && seed.chance(0.5)
    }

    /// Whether somebody cares for an operation.
    pub fn care_for(self, operation_id: &str) -> bool {
        match self {
            Self::Diligent => true,
            Self::Careless => operation_id.bytes().map(u64::from).sum::<u64>().is_multiple_of(2),
            Self::Away => false,
        }
    }
}

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
    let made = request::make(&run.stage.db, &run.settings, &run.shared, &request);
    let said: Ended<Result<String>> = run.shared.until_ended(made).await;
    if !matches!(said, Ended::By(Ok(_))) && !matches!(&said, Ended::By(Err(error)) if error.refusal().is_some()) {
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
    match decision(run).await {
        Some(order) => run.act(index, order).await,
        None => Ok(()),
    }
}

/// What a person does about an operation: mostly about one that needs a person, if any does.
pub async fn decision(run: &mut Run<'_>) -> Option<Move> {
    let mut rows: Vec<(String, Option<String>, bool)> = run
        .stage
        .rows(sql(
            "select id, suggested_action ->> 'tx_hash', status in ('failed', 'dead_letter') and resolution is null from operations \
             where status <> 'confirmed' order by id",
        ))
        .await;
    rows.retain(|(id, _, _)| run.people.care_for(id));
    if rows.iter().any(|(_, _, needs_person)| *needs_person) && run.seed.chance(0.7) {
        rows.retain(|(_, _, needs_person)| *needs_person);
    }
    if rows.is_empty() {
        return None;
    }
    let (id, proposed, _) = run.seed.pick(&rows).clone();
    Some(match run.seed.below(8) {
        0..3 => Move::Retry(id),
        3 | 4 => match proposed.and_then(|hash| hash.parse().ok()).or_else(|| some_hash(run)) {
            Some(hash) => Move::Confirm(id, hash),
            None => Move::Retry(id),
        },
        5 => Move::Abandon(id),
        _ => Move::Cancel(id),
    })
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
    let lanes: Vec<(String, String)> = run.stage.rows(sql("select id, mode from lanes order by id")).await;
    let stopped = lanes.iter().filter(|(_, mode)| mode != "active");
    let mut none = true;
    for (lane, _) in stopped {
        none = false;
        run.act(index, Move::Resume(lane.clone())).await?;
    }
    if none
        && !run.oracle.draining
        && run.seed.chance(0.2)
        && let Some((lane, _)) = lanes.first()
    {
        run.act(index, Move::Pause(lane.clone())).await?;
    }
    Ok(())
}
