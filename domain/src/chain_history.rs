//! A new history of a chain: what two people accept when final blocks were replaced, because the chain was rewound or its finality broke.

use std::collections::BTreeSet;

use alloy_primitives::B256;
use serde_json::json;

use crate::chain::{self, Chain, Header};
use crate::column::Hex;
use crate::db::{Tx, expect_updated};
use crate::id::{LaneId, OperationId};
use crate::lane::{self, Mode};
use crate::sql::{sql, update_table};
use crate::{Result, event, token_read};

/// The code of an operation whose final transaction is in no block of the accepted history yet.
pub const REPLACED: &str = "history_replaced";
/// What becomes of an operation with an adopted or proved transaction: there are no signed bytes of it that could be sent.
const NOT_SENT: &str = "a transaction of it that was not signed here is not sent again. Start a reconciliation run, and request what is \
     missing as a new operation";
/// The newest recorded blocks among which the common ancestor is searched. Before them only the first block of the chain is left.
const BLOCKS_MAX: i64 = 100_000;
/// Final steps above the ancestor whose transaction is ours and still wanted: it is sent again, with the same nonce. What a person abandoned
/// is not.
const WANTED: &str = "select s.operation_id, s.position, s.lane_id, s.nonce
     from operation_steps s join operations o on o.id = s.operation_id
         join attempts a on a.chain_id = s.chain_id and a.tx_hash = s.tx_hash and a.lane_id = s.lane_id and a.nonce = s.nonce
     where s.chain_id = $1 and s.block_number > $2 and s.state = 'final' and (o.status = 'confirmed' or o.resolution is null)";

/// What the replaced blocks held.
#[derive(Clone, Debug, Default)]
pub struct Replaced {
    /// Operations that were confirmed in them.
    pub operations: Vec<OperationId>,
    /// Used nonces that are free again and that nothing is sent for, with the ids of their lanes. The nonces above them wait.
    pub gaps: Vec<(LaneId, i64)>,
}

