//! Offerings: what an issuer offers, and the token that stands for it.

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::column::Hex;
use crate::db::{Tx, touched};
use crate::{Code, Error, Result, event, on};

crate::words! {
    /// The life of an offering.
    Status {
        /// Being written.
        Draft = "draft",
        /// Waiting for the operator's word.
        InReview = "in_review",
        /// Allowed to be published.
        Approved = "approved",
        /// Taking subscriptions.
        Open = "open",
        /// Taking none for now.
        Paused = "paused",
        /// Fully subscribed or ended.
        Closed = "closed",
        /// Everything minted or ended.
        Settled = "settled",
        /// Missed its soft cap.
        Failed = "failed",
        /// Called off.
        Cancelled = "cancelled",
        /// Put away.
        Archived = "archived",
    }
}

/// One row of `offerings`.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Offering {
    pub id: String,
    pub issuer_id: String,
    pub name: String,
    pub status: Status,
    pub template: String,
    pub currency: String,
    pub minimum_investment: i64,
    pub hard_cap: i64,
    pub unit_price: i64,
    pub token_symbol: String,
    pub token_decimals: i64,
    pub partition_id: i64,
    pub issuance_policy: String,
    pub lockup_release_at: Option<DateTime<Utc>>,
    pub chain_id: i64,
    pub token_status: String,
    pub token_address: Option<Hex<Address>>,
    pub token_tx_hash: Option<Hex<B256>>,
    pub token_block_number: Option<i64>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub description: String,
    pub maximum_investment: Option<i64>,
    pub target_amount: i64,
    pub soft_cap: Option<i64>,
    /// The money that subscriptions have reserved.
    pub committed_total: i64,
    pub visibility: String,
    pub opens_at: Option<DateTime<Utc>>,
    pub closes_at: Option<DateTime<Utc>>,
    pub auto_open: bool,
    pub exemption: String,
    /// None: those of the exemption's profile.
    pub cooling_off_hours: Option<i64>,
    pub lockup_days: Option<i64>,
    pub kyc_requirement: String,
    pub accreditation_required: bool,
    /// Codes with a space between them; none means everywhere.
    pub allowed_countries: String,
    pub blocked_countries: String,
    pub holder_cap: Option<i64>,
    pub one_subscription_per_investor: bool,
    pub payment_methods: String,
    pub terms_version: i64,
    pub terms_sha256: Option<String>,
    pub status_reason: Option<String>,
    pub submitted_by: Option<String>,
    pub approved_by: Option<String>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub published_at: Option<DateTime<Utc>>,
    pub closed_at: Option<DateTime<Utc>>,
}

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
            unit_price: 1,
            token_symbol: String::new(),
            token_decimals: 0,
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
            maximum_investment: None,
            target_amount: 0,
            soft_cap: None,
            committed_total: 0,
            visibility: "public".to_owned(),
            opens_at: None,
            closes_at: None,
            auto_open: false,
            exemption: "default".to_owned(),
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
        }
    }
}

impl Offering {
    /// Whether its token may be deployed in this state.
    pub const fn may_deploy(&self) -> bool {
        matches!(self.status, Status::Approved | Status::Open | Status::Paused | Status::Closed)
    }

    /// Whether subscriptions may be minted in this state.
    pub fn may_mint(&self) -> bool {
        self.status == Status::Closed
            || (self.issuance_policy == "rolling" && matches!(self.status, Status::Open | Status::Paused))
    }
}

/// One offering; `not_found` if there is none.
pub async fn find(tx: &mut Tx, id: &str) -> Result<Offering> {
    on!(tx, conn => sqlx::query_as::<_, Offering>("select * from offerings where id = $1").bind(id).fetch_optional(conn).await?)
        .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no offering {id}.")))
}

/// One offering, held until the commit: of two who decide what of it is minted, the second waits and sees what the first did.
pub async fn hold(tx: &mut Tx, id: &str) -> Result<Offering> {
    on!(tx, conn => sqlx::query_as::<_, Offering>("update offerings set version = version where id = $1 returning *")
        .bind(id).fetch_optional(conn).await?)
    .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no offering {id}.")))
}

/// Offerings, newest first.
pub async fn list(tx: &mut Tx, status: Option<Status>, limit: i64, offset: i64) -> Result<(Vec<Offering>, i64)> {
    let status = status.map(Status::as_str);
    let rows = on!(tx, conn => sqlx::query_as::<_, Offering>(
        "select * from offerings where (cast($1 as text) is null or status = $1) order by id desc limit $2 offset $3")
        .bind(status).bind(limit).bind(offset).fetch_all(conn).await?);
    let total = on!(tx, conn => sqlx::query_scalar::<_, i64>(
        "select count(*) from offerings where (cast($1 as text) is null or status = $1)").bind(status).fetch_one(conn).await?);
    Ok((rows, total))
}

