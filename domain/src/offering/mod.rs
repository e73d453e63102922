//! Offerings: what an issuer offers, and the token of the offering.

pub mod brief;
mod change;
pub mod choice;
mod columns;
mod cooling_off;
mod deployable;
pub mod document;
mod list;
mod live_mint;
mod new;
pub mod raise_limit;
mod state;
pub mod terms;
mod token;

use std::collections::HashMap;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Duration, Utc};

pub use change::{illegal_move, save, transition};
use choice::{IssuancePolicy, KycRequirement, PaymentMethods, Template, Visibility};
pub use deployable::{Deployable, find_deployable};
pub use list::{
    Filter, OfferingDetail, OfferingSummary, Order, Scope, find_detail, find_visible, listed_condition, page,
};
pub use live_mint::live_mint;
pub use new::{draft, insert};
pub use state::{Move, Status};
pub use token::{Deployed, TokenStatus, record_deployments};

use crate::column::Hex;
use crate::db::Tx;
use crate::exemption::Exemption;
use crate::id::{IssuerId, OfferingId};
pub use crate::issuer::{insert as insert_issuer, insert_pending as insert_pending_issuer};
use crate::rows::portions;
use crate::sql::{Conn, sql};
use crate::{Code, Error, Result};

/// One row of `offerings`.
#[derive(Clone, Debug, PartialEq, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Offering {
    pub id: OfferingId,
    pub issuer_id: IssuerId,
    pub name: String,
    pub status: Status,
    pub template: Template,
    pub currency: String,
    pub minimum_investment: i64,
    pub hard_cap: i64,
    pub unit_price: i64,
    pub token_symbol: String,
    pub token_decimals: i64,
    pub partition_id: i64,
    pub issuance_policy: IssuancePolicy,
    pub lockup_release_at: Option<DateTime<Utc>>,
    pub chain_id: i64,
    pub token_status: TokenStatus,
    pub token_address: Option<Hex<Address>>,
    pub token_tx_hash: Option<Hex<B256>>,
    pub token_block_number: Option<i64>,
    pub version: i64,
    pub created_at: DateTime<Utc>,
    pub updated_at: DateTime<Utc>,
    pub description: String,
    pub cover_image_url: Option<String>,
    pub maximum_investment: Option<i64>,
    pub target_amount: i64,
    pub soft_cap: Option<i64>,
    /// The sum of amounts that subscriptions have reserved.
    pub committed_total: i64,
    pub visibility: Visibility,
    pub opens_at: Option<DateTime<Utc>>,
    pub closes_at: Option<DateTime<Utc>>,
    pub auto_open: bool,
    pub exemption: Exemption,
    /// None for the cooling-off period of the exemption.
    pub cooling_off_hours: Option<i64>,
    pub lockup_days: Option<i64>,
    pub kyc_requirement: KycRequirement,
    pub accreditation_required: bool,
    /// Country codes separated by spaces; empty for all countries.
    pub allowed_countries: String,
    pub blocked_countries: String,
    pub holder_cap: Option<i64>,
    pub one_subscription_per_investor: bool,
    #[sqlx(try_from = "String")]
    pub payment_methods: PaymentMethods,
    pub terms_version: i64,
    pub terms_sha256: Option<String>,
    pub status_reason: Option<String>,
    pub submitted_by: Option<String>,
    pub approved_by: Option<String>,
    pub submitted_at: Option<DateTime<Utc>>,
    pub published_at: Option<DateTime<Utc>>,
    pub closed_at: Option<DateTime<Utc>>,
    /// Increases each time the end of the offering is moved.
    pub calendar_version: i64,
    /// UTC offset of the place in which its days begin and end.
    pub utc_offset_minutes: i64,
}

impl Offering {
    /// The decimals of its token.
    pub fn decimals(&self) -> u32 {
        u32::try_from(self.token_decimals).unwrap_or(0)
    }