/// The blocks of a chain in which this database saw anything, lowest first.
pub async fn known_blocks(tx: &mut Tx, chain_id: i64) -> Result<Vec<(i64, Hex<B256>)>> {
    let mut blocks =
        sql("select block_number, block_hash from operation_steps where chain_id = $1 and block_hash is not null
         union select number, hash from chain_blocks where chain_id = $1
         order by 1 desc limit $2")
        .bind((chain_id, BLOCKS_MAX))
        .rows::<(i64, Hex<B256>)>(tx)
        .await?;
    blocks.reverse();
    Ok(blocks)
}

/// Accepts a chain's new history from the common ancestor on, unless the cursor has changed since it was read. Following begins there, and
/// every token is read again.
pub async fn accept(tx: &mut Tx, chain: &Chain, ancestor: (i64, B256), actor: &str, reason: &str) -> Result<Replaced> {
    let id = chain.chain_id;
    let operations = sql("select distinct o.id from operations o join operation_steps s on s.operation_id = o.id
         where s.chain_id = $1 and s.block_number > $2 and s.state = 'final' and o.status = 'confirmed' order by o.id")
    .bind((id, ancestor.0))
    .scalars::<OperationId>(tx)
    .await?;
    let wanted = sql(WANTED).bind((id, ancestor.0)).rows::<(OperationId, i64, LaneId, i64)>(tx).await?;
    let used = sql("select lane_id, nonce from operation_steps
         where chain_id = $1 and block_number > $2 and state = 'final' and nonce is not null
         union select lane_id, nonce from attempts where chain_id = $1 and block_number > $2 and not open order by 1, 2")
    .bind((id, ancestor.0))
    .rows::<(LaneId, i64)>(tx)
    .await?;
    let is_sent = |gap: &(LaneId, i64)| wanted.iter().any(|(_, _, lane, nonce)| (lane, nonce) == (&gap.0, &gap.1));
    let gaps: Vec<(LaneId, i64)> = used.into_iter().filter(|gap| !is_sent(gap)).collect();
    for (operation_id, position, lane_id, nonce) in &wanted {
        sql("update attempts set open = true, block_number = null, block_hash = null, receipt = null, receipt_text = null
             where lane_id = $1 and nonce = $2")
        .bind((lane_id, *nonce))
        .execute(tx)
        .await?;
        sql("update operation_steps set state = 'signed', outcome = null, final_at = null, tx_hash = null, block_number = null,
                 block_hash = null
             where operation_id = $1 and position = $2")
        .bind((operation_id, *position))
        .execute(tx)
        .await?;
    }
    chain::rewind(tx, id, ancestor.0).await?;
    show(tx, id, &operations, ancestor.0).await?;
    restart(tx, chain, ancestor).await?;
    read_tokens_again(tx, id, ancestor.0).await?;
    stop_lanes(tx, id, &gaps).await?;
    let unused: Vec<_> = gaps.iter().map(|(lane_id, nonce)| json!({ "lane_id": lane_id, "nonce": nonce })).collect();
    let data = json!({ "chain_id": id, "ancestor": ancestor.0, "final": chain.final_number, "operations": operations.len(), "gaps": unused,
        "actor": actor, "reason": reason });
    event::write(tx, "chain.history_accepted", "chain", &id.to_string(), chain.version + 1, data).await?;
    Ok(Replaced { operations, gaps })
}

/// Shows on each confirmed operation that its block is gone and what becomes of it, and tells it.
async fn show(tx: &mut Tx, chain_id: i64, operations: &[OperationId], ancestor: i64) -> Result<()> {
    let now = tx.now();
    // The steps that are sent again were set to `signed` before. A step that is still final was adopted or proved.
    let unsent =
        sql("select operation_id from operation_steps where chain_id = $1 and block_number > $2 and state = 'final'")
            .bind((chain_id, ancestor))
            .scalars::<OperationId>(tx)
            .await?;
    let unsent = BTreeSet::from_iter(unsent);
    for id in operations {
        let next = if unsent.contains(id) { NOT_SENT } else { "its transaction is sent again" };
        let reason = format!("{REPLACED}: its final block above {ancestor} was replaced; {next}");
        let version = sql("update operations set blocked_reason = $2, updated_at = $3, version = version + 1 where id = $1 returning version")
            .bind((id, &reason, now))
            .scalar::<i64>(tx)
            .await?;
        event::write(tx, "operation.history_replaced", "operation", id, version, json!({ "ancestor": ancestor }))
            .await?;
    }
    Ok(())
}

/// Sets the cursor to the common ancestor and ends the halt.
async fn restart(tx: &mut Tx, chain: &Chain, (number, hash): (i64, B256)) -> Result<()> {
    let now = tx.now();
    let rows = update_table("chains")
        .set("head_number", number)
        .set("head_hash", Hex(hash))
        .set("final_number", number)
        .set("final_hash", Hex(hash))
        .set("updated_at", now)
        .with(", halted_reason = null, version = version + 1 where chain_id = ", chain.chain_id)
        .with(" and version = ", chain.version)
        .execute(tx)
        .await?;
    expect_updated(rows, "chain", &chain.chain_id.to_string())?;
    sql("delete from chain_blocks where chain_id = $1").bind(chain.chain_id).execute(tx).await?;
    // Nobody looks below the first common block.
    let ancestor = Header { number, hash: Hex(hash), parent_hash: Hex(B256::ZERO) };
    chain::add_headers(tx, chain.chain_id, &[ancestor]).await
}

/// Empties the ledger of every token of the chain, so that it is read from the new history.
async fn read_tokens_again(tx: &mut Tx, chain_id: i64, ancestor: i64) -> Result<()> {
    for table in token_read::LEDGER {
        sql("delete from ")
            .push(table)
            .with(" where offering_id in (select offering_id from token_cursors where chain_id = ", chain_id)
            .push(")")
            .execute(tx)
            .await?;
    }
    // A token whose deployment is gone may be deployed again in any block above the ancestor.
    sql("update token_cursors set made_in = case when made_in > $2 then $2 + 1 else made_in end, pace = 'alone' where chain_id = $1")
        .bind((chain_id, ancestor))
        .execute(tx)
        .await?;
    sql("update token_cursors set block_number = made_in - 1 where chain_id = $1").bind(chain_id).execute(tx).await?;
    sql("update token_reads set block_number = $2, version = version + 1 where chain_id = $1")
        .bind((chain_id, ancestor))
        .execute(tx)
        .await?;
    Ok(())
}

/// Stops the lanes with a gap: nothing above it can be included.
async fn stop_lanes(tx: &mut Tx, chain_id: i64, gaps: &[(LaneId, i64)]) -> Result<()> {
    for lane in lane::of_chain(tx, chain_id).await? {
        let own: Vec<String> = gaps.iter().filter(|gap| gap.0 == lane.id).map(|gap| gap.1.to_string()).collect();
        if own.is_empty() || lane.mode != Mode::Active {
            continue;
        }
        let reason = format!(
            "The accepted history does not use these nonces any more, and no operation sends for them: {}. Send an empty transaction with \
             each of them, then resume.",
            own.join(", ")
        );
        lane::set_mode(tx, &lane, Mode::Paused, &reason, lane.next_nonce).await?;
    }
    Ok(())
}
