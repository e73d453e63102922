//! After a long absence: the blocks between are not walked. The hashes that we sent are asked for one by one, and following goes on near
//! the head.

use alloy_primitives::B256;
use muniment_activities::fault::Fault;
use muniment_activities::heads::Heads;
use muniment_domain::chain::{self, Chain as Cursor};
use muniment_domain::column::Hex;
use muniment_domain::point::Point;
use muniment_domain::{Error, attempt, lane as lanes};

use crate::engine::{Engine, Network};
use crate::follow::{self, Pass, Walk};
use crate::lane;

/// How far below the head following goes on, so that an ordinary reorganisation is walked.
const WALK_BLOCKS: u64 = 64;
/// How many receipts one question asks for.
const RECEIPTS_PER_BATCH: usize = 100;

/// Moves the cursor close to the head and takes in what became of every open attempt below.
pub async fn jump(engine: &Engine, network: &Network, cursor: &Cursor, heads: &Heads) -> Result<Pass, Walk> {
    still_ours(network, cursor).await?;
    let to = heads.latest.number - WALK_BLOCKS;
    let landing = network.chain.header(to).await?.ok_or(Fault::UnknownBlock)?;
    let mut tx = engine.db.read().await?;
    let mut open: Vec<B256> = Vec::new();
    for lane in lanes::of_chain(&mut tx, cursor.chain_id).await? {
        open.extend(attempt::open_of_lane(&mut tx, &lane.id).await?.iter().map(|a| a.tx_hash.0));
    }
    drop(tx);
    let mut receipts = Vec::new();
    for hashes in open.chunks(RECEIPTS_PER_BATCH) {
        receipts.extend(network.chain.receipts(hashes).await?.into_iter().flatten());
    }
    // What lies above the landing is found by walking there.
    receipts.retain(|r| r.block_number <= to);
    let announced = heads.finalized.as_ref().map_or(cursor.final_number, |h| h.number.cast_signed());
    let last = if announced >= to.cast_signed() {
        (to.cast_signed(), landing.hash)
    } else {
        let header = network.chain.header(announced.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)?;
        (announced, header.hash)
    };
    let mut tx = engine.db.begin().await?;
    chain::rewind(&mut tx, cursor.chain_id, cursor.final_number).await?;
    let header =
        chain::Header { number: to.cast_signed(), hash: Hex(landing.hash), parent_hash: Hex(landing.parent_hash) };
    chain::add_headers(&mut tx, cursor.chain_id, &[header]).await?;
    for receipt in &receipts {
        follow::include(&mut tx, cursor.chain_id, receipt).await?;
    }
    chain::advance(&mut tx, cursor, (to.cast_signed(), landing.hash), last).await?;
    follow::make_room(&mut tx, network, receipts.len()).await?;
    tx.commit(Point::Follow).await?;
    tracing::warn!(
        chain.id = cursor.chain_id,
        chain.from = cursor.head_number,
        chain.to = to,
        "caught up after a long absence"
    );
    check_lanes(engine, network).await?;
    Ok(Pass::Moved)
}

/// The final block that we knew must still be there, or this is another chain.
async fn still_ours(network: &Network, cursor: &Cursor) -> Result<(), Walk> {
    let header = network.chain.header(cursor.final_number.cast_unsigned()).await?.ok_or(Fault::UnknownBlock)?;
    if header.hash == cursor.final_hash.0 {
        return Ok(());
    }
    Err(Fault::WrongChain {
        endpoint: "the endpoints".to_owned(),
        expected: format!("final block {} to be {}", cursor.final_number, cursor.final_hash),
        found: format!("{}", header.hash),
    }
    .into())
}

/// The blocks in between were not read, so a stranger's use of our keys is looked for by count.
async fn check_lanes(engine: &Engine, network: &Network) -> Result<(), Error> {
    let mut tx = engine.db.read().await?;
    let lanes = lanes::of_chain(&mut tx, network.id()).await?;
    drop(tx);
    for lane in lanes {
        lane::check(engine, network, &lane.id).await?;
    }
    Ok(())
}
