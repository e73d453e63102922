//! What an issuer may raise in twelve months under an exemption that limits it, over all its offerings here.

use serde_json::json;

use super::Offering;
use crate::db::Tx;
use crate::means::window_from;
use crate::money::Money;
use crate::{Error, Result, issuer, on};

/// Refuses an offering whose hard cap, together with what its issuer offers and raised otherwise under the same exemption, is above what
/// the law lets it raise. The issuer is held: of two that would fit one at a time the second is refused.
pub async fn must_fit(tx: &mut Tx, o: &Offering) -> Result<()> {
    let Some(limit) = o.exemption.profile().raise_max else { return Ok(()) };
    issuer::hold(tx, &o.issuer_id).await?;
    let used = elsewhere(tx, o).await?;
    if used + o.hard_cap <= limit {
        return Ok(());
    }
    let [limit, used, left] = [limit, used, (limit - used).max(0)].map(|minor| Money::from_minor(minor).to_string());
    let detail = format!(
        "Under {} an issuer may raise {limit} in twelve months; {used} of it is offered or raised otherwise.",
        o.exemption
    );
    let params = json!({ "limit": limit, "used": used, "remaining": left });
    Err(Error::field("/hard_cap", "exemption_limit", detail).with_params(params))
}

/// What still takes subscriptions counts as full, what ended by what was committed in the last twelve months.
async fn elsewhere(tx: &mut Tx, o: &Offering) -> Result<i64> {
    let from = window_from(tx.now());
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select cast(coalesce(sum(case when o.status in ('open', 'paused') then o.hard_cap else (select coalesce(sum(s.amount), 0) \
         from subscriptions s where s.offering_id = o.id and s.created_at > $4 \
         and s.status in ('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted')) end), 0) as bigint) from offerings o \
         where o.issuer_id = $1 and o.exemption = $2 and o.id <> $3 and o.status in ('open', 'paused', 'closed', 'settled', 'archived')")
        .bind(&o.issuer_id).bind(o.exemption).bind(&o.id).bind(from).fetch_one(conn).await?))
}
