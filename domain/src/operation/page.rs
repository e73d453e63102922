//! A page of operations for people to look through. Its cost is the page's, not the table's.

use alloy_primitives::{Address, B256};

use super::{Kind, Operation, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::{Result, on};

/// Up to how many rows are counted for a numbered page.
pub const COUNTED_MAX: i64 = 1_000;

/// What a list shows. What is empty or none restricts nothing.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub statuses: Vec<Status>,
    pub kinds: Vec<Kind>,
    pub offering_id: Option<String>,
    pub subject_id: Option<String>,
    pub batch_id: Option<String>,
    pub signer: Option<Address>,
    pub needs_attention: Option<bool>,
    pub created: Created,
    /// The hash of any transaction of it.
    pub tx_hash: Option<B256>,
    /// Only operations older than this id: the next page.
    pub after: Option<String>,
}

/// Each condition stands only where it is asked for, and words of the enums stand in the text, so that the planner sees which index fits.
macro_rules! conditions {
    ($query:expr, $f:expr) => {{
        let (query, f): (&mut sqlx::QueryBuilder<_>, &Filter) = ($query, $f);
        query.push(" where 1 = 1");
        narrow::words(query, "status", f.statuses.iter().map(|status| status.as_str()));
        narrow::words(query, "kind", f.kinds.iter().map(|kind| kind.as_str()));
        match f.needs_attention {
            Some(true) => _ = query.push(" and status in ('failed', 'dead_letter') and resolution is null"),
            Some(false) => _ = query.push(" and not (status in ('failed', 'dead_letter') and resolution is null)"),
            None => {}
        }
        for (column, value) in [("offering_id", &f.offering_id), ("subject_id", &f.subject_id), ("batch_id", &f.batch_id)] {
            if let Some(value) = value {
                query.push(format!(" and {column} = ")).push_bind(value.clone());
            }
        }
        if let Some(signer) = f.signer {
            query.push(" and lane_id in (select id from lanes where signer = ").push_bind(Hex(signer)).push(")");
        }
        if let Some(hash) = f.tx_hash {
            // The chains are named so that the key of the attempts, which begins with one, can be used.
            query.push(" and id in (select operation_id from attempts where chain_id in (select chain_id from chains) and tx_hash = ");
            query.push_bind(Hex(hash)).push(" union select id from operations where tx_hash = ").push_bind(Hex(hash)).push(")");
        }
        f.created.narrow(query, "", "op");
        if let Some(after) = &f.after {
            query.push(" and id < ").push_bind(after.clone());
        }
    }};
}

/// A page of operations, newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Operation>> {
    Ok(on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select * from operations");
        conditions!(&mut query, filter);
        query.push(" order by id desc limit ").push_bind(limit);
        if offset > 0 {
            query.push(" offset ").push_bind(offset);
        }
        query.build_query_as::<Operation>().fetch_all(conn).await?
    }))
}

/// How many there are; counting ends at [`COUNTED_MAX`], because a whole table takes its time.
pub async fn count(tx: &mut Tx, filter: &Filter) -> Result<i64> {
    Ok(on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select count(*) from (select 1 from operations");
        conditions!(&mut query, filter);
        query.push(format!(" limit {COUNTED_MAX}) as counted"));
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    }))
}
