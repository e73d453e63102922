//! Obstacles to an erasure: open obligations, holdings and pending actions.

use crate::db::Tx;
use crate::id::InvestorId;
use crate::sql::sql;
use crate::subscription::Status;
use crate::{Result, entitlement};

const IN_THE_WAY: [(&str, &str); 10] = [
    (
        "a subscription that has not ended",
        "select 1 from subscriptions where investor_id = $1 and status in :open",
    ),
    ("an open refund", "select 1 from subscriptions where investor_id = $1 and status = 'refund_pending'"),
    (
        "money above a subscription's amount",
        "select 1 from subscriptions where investor_id = $1 and received_amount - refunded_amount > amount",
    ),
    (
        "a payment to one of the wallets",
        "select 1 from entitlements e join distributions d on d.id = e.distribution_id
         join wallets w on w.address = e.payee_address
         where w.investor_id = $1 and w.verified_at is not null and e.investor_id is null and e.status in :unpaid
         and d.status <> 'cancelled'",
    ),
    (
        "an open payment",
        "select 1 from entitlements e join distributions d on d.id = e.distribution_id where e.investor_id = $1
         and e.status in :unpaid and d.status <> 'cancelled'",
    ),
    (
        "units of a token",
        "select 1 from holdings h join wallets w on w.address = h.wallet_address where w.investor_id = $1
         and w.verified_at is not null and h.balance <> '0'",
    ),
    (
        "an operation that is not finished",
        "select 1 from operation_items m join wallets w on w.address = m.wallet_address where w.investor_id = $1 and m.live",
    ),
    (
        "another pending approval",
        "select 1 from approvals a join investors i on i.id = $1 where a.status = 'pending' and a.action <> 'erase_investor'
         and (a.subject_id in (i.id, i.user_id) or a.maker = i.user_id)",
    ),
    (
        "a membership of an issuer",
        "select 1 from users u join investors i on i.user_id = u.id where i.id = $1 and u.issuer_id is not null",
    ),
    // Taking staff away has rules of its own, which an erasure would pass by.
    (
        "access as staff",
        "select 1 from users u join investors i on i.user_id = u.id where i.id = $1
         and (u.roles like '%admin%' or u.roles like '%operator%' or u.roles like '%auditor%')",
    ),
];

/// The obstacles to the erasure of an investor, as texts.
pub async fn obstacles(tx: &mut Tx, investor_id: &InvestorId) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for (what, rows) in IN_THE_WAY {
        if sql("select exists (")
            .push(rows)
            .push(")")
            .words(":open", &Status::OPEN)
            .words(":unpaid", &entitlement::Status::UNPAID)
            .bind(investor_id)
            .scalar(tx)
            .await?
        {
            found.push(what);
        }
    }
    Ok(found)
}
