//! Where an offering's subscriptions stand, as far as its own moves depend on them.

use crate::db::Tx;
use crate::{Result, on};

/// The subscriptions of an offering, counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Standing {
    /// The money that nobody can withdraw any more.
    pub firm: i64,
    /// How many may still come to something.
    pub live: i64,
    /// How many are not final.
    pub unfinished: i64,
    /// How many are minted.
    pub minted: i64,
}

/// Counts them.
pub async fn standing(tx: &mut Tx, offering_id: &str) -> Result<Standing> {
    Ok(on!(tx, conn => sqlx::query_as::<_, Standing>(
        // Who has yet to say yes to changed terms can still leave.
        "select cast(coalesce(sum(case when status in ('accepted', 'minted') or (status = 'binding' and terms_version >= \
         (select terms_version from offerings where id = $1)) then amount else 0 end), 0) as bigint) as firm, \
         count(case when status in ('committed', 'pending_reconfirmation', 'binding', 'accepted') then 1 end) as live, \
         count(case when status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'refund_pending') then 1 end) \
         as unfinished, count(case when status = 'minted' then 1 end) as minted from subscriptions where offering_id = $1")
        .bind(offering_id).fetch_one(conn).await?))
}

/// A mint of it that is not finished, or was left to a person.
pub async fn live_mint(tx: &mut Tx, offering_id: &str) -> Result<Option<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select id from operations where offering_id = $1 and kind = 'mint' and (status in ('pending', 'submitted') \
         or (status in ('failed', 'dead_letter') and resolution is null)) order by id limit 1")
        .bind(offering_id).fetch_optional(conn).await?))
}
