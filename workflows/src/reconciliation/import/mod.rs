//! After a restore: what the chain did with a lane's key since the backup is written down, so that none of it is done again. What the
//! database still wishes for is found by the engine itself; what it has never heard of is imported here, by a person's word.

mod find;
mod write;

use std::collections::BTreeSet;

use alloy_primitives::B256;
use muniment_activities::factory::Deployment;
use muniment_activities::line::Line;
use muniment_activities::mined::Mined;
use muniment_activities::mint::MintPage;
use muniment_domain::acknowledgement::{self, WHOLE_CALL};
use muniment_domain::lane::{self, Lane};
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result};

use crate::engine::{Engine, Network};

/// What was found of a key on the chain.
#[derive(Clone, Debug)]
pub struct Found {
    /// The lane.
    pub lane: Lane,
    /// The blocks that were searched, or none where nothing can have been forgotten.
    pub blocks: Option<(u64, u64)>,
    /// How many final transactions of the key the lane's counter does not know.
    pub uncounted: u64,
    /// Its calls of our contracts that this database has not signed, in the order of the chain.
    pub calls: Vec<Call>,
}

/// A call of a lane's key that is not known here.
#[derive(Clone, Debug)]
pub struct Call {
    /// The transaction.
    pub mined: Mined,
    /// The function's name.
    pub function: String,
    /// What it is to the database.
    pub standing: Standing,
}

/// What a call is to the database.
#[derive(Clone, Debug)]
pub enum Standing {
    /// This operation wishes for the very same call, and will find it by itself.
    Awaited(String),
    /// It deployed the token of this offering.
    Deployment(String, Deployment),
    /// It minted a page of this offering.
    Page(String, MintPage, Vec<Match>),
    /// It paid these entitlements, which are unpaid here and would be paid again.
    Paid(Vec<String>),
    /// Nothing of the platform is like it; whether a person has said that this is right.
    Strange(bool),
}

/// A line of a page, with what it was for.
#[derive(Clone, Debug)]
pub struct Match {
    /// The line.
    pub line: Line,
    /// The subscription.
    pub subscription: Subscription,
}

/// What a line was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// This one.
    Fits(String),
    /// This one, which another operation holds.
    Held(String, String),
    /// None that is accepted; whether a person has said that this is right.
    Missing(bool),
}

impl Call {
    /// The name by which a person acknowledges it, or a line of it.
    pub fn name(&self, line: Option<usize>) -> String {
        line.map_or_else(|| self.mined.hash.to_string(), |line| format!("{}:{line}", self.mined.hash))
    }

    /// Whether nothing has to be done about it before the lane signs again.
    pub const fn is_settled(&self) -> bool {
        matches!(self.standing, Standing::Awaited(_) | Standing::Strange(true))
    }

    /// Whether it can be written as an operation.
    pub fn is_importable(&self) -> bool {
        match &self.standing {
            Standing::Deployment(..) => true,
            Standing::Page(_, _, lines) => {
                lines.iter().all(|l| matches!(l.subscription, Subscription::Fits(_) | Subscription::Missing(true)))
            }
            Standing::Awaited(_) | Standing::Paid(_) | Standing::Strange(_) => false,
        }
    }
}

/// Looks for what the chain did with the lane's key that this database does not know. Changes nothing.
pub async fn find(engine: &Engine, network: &Network, lane_id: &str) -> Result<Found> {
    find::find(engine, network, lane_id).await
}

/// Writes every call that can be written as a confirmed operation, each in a commit of its own; their ids.
pub async fn apply(engine: &Engine, network: &Network, lane_id: &str, actor: &str) -> Result<Vec<String>> {
    let mut written = Vec::new();
    let mut tried = BTreeSet::new();
    loop {
        // Looked for anew after each: a deployment gives the pages behind it their token, and a subscription is taken once.
        let found = find::find(engine, network, lane_id).await?;
        let next = found.calls.iter().find(|call| call.is_importable() && tried.insert(call.mined.hash));
        let Some(call) = next else { return Ok(written) };
        written.push(write::write(engine, network, &found.lane, call, actor).await?);
    }
}

/// Notes that a person has seen a call, or a line of one, and that it belongs to nothing here. Only what is shown as such can be named.
pub async fn acknowledge(
    engine: &Engine,
    network: &Network,
    lane_id: &str,
    names: &[(B256, Option<usize>)],
    actor: &str,
) -> Result<()> {
    let found = find::find(engine, network, lane_id).await?;
    for (hash, line) in names {
        let named = found.calls.iter().find(|call| call.mined.hash == *hash).map(|call| &call.standing);
        if let Some(Standing::Paid(entitlements)) = named {
            let detail = format!(
                "{hash} paid what is still unpaid here, and would be paid again: {}. Exclude them first, which takes two people; then it \
                 can be acknowledged.",
                entitlements.join(", ")
            );
            return Err(Error::refused(Code::UnknownCalls, detail));
        }
        let fits = match (named, line) {
            (Some(Standing::Strange(_)), None) => true,
            (Some(Standing::Page(_, _, lines)), Some(line)) => {
                lines.get(*line).is_some_and(|l| matches!(l.subscription, Subscription::Missing(_)))
            }
            _ => false,
        };
        if !fits {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let detail = format!("{hash}{line} is not among what belongs to nothing here; see what is shown.");
            return Err(Error::refused(Code::ValidationFailed, detail));
        }
    }
    let mut tx = engine.db.begin().await?;
    for (hash, line) in names {
        let line = line.map_or(WHOLE_CALL, |line| i64::try_from(line).unwrap_or(i64::MAX));
        acknowledgement::insert(&mut tx, network.id(), *hash, line, actor).await?;
    }
    tx.commit(Point::Adopt).await
}

/// Refuses while the chain has calls of the lane's key that nobody has imported or acknowledged: they would be done again.
pub async fn nothing_is_forgotten(engine: &Engine, network: &Network, lane: &Lane) -> Result<()> {
    if lane.mode != lane::Mode::Quarantined {
        return Ok(());
    }
    let found = find::find(engine, network, &lane.id).await?;
    let left: Vec<&Call> = found.calls.iter().filter(|call| !call.is_settled()).collect();
    let Some(first) = left.first() else { return Ok(()) };
    let detail = format!(
        "The chain executed {} calls of {} that this database does not know, the first is {} in block {} ({}). Import them first: \
         `muniment admin lane import {}` shows them.",
        left.len(),
        lane.signer,
        first.function,
        first.mined.block_number,
        first.mined.hash,
        lane.id
    );
    Err(Error::refused(Code::UnknownCalls, detail))
}
