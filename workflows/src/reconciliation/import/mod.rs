//! Import after a restore: calls of a lane's key since the backup are recorded, so that none of them is repeated.
//!
//! 1. The process starts on an old database. The chain counts more transactions of the key than the lane, so the lane is quarantined, with
//!    the block from which the key must be searched (`lanes.unknown_from`).
//! 2. The engine finds calls of operations that the database still has by their operation numbers, and adopts them without a signature.
//! 3. `GET /blockchain/signers/{id}/unknown-calls` and `muniment admin lane import` show the other calls: the events of our contracts
//!    since that block, the calls behind them decoded, and each line matched with the accepted subscription of its wallet and quantity.
//! 4. `POST /blockchain/signers/{id}/import-calls` or `--apply` writes each call as a confirmed operation and settles the domain, in one
//!    commit. A call or line that matches nothing must be acknowledged by its name.
//! 5. `lane resume` refuses while an unknown call is left. Then it raises the nonce and the operation numbers above those the chain has
//!    seen.

mod find;
mod write;

use std::collections::BTreeSet;

use alloy_primitives::B256;
use muniment_activities::chain::inclusion::IncludedTransaction;
use muniment_activities::contract::line::Line;
use muniment_activities::token::factory::Deployment;
use muniment_activities::token::mint::MintPage;
use muniment_domain::acknowledgement::{self, WHOLE_CALL};
use muniment_domain::id::{EntitlementId, LaneId, OfferingId, OperationId, SubscriptionId};
use muniment_domain::lane::{self, Lane};
use muniment_domain::point::Point;
use muniment_domain::{Code, Error, Result};

use crate::engine::{Engine, Network};

/// The unknown calls of a lane's key on the chain.
#[derive(Clone, Debug)]
pub struct UnknownCalls {
    /// The lane.
    pub lane: Lane,
    /// The searched blocks. None if the database cannot have lost a call.
    pub blocks: Option<(u64, u64)>,
    /// Final transactions of the key beyond the lane's next nonce.
    pub uncounted: u64,
    /// The key's calls of platform contracts that this database did not sign, in the order of the chain.
    pub calls: Vec<Call>,
}

/// A call of a lane's key that this database does not know.
#[derive(Clone, Debug)]
pub struct Call {
    /// The transaction.
    pub mined: IncludedTransaction,
    /// The function's name.
    pub function: String,
    /// Its relation to the database.
    pub origin: Origin,
}

/// The relation of a call to the database.
#[derive(Clone, Debug)]
pub enum Origin {
    /// This operation has exactly this call, and the engine will find it.
    Awaited(OperationId),
    /// It deployed the token of this offering.
    Deployment(OfferingId, Deployment),
    /// It minted a page of this offering.
    Page(OfferingId, MintPage, Vec<Match>),
    /// It paid these entitlements. They are unpaid here, so they would be paid twice.
    Paid(Vec<EntitlementId>),
    /// It matches nothing of the platform. The flag tells whether a person acknowledged it.
    Unmatched(bool),
}

/// A line of a page, with its subscription.
#[derive(Clone, Debug)]
pub struct Match {
    /// The line.
    pub line: Line,
    /// The subscription.
    pub subscription: Subscription,
}

/// The subscription of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscription {
    /// This subscription.
    Fits(SubscriptionId),
    /// This subscription, which is in another unfinished operation.
    Held(SubscriptionId, OperationId),
    /// No accepted subscription matches. The flag tells whether a person acknowledged it.
    Missing(bool),
}

impl Call {
    /// The name that a person uses to acknowledge the call, or a line of it.
    pub fn name(&self, line: Option<usize>) -> String {
        line.map_or_else(|| self.mined.hash.to_string(), |line| format!("{}:{line}", self.mined.hash))
    }

    /// Whether it matches nothing here, and nobody has acknowledged it.
    pub const fn is_unmatched(&self) -> bool {
        matches!(self.origin, Origin::Unmatched(false))
    }

    /// Its relation to the platform, as text.
    pub fn in_words(&self) -> String {
        match &self.origin {
            Origin::Awaited(id) => format!("known: {id} requests this call and will find it"),
            Origin::Deployment(id, _) => format!("unknown: the deployment of {id}"),
            Origin::Page(id, page, lines) => {
                format!("unknown: operation {} of the token of {id}, {} lines", page.op_id, lines.len())
            }
            Origin::Paid(entitlements) => format!(
                "unknown: it paid what is unpaid here and would be paid again; exclude it first: {}",
                entitlements.join(", ")
            ),
            Origin::Unmatched(true) => "unknown, and acknowledged".to_owned(),
            Origin::Unmatched(false) => "unknown, and matches nothing here".to_owned(),
        }
    }

    /// Whether the lane can sign again without a decision about this call.
    pub const fn is_settled(&self) -> bool {
        matches!(self.origin, Origin::Awaited(_) | Origin::Unmatched(true))
    }

