//! Sums over subscriptions: of an offering, whose own moves depend on them, and of an investor in all crowdfunding offerings.

use super::Status;
use crate::Result;
use crate::db::Tx;
use crate::id::{InvestorId, OfferingId, SubscriptionId};
use crate::investment_limit::crowdfunding_start;
use crate::sql::sql;

/// Totals of an offering's subscriptions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub struct Totals {
    /// Amount that can no longer be withdrawn, of investors who paid or whose identity is approved.
    pub firm: i64,
    /// Amount that can no longer be withdrawn and is paid.
    pub paid: i64,
    /// Subscriptions that can still lead to a mint.
    pub live: i64,
    /// Subscriptions that are not in a final status.
    pub unfinished: i64,
    /// Minted subscriptions.
    pub minted: i64,
}

/// Reads the totals of an offering.
pub async fn totals(tx: &mut Tx, offering_id: &OfferingId) -> Result<Totals> {
    // A subscriber who has not confirmed changed terms can still leave. One whose right to withdraw has ended, not later than the offering,
    // counts before its timer has run.
    let now = tx.now();
    sql("select
             cast(coalesce(sum(case when status in :issuable or (is_bound and (is_paid or is_approved)) then amount else 0 end), 0) as bigint)
                 as firm,
             cast(coalesce(sum(case when status in :issuable or (is_bound and is_paid) then amount else 0 end), 0) as bigint) as paid,
             count(case when status in :open then 1 end) as live,
             count(case when status in :open or status = 'refund_pending' then 1 end) as unfinished,
             count(case when status = 'minted' then 1 end) as minted
         from (select s.status, s.amount, i.kyc_status = 'approved' as is_approved,
                 s.received_amount - s.refunded_amount >= s.amount as is_paid,
                 s.terms_version >= f.terms_version and (s.status = 'binding'
                     or (s.status = 'committed' and s.calendar_version >= f.calendar_version
                         and s.cooling_off_expires_at <= $2 and s.cooling_off_expires_at <= coalesce(f.closes_at, $2))) as is_bound
             from subscriptions s join offerings f on f.id = s.offering_id join investors i on i.id = s.investor_id
             where s.offering_id = $1) as totalled")
    .words(":issuable", &Status::ISSUABLE)
    .words(":open", &Status::OPEN)
    .bind((offering_id, now))
    .row(tx)
    .await
}

/// What an investor has put into crowdfunding offerings in their period, except for one subscription.
pub async fn crowdfunding_total(tx: &mut Tx, investor_id: &InvestorId, besides_id: &SubscriptionId) -> Result<i64> {
    let from = crowdfunding_start(tx.now());
    sql("select cast(coalesce(sum(s.amount), 0) as bigint)
         from subscriptions s join offerings o on o.id = s.offering_id
         where s.investor_id = $1 and s.id <> $2 and s.created_at > $3 and o.exemption = 'reg_cf'
             and s.status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .bind((investor_id, besides_id, from))
    .scalar(tx)
    .await
}

/// What an investor has put into each offering under Regulation A, where it is anything.
pub async fn regulation_a_totals(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<(OfferingId, i64)>> {
    sql("select s.offering_id, cast(sum(s.amount) as bigint)
         from subscriptions s join offerings o on o.id = s.offering_id
         where s.investor_id = $1 and o.exemption = 'reg_a_t2' and s.status in :reserving
         group by s.offering_id order by s.offering_id")
    .words(":reserving", &Status::RESERVING)
    .bind(investor_id)
    .rows(tx)
    .await
}
