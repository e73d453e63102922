//! One chain, with the state that the engine keeps for it in memory.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Mutex as StdMutex, PoisonError};

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use muniment_activities::chain::fees::{Fees, Market};
use muniment_activities::chain::{Chain, Tag};
use muniment_activities::fault::Fault;
use muniment_activities::signer::Signer;
use muniment_domain::attempt::SendAnswer;
use muniment_domain::id::LaneId;
use tokio::sync::{Mutex, Notify};

use crate::engine::commits::Commits;
use crate::engine::known_gas::KnownGas;
use crate::engine::market::KnownMarket;
use crate::engine::position::Position;
use crate::engine::room::Room;

/// Blocks that the follower reads in one pass.
pub const BLOCKS_PER_PASS: u64 = 64;

/// One chain with the keys that this process signs with there.
pub struct Network {
    /// Its endpoints.
    pub chain: Chain,
    /// The keys. Each has its own lane.
    pub signers: BTreeMap<Address, Signer>,
    /// Whether each key has its lane.
    pub has_lanes: AtomicBool,
    /// The commits that its moves share.
    pub commits: Commits,
    /// Notified after a send, so that the follower reads at once.
    pub sent: Notify,
    /// Whether this process follows the chain.
    pub followed_here: AtomicBool,
    /// Notified after the cursor moved, so that final steps are settled at once.
    pub followed: Notify,
    /// The room in its lanes.
    pub room: Room,
    /// Answers to sends that are not stored yet. They are not urgent: the block of a transaction stores its answer, and a lane that rests
    /// the others.
    answers: StdMutex<BTreeMap<B256, SendAnswer>>,
    /// How far this process followed the chain, while it is sure of it.
    position: StdMutex<Option<Position>>,
    /// Blocks that the follower reads in one pass. Fewer after a fault, because an endpoint may limit its answers.
    pub pass_blocks: AtomicU64,
    /// The heads that this process saw, and since which of them each attempt waits.
    ages: StdMutex<Ages>,
    /// The fees that this process knows.
    pub known_market: KnownMarket,
    /// Addresses with known code, which never disappears.
    contracts: Mutex<BTreeSet<Address>>,
    /// The estimated gas of earlier calls.
    pub gas: KnownGas,
}

/// Ages are counted in heads, not in seconds: neither an outage nor a clock that jumps makes a transaction old.
#[derive(Default)]
struct Ages {
    heads: u64,
    /// The height to which another process followed, when this one last looked.
    followed: i64,
    since: HashMap<B256, u64>,
    /// The attempt at the fee cap of each lane, with the start of its operation's wait, and since which head.
    at_cap: HashMap<LaneId, (B256, Option<DateTime<Utc>>, u64)>,
}

impl Network {
    /// Whether a transaction does not wait for the time of the next block.
    pub fn mines_at_once(&self) -> bool {
        self.chain.config.block_seconds <= 1
    }

    /// The limit of a lane's transactions that the node has and no block includes.
    pub fn in_flight_max(&self) -> i64 {
        i64::from(self.chain.config.in_flight_max)
    }

    /// The limit of a lane's steps that are signed ahead: stored, and not with the node. Where a transaction does not wait for the time of the
    /// next block, they are as many as the node may have, which gets them as soon as there is room for several.
    pub fn ahead_max(&self) -> i64 {
        if self.mines_at_once() { self.in_flight_max() } else { 0 }
    }

    /// The limit of a lane's signed steps that no block includes.
    pub fn signed_max(&self) -> i64 {
        self.in_flight_max() + self.ahead_max()
    }

    /// The fewest transactions that a full lane sends at once.
    pub fn sent_together(&self) -> usize {
        self.chain.config.in_flight_max as usize / 4
    }

    /// The chain's id, in the database's type.
    pub fn id(&self) -> i64 {
        self.chain.config.chain_id.cast_signed()
    }

    /// The reason of a wait for the market.
    pub fn above_cap(&self, base_fee: u128) -> String {
        format!(
            "base_fee_above_cap: the chain's base fee is {base_fee} wei, above the cap of {} gwei. Wait, or raise max_fee_per_gas_gwei_cap",
            self.chain.config.max_fee_per_gas_gwei_cap
        )
    }