/// The offerings whose token a wallet holds, or in which it is frozen and was not recovered: a recovery leaves no freeze behind.
pub async fn of_wallet(tx: &mut Tx, wallet: Address) -> Result<Vec<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>(
        "select offering_id from holdings where wallet_address = $1 and balance <> '0' union \
         select offering_id from token_accounts where wallet_address = $1 and frozen and successor_address is null order by 1")
        .bind(Hex(wallet)).fetch_all(conn).await?))
}

/// The ids of all offerings on a chain: the chain itself knows only their hashes.
pub async fn ids_of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<String>> {
    Ok(on!(tx, conn => sqlx::query_scalar::<_, String>("select id from offerings where chain_id = $1 order by id")
        .bind(chain_id).fetch_all(conn).await?))
}

/// Stores an offering and its issuer, as the demo and the tests make them.
pub async fn insert(tx: &mut Tx, o: &Offering) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into offerings (id, issuer_id, name, status, template, currency, minimum_investment, hard_cap, unit_price, token_symbol, \
         token_decimals, partition_id, issuance_policy, lockup_release_at, chain_id, token_status, version, created_at, updated_at, \
         description, maximum_investment, target_amount, soft_cap, visibility, opens_at, closes_at, auto_open, exemption, \
         cooling_off_hours, lockup_days, kyc_requirement, accreditation_required, allowed_countries, blocked_countries, holder_cap, \
         one_subscription_per_investor, payment_methods, published_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, 'not_deployed', 1, $16, $16, \
         $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35)")
        .bind(&o.id).bind(&o.issuer_id).bind(&o.name).bind(o.status).bind(&o.template).bind(&o.currency).bind(o.minimum_investment)
        .bind(o.hard_cap).bind(o.unit_price).bind(&o.token_symbol).bind(o.token_decimals).bind(o.partition_id)
        .bind(&o.issuance_policy).bind(o.lockup_release_at).bind(o.chain_id).bind(now)
        .bind(&o.description).bind(o.maximum_investment).bind(o.target_amount).bind(o.soft_cap).bind(&o.visibility).bind(o.opens_at)
        .bind(o.closes_at).bind(o.auto_open).bind(&o.exemption).bind(o.cooling_off_hours).bind(o.lockup_days).bind(&o.kyc_requirement)
        .bind(o.accreditation_required).bind(&o.allowed_countries).bind(&o.blocked_countries).bind(o.holder_cap)
        .bind(o.one_subscription_per_investor).bind(&o.payment_methods).bind(o.published_at)
        .execute(conn).await?.rows_affected());
    Ok(())
}

/// Stores an issuer that nobody has approved yet.
pub async fn insert_pending_issuer(tx: &mut Tx, id: &str, name: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into issuers (id, name, status, version, created_at, updated_at) values ($1, $2, 'pending', 1, $3, $3)")
        .bind(id).bind(name).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// Stores an issuer.
pub async fn insert_issuer(tx: &mut Tx, id: &str, name: &str) -> Result<()> {
    let now = tx.now();
    on!(tx, conn => sqlx::query(
        "insert into issuers (id, name, status, version, created_at, updated_at) values ($1, $2, 'active', 1, $3, $3)")
        .bind(id).bind(name).bind(now).execute(conn).await?.rows_affected());
    Ok(())
}

/// The token is deployed and final. Called by the commit that confirms the deployment, and by nothing else.
pub async fn set_deployed(
    tx: &mut Tx,
    id: &str,
    token: Address,
    symbol: &str,
    tx_hash: B256,
    block_number: i64,
) -> Result<()> {
    let offering = find(tx, id).await?;
    let now = tx.now();
    let rows = on!(tx, conn => sqlx::query(
        "update offerings set token_status = 'deployed', token_address = $3, token_tx_hash = $4, token_block_number = $5, \
         token_symbol = $7, version = version + 1, updated_at = $6 where id = $1 and version = $2 and token_status = 'not_deployed'")
        .bind(id).bind(offering.version).bind(Hex(token)).bind(Hex(tx_hash)).bind(block_number).bind(now)
        .bind(symbol).execute(conn).await?.rows_affected());
    touched(rows, "offering", id)?;
    let data = json!({ "chain_id": offering.chain_id, "contract_address": token.to_checksum(None), "tx_hash": tx_hash.to_string() });
    event::write(tx, "offering.token_deployed", "offering", id, offering.version + 1, data).await
}
