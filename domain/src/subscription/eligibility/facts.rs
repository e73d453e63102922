//! The facts that the eligibility rules need, read in one transaction.

use chrono::{DateTime, Utc};

use crate::db::Tx;
use crate::id::{InvestorId, OfferingId};
use crate::investment_limit::{Finances, Limit};
use crate::investor::{Accreditation, Screening, Status as KycStatus};
use crate::offering::Offering;
use crate::policy::Limits;
use crate::sql::{Sql, sql};
use crate::subscription::{self, Status, Subscription};
use crate::{Code, Error, Result, token, wallet};

/// The stage at which eligibility is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The investor commits.
    Commit,
    /// The subscription is accepted.
    Accept,
    /// The units are minted.
    Mint,
}

/// The facts about an investor.
#[derive(Clone, Debug, sqlx::FromRow)]
#[allow(missing_docs)]
pub struct Investor {
    pub id: InvestorId,
    pub country: String,
    pub kyc_status: KycStatus,
    pub sanctions_status: Screening,
    pub accreditation_status: Accreditation,
    pub accreditation_expires_at: Option<DateTime<Utc>>,
    #[sqlx(flatten)]
    pub means: Finances,
    /// When the investor was first warned of the risk, if the exemption requires a warning.
    pub risk_warned_at: Option<DateTime<Utc>>,
}

const COLUMNS: &str = "id, country, kyc_status, sanctions_status, accreditation_status, accreditation_expires_at,
    annual_income, net_worth, risk_warned_at";

impl Investor {
    /// The investor with this id.
    pub async fn find(tx: &mut Tx, id: &InvestorId) -> Result<Self> {
        Self::read(tx, Self::by_id(id), id).await
    }

    /// The same, with the row locked until the commit, so that parallel commitments in several offerings are counted one after the other.
    pub async fn lock_row(tx: &mut Tx, id: &InvestorId) -> Result<Self> {
        let locked = Self::by_id(id).lock(tx);
        Self::read(tx, locked, id).await
    }

    fn by_id(id: &InvestorId) -> Sql {
        sql("select ").push(COLUMNS).push(" from investors where id = $1 and erased_at is null").bind(id)
    }

    async fn read(tx: &mut Tx, investor: Sql, id: &InvestorId) -> Result<Self> {
        let found = investor.optional::<Self>(tx).await?;
        found.ok_or_else(|| Error::refused(Code::NotFound, format!("There is no investor {id}.")))
    }

    /// Whether the accreditation is valid at a time.
    pub fn is_accredited(&self, at: DateTime<Utc>) -> bool {
        self.accreditation_status == Accreditation::Verified && self.accreditation_expires_at.is_none_or(|end| end > at)
    }
}

/// The facts about an investor's relation to an offering, without the subscription in question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// The number of the investor's other active subscriptions.
    pub own_count: i64,
    /// Their total, in minor units.
    pub own_total: i64,
    /// What the investor already uses of the exemption's investment limit, in minor units.
    pub used: i64,
    /// The number of other non-accredited investors in the offering.
    pub unaccredited: i64,
    /// The number of other investors who hold units or will.
    pub other_holders: i64,
    /// The limit on the number of holders.
    pub holder_cap: Option<i64>,
    /// Whether control over the wallet was proved; none without a wallet.
    pub wallet_verified: Option<bool>,
    /// Whether the wallet is retired, because it was lost.
    pub wallet_retired: bool,
}

/// All facts for the rules.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub struct Facts<'a> {
    pub stage: Stage,
    pub offering: &'a Offering,
    pub investor: &'a Investor,
    pub amount: i64,
    /// The money received and not refunded, in minor units.
    pub held: i64,
    pub relation: Relation,
    /// The part that a commitment can reserve before a payment. None after the commitment.
    pub reservation_limit: Option<ReservationLimit>,
    /// What the investor has acknowledged.
    pub acknowledged: &'a [String],
    pub now: DateTime<Utc>,
}

