//! The blocks of a pass, and the commit that stores them.

use std::sync::Arc;
use std::time::Duration;

use alloy_primitives::B256;
use futures::future::{BoxFuture, FutureExt};
use muniment_activities::chain::receipt::Receipt;
use muniment_domain::Result;
use muniment_domain::attempt::SendAnswer;
use muniment_domain::chain::{self, Chain as Cursor, ForeignTransaction, Header};
use muniment_domain::db::Tx;
use muniment_domain::point::Point;
use muniment_domain::step::{self, Sent};

use crate::engine::commits::{Patience, Writes};
use crate::engine::room::Announced;
use crate::engine::{Engine, Network};
use crate::engine::{inclusion, lane};

/// How long the follower waits for the lanes that sign in the room that its blocks make, and they for the follower.
pub const FOR_SIGNATURES: Duration = Duration::from_millis(25);

/// The platform's transactions in the blocks of a pass.
pub struct Found {
    pub headers: Vec<Header>,
    pub sent: Vec<Sent>,
    pub receipts: Vec<Receipt>,
    pub foreign: Vec<ForeignTransaction>,
}

/// Stores the blocks, with the signatures of the lanes to which their room was announced. Returns whether others must look for theirs.
pub async fn store(engine: &Engine, network: &Network, taken: Arc<Taken>, announced: Announced<'_>) -> Result<bool> {
    let patience = match network.room.announced() {
        0 => Patience::NONE,
        lanes => Patience::until(lanes + 1, FOR_SIGNATURES),
    };
    let stored = engine.commit(network.id(), Point::Follow, patience, taken).await;
    let has_room = announced.end();
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
            // The steps were read before the rewind, which took their inclusions back.
            let hashes: Vec<B256> = found.sent.iter().map(|one| one.sent_hash.0).collect();
            let sent = step::sent(tx, cursor.chain_id, &hashes).await?;
            inclusion::include(tx, &sent, &found.receipts, &self.answers).await?;
        } else {
            inclusion::include(tx, &found.sent, &found.receipts, &self.answers).await?;
        }
        for foreign in &found.foreign {
            lane::note_foreign(tx, foreign).await?;
        }
        chain::add_headers(tx, cursor.chain_id, &found.headers).await?;
        chain::advance(tx, cursor, self.head, self.last).await
    }
}
