//! Stores new offerings.

use chrono::DateTime;
use serde_json::json;

use super::choice::{IssuancePolicy, KycRequirement, PaymentMethod, PaymentMethods, Template, Visibility};
use super::columns::columns;
use super::{Offering, Status, TokenStatus};
use crate::db::Tx;
use crate::exemption::Exemption;
use crate::id::{IssuerId, OfferingId};
use crate::sql::insert_into;
use crate::{Result, event};

impl Default for Offering {
    /// An empty draft with the defaults of the database.
    fn default() -> Self {
        Self {
            id: OfferingId::default(),
            issuer_id: IssuerId::default(),
            name: String::new(),
            status: Status::Draft,
            template: Template::RealEstateEquity,
            currency: "EUR".to_owned(),
            minimum_investment: 1,
            hard_cap: 1,
            unit_price: 100,
            token_symbol: String::new(),
            token_decimals: 2,
            partition_id: 1,
            issuance_policy: IssuancePolicy::OnClose,
            lockup_release_at: None,
            chain_id: 0,
            token_status: TokenStatus::NotDeployed,
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
            visibility: Visibility::Public,
            opens_at: None,
            closes_at: None,
            auto_open: false,
            exemption: Exemption::Default,
            cooling_off_hours: None,
            lockup_days: None,
            kyc_requirement: KycRequirement::BeforeMint,
            accreditation_required: false,
            allowed_countries: String::new(),
            blocked_countries: String::new(),
            holder_cap: None,
            one_subscription_per_investor: false,
            payment_methods: PaymentMethods(vec![PaymentMethod::BankTransfer]),
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

/// Stores an offering as it is, without a token. Used for drafts, the demo and tests.
pub async fn insert(tx: &mut Tx, o: &Offering) -> Result<()> {
    let now = tx.now();
    columns(insert_into("offerings"), o)
        .set("id", &o.id)
        .set("issuer_id", &o.issuer_id)
        .set("token_status", TokenStatus::NotDeployed)
        .set("version", 1)
        .set("created_at", now)
        .set("updated_at", now)
        .execute(tx)
        .await?;
    Ok(())
}

/// Stores a draft and writes its event.
pub async fn draft(tx: &mut Tx, o: Offering, actor: &str) -> Result<Offering> {
    let (id, now) = (tx.new_id(), tx.now());
    let stored = Offering { id, status: Status::Draft, version: 1, created_at: now, updated_at: now, ..o };
    insert(tx, &stored).await?;
    let data = json!({ "status": stored.status, "version": 1, "actor": actor });
    event::write(tx, "offering.created", "offering", &stored.id, 1, data).await?;
    Ok(stored)
}
