//! Reading the log: newest first, by who, by what, by what it was done to.

use super::Line;
use crate::db::Tx;
use crate::narrow::Created;
use crate::{Result, on};

/// How far lines are counted.
pub const COUNTED_MAX: i64 = 10_000;

/// Which lines are wanted.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    pub actor: Option<String>,
    pub action: Option<String>,
    pub object_id: Option<String>,
    pub created: Created,
    /// Only those that are older than this line.
    pub after: Option<String>,
}

macro_rules! conditions {
    ($query:expr, $filter:expr) => {{
        let mut word = " where ";
        macro_rules! also {
            ($text:literal, $value:expr) => {
                if let Some(value) = $value {
                    $query.push(word).push($text).push_bind(value);
                    word = " and ";
                }
            };
        }
        also!("actor = ", &$filter.actor);
        also!("action = ", &$filter.action);
        also!("object_id = ", &$filter.object_id);
        also!("at >= ", $filter.created.from);
        also!("at <= ", $filter.created.to);
        also!("id < ", &$filter.after);
        _ = word;
    }};
}

/// The lines, newest first.
pub async fn list(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<Vec<Line>> {
    Ok(on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select * from audit_log");
        conditions!(&mut query, filter);
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Line>().fetch_all(conn).await?
    }))
}

/// How many there are, up to a bound.
pub async fn count(tx: &mut Tx, filter: &Filter) -> Result<i64> {
    Ok(on!(tx, conn => {
        let mut query = sqlx::QueryBuilder::new("select count(*) from (select 1 from audit_log");
        conditions!(&mut query, filter);
        query.push(format!(" limit {COUNTED_MAX}) as counted"));
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    }))
}
