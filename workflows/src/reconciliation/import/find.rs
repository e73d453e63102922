//! Compares the calls of a key on the chain with the database.

use std::collections::{BTreeMap, BTreeSet};

use alloy_primitives::{Address, B256};
use muniment_activities::chain::Tag;
use muniment_activities::chain::inclusion::IncludedTransaction;
use muniment_activities::chain::logs::LogFilter;
use muniment_activities::contract::operation::payload_hash;
use muniment_activities::decode::{self, Decoded};
use muniment_activities::fault::Fault;
use muniment_activities::payout::direct;
use muniment_activities::token::factory;
use muniment_activities::token::mint::MintPage;
use muniment_domain::acknowledgement::{self, WHOLE_CALL};
use muniment_domain::contract::{self, Kind};
use muniment_domain::db::Tx;
use muniment_domain::distribution::{self, Scope};
use muniment_domain::id::{LaneId, OfferingId, SubscriptionId};
use muniment_domain::lane::{self, Lane, Mode};
use muniment_domain::subscription::{self, Candidate, Status};
use muniment_domain::{Result, attempt, chain, claim, entitlement, offering, operation, step};

use super::{Call, Match, Origin, Subscription, UnknownCalls};
use crate::engine::execution::unavailable;
use crate::engine::{Engine, Network};

/// Transactions in one request.
const HASHES_PER_BATCH: usize = 100;

/// The facts that identify a call.
struct LaneFacts {
    lane: Lane,
    last: u64,
    factories: Vec<Address>,
    contracts: BTreeSet<Address>,
    /// The offering of each token.
    tokens: BTreeMap<Address, OfferingId>,
    /// Each offering by the hash that the chain knows.
    offerings: BTreeMap<B256, OfferingId>,
    acknowledged: BTreeSet<(B256, i64)>,
    strangers: Vec<B256>,
}

pub async fn find(engine: &Engine, network: &Network, lane_id: &LaneId) -> Result<UnknownCalls> {
    let mut known = load_known(engine, network, lane_id).await?;
    let lane = known.lane.clone();
    // A lane that was never in doubt has no unknown calls.
    let searched = lane.mode == Mode::Quarantined || lane.unknown_from.is_some();
    let first = lane.unknown_from.unwrap_or_default().cast_unsigned();
    if !searched || first > known.last {
        return Ok(UnknownCalls { lane, blocks: None, uncounted: 0, calls: Vec::new() });
    }
    let blocks = (first, known.last);
    let asked = async {
        let count = network.chain.transaction_count(lane.signer.0, Tag::Number(known.last)).await?;
        let mined = calls_of(engine, network, &mut known, blocks).await?;
        Ok::<_, SearchError>((count, mined))
    };
    let (count, mined) = match asked.await {
        Ok(asked) => asked,
        Err(SearchError::Fault(fault)) => return Err(unavailable(&fault)),
        Err(SearchError::Domain(error)) => return Err(error),
    };
    let mut tx = engine.db.read().await?;
    let (mut calls, mut taken) = (Vec::with_capacity(mined.len()), BTreeSet::new());
    for mined in mined {
        calls.push(identify(&mut tx, &known, mined, &mut taken).await?);
    }
    let uncounted = count.saturating_sub(lane.next_nonce.cast_unsigned());
    Ok(UnknownCalls { lane, blocks: Some(blocks), uncounted, calls })
}

/// The reason why the search failed.
enum SearchError {
    Fault(Fault),
    Domain(muniment_domain::Error),
}

