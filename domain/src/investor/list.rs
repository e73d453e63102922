//! Lists of investors, and where their wallets are frozen.

use alloy_primitives::Address;
use sqlx::QueryBuilder;

use super::{Investor, Status};
use crate::column::Hex;
use crate::db::Tx;
use crate::narrow::{self, Created};
use crate::total::Total;
use crate::{Result, on};

/// Which investors are meant.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    /// Any of these; none means all.
    pub statuses: Vec<Status>,
    pub created: Created,
    pub country: Option<String>,
    /// Part of a name.
    pub name: Option<String>,
}

/// Writes the conditions of a filter; a macro, because a builder names its database.
macro_rules! among {
    ($query:expr, $filter:expr) => {
        $query.push(" where 1 = 1");
        narrow::words(&mut $query, "kyc_status", $filter.statuses.iter().map(|status| status.as_str()));
        $filter.created.narrow(&mut $query, "", "inv");
        if let Some(country) = &$filter.country {
            $query.push(" and country = ").push_bind(country.clone());
        }
        if let Some(name) = &$filter.name {
            // A percent sign in the question is a letter like any other.
            let part = name.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            $query.push(" and lower(legal_name) like ").push_bind(format!("%{part}%")).push(" escape '\\'");
        }
    };
}

/// A page of investors, the newest first, and how many there are.
pub async fn page(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<(Vec<Investor>, Total)> {
    let rows = on!(tx, conn => {
        let mut query = QueryBuilder::new("select * from investors");
        among!(query, filter);
        query.push(" order by id desc limit ").push_bind(limit).push(" offset ").push_bind(offset);
        query.build_query_as::<Investor>().fetch_all(conn).await?
    });
    if let Some(total) = Total::told(rows.len(), limit, offset) {
        return Ok((rows, total));
    }
    let count = on!(tx, conn => {
        let mut query = QueryBuilder::new("select count(*) from (select 1 from investors");
        among!(query, filter);
        query.push(" limit ").push_bind(Total::bound(offset)).push(") as counted");
        query.build_query_scalar::<i64>().fetch_one(conn).await?
    });
    Ok((rows, Total::counted(count, offset)))
}

/// A wallet of an investor in a token: whether it is frozen there, and whether it holds something.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Frozen {
    pub offering_id: String,
    pub wallet_address: Hex<Address>,
    pub frozen: bool,
}

/// Every token that a wallet of the investor holds units of, or is frozen in.
pub async fn frozen_on(tx: &mut Tx, investor_id: &str) -> Result<Vec<Frozen>> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Frozen>(
        "select h.offering_id, h.wallet_address, coalesce(a.frozen, false) as frozen from holdings h \
         join wallets w on w.address = h.wallet_address and w.verified_at is not null left join token_accounts a on a.offering_id = h.offering_id \
         and a.wallet_address = h.wallet_address where w.investor_id = $1 and h.balance <> '0' \
         union select a.offering_id, a.wallet_address, a.frozen from token_accounts a join wallets w on w.address = a.wallet_address \
         and w.verified_at is not null where w.investor_id = $1 and a.frozen order by 1, 2")
        .bind(investor_id).fetch_all(conn).await?))
}
