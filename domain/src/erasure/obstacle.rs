//! What stands in the way of forgetting somebody: all that is owed, held or under way.

use crate::db::Tx;
use crate::{Result, on};

const IN_THE_WAY: [(&str, &str); 7] = [
    (
        "a subscription that is not over",
        "select 1 from subscriptions where investor_id = $1 and status in ('committed', 'pending_reconfirmation', 'binding', 'accepted')",
    ),
    ("money to give back", "select 1 from subscriptions where investor_id = $1 and status = 'refund_pending'"),
    (
        "a payment that is not made",
        "select 1 from entitlements e join distributions d on d.id = e.distribution_id where e.investor_id = $1 \
         and e.status not in ('paid', 'excluded') and d.status <> 'cancelled'",
    ),
    (
        "units of a token",
        "select 1 from holdings h join wallets w on w.address = h.wallet_address where w.investor_id = $1 \
         and w.verified_at is not null and h.balance <> '0'",
    ),
    (
        "an operation that is not finished",
        "select 1 from operation_items m join wallets w on w.address = m.wallet_address where w.investor_id = $1 and m.live",
    ),
    (
        "something else that waits for a second person",
        "select 1 from approvals a join investors i on i.id = $1 where a.status = 'pending' and a.action <> 'erase_investor' \
         and (a.subject_id in (i.id, i.user_id) or a.maker = i.user_id)",
    ),
    (
        "an organisation",
        "select 1 from users u join investors i on i.user_id = u.id where i.id = $1 and u.issuer_id is not null",
    ),
];

/// What stands in the way of forgetting an investor, in words.
pub async fn in_the_way(tx: &mut Tx, investor_id: &str) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for (what, sql) in IN_THE_WAY {
        let sql = format!("select exists ({sql})");
        if on!(tx, conn => sqlx::query_scalar::<_, bool>(sqlx::AssertSqlSafe(sql)).bind(investor_id).fetch_one(conn).await?)
        {
            found.push(what);
        }
    }
    Ok(found)
}
