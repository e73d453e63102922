//! A new offering.

use chrono::DateTime;
use serde_json::json;

use super::{Offering, Status};
use crate::db::Tx;
use crate::exemption::Exemption;
use crate::{Result, event, on};

impl Default for Offering {
    /// An empty draft, as the database would fill it.
    fn default() -> Self {
        Self {
            id: String::new(),
            issuer_id: String::new(),
            name: String::new(),
            status: Status::Draft,
            template: String::new(),
            currency: "EUR".to_owned(),
            minimum_investment: 1,
            hard_cap: 1,
            unit_price: 100,
            token_symbol: String::new(),
            token_decimals: 2,
            partition_id: 1,
            issuance_policy: "on_close".to_owned(),
            lockup_release_at: None,
            chain_id: 0,
            token_status: "not_deployed".to_owned(),
            token_address: None,
            token_tx_hash: None,
            token_block_number: None,
            version: 1,
            created_at: DateTime::UNIX_EPOCH,
            updated_at: DateTime::UNIX_EPOCH,
            description: String::new(),
            cover_image_url: None,
            maximum_investment: None,
            target_amount: 0,
            soft_cap: None,
            committed_total: 0,
            visibility: "public".to_owned(),
            opens_at: None,
            closes_at: None,
            auto_open: false,
            exemption: Exemption::Default,
            cooling_off_hours: None,
            lockup_days: None,
            kyc_requirement: "before_mint".to_owned(),
            accreditation_required: false,
            allowed_countries: String::new(),
            blocked_countries: String::new(),
            holder_cap: None,
            one_subscription_per_investor: false,
            payment_methods: "bank_transfer".to_owned(),
            terms_version: 1,
            terms_sha256: None,
            status_reason: None,
            submitted_by: None,
            approved_by: None,
            submitted_at: None,
            published_at: None,
            closed_at: None,
            calendar_version: 1,
            utc_offset_minutes: 0,
        }
    }
}

/// Stores an offering as it is, without a token: as the demo and the tests make them.
pub async fn insert(tx: &mut Tx, o: &Offering) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, token_symbol, \
         token_decimals, partition_id, issuance_policy, lockup_release_at, chain_id, token_status, version, created_at, updated_at, \
         description, cover_image_url, maximum_investment, target_amount, soft_cap, visibility, opens_at, closes_at, auto_open, exemption, \
         cooling_off_hours, lockup_days, kyc_requirement, accreditation_required, allowed_countries, blocked_countries, holder_cap, \
         one_subscription_per_investor, payment_methods, published_at, utc_offset_minutes) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'not_deployed', 1, $16, $16, \
         $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37)")
        .bind(&o.id).bind(&o.issuer_id).bind(&o.name).bind(o.status).bind(&o.template).bind(&o.currency).bind(o.minimum_investment)
        .bind(o.hard_cap).bind(o.unit_price).bind(&o.token_symbol).bind(o.token_decimals).bind(o.partition_id)
        .bind(&o.issuance_policy).bind(o.lockup_release_at).bind(o.chain_id).bind(now)
        .bind(&o.description).bind(&o.cover_image_url).bind(o.maximum_investment).bind(o.target_amount).bind(o.soft_cap)
        .bind(&o.visibility).bind(o.opens_at).bind(o.closes_at).bind(o.auto_open).bind(o.exemption).bind(o.cooling_off_hours)
        .bind(o.lockup_days).bind(&o.kyc_requirement).bind(o.accreditation_required).bind(&o.allowed_countries)
        .bind(&o.blocked_countries).bind(o.holder_cap).bind(o.one_subscription_per_investor).bind(&o.payment_methods)
        .bind(o.published_at).bind(o.utc_offset_minutes)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// Stores a draft, with its event.
pub async fn draft(tx: &mut Tx, o: Offering, actor: &str) -> Result<Offering> {
    let (id, now) = (tx.new_id("off"), tx.now());
    let stored = Offering { id, status: Status::Draft, version: 1, created_at: now, updated_at: now, ..o };
    insert(tx, &stored).await?;
    let data = json!({ "status": stored.status, "version": 1, "actor": actor });
    event::write(tx, "offering.created", "offering", &stored.id, 1, data).await?;
    Ok(stored)
}