impl From<Fault> for SearchError {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<muniment_domain::Error> for SearchError {
    fn from(error: muniment_domain::Error) -> Self {
        Self::Domain(error)
    }
}

async fn load_known(engine: &Engine, network: &Network, lane_id: &LaneId) -> Result<LaneFacts> {
    let mut tx = engine.db.read().await?;
    let lane = lane::find(&mut tx, lane_id).await?;
    let last = chain::find(&mut tx, lane.chain_id).await?.map_or(0, |c| c.final_number);
    let contracts = contract::of_chain(&mut tx, network.id()).await?;
    let tokens = contract::of_offerings(&mut tx, network.id()).await?;
    let ids = offering::ids_of_chain(&mut tx, network.id()).await?;
    let seen = acknowledgement::of_chain(&mut tx, network.id()).await?;
    let since = lane.unknown_from.unwrap_or_default();
    let strangers = chain::foreign_of(&mut tx, lane.chain_id, lane.signer.0, (since, last)).await?;
    Ok(LaneFacts {
        last: last.cast_unsigned(),
        factories: contracts.iter().filter(|(_, kind)| *kind == Kind::Factory).map(|(a, _)| a.0).collect(),
        // The registry belongs to the administrator: the platform never calls it.
        contracts: contracts.iter().filter(|(_, kind)| *kind != Kind::Registry).map(|(a, _)| a.0).collect(),
        tokens: tokens.into_iter().map(|(address, id)| (address.0, id)).collect(),
        offerings: ids.into_iter().map(|id| (factory::offering_id(&id), id)).collect(),
        acknowledged: seen.into_iter().map(|(hash, line)| (hash.0, line)).collect(),
        strangers: strangers.iter().map(|foreign| foreign.tx_hash.0).collect(),
        lane,
    })
}

/// The key's successful calls of platform contracts in these blocks that the database did not sign, in the order of the chain.
async fn calls_of(
    engine: &Engine,
    network: &Network,
    known: &mut LaneFacts,
    blocks: (u64, u64),
) -> Result<Vec<IncludedTransaction>, SearchError> {
    for factory in known.factories.clone() {
        // A token that was deployed after the backup is not in the database yet.
        for (token, offering) in factory::deployed_tokens(&network.chain, factory, blocks).await? {
            known.contracts.insert(token);
            if let Some(id) = known.offerings.get(&offering) {
                known.tokens.insert(token, id.clone());
            }
        }
    }
    let filter = LogFilter {
        from_block: blocks.0,
        to_block: Some(blocks.1),
        addresses: known.contracts.iter().copied().collect(),
        topics: Vec::new(),
    };
    // An empty filter would return every event of the chain.
    let logs = if filter.addresses.is_empty() { Vec::new() } else { network.chain.logs(&filter).await? };
    let told = logs.iter().filter(|log| known.contracts.contains(&log.address)).map(|log| log.tx_hash);
    let hashes: BTreeSet<B256> = told.chain(known.strangers.iter().copied()).collect();
    let mut unknown = Vec::new();
    let mut tx = engine.db.read().await?;
    for hash in hashes {
        let ours = attempt::find(&mut tx, network.id(), hash).await?.is_some()
            || step::adopted_by(&mut tx, network.id(), hash).await?.is_some()
            || claim::find(&mut tx, network.id(), hash).await?.is_some();
        if !ours {
            unknown.push(hash);
        }
    }
    drop(tx);
    let mut calls = Vec::new();
    for hashes in unknown.chunks(HASHES_PER_BATCH) {
        let receipts = network.chain.receipts(hashes).await?;
        let mut of_key = Vec::new();
        for (hash, receipt) in hashes.iter().zip(receipts) {
            let shown = receipt.ok_or_else(|| Fault::Incomplete(format!("{hash} has an event but no receipt")))?;
            let calls_us = shown.to.is_some_and(|to| known.contracts.contains(&to)) || !shown.logs.is_empty();
            if shown.from == known.lane.signer.0 && shown.success && calls_us && shown.block_number <= known.last {
                of_key.push(*hash);
            }
        }
        calls.extend(network.chain.included_transactions(&of_key).await?.into_iter().flatten());
    }
    calls.sort_by_key(|mined| mined.nonce);
    Ok(calls)
}

async fn identify(
    tx: &mut Tx,
    known: &LaneFacts,
    mined: IncludedTransaction,
    taken: &mut BTreeSet<SubscriptionId>,
) -> Result<Call> {
    let target = mined.to.unwrap_or_default();
    let decoded = decode::decode(&mined.data);
    let function = match &decoded {
        Decoded::DeployToken(_) => "deployToken".to_owned(),
        Decoded::MintPage(_) => "mintPage".to_owned(),
        Decoded::Other(name) => name.clone(),
    };
    let wished = operation::find_same_call(tx, known.lane.chain_id, target, payload_hash(&mined.data)).await?;
    let origin = match (wished, decoded) {
        (Some(operation), _) => Some(Origin::Awaited(operation)),
        (None, Decoded::DeployToken(deployment)) if known.factories.contains(&target) => {
            let id = known.offerings.get(&deployment.offering_id);
            id.map(|id| Origin::Deployment(id.clone(), deployment))
        }
        (None, Decoded::MintPage(page)) => match known.tokens.get(&target) {
            Some(id) => {
                let lines = match_lines(tx, known, id, mined.hash, &page, taken).await?;
                Some(Origin::Page(id.clone(), page, lines))
            }
            None => None,
        },
        (None, Decoded::DeployToken(_)) => None,
        (None, Decoded::Other(_)) => find_unpaid(tx, known, &mined).await?,
    };
    let seen = known.acknowledged.contains(&(mined.hash, WHOLE_CALL));
    Ok(Call { mined, function, origin: origin.unwrap_or(Origin::Unmatched(seen)) })
}

/// Finds the unpaid entitlements that a direct payout page paid. Nothing else in the database could show that page. The distributor needs
/// no such check: it refuses a repetition itself.
async fn find_unpaid(tx: &mut Tx, known: &LaneFacts, mined: &IncludedTransaction) -> Result<Option<Origin>> {
    let Some(page) = direct::page_of(&mined.data) else { return Ok(None) };
    let mut owed = Vec::new();
    for line in page.lines {
        for e in entitlement::unpaid_to(tx, known.lane.chain_id, line.holder()).await? {
            let d = distribution::find(tx, &Scope::All, &e.distribution_id).await?;
            if d.payout_token.0 == page.asset && d.units(e.net) == line.units() && !owed.contains(&e.id) {
                owed.push(e.id);
            }
        }
    }
    Ok((!owed.is_empty()).then_some(Origin::Paid(owed)))
}

/// Finds for each line the accepted subscription with its wallet and quantity. If several match, the oldest one.
async fn match_lines(
    tx: &mut Tx,
    known: &LaneFacts,
    offering_id: &OfferingId,
    hash: B256,
    page: &MintPage,
    taken: &mut BTreeSet<SubscriptionId>,
) -> Result<Vec<Match>> {
    let candidates = subscription::candidates(tx, offering_id).await?;
    let mut lines = Vec::with_capacity(page.lines.len());
    for (index, line) in (0i64..).zip(&page.lines) {
        let fits = |c: &&Candidate| {
            c.status == Status::Accepted
                && c.wallet_address.is_some_and(|wallet| wallet.0 == line.holder())
                && c.quantity.is_some_and(|quantity| quantity.0 == line.units())
        };
        let alike: Vec<_> = candidates.iter().filter(fits).filter(|c| !taken.contains(&c.id)).collect();
        // One without an unfinished operation comes first: the operation of the other one may still be executed.
        let found = alike.iter().find(|c| c.live_operation_id.is_none()).or(alike.first());
        let subscription = match found {
            None => Subscription::Missing(known.acknowledged.contains(&(hash, index))),
            Some(found) => {
                taken.insert(found.id.clone());
                match &found.live_operation_id {
                    None => Subscription::Fits(found.id.clone()),
                    Some(operation) => Subscription::Held(found.id.clone(), operation.clone()),
                }
            }
        };
        lines.push(Match { line: *line, subscription });
    }
    Ok(lines)
}