    /// The end of the lockup: the same for every holder, counted from the real end of the offering, and until then from the announced one.
    pub fn lockup_end(&self) -> Option<DateTime<Utc>> {
        let end = self.closed_at.into_iter().chain(self.closes_at).min();
        match (self.lockup_days.filter(|days| *days > 0), end) {
            (Some(days), Some(end)) => Some(end + Duration::days(days)),
            _ => self.lockup_release_at,
        }
    }

    /// Whether its token can be deployed in this status.
    pub const fn may_deploy(&self) -> bool {
        matches!(self.status, Status::Approved | Status::Open | Status::Paused | Status::Closed)
    }

    /// Whether subscriptions can be minted in this status.
    pub fn may_mint(&self) -> bool {
        self.status == Status::Closed
            || (self.issuance_policy == IssuancePolicy::Rolling && self.status == Status::Open)
    }
}

/// One offering; `not_found` if it does not exist.
pub async fn find(tx: &mut Tx, id: &OfferingId) -> Result<Offering> {
    sql("select * from offerings where id = $1").bind(id).optional::<Offering>(tx).await?.ok_or_else(|| missing(id))
}

/// The offerings with these ids, in their order; `not_found` if one does not exist.
pub async fn find_all(tx: &mut Tx, ids: &[&OfferingId]) -> Result<Vec<Offering>> {
    let mut found: HashMap<OfferingId, Offering> = HashMap::new();
    for portion in portions(tx, ids) {
        let rows = sql("select * from offerings where id in (").list(portion).push(")").rows::<Offering>(tx).await?;
        found.extend(rows.into_iter().map(|offering| (offering.id.clone(), offering)));
    }
    ids.iter().map(|id| found.remove(*id).ok_or_else(|| missing(id))).collect()
}

fn missing(id: &OfferingId) -> Error {
    Error::refused(Code::NotFound, format!("There is no offering {id}."))
}

/// One offering, locked until the commit. A parallel mint of the same offering waits and then sees what this one did.
pub async fn lock_row(tx: &mut Tx, id: &OfferingId) -> Result<Offering> {
    sql("select * from offerings where id = $1")
        .bind(id)
        .lock(tx)
        .optional::<Offering>(tx)
        .await?
        .ok_or_else(|| missing(id))
}

/// Locks an offering until the commit, unless it has changed since it was read. Among gathered writes the lock waits with them. SQLite has one
/// writer, which needs no lock.
pub async fn lock_unchanged(tx: &mut Tx, o: &Offering) -> Result<()> {
    if matches!(tx.conn, Conn::Sqlite(..)) {
        return Ok(());
    }
    sql("select id from offerings where id = $1 and version = $2 for no key update")
        .bind((&o.id, o.version))
        .write_exactly(tx, 1, "offering", &o.id)
        .await
}

/// The offerings in which a wallet holds units, or is frozen without having been recovered.
pub async fn of_wallet(tx: &mut Tx, wallet: Address) -> Result<Vec<OfferingId>> {
    sql("select offering_id from holdings where wallet_address = $1 and balance <> '0'
         union select offering_id from token_accounts
         where wallet_address = $1 and frozen and successor_address is null order by 1")
    .bind(Hex(wallet))
    .scalars(tx)
    .await
}

/// The fields of an offering in lists of other nouns.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Named {
    pub id: OfferingId,
    pub name: String,
    pub token_symbol: String,
    pub token_decimals: i64,
}

/// The names of these offerings.
pub async fn named(tx: &mut Tx, ids: &[&OfferingId]) -> Result<Vec<Named>> {
    let mut found = Vec::new();
    for portion in portions(tx, ids) {
        found.extend(
            sql("select id, name, token_symbol, token_decimals from offerings where id in (")
                .list(portion)
                .push(")")
                .rows::<Named>(tx)
                .await?,
        );
    }
    Ok(found)
}

/// The ids of all offerings on a chain. An import needs them, because the chain itself stores only their hashes.
pub async fn ids_of_chain(tx: &mut Tx, chain_id: i64) -> Result<Vec<OfferingId>> {
    sql("select id from offerings where chain_id = $1 order by id").bind(chain_id).scalars(tx).await
}
