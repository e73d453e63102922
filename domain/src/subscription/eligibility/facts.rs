//! What the rules look at, read in one transaction.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::investor::Screening;
use crate::means::{self, Limit, Means};
use crate::offering::Offering;
use crate::subscription::Subscription;
use crate::{Code, Error, Result, on, token, wallet};

/// When it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The investor commits.
    Commit,
    /// The subscription is taken.
    Accept,
    /// Its units are minted.
    Mint,
}

/// What the rules need to know of an investor.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Investor {
    pub id: String,
    pub country: String,
    pub kyc_status: String,
    pub sanctions_status: Screening,
    pub accreditation_status: String,
    pub accreditation_expires_at: Option<DateTime<Utc>>,
    #[sqlx(flatten)]
    pub means: Means,
    /// When the investor was first warned of the risk, where that counts.
    pub risk_warned_at: Option<DateTime<Utc>>,
}

const COLUMNS: &str = "id, country, kyc_status, sanctions_status, accreditation_status, accreditation_expires_at, annual_income, \
    net_worth, risk_warned_at";

impl Investor {
    /// The investor with this id.
    pub async fn find(tx: &mut Tx, id: &str) -> Result<Self> {
        Self::read(tx, &format!("select {COLUMNS} from investors where id = $1 and erased_at is null"), id).await
    }

    /// The same, held until the commit: what one investor commits at once in several offerings is counted one after the other.
    pub async fn hold(tx: &mut Tx, id: &str) -> Result<Self> {
        let sql =
            format!("update investors set version = version where id = $1 and erased_at is null returning {COLUMNS}");
        Self::read(tx, &sql, id).await
    }

    async fn read(tx: &mut Tx, sql: &str, id: &str) -> Result<Self> {
        on!(tx, conn => sqlx::query_as::<_, Self>(sqlx::AssertSqlSafe(sql)).bind(id).fetch_optional(conn).await?)
            .ok_or_else(|| Error::refused(Code::NotFound, format!("There is no investor {id}.")))
    }

    /// Whether the accreditation holds at a time.
    pub fn is_accredited(&self, at: DateTime<Utc>) -> bool {
        self.accreditation_status == "verified" && self.accreditation_expires_at.is_none_or(|end| end > at)
    }
}

/// How an investor and an offering stand to each other, besides the subscription in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many other subscriptions of this investor are alive.
    pub own_count: i64,
    /// What they come to, in minor units.
    pub own_total: i64,
    /// What the investor put in besides that the law counts together with this, in minor units.
    pub used: i64,
    /// How many other investors are in the offering who are not accredited.
    pub unaccredited: i64,
    /// How many other investors hold units or will.
    pub other_holders: i64,
    /// How many holders there may be.
    pub holder_cap: Option<i64>,
    /// Whether the wallet was proved; none if there is no wallet.
    pub wallet_verified: Option<bool>,
    /// Whether it was given up as lost.
    pub wallet_retired: bool,
}

/// Everything that the rules look at.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Facts<'a> {
    pub stage: Stage,
    pub offering: &'a Offering,
    pub investor: &'a Investor,
    pub amount: i64,
    /// The money that is there, in minor units.
    pub held: i64,
    pub standing: Standing,
    /// What the investor says to have understood.
    pub acknowledged: &'a [String],
    pub now: DateTime<Utc>,
}

const ALIVE: &str = "('committed', 'pending_reconfirmation', 'binding', 'accepted', 'minted')";

/// Reads how an investor stands to an offering, besides one subscription.
pub async fn gather(
    tx: &mut Tx,
    offering: &Offering,
    investor_id: &str,
    besides: Option<&Subscription>,
) -> Result<Standing> {
    let besides_id = besides.map_or("", |s| s.id.as_str());
    let own = format!(
        "select count(*), cast(coalesce(sum(amount), 0) as bigint) from subscriptions where offering_id = $1 and investor_id = $2 \
         and id <> $3 and status in {ALIVE}"
    );
    let (own_count, own_total) = on!(tx, conn => sqlx::query_as::<_, (i64, i64)>(sqlx::AssertSqlSafe(own))
        .bind(&offering.id).bind(investor_id).bind(besides_id).fetch_one(conn).await?);
    let of_token = token::find(tx, &offering.id).await?.and_then(|token| token.holder_cap);
    let holder_cap = offering.holder_cap.into_iter().chain(of_token).min();
    // Counting costs a look at every holder, and is done where there is a cap.
    let other_holders = if holder_cap.is_some() { holders_besides(tx, &offering.id, investor_id).await? } else { 0 };
    let profile = offering.exemption.profile();
    // Each costs a look, and is had where the exemption asks for it.
    let used = match profile.investor_limit {
        Some(Limit::CrowdfundingYear) => means::crowdfunded(tx, investor_id, besides_id).await?,
        Some(Limit::TenthOfEach) => own_total,
        None => 0,
    };
    let unaccredited = match profile.unaccredited_max {
        Some(_) => unaccredited_besides(tx, &offering.id, investor_id).await?,
        None => 0,
    };
    let (wallet_verified, wallet_retired) = match besides.and_then(|s| s.wallet_address) {
        Some(address) => {
            let own = wallet::find(tx, address.0).await?.filter(|wallet| wallet.investor_id == investor_id);
            let verified = own.as_ref().is_some_and(|wallet| wallet.verified_at.is_some());
            (Some(verified), own.is_some_and(|wallet| wallet.retired_at.is_some()))
        }
        None => (None, false),
    };
    Ok(Standing {
        own_count,
        own_total,
        used,
        unaccredited,
        other_holders,
        holder_cap,
        wallet_verified,
        wallet_retired,
    })
}

async fn unaccredited_besides(tx: &mut Tx, offering_id: &str, investor_id: &str) -> Result<i64> {
    let now = tx.now();
    let sql = format!(
        "select count(distinct s.investor_id) from subscriptions s join investors i on i.id = s.investor_id where s.offering_id = $1 \
         and s.status in {ALIVE} and s.investor_id <> $2 and (i.accreditation_status <> 'verified' or i.accreditation_expires_at <= $3)"
    );
    Ok(
        on!(tx, conn => sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).bind(offering_id).bind(investor_id).bind(now)
        .fetch_one(conn).await?),
    )
}

async fn holders_besides(tx: &mut Tx, offering_id: &str, investor_id: &str) -> Result<i64> {
    let sql = format!(
        "select count(*) from (select investor_id as holder from subscriptions where offering_id = $1 and status in {ALIVE} union \
         select coalesce(w.investor_id, h.wallet_address) from holdings h left join wallets w on w.address = h.wallet_address \
         and w.verified_at is not null where h.offering_id = $1 and h.balance <> '0') as holders where holder <> $2"
    );
    Ok(on!(tx, conn => sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).bind(offering_id).bind(investor_id)
        .fetch_one(conn).await?))
}
