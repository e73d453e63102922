//! Offerings: what an issuer offers, and the token that stands for it.

mod change;
pub mod document;
mod list;
mod new;
pub mod raise;
mod standing;
mod state;
pub mod terms;
mod token;

use alloy_primitives::{Address, B256};
use chrono::{DateTime, Utc};

pub use change::{refusal, save, transition};
pub use list::{Filter, Listed, Order, Scope, Shown, page, see, show};
pub use new::{draft, insert};
pub use standing::{Standing, live_mint, standing};
pub use state::{Move, Status};
pub use token::set_deployed;

use crate::column::Hex;
use crate::db::Tx;
use crate::exemption::Exemption;
pub use crate::issuer::{insert as insert_issuer, insert_pending as insert_pending_issuer};
use crate::{Code, Error, Result, on};

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
    pub cover_image_url: Option<String>,
    pub maximum_investment: Option<i64>,
    pub target_amount: i64,
    pub soft_cap: Option<i64>,
    /// The money that subscriptions have reserved.
    pub committed_total: i64,
    pub visibility: String,
    pub opens_at: Option<DateTime<Utc>>,
    pub closes_at: Option<DateTime<Utc>>,
    pub auto_open: bool,
    pub exemption: Exemption,
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
    /// Counts how often its end was moved.
    pub calendar_version: i64,
    /// How far its clocks are ahead of UTC: there a day begins and ends.
    pub utc_offset_minutes: i64,
}

impl Offering {
    /// How many decimals its token has.
    pub fn decimals(&self) -> u32 {
        u32::try_from(self.token_decimals).unwrap_or(0)
    }

    /// Whether its token may be deployed in this state.
    pub const fn may_deploy(&self) -> bool {
        matches!(self.status, Status::Approved | Status::Open | Status::Paused | Status::Closed)
    }

    /// Whether subscriptions may be minted in this state.
    pub fn may_mint(&self) -> bool {
        self.status == Status::Closed || (self.issuance_policy == "rolling" && self.status == Status::Open)
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
