//! The blocks of a pass, and the commit that stores them.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::Result;
use muniment_domain::attempt::SendAnswer;
use muniment_domain::chain::{self, Chain as Cursor, ForeignTransaction, Header};
use muniment_domain::db::Tx;
use muniment_domain::id::LaneId;
use muniment_domain::point::Point;
use muniment_domain::step::Sent;

use crate::engine::commits::Writes;
use crate::engine::{Engine, Network};
use crate::engine::{inclusion, lane};

/// How long a commit with transactions of the platform waits for the lanes that sign in the room that it makes.
const FOR_SIGNATURES: Duration = Duration::from_millis(10);

/// The platform's transactions in the blocks of a pass.
pub struct Found {
    pub headers: Vec<Header>,
    pub sent: Vec<Sent>,
    pub receipts: Vec<Receipt>,
    pub foreign: Vec<ForeignTransaction>,
}

/// Stores the blocks. Lanes that wait for the room that these make sign in the same commit. Returns whether others must look for theirs.
pub async fn store(engine: &Engine, network: &Network, taken: Arc<Taken>) -> Result<bool> {
    let waits = network.commits.are_shared() && network.room.announce(taken.included());
    let patience = if waits { FOR_SIGNATURES } else { Duration::ZERO };
    let stored = engine.commit(network.id(), Point::Follow, patience, taken).await;
    let has_room = network.room.end(waits);
    stored.map(|()| has_room)
}

/// The blocks of a pass, ready to be stored.
pub struct Taken {
    pub cursor: Cursor,
    pub ancestor: i64,
    pub found: Found,
    pub head: (i64, B256),
    pub last: (i64, B256),
    pub answers: Vec<SendAnswer>,
}

impl Writes for Taken {
    fn write<'a>(&'a self, tx: &'a mut Tx) -> BoxFuture<'a, Result<()>> {
        self.store(tx).boxed()
    }
}

impl Taken {
    /// The number of transactions of each lane that these blocks include.
    fn included(&self) -> BTreeMap<LaneId, i64> {
        let with_receipt: HashSet<B256> = self.found.receipts.iter().map(|receipt| receipt.tx_hash).collect();
        let included = self.found.sent.iter().filter(|one| one.is_awaited() && with_receipt.contains(&one.sent_hash.0));
        let mut lanes = BTreeMap::new();
        for one in included {
            *lanes.entry(one.sent_lane.clone()).or_default() += 1;
        }
        lanes
    }

    async fn store(&self, tx: &mut Tx) -> Result<()> {
        let Self { cursor, ancestor, found, .. } = self;
        if *ancestor < cursor.head_number {
            tracing::warn!(
                chain.id = cursor.chain_id,
                chain.ancestor = ancestor,
                chain.head = cursor.head_number,
                "reorganisation"
            );
            chain::rewind(tx, cursor.chain_id, *ancestor).await?;
        }
        inclusion::include(tx, &found.sent, &found.receipts, &self.answers).await?;
        for foreign in &found.foreign {
            lane::note_foreign(tx, foreign).await?;
        }
        chain::add_headers(tx, cursor.chain_id, &found.headers).await?;
        chain::advance(tx, cursor, self.head, self.last).await
    }
}
