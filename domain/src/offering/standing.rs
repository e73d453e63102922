//! Totals of an offering's subscriptions, on which the offering's own moves depend.

use crate::Result;
use crate::db::Tx;
use crate::operation::Status;
use crate::sql::sql;

/// Totals of an offering's subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct SubscriptionTotals {
    /// Amount that can no longer be withdrawn.
    pub firm: i64,
    /// Subscriptions that can still lead to a mint.
    pub live: i64,
    /// Subscriptions that are not in a final status.
    pub unfinished: i64,
    /// Minted subscriptions.
    pub minted: i64,
}

/// Reads the totals.
pub async fn subscription_totals(tx: &mut Tx, offering_id: &str) -> Result<SubscriptionTotals> {
    // A subscriber who has not confirmed changed terms can still leave.
    sql("select
             cast(coalesce(sum(case when status in ('accepted', 'minted') or (status = 'binding'
                 and terms_version >= (select terms_version from offerings where id = $1)) then amount else 0 end), 0)
                 as bigint) as firm,
             count(case when status in ('committed', 'pending_reconfirmation', 'binding', 'accepted') then 1 end) as live,
             count(case when status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'refund_pending')
                 then 1 end) as unfinished,
             count(case when status = 'minted' then 1 end) as minted
         from subscriptions where offering_id = $1")
    .bind(offering_id)
    .row(tx)
    .await
}

/// A mint of this offering that is unfinished or waits for an operator.
pub async fn live_mint(tx: &mut Tx, offering_id: &str) -> Result<Option<String>> {
    sql("select id from operations
         where offering_id = $1 and kind = 'mint' and (status in :live
             or (status in :attention and resolution is null))
         order by id limit 1")
    .words(":live", &Status::LIVE)
    .words(":attention", &Status::ATTENTION)
    .bind(offering_id)
    .optional_scalar(tx)
    .await
}
