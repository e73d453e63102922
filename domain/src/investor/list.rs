//! Lists of investors, and the tokens in which their wallets are frozen.

use alloy_primitives::Address;

use super::{Investor, Status};
use crate::Result;
use crate::column::Hex;
use crate::db::Tx;
use crate::filter::{self, CreatedBetween};
use crate::id::{InvestorId, OfferingId, of};
use crate::sql::{Sql, sql};
use crate::total::Total;

/// The filter of a list.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)]
pub struct Filter {
    /// Any of these statuses; empty for all.
    pub statuses: Vec<Status>,
    pub created: CreatedBetween,
    pub country: Option<String>,
    /// Part of the name.
    pub name: Option<String>,
}

fn matching(select: Sql, filter: &Filter) -> Sql {
    let query = select
        .push(" from investors where 1 = 1")
        .one_of("kyc_status", &filter.statuses)
        .created::<of::Investor>(filter.created, "")
        .with_some(" and country = ", filter.country.as_ref());
    match &filter.name {
        Some(name) => {
            let part = filter::escaped(&name.to_lowercase());
            query.with(" and lower(legal_name) like ", format!("%{part}%")).push(" escape '\\'")
        }
        None => query,
    }
}

/// A page of investors, newest first, and their number.
pub async fn page(tx: &mut Tx, filter: &Filter, limit: i64, offset: i64) -> Result<(Vec<Investor>, Total)> {
    let page = matching(sql("select *"), filter).push(" order by id desc").page(limit, offset);
    let rows = page.rows(tx).await?;
    if let Some(total) = Total::from_page(rows.len(), limit, offset) {
        return Ok((rows, total));
    }
    let total = Total::count(tx, matching(sql("select count(*) from (select 1"), filter), offset).await?;
    Ok((rows, total))
}

/// A wallet of an investor in a token, and whether it is frozen there.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct WalletFreeze {
    pub offering_id: OfferingId,
    pub wallet_address: Hex<Address>,
    pub frozen: bool,
}

/// All tokens in which a wallet of the investor holds units or is frozen.
pub async fn frozen_on(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<WalletFreeze>> {
    sql("select h.offering_id, h.wallet_address, coalesce(a.frozen, false) as frozen
         from holdings h join wallets w on w.address = h.wallet_address and w.verified_at is not null
             left join token_accounts a on a.offering_id = h.offering_id and a.wallet_address = h.wallet_address
         where w.investor_id = $1 and h.balance <> '0'
         union select a.offering_id, a.wallet_address, a.frozen
         from token_accounts a join wallets w on w.address = a.wallet_address and w.verified_at is not null
         where w.investor_id = $1 and a.frozen order by 1, 2")
    .bind(investor_id)
    .rows(tx)
    .await
}