    /// Whether it can be imported as an operation.
    pub fn is_importable(&self) -> bool {
        match &self.origin {
            Origin::Deployment(..) => true,
            Origin::Page(_, _, lines) => {
                lines.iter().all(|l| matches!(l.subscription, Subscription::Fits(_) | Subscription::Missing(true)))
            }
            Origin::Awaited(_) | Origin::Paid(_) | Origin::Unmatched(_) => false,
        }
    }
}

impl Match {
    /// Whether no subscription matches it, and nobody has acknowledged that.
    pub fn is_unmatched(&self) -> bool {
        self.subscription == Subscription::Missing(false)
    }

    /// The subscription, as text.
    pub fn in_words(&self) -> String {
        match &self.subscription {
            Subscription::Fits(id) => id.to_string(),
            Subscription::Held(id, operation) => format!("{id} is in {operation}: cancel that first"),
            Subscription::Missing(true) => "no accepted subscription, acknowledged".to_owned(),
            Subscription::Missing(false) => "no accepted subscription".to_owned(),
        }
    }
}

/// Reads the name of a call (0x…) or of a line of it (0x…:3).
pub fn parse_name(name: &str) -> Option<(B256, Option<usize>)> {
    let (hash, line) = name.split_once(':').map_or((name, None), |(hash, line)| (hash, Some(line)));
    let line = match line {
        Some(line) => Some(line.parse().ok()?),
        None => None,
    };
    Some((hash.parse().ok()?, line))
}

/// The chain of a lane, if this process is connected to it.
pub async fn network_of<'a>(engine: &'a Engine, lane_id: &LaneId) -> Result<&'a Network> {
    let chain_id = lane::find(&mut engine.db.read().await?, lane_id).await?.chain_id;
    let unknown = || Error::refused(Code::UnknownChain, format!("Chain {chain_id} is not configured here."));
    engine.network(chain_id).ok_or_else(unknown)
}

/// Finds calls of the lane's key on the chain that this database does not know. Changes nothing.
pub async fn find(engine: &Engine, network: &Network, lane_id: &LaneId) -> Result<UnknownCalls> {
    find::find(engine, network, lane_id).await
}

/// Imports every importable call as a confirmed operation, each in its own commit. Returns the ids.
pub async fn apply(engine: &Engine, network: &Network, lane_id: &LaneId, actor: &str) -> Result<Vec<OperationId>> {
    let mut written = Vec::new();
    let mut tried = BTreeSet::new();
    loop {
        // Searched again after each import: a deployment makes the token of later pages known, and a subscription matches only once.
        let found = find::find(engine, network, lane_id).await?;
        let next = found.calls.iter().find(|call| call.is_importable() && tried.insert(call.mined.hash));
        let Some(call) = next else { return Ok(written) };
        written.push(write::write(engine, network, &found.lane, call, actor).await?);
    }
}

/// Records that a person has seen a call, or a line of one, that matches nothing here. Only such calls and lines can be acknowledged.
pub async fn acknowledge(
    engine: &Engine,
    network: &Network,
    lane_id: &LaneId,
    names: &[(B256, Option<usize>)],
    actor: &str,
) -> Result<()> {
    let found = find::find(engine, network, lane_id).await?;
    for (hash, line) in names {
        let named = found.calls.iter().find(|call| call.mined.hash == *hash).map(|call| &call.origin);
        if let Some(Origin::Paid(entitlements)) = named {
            let detail = format!(
                "{hash} paid entitlements that are unpaid here and would be paid twice: {}. Exclude them first, with an approval. Then \
                 acknowledge the call.",
                entitlements.join(", ")
            );
            return Err(Error::refused(Code::UnknownCalls, detail));
        }
        let fits = match (named, line) {
            (Some(Origin::Unmatched(_)), None) => true,
            (Some(Origin::Page(_, _, lines)), Some(line)) => {
                lines.get(*line).is_some_and(|l| matches!(l.subscription, Subscription::Missing(_)))
            }
            _ => false,
        };
        if !fits {
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let detail = format!("{hash}{line} is not one of the unmatched calls. Read the list again.");
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

/// Refuses while the chain has calls of the lane's key that are neither imported nor acknowledged: the engine could repeat them.
pub async fn nothing_is_forgotten(engine: &Engine, network: &Network, lane: &Lane) -> Result<()> {
    if lane.mode != lane::Mode::Quarantined {
        return Ok(());
    }
    let found = find::find(engine, network, &lane.id).await?;
    let left: Vec<&Call> = found.calls.iter().filter(|call| !call.is_settled()).collect();
    let Some(first) = left.first() else { return Ok(()) };
    let detail = format!(
        "The chain executed calls of {} that this database does not know: {}. The first is {} in block {} ({}). Import them first: \
         `GET /blockchain/signers/{}/unknown-calls` shows them.",
        lane.signer,
        left.len(),
        first.function,
        first.mined.block_number,
        first.mined.hash,
        lane.id
    );
    Err(Error::refused(Code::UnknownCalls, detail))
}
