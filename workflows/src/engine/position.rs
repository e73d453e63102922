//! How far a chain is followed, as the follower remembers it between two passes.

use std::collections::{BTreeMap, HashSet};

use alloy_primitives::{Address, B256};
use muniment_domain::chain::{self, Chain as Cursor, Header};
use muniment_domain::column::Hex;
use muniment_domain::db::Db;
use muniment_domain::{Result, lane};

/// How far the chain is followed. It is kept in memory between two passes, as long as nothing else changes the row of the chain: the commit
/// of a pass compares its version.
pub struct Position {
    /// The row of the chain.
    pub cursor: Cursor,
    /// The hashes of known canonical blocks, by height.
    hashes: BTreeMap<i64, B256>,
    /// The signers of all lanes, also of those whose keys only another process has. A new lane changes the chain's version.
    pub signers: HashSet<Address>,
}

impl Position {
    /// Reads it. None before the first contact.
    pub async fn read(db: &Db, chain_id: i64) -> Result<Option<Self>> {
        let mut tx = db.read().await?;
        let Some(cursor) = chain::find(&mut tx, chain_id).await? else { return Ok(None) };
        let lanes = lane::of_chain(&mut tx, chain_id).await?;
        let signers = lanes.iter().map(|lane| lane.signer.0).collect();
        Ok(Some(Self { cursor, hashes: BTreeMap::new(), signers }))
    }

    /// The hash of the known canonical block at a height: from the cursor at its two ends, otherwise from the headers.
    pub async fn hash_at(&mut self, db: &Db, number: i64) -> Result<Option<B256>> {
        if number == self.cursor.head_number {
            return Ok(Some(self.cursor.head_hash.0));
        }
        if number == self.cursor.final_number {
            return Ok(Some(self.cursor.final_hash.0));
        }
        if let Some(hash) = self.hashes.get(&number) {
            return Ok(Some(*hash));
        }
        let header = chain::header(&mut db.read().await?, self.cursor.chain_id, number).await?;
        self.hashes.extend(header.map(|header| (number, header.hash.0)));
        Ok(header.map(|header| header.hash.0))
    }

    /// The position after a commit, with the new blocks above the ancestor.
    pub fn moved(mut self, ancestor: i64, headers: &[Header], head: (i64, B256), last: (i64, B256)) -> Self {
        self.hashes.retain(|number, _| (last.0..=ancestor).contains(number));
        self.hashes.extend(headers.iter().map(|header| (header.number, header.hash.0)));
        let cursor = &mut self.cursor;
        (cursor.head_number, cursor.head_hash) = (head.0, Hex(head.1));
        (cursor.final_number, cursor.final_hash) = (last.0, Hex(last.1));
        (cursor.blocked_reason, cursor.blocked_since) = (None, None);
        cursor.version += 1;
        self
    }
}
