//! The limit on what an issuer raises in twelve months, over all its offerings on this platform under an exemption.

use serde_json::json;

use super::{Offering, Status};
use crate::db::Tx;
use crate::investment_limit::crowdfunding_start;
use crate::money::Money;
use crate::sql::sql;
use crate::{Error, Result, issuer, subscription_state};

/// Refuses an offering whose hard cap, together with the issuer's other offerings under the same exemption, exceeds the legal limit.
/// The issuer is locked, so that of two parallel offerings that exceed it together the second is refused.
pub async fn check(tx: &mut Tx, o: &Offering) -> Result<()> {
    let Some(limit) = o.exemption.profile().raise_max else { return Ok(()) };
    // Two offerings of one issuer must not be checked in parallel.
    issuer::lock_row(tx, &o.issuer_id).await?;
    let used = elsewhere(tx, o).await?;
    if used + o.hard_cap <= limit {
        return Ok(());
    }
    let [limit, used, left] = [limit, used, (limit - used).max(0)].map(|minor| Money::from_minor(minor).to_string());
    let detail = format!(
        "Under {} an issuer may raise {limit} in twelve months; other offerings already use {used}.",
        o.exemption
    );
    let params = json!({ "limit": limit, "used": used, "remaining": left });
    Err(Error::field("/hard_cap", "exemption_limit", detail).with_params(params))
}

/// The other offerings: open ones count with their hard cap, ended ones with what was committed in the last twelve months.
async fn elsewhere(tx: &mut Tx, o: &Offering) -> Result<i64> {
    let from = crowdfunding_start(tx.now());
    sql("select cast(coalesce(sum(
             case when o.status in :selling then o.hard_cap
             else (
                 select coalesce(sum(s.amount), 0) from subscriptions s
                 where s.offering_id = o.id and s.created_at > $4
                     and s.status in :reserving
             ) end), 0) as bigint)
         from offerings o
         where o.issuer_id = $1 and o.exemption = $2 and o.id <> $3
             and o.status in :raising")
    .words(":reserving", &subscription_state::Status::RESERVING)
    .words(":selling", &Status::SELLING)
    .words(":raising", &Status::RAISING)
    .bind((&o.issuer_id, o.exemption, &o.id, from))
    .scalar(tx)
    .await
}