    /// Whether there is a contract at an address. A call to an address without code succeeds and does nothing.
    pub async fn has_code(&self, address: Address) -> Result<bool, Fault> {
        if self.contracts.lock().await.contains(&address) {
            return Ok(true);
        }
        let found = !self.chain.code(address, Tag::Latest).await?.is_empty();
        if found {
            self.contracts.lock().await.insert(address);
        }
        Ok(found)
    }

    pub(super) fn of(chain: Chain, signers: BTreeMap<Address, Signer>) -> Self {
        Self {
            chain,
            signers,
            has_lanes: AtomicBool::new(false),
            commits: Commits::default(),
            sent: Notify::new(),
            followed_here: AtomicBool::new(false),
            followed: Notify::new(),
            room: Room::default(),
            answers: StdMutex::default(),
            position: StdMutex::default(),
            pass_blocks: AtomicU64::new(BLOCKS_PER_PASS),
            ages: StdMutex::default(),
            known_market: KnownMarket::default(),
            contracts: Mutex::default(),
            gas: KnownGas::default(),
        }
    }

    /// Holds answers until something stores them.
    pub fn hold_answers(&self, answers: Vec<SendAnswer>) {
        self.answers().extend(answers.into_iter().map(|answer| (answer.tx_hash, answer)));
    }

    /// Takes all answers that nothing has stored.
    pub fn take_answers(&self) -> Vec<SendAnswer> {
        std::mem::take(&mut *self.answers()).into_values().collect()
    }

    /// Takes the answer to one send.
    pub fn take_answer(&self, tx_hash: B256) -> Option<SendAnswer> {
        self.answers().remove(&tx_hash)
    }

    /// Whether there are answers that nothing has stored.
    pub fn holds_answers(&self) -> bool {
        !self.answers().is_empty()
    }

    fn answers(&self) -> std::sync::MutexGuard<'_, BTreeMap<B256, SendAnswer>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the position out of memory. A pass that fails does not put it back, and the next one reads it anew.
    pub(super) fn take_position(&self) -> Option<Position> {
        self.position.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the position for the next pass.
    pub(super) fn keep_position(&self, position: Position) {
        *self.position.lock().unwrap_or_else(PoisonError::into_inner) = Some(position);
    }

    /// The current market fees, below the cap.
    pub async fn fees(&self, now: DateTime<Utc>) -> Result<Fees, Fault> {
        Ok(self.market(now).await?.offer)
    }

    /// The current base fee and the fees to offer.
    pub async fn market(&self, now: DateTime<Utc>) -> Result<Market, Fault> {
        self.known_market.read(&self.chain, now).await
    }

    /// Counts a head that the follower saw.
    pub fn count_head(&self) {
        self.ages().heads += 1;
    }

    /// Counts a head if another process followed the chain to a new height.
    pub fn count_followed(&self, number: i64) {
        let mut ages = self.ages();
        if ages.followed != number {
            (ages.followed, ages.heads) = (number, ages.heads + 1);
        }
    }

    /// The heads seen since this process first knew that the attempt was sent.
    pub fn heads_since(&self, attempt: B256) -> u64 {
        let mut ages = self.ages();
        let heads = ages.heads;
        heads - *ages.since.entry(attempt).or_insert(heads)
    }

    /// The heads seen since a lane's lowest attempt was found at the fee cap. A person's retry starts the wait anew.
    pub fn heads_at_cap(&self, lane_id: &LaneId, attempt: B256, submitted_at: Option<DateTime<Utc>>) -> u64 {
        let mut ages = self.ages();
        let heads = ages.heads;
        let entry = ages.at_cap.entry(lane_id.clone()).or_insert((attempt, submitted_at, heads));
        if (entry.0, entry.1) != (attempt, submitted_at) {
            *entry = (attempt, submitted_at, heads);
        }
        heads - entry.2
    }

    /// Forgets the ages of attempts that are no longer open.
    pub fn keep_ages(&self, open: &HashSet<B256>) {
        self.ages().since.retain(|attempt, _| open.contains(attempt));
    }

    fn ages(&self) -> std::sync::MutexGuard<'_, Ages> {
        self.ages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
