//! How an offering changes: its terms, and its state by one move at a time.

use serde_json::{Value, json};

use super::{Move, Offering, find};
use crate::audit::Facts;
use crate::db::{Tx, touched};
use crate::{Error, Result, event, on};

/// Moves an offering, with its event, if nobody moved it since it was read. The reason stays on the row.
pub async fn transition(tx: &mut Tx, o: &mut Offering, by: Move, actor: &str, reason: Option<&str>) -> Result<()> {
    let from = o.status;
    o.status = from.next(by).ok_or_else(|| refusal(o, by))?;
    o.status_reason = reason.map(str::to_owned);
    let now = tx.now();
    match by {
        Move::Submit => {
            o.submitted_by = Some(actor.to_owned());
            o.submitted_at = Some(now);
        }
        Move::Approve => o.approved_by = Some(actor.to_owned()),
        Move::Publish => o.published_at = Some(now),
        Move::Close | Move::Fail | Move::Cancel => o.closed_at = Some(now),
        _ => {}
    }
    let data = json!({ "from": from, "actor": actor, "reason": reason });
    save(tx, o, by.told_as(), data).await
}

/// The move is not allowed from where the offering is.
pub fn refusal(o: &Offering, by: Move) -> Error {
    let moves = o.status.moves();
    let detail = format!(
        "The offering is {}; the move {by} is not allowed there. Allowed are: {}.",
        o.status,
        if moves.is_empty() { "none".to_owned() } else { moves.join(", ") }
    );
    Error::illegal(detail, o.status.as_str(), moves)
}

/// Writes what may change of an offering, guarded by the version that was read, and tells of it. What subscriptions have reserved is not
/// among it: they alone move that.
pub async fn save(tx: &mut Tx, o: &mut Offering, told_as: &str, mut data: Value) -> Result<()> {
    let (now, before) = (tx.now(), find(tx, &o.id).await?);
    let rows = on!(tx, conn => sqlx::query(
        "update offerings set name = $3, status = $4, template = $5, currency = $6, minimum_investment = $7, hard_cap = $8, \
         unit_price = $9, token_symbol = $10, token_decimals = $11, partition_id = $12, issuance_policy = $13, lockup_release_at = $14, \
         chain_id = $15, description = $16, cover_image_url = $17, maximum_investment = $18, target_amount = $19, soft_cap = $20, \
         visibility = $21, opens_at = $22, closes_at = $23, auto_open = $24, exemption = $25, cooling_off_hours = $26, lockup_days = $27, \
         kyc_requirement = $28, accreditation_required = $29, allowed_countries = $30, blocked_countries = $31, holder_cap = $32, \
         one_subscription_per_investor = $33, payment_methods = $34, terms_version = $35, terms_sha256 = $36, status_reason = $37, \
         submitted_by = $38, approved_by = $39, submitted_at = $40, published_at = $41, closed_at = $42, version = version + 1, \
         updated_at = $43, calendar_version = $44, utc_offset_minutes = $45 where id = $1 and version = $2")
        .bind(&o.id).bind(o.version).bind(&o.name).bind(o.status).bind(&o.template).bind(&o.currency).bind(o.minimum_investment)
        .bind(o.hard_cap).bind(o.unit_price).bind(&o.token_symbol).bind(o.token_decimals).bind(o.partition_id).bind(&o.issuance_policy)
        .bind(o.lockup_release_at).bind(o.chain_id).bind(&o.description).bind(&o.cover_image_url).bind(o.maximum_investment)
        .bind(o.target_amount).bind(o.soft_cap).bind(&o.visibility).bind(o.opens_at).bind(o.closes_at).bind(o.auto_open)
        .bind(o.exemption).bind(o.cooling_off_hours).bind(o.lockup_days).bind(&o.kyc_requirement).bind(o.accreditation_required)
        .bind(&o.allowed_countries).bind(&o.blocked_countries).bind(o.holder_cap).bind(o.one_subscription_per_investor)
        .bind(&o.payment_methods).bind(o.terms_version).bind(&o.terms_sha256).bind(&o.status_reason).bind(&o.submitted_by)
        .bind(&o.approved_by).bind(o.submitted_at).bind(o.published_at).bind(o.closed_at).bind(now).bind(o.calendar_version)
        .bind(o.utc_offset_minutes)
        .execute(conn).await?.rows_affected());
    touched(rows, "offering", &o.id)?;
    o.version += 1;
    o.updated_at = now;
    tx.doing().changed(&o.id, facts(&before), facts(o));
    data["status"] = json!(o.status);
    data["version"] = json!(o.version);
    event::write(tx, told_as, "offering", &o.id, o.version, data).await
}

/// What the audit log may show: terms are for everybody to read.
fn facts(o: &Offering) -> Facts {
    let mut terms = json!({
        "name": o.name, "status": o.status, "template": o.template, "currency": o.currency, "minimum_investment": o.minimum_investment,
        "hard_cap": o.hard_cap, "unit_price": o.unit_price, "token_symbol": o.token_symbol, "token_decimals": o.token_decimals,
        "partition_id": o.partition_id, "issuance_policy": o.issuance_policy, "lockup_release_at": o.lockup_release_at,
        "chain_id": o.chain_id, "description": o.description, "cover_image_url": o.cover_image_url,
        "maximum_investment": o.maximum_investment, "target_amount": o.target_amount, "soft_cap": o.soft_cap, "visibility": o.visibility,
        "opens_at": o.opens_at, "closes_at": o.closes_at, "auto_open": o.auto_open, "exemption": o.exemption,
        "cooling_off_hours": o.cooling_off_hours, "lockup_days": o.lockup_days, "kyc_requirement": o.kyc_requirement,
        "accreditation_required": o.accreditation_required, "allowed_countries": o.allowed_countries,
        "blocked_countries": o.blocked_countries, "holder_cap": o.holder_cap,
        "one_subscription_per_investor": o.one_subscription_per_investor, "payment_methods": o.payment_methods,
        "terms_version": o.terms_version, "terms_sha256": o.terms_sha256, "status_reason": o.status_reason,
        "submitted_by": o.submitted_by, "approved_by": o.approved_by, "submitted_at": o.submitted_at, "published_at": o.published_at,
        "closed_at": o.closed_at, "version": o.version,
    });
    // The macro takes no more fields than these.
    terms["utc_offset_minutes"] = json!(o.utc_offset_minutes);
    Facts::new(terms, json!({}))
}