/// The part of an offering that can be reserved without a payment, in minor units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservationLimit {
    /// For this investor.
    pub own: i64,
    /// For all investors whose identity is not approved, together; none if this investor's is.
    pub unverified: Option<i64>,
}

/// Reads the reservation limit of an investor. The caller has locked the offering. One minimum investment is always allowed.
pub async fn read_reservation_limit(
    tx: &mut Tx,
    offering: &Offering,
    investor: &Investor,
    limits: &Limits,
) -> Result<ReservationLimit> {
    let share = |percent: u32| {
        let share = i128::from(offering.hard_cap) * i128::from(percent) / 100;
        i64::try_from(share).unwrap_or(i64::MAX).max(offering.minimum_investment)
    };
    let (own, unverified) = sql("select
            cast(coalesce(sum(case when s.investor_id = $2 then s.amount else 0 end), 0) as bigint),
            cast(coalesce(sum(case when i.kyc_status <> 'approved' then s.amount else 0 end), 0) as bigint)
        from subscriptions s join investors i on i.id = s.investor_id
        where s.offering_id = $1 and s.received_amount - s.refunded_amount < s.amount and s.status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .bind((&offering.id, &investor.id))
    .row::<(i64, i64)>(tx)
    .await?;
    Ok(match investor.kyc_status {
        KycStatus::Approved => ReservationLimit { own: share(limits.unpaid_investor_percent) - own, unverified: None },
        _ => ReservationLimit {
            own: share(limits.unverified_investor_percent) - own,
            unverified: Some(share(limits.unverified_total_percent) - unverified),
        },
    })
}

/// Reads the relation of an investor to an offering, without one subscription.
pub async fn read_relation(
    tx: &mut Tx,
    offering: &Offering,
    investor_id: &InvestorId,
    besides: Option<&Subscription>,
) -> Result<Relation> {
    let besides_id = besides.map(|s| s.id.clone()).unwrap_or_default();
    let (own_count, own_total) = sql("select count(*), cast(coalesce(sum(amount), 0) as bigint) from subscriptions
         where offering_id = $1 and investor_id = $2 and id <> $3 and status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .bind((&offering.id, investor_id, &besides_id))
    .row::<(i64, i64)>(tx)
    .await?;
    let of_token = token::find(tx, &offering.id).await?.and_then(|token| token.holder_cap);
    // The contract and the offering can both have a limit; the lower one counts.
    let holder_cap = offering.holder_cap.into_iter().chain(of_token).min();
    // Counting holders is expensive, so count only if there is a limit.
    let other_holders = if holder_cap.is_some() { holders_besides(tx, &offering.id, investor_id).await? } else { 0 };
    let profile = offering.exemption.profile();
    // Read only what the exemption needs.
    let used = match profile.investor_limit {
        Some(Limit::CrowdfundingYear) => subscription::crowdfunding_total(tx, investor_id, &besides_id).await?,
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
    Ok(Relation {
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

async fn unaccredited_besides(tx: &mut Tx, offering_id: &OfferingId, investor_id: &InvestorId) -> Result<i64> {
    let now = tx.now();
    sql("select count(distinct s.investor_id) from subscriptions s join investors i on i.id = s.investor_id
         where s.offering_id = $1 and s.investor_id <> $2
             and (i.accreditation_status <> 'verified' or i.accreditation_expires_at <= $3) and s.status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .bind((offering_id, investor_id, now))
    .scalar(tx)
    .await
}

async fn holders_besides(tx: &mut Tx, offering_id: &OfferingId, investor_id: &InvestorId) -> Result<i64> {
    sql("select count(*) from (
             select coalesce(w.investor_id, h.wallet_address) as holder
             from holdings h left join wallets w on w.address = h.wallet_address and w.verified_at is not null
             where h.offering_id = $1 and h.balance <> '0'
             union
             select investor_id from subscriptions where offering_id = $1 and status in :reserving")
    .words(":reserving", &Status::RESERVING)
    .push(") as holders where holder <> $2")
    .bind((offering_id, investor_id))
    .scalar(tx)
    .await
}
