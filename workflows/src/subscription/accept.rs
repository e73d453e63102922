//! Accepting a subscription, which fixes its quantity, or rejecting it.

use muniment_domain::column::Dec;
use muniment_domain::db::Tx;
use muniment_domain::id::SubscriptionId;
use muniment_domain::money::{self, Money};
use muniment_domain::offering::Offering;
use muniment_domain::subscription::eligibility::{self, Facts, Investor, Stage};
use muniment_domain::subscription::{self, Move, Scope, Status, Subscription};
use muniment_domain::{Error, Result};
use serde_json::json;

use crate::own_record::not_own;
use crate::requester::Requester;

/// Accepts a subscription that satisfies every rule. A named quantity must equal the quantity that the amount buys.
pub async fn accept(
    tx: &mut Tx,
    scope: &Scope,
    id: &SubscriptionId,
    named: Option<&str>,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let (offering, mut s) = subscription::lock_row(tx, scope, id).await?;
    not_own(tx, &s.investor_id, by).await?;
    if s.status != Status::Binding {
        let refused = s.illegal(Move::Accept.as_str());
        // Only its cooling-off period is missing.
        return Err(if s.status == Status::Committed { refused.with_until(s.cooling_off_expires_at) } else { refused });
    }
    if s.terms_version < offering.terms_version {
        // The change of terms has not reached this subscription yet. Its investor must confirm the new terms first.
        return Err(Error::illegal(
            "The terms of the offering changed. The investor must confirm the subscription again first.",
            s.status.as_str(),
            s.status.requests(),
        ));
    }
    let investor = Investor::find(tx, &s.investor_id).await?;
    let relation = eligibility::read_relation(tx, &offering, &s.investor_id, Some(&s)).await?;
    let (amount, held, now) = (s.amount, s.net_received(), tx.now());
    let (stage, acknowledged): (_, &[String]) = (Stage::Accept, &[]);
    let (offered, investor, reservation_limit) = (&offering, &investor, None);
    let facts =
        Facts { stage, offering: offered, investor, amount, held, relation, reservation_limit, acknowledged, now };
    let record = eligibility::verdict(eligibility::evaluate(&facts))?;
    let units = units(&offering, amount)?;
    if named.is_some_and(|named| money::units(named, offering.decimals()) != Some(units)) {
        let right = money::quantity(units, offering.decimals());
        let error = Error::field("/quantity", "quantity_mismatch", format!("The amount buys {right} units."));
        return Err(error.with_params(json!({ "quantity": right })));
    }
    s.quantity = Some(Dec(units));
    subscription::transition(tx, &offering, &mut s, Move::Accept, &by.actor, "").await?;
    subscription::store_checks(tx, &s.id, "accept", &record, &[]).await?;
    Ok((offering, s))
}

fn units(offering: &Offering, amount: i64) -> Result<u128> {
    let price = Money::from_minor(offering.unit_price);
    // The rules have just checked that the amount buys whole units.
    Money::from_minor(amount).base_units(price, offering.decimals()).ok_or_else(|| Error::Unreadable {
        what: "offering",
        id: offering.id.to_string(),
        why: "its price does not divide an amount that the rules accepted".to_owned(),
    })
}

/// Rejects a subscription, with the code of a reason.
pub async fn reject(
    tx: &mut Tx,
    scope: &Scope,
    id: &SubscriptionId,
    reason_code: &str,
    by: &Requester,
) -> Result<(Offering, Subscription)> {
    let (offering, mut s) = subscription::lock_row(tx, scope, id).await?;
    not_own(tx, &s.investor_id, by).await?;
    subscription::transition(tx, &offering, &mut s, Move::Reject, &by.actor, reason_code).await?;
    Ok((offering, s))
}
